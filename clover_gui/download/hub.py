"""What the hub has: files of a repository with size, sha256 and revision. Only importer of huggingface_hub.

The library lists, authenticates and names; the bytes themselves come through ``transfer.py``. It is imported
at the first request, because it takes longer to import than the window takes to open.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from clover_gui import __version__
from clover_gui.download.answers import error_for_status
from clover_gui.download.connection import error_text, redirect_target
from clover_gui.download.hub_file import HubFile, choose_file
from clover_gui.download.hub_settings import HubSettings, host_of, tls_context
from clover_gui.download.web_page import page_title
from clover_gui.errors import (
    ChecksumUnknown,
    DownloadError,
    HubCertificateRefused,
    HubFailed,
    HubNotFound,
    HubUnreachable,
    ProxyFailed,
    WebPageReceived,
)
from clover_gui.i18n import capped

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIMEOUT_S = 15.0
_REDIRECTS = (301, 302, 303, 307, 308)


class _Response(Protocol):
    """What is looked at of an answer, whichever HTTP package the library uses."""

    url: object
    status_code: int
    headers: Mapping[str, str]
    content: bytes


class Hub:
    """Listings of one endpoint. Blocking: at most some 15 s per question; call it in a thread."""

    def __init__(self, settings: HubSettings) -> None:
        self.settings = settings

    def files(self, repository: str, revision: str = "") -> tuple[HubFile, ...]:
        """All files of a repository at ``revision`` ("" is the newest).

        Raises:
            DownloadError: HubUnreachable, HubCertificateRefused, ProxyFailed, HubRefused, HubNotFound,
                HubBusy, HubFailed or WebPageReceived.
        """
        info = self._model_info(repository, revision)
        commit = str(info.sha or revision or "main")
        architecture = ""
        if isinstance(gguf := getattr(info, "gguf", None), dict):
            architecture = capped(str(gguf.get("architecture") or ""), 64)
        found = []
        for sibling in info.siblings or ():
            lfs = getattr(sibling, "lfs", None)
            digest = str(lfs["sha256"] if lfs and lfs["sha256"] else "").lower()
            size = sibling.size if sibling.size is not None else (lfs["size"] if lfs else None)
            found.append(
                HubFile(
                    endpoint=self.settings.endpoint,
                    repository=repository,
                    revision=commit,
                    name=str(sibling.rfilename),
                    size_bytes=size if type(size) is int and size > 0 else 0,
                    sha256=digest if _SHA256.fullmatch(digest) else "",
                    architecture=architecture,
                )
            )
        return tuple(found)

    def find(
        self, repository: str, pattern: str, revision: str = "", sha256: str = "", prefer: str = ""
    ) -> HubFile:
        """The one file that fits the pattern, with size and checksum (see ``choose_file``).

        ``sha256`` is used where the hub itself states none (a plain mirror), never against the hub.

        Raises:
            ModelChoiceFailed, ChecksumUnknown, and what ``files`` raises.
        """
        chosen = choose_file(repository, self.files(repository, revision), pattern, prefer)
        if not chosen.sha256 and _SHA256.fullmatch(sha256.lower()):
            chosen = dataclasses.replace(chosen, sha256=sha256.lower())
        if not chosen.sha256 or not chosen.size_bytes:
            raise ChecksumUnknown(self.settings.host, capped(chosen.name))
        return chosen

    def _model_info(self, repository: str, revision: str) -> ModelInfo:
        last: list[tuple[str, str]] = []  # (host, content type) of each answer

        def note(answer: _Response) -> None:
            url = str(answer.url)
            if answer.status_code in _REDIRECTS:
                # Also whoever cannot be reached then is this one.
                url = redirect_target(url, answer.headers.get("location") or "")
            last.append((host_of(url), answer.headers.get("content-type") or ""))

        self.settings.require_usable()
        try:
            from huggingface_hub import HfApi, constants, get_session, set_client_factory

            if getattr(constants, "HF_HUB_OFFLINE", False):
                raise HubUnreachable(self.settings.host, "offline-mode", "HF_HUB_OFFLINE is set")
            # Its figures about this machine are sent to nobody, and the question before them is not asked.
            constants.HF_HUB_DISABLE_TELEMETRY = True
            set_client_factory(_client_factory(self.settings, type(get_session()).__module__, note))
            # False, not None: None would send a token that this machine keeps for another endpoint.
            api = HfApi(
                endpoint=self.settings.endpoint,
                token=self.settings.token or False,
                library_name="clover-gui",
                library_version=__version__,
            )
            return api.model_info(
                repository, revision=revision or None, files_metadata=True, timeout=_TIMEOUT_S
            )
        except DownloadError:
            raise
        except Exception as error:
            host, content_type = last[-1] if last else (self.settings.host, "")
            raise _translated(error, host, content_type, repository, revision, self.settings) from error


def _client_factory(
    settings: HubSettings, client_module: str, note: Callable[[_Response], None]
) -> Callable[[], Any]:
    """Makes clients of the library's own HTTP package (its name differs between versions)."""
    package = importlib.import_module(client_module.partition(".")[0])
    return functools.partial(
        package.Client,
        verify=tls_context(settings),
        proxy=settings.proxy or None,
        follow_redirects=True,
        timeout=_TIMEOUT_S,
        event_hooks={"response": [note]},
    )


def _translated(
    error: Exception, host: str, content_type: str, repository: str, revision: str, settings: HubSettings
) -> DownloadError:
    """Our error for one of the library's or of its HTTP package."""
    from huggingface_hub.errors import HFValidationError

    response = getattr(error, "response", None)
    if response is not None:
        return _refused(response, host, repository, revision, settings)
    chain = _chain(error)
    text = error_text(error)
    name = type(error).__name__
    if name == "TooManyRedirects":
        return HubFailed(host, 310, "too many redirects")
    if isinstance(error, HFValidationError):
        return HubNotFound(settings.host, "repository", capped(repository))
    if any(isinstance(link, ssl.SSLCertVerificationError) for link in chain) or "CERTIFICATE_VERIFY" in text:
        return HubCertificateRefused(text, host)
    if name == "ProxyError":
        return ProxyFailed(urlsplit(settings.proxy).hostname or "", _proxy_kind(text), text)
    if isinstance(error, ValueError):  # not JSON
        if "html" in content_type.lower():
            return WebPageReceived(host)
        return HubFailed(host, 200, text)
    kind = "silent" if "Timeout" in name else "broken"
    if any("gaierror" in type(link).__name__ for link in chain) or "Name or service" in text:
        kind = "name"
    elif any(isinstance(link, ConnectionRefusedError) for link in chain):
        kind = "refused"
    return HubUnreachable(host, kind, text)


def _refused(
    response: _Response, host: str, repository: str, revision: str, settings: HubSettings
) -> DownloadError:
    status = response.status_code
    if status < 400:
        return WebPageReceived(host, page_title(response.content[:4096]))
    return error_for_status(
        status,
        response.headers,
        host=host,
        repository=repository,
        token_sent=bool(settings.token),
        revision=revision,
    )


def _proxy_kind(text: str) -> str:
    if "407" in text:
        return "login"
    return "unsupported" if "socks" in text.lower() or "scheme" in text.lower() else "refused"


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what it came from, at most ten links."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links and len(links) < 10:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links
