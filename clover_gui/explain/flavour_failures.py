"""Why a build of the engine was not installed, and what to do."""

from __future__ import annotations

from clover_gui import errors
from clover_gui.explain.explanation import DETAIL_LINE_LIMIT, DETAIL_LINES, Explanation, cleaned, explain
from clover_gui.i18n import _, capped


@explain.register
def _flavour(error: errors.FlavourError) -> Explanation:
    return Explanation(
        _("The engine was not changed"),
        _("The engine could not be installed or removed."),
        _("Try again. If it happens again, report it with the details below."),
        cleaned(str(error)),
    )


@explain.register
def _busy(error: errors.FlavourBusy) -> Explanation:
    return Explanation(
        _("The engine was not changed"),
        _("Another window or terminal is changing the engines just now."),
        _("Wait until it has finished, then try again."),
        cleaned(str(error)),
    )


@explain.register
def _stopped(error: errors.FlavourStopped) -> Explanation:
    return Explanation(
        _("The engine was not changed"),
        _("The installation was stopped. Nothing was changed."),
        _("What has been downloaded is kept for the next try."),
        cleaned(str(error)),
    )


@explain.register
def _not_published(error: errors.FlavourNotPublished) -> Explanation:
    if not error.host:
        sentence = _("Downloading engines is switched off on this machine (CLOVER_ENGINE_INDEX is empty).")
    else:
        sentence = _("{host} has no engine {name} of version {version} for this system.").format(
            host=capped(error.host), name=capped(error.name, 20), version=error.version
        )
    return Explanation(
        _("This engine is not available"),
        sentence,
        _("Choose another engine, or install one from a file."),
        cleaned(str(error)),
    )


@explain.register
def _refused(error: errors.FlavourRefused) -> Explanation:
    sentence, next_step = refusal_words(error.kind, error.what, error.needed)
    lines = [str(error), *error.log_lines[-DETAIL_LINES:]]
    return Explanation(
        _("This engine is not used"),
        sentence,
        next_step,
        "\n".join(capped(line, DETAIL_LINE_LIMIT) for line in lines),
    )


def refusal_words(kind: str, what: str = "", needed: str = "") -> tuple[str, str]:
    """Sentence and next step for a kind of ``FlavourRefused`` (also of a start that failed)."""
    what, needed = capped(what), capped(needed)
    sentence, next_step = _of_the_file(kind) or _of_the_trial(kind, what)
    return sentence.format(what=what, needed=needed), next_step.format(what=what, needed=needed)


def _of_the_file(kind: str) -> tuple[str, str] | None:
    """What is wrong with a wheel before anything of it runs."""
    again = _("Download the file again, from another place if it happens twice.")
    for_here = _("Choose the file for this system and processor.")
    return {
        "not-a-wheel": (
            _("{what} is not a wheel of the engine (llama-cpp-python)."),
            _("Choose a file such as llama_cpp_python-….whl."),
        ),
        "damaged": (_("The file is damaged: {what} is not what it should be."), again),
        "unsafe-names": (_("The file is not used: a name in it leads to another folder ({what})."), again),
        "no-libraries": (_("{what} contains no engine."), _("Choose another file.")),
        "other-version": (
            _("This engine has another version than this program needs ({what})."),
            _("Choose the file of the version that the page names."),
        ),
        "other-system": (_("This engine was made for another system ({what})."), for_here),
        "other-processor": (
            _("This engine was made for another kind of processor ({what} instead of {needed})."),
            for_here,
        ),
        "system-too-old": (
            _("This engine needs a newer system ({what})."),
            _("Update the system, or choose an engine that was made for older ones."),
        ),
    }.get(kind)


def _of_the_trial(kind: str, what: str) -> tuple[str, str]:
    """How a trial, or a later start, failed."""
    other = _("Choose another engine, for example the program's own one.")
    texts = {
        "missing-library": (
            _("A library that the engine needs is missing: {what}."),
            _library_step(what),
        ),
        "missing-driver": (
            _("A library that comes with the driver of the graphics card is missing: {what}."),
            _(
                "Install or update the driver and start the machine again, or use the engine for the"
                " processor."
            ),
        ),
        "illegal-instruction": (
            _("The engine uses instructions that this processor does not have ({what}).")
            if what
            else _("The engine uses instructions that this processor does not have."),
            other,
        ),
        "does-not-compute": (_("The engine starts, but fails when it computes something."), other),
        "no-device": (_("The engine was built for graphics cards ({what}), but cannot use any."), other),
    }
    return texts.get(kind, (_("The engine does not start on this machine."), other))


def _library_step(what: str) -> str:
    low = what.lower()
    if "cudart" in low or "cublas" in low:
        return _(
            "It belongs to NVIDIA's CUDA toolkit of the same version: install that, or use the engine for"
            " Vulkan or for the processor."
        )
    if "gomp" in low:
        return _("Install it with the system's packages (Debian, Ubuntu: libgomp1), then try again.")
    return _("Perhaps a virus scanner removed it: install the engine again, or use the program's own one.")
