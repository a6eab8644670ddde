"""Why a model could not be brought here, and what to do."""

from __future__ import annotations

from clover_gui import errors
from clover_gui.explain.explanation import Explanation, cleaned, explain
from clover_gui.i18n import _, capped, duration, file_size

_MOST_NAMES = 8


@explain.register
def _download(error: errors.DownloadError) -> Explanation:
    return Explanation(
        _("The download failed"),
        _("The model could not be downloaded."),
        _("Try again; what has arrived is kept."),
        cleaned(str(error)),
    )


@explain.register
def _unreachable(error: errors.HubUnreachable) -> Explanation:
    host = _host(error)
    sentences = {
        "name": _("The address {host} was not found: this machine is offline, or the name is wrong."),
        "refused": _("{host} does not accept a connection."),
        "silent": _("{host} does not answer."),
        "offline-mode": _("Downloads are switched off on this machine (HF_HUB_OFFLINE is set)."),
    }
    next_steps = {
        "offline-mode": _("Remove the variable HF_HUB_OFFLINE and start the program again."),
        "name": _("Check the network connection, then try again; what has arrived is kept."),
    }
    return Explanation(
        _("No connection to the model's server"),
        sentences.get(error.kind, _("The connection to {host} broke.")).format(host=host),
        next_steps.get(
            error.kind,
            _(
                "Check network, proxy and firewall, then try again; what has arrived is kept."
                " A mirror can be chosen in the settings, or with --endpoint ADDRESS."
            ),
        ),
        cleaned(str(error)),
    )


@explain.register
def _certificate(error: errors.HubCertificateRefused) -> Explanation:
    return Explanation(
        _("The server's certificate is not trusted"),
        _(
            "{host} shows a certificate that this system does not trust: often a proxy or a login page."
        ).format(host=_host(error)),
        _(
            "Sign in to the network in a web browser, or have your organisation's certificate added to the"
            " system, or name its file in the variable SSL_CERT_FILE. Check that the clock is right."
        ),
        cleaned(str(error)),
    )


@explain.register
def _proxy(error: errors.ProxyFailed) -> Explanation:
    host = _host(error)
    sentences = {
        "login": _("The proxy {host} asks for a user name and password."),
        "unsupported": _("The proxy {host} is of a kind that is not supported; only http:// proxies are."),
    }
    return Explanation(
        _("The proxy does not let the download through"),
        sentences.get(error.kind, _("The proxy {host} cannot be reached or refused the connection.")).format(
            host=host
        ),
        _(
            "Check the proxy in the system's settings and in those of this program (page Network), or name"
            " the right one with --proxy (http://user:password@host:port)."
        ),
        cleaned(str(error)),
    )


@explain.register
def _setting(error: errors.NetworkSettingWrong) -> Explanation:
    if error.what == "proxy":
        sentence = _("The proxy in the settings is no address, so nothing was asked of anybody.")
        step = _("Correct it in the settings, page Network (for example http://proxy.example:3128).")
    else:
        sentence = _(
            "The address to download from in the settings is none, so nothing was asked of anybody: {value}"
        ).format(value=capped(error.value))
        step = _("Correct it in the settings, page Network, or leave it empty for the usual hub.")
    return Explanation(_("A network setting is wrong"), sentence, step, cleaned(str(error)))


@explain.register
def _refused(error: errors.HubRefused) -> Explanation:
    title = _("The server does not give out this model")
    values = {"host": _host(error), "name": capped(error.repository)}
    if error.gated:
        return Explanation(
            title,
            _("{name} is only given to people who have accepted its terms.").format(**values),
            _(
                "Open the model's page on {host} in a browser, sign in and accept the terms; then write"
                " your access token into the settings, page Network (or into the variable HF_TOKEN)."
            ).format(**values),
            cleaned(str(error)),
        )
    if error.token_sent:
        return Explanation(
            title,
            _("{host} refused the access token for {name}.").format(**values),
            _("Check that the token is valid, may read this repository, and that the name is right."),
            cleaned(str(error)),
        )
    return Explanation(
        title,
        _("{name} does not exist on {host}, or it asks for an access token.").format(**values),
        _(
            "Check the name. If the model is private, write your access token into the settings, page"
            " Network (or into the variable HF_TOKEN)."
        ),
        cleaned(str(error)),
    )


@explain.register
def _not_found(error: errors.HubNotFound) -> Explanation:
    sentences = {
        "file": _("There is no file {name} on {host} (any more)."),
        "revision": _("There is no version {name} of this repository on {host}."),
    }
    return Explanation(
        _("The model was not found"),
        sentences.get(error.what, _("There is no repository {name} on {host}.")).format(
            name=capped(error.name), host=_host(error)
        ),
        _("Check the name on the model's page; a mirror may not have it."),
        cleaned(str(error)),
    )


@explain.register
def _busy(error: errors.HubBusy) -> Explanation:
    wait = error.retry_after_s
    return Explanation(
        _("The server asks to wait"),
        _("{host} has had too many requests from this address.").format(host=_host(error)),
        _("Try again in {time}; what has arrived is kept.").format(time=duration(wait))
        if wait
        else _("Try again in a few minutes; what has arrived is kept."),
        cleaned(str(error)),
    )


@explain.register
def _failed(error: errors.HubFailed) -> Explanation:
    sentence = (
        _("{host} has a fault of its own at the moment (HTTP {status}).")
        if error.status >= 500
        else _("{host} gave an answer that is of no use (HTTP {status}).")
    )
    return Explanation(
        _("The server failed"),
        sentence.format(host=_host(error), status=error.status),
        _(
            "Try again later, or choose a mirror in the settings, or with --endpoint ADDRESS;"
            " what has arrived is kept."
        ),
        cleaned(str(error)),
    )


@explain.register
def _web_page(error: errors.WebPageReceived) -> Explanation:
    sentence = (
        _("{host} sent a web page (“{title}”) in place of the model; nothing of it was kept.")
        if error.title
        else _("{host} sent a web page in place of the model; nothing of it was kept.")
    )
    return Explanation(
        _("A web page came in place of the model"),
        sentence.format(host=_host(error), title=capped(error.title)),
        _(
            "The network may ask to sign in: open any page in a web browser. Behind a proxy, choose a mirror"
            " in the settings, or with --endpoint ADDRESS, or download the file in a browser and open it"
            " here."
        ),
        cleaned(str(error)),
    )


@explain.register
def _not_a_model(error: errors.NotAModelReceived) -> Explanation:
    return Explanation(
        _("This is not a model file"),
        _("What {host} sends as {name} is not a GGUF file; nothing of it was kept.").format(
            host=_host(error), name=capped(error.name)
        ),
        _("Choose another file or another server."),
        cleaned(str(error)),
    )


@explain.register
def _choice(error: errors.ModelChoiceFailed) -> Explanation:
    values = {"name": capped(error.repository), "pattern": capped(error.pattern)}
    sentences = {
        "several": _("Several files of {name} fit “{pattern}”: {names}."),
        "split": _("{name} has this model only in parts, which are not supported: {names}."),
    }
    sentence = sentences.get(error.kind, _("No model file of {name} fits “{pattern}”. There are: {names}."))
    next_step = (
        _("Choose a file that holds the whole model.")
        if error.kind == "split"
        else _("Name one of them, or a piece of its name that no other has.")
    )
    if not error.names:
        sentence = _("{name} has no GGUF file.")
        next_step = _("Choose a repository with GGUF files; their names often end in -GGUF.")
    return Explanation(
        _("Which file is meant?"),
        sentence.format(**values, names=_names(error.names)),
        next_step,
        cleaned("\n".join(error.names)),
    )


@explain.register
def _no_checksum(error: errors.ChecksumUnknown) -> Explanation:
    return Explanation(
        _("The file could not be checked"),
        _(
            "{host} states no size or checksum for {name}, so nobody could tell whether it arrives whole."
        ).format(host=_host(error), name=capped(error.name)),
        _("Choose another file or server, or download it in a browser and open it here."),
        cleaned(str(error)),
    )


@explain.register
def _changed(error: errors.RemoteFileChanged) -> Explanation:
    return Explanation(
        _("The file on the server has changed"),
        _("{host} now sends another file than it lists.").format(host=_host(error)),
        _(
            "Try again in a few minutes; if it stays so, choose another server in the settings, or with"
            " --endpoint ADDRESS."
        ),
        cleaned(str(error)),
    )


@explain.register
def _wrong_size(error: errors.WrongSize) -> Explanation:
    return Explanation(
        _("The server's file is too short"),
        _("{host} sends {received} bytes of {expected}.").format(
            host=_host(error),
            received=f"{error.received_bytes:,}",
            expected=f"{error.expected_bytes:,}",
        ),
        _(
            "Try again later or choose another server in the settings, or with --endpoint ADDRESS;"
            " what has arrived is kept."
        ),
        cleaned(str(error)),
    )


@explain.register
def _wrong_hash(error: errors.WrongHash) -> Explanation:
    return Explanation(
        _("The file is not the published one"),
        _(
            "What {host} sends does not have the published checksum, also after {amount} were fetched a"
            " second time. The file was removed."
        ).format(host=_host(error), amount=file_size(error.fetched_again_bytes)),
        _(
            "Download it from another server (in the settings, or --endpoint ADDRESS) or through another"
            " network. If that fails as well, have the memory of this machine checked."
        ),
        cleaned(str(error)),
    )


@explain.register
def _space(error: errors.NotEnoughSpace) -> Explanation:
    return Explanation(
        _("Not enough room on the disk"),
        _("{needed} are needed in {folder}, and {free} are free: {missing} are missing.").format(
            needed=file_size(error.needed_bytes),
            free=file_size(error.free_bytes),
            missing=file_size(error.missing_bytes),
            folder=capped(str(error.folder), 120),
        ),
        _("Make room, or choose another folder (in the settings, or --dest FOLDER)."),
        cleaned(str(error)),
    )


@explain.register
def _not_writable(error: errors.DestinationNotWritable) -> Explanation:
    return Explanation(
        _("The folder cannot be written"),
        _("Nothing can be written to {path}: {reason}.").format(
            path=capped(str(error.path), 120), reason=capped(error.reason)
        ),
        _("Make the folder writable, or choose another one (in the settings, or --dest FOLDER)."),
        cleaned(str(error)),
    )


@explain.register
def _in_use(error: errors.DownloadInUse) -> Explanation:
    return Explanation(
        _("This download is running already"),
        _("Another window or terminal is downloading the same file."),
        _("Wait until it is done, or stop it there first."),
        cleaned(str(error)),
    )


@explain.register
def _stopped(error: errors.DownloadStopped) -> Explanation:
    return Explanation(
        _("The download was stopped"),
        _("{amount} are here and are kept.").format(amount=file_size(error.kept_bytes)),
        _("Start the download again: it goes on from there."),
        cleaned(str(error)),
    )


def _host(error: errors.DownloadError) -> str:
    return capped(error.host) or _("the server")


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(capped(name) for name in names[:_MOST_NAMES])
    return shown + (", …" if len(names) > _MOST_NAMES else "")
