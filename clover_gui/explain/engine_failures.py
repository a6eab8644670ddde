"""What can happen to the engine child. Its own word and its last lines are always in ``detail``."""

from __future__ import annotations

import signal

from clover_gui import errors
from clover_gui.engine.protocol import (
    FAIL_ARCHITECTURE,
    FAIL_CANCELLED,
    FAIL_CORRUPT,
    FAIL_DEVICE,
    FAIL_MEMORY,
    FAIL_MISSING,
    FAIL_TRUNCATED,
)
from clover_gui.engine.start_fault import FaultKind, fault_of
from clover_gui.explain.explanation import DETAIL_LINE_LIMIT, DETAIL_LINES, Explanation, explain, file_name
from clover_gui.explain.flavour_failures import refusal_words
from clover_gui.i18n import _, capped, number
from clover_gui.paths import checkout_root

_NO_INSTRUCTION = FaultKind.ILLEGAL_INSTRUCTION


@explain.register
def _engine(error: errors.EngineError) -> Explanation:
    return Explanation(
        _("The engine reported an error"),
        _("The engine could not do this: {reason}.").format(reason=_reason(error)),
        _("Try again. If it happens again, load the model again."),
        _engine_detail(error),
    )


@explain.register
def _engine_missing(error: errors.EngineMissing) -> Explanation:
    return Explanation(
        _("The engine is not installed"),
        _start_words(error)
        or _("The part that computes the answers (llama-cpp-python) is missing or cannot be loaded."),
        _install_step(),
        _engine_detail(error),
    )


@explain.register
def _engine_start(error: errors.EngineStartFailed) -> Explanation:
    return Explanation(
        _("The engine did not start"),
        _start_words(error)
        or _("The engine ended or fell silent before it was ready: {reason}.").format(reason=_reason(error)),
        _("Try again. If it happens again:") + " " + _install_step(),
        _engine_detail(error),
    )


@explain.register
def _engine_died(error: errors.EngineDied) -> Explanation:
    if _ran_out_of_memory(error):
        sentence = _("The engine ran out of memory and was ended by the system.")
        next_step = _("Close other programs or choose a smaller context, then send the message again.")
    elif _lost_device(error):
        sentence = _("The graphics card was lost: its driver was reset or crashed, or it was unplugged.")
        next_step = _(
            "What was written is kept. Send the message again; if it happens again, put fewer layers on the"
            " graphics card or restart the computer."
        )
    elif error.exit_code == -4:
        sentence = _("The engine uses instructions that this processor does not have.")
        next_step = _install_step()
    elif error.exit_code == -7:
        sentence = _("The model file was changed or shortened while the engine read from it.")
        next_step = _("What was written is kept. Check the file or download it again, then load it.")
    elif error.exit_code == -9:
        sentence = _("The engine was ended from outside, perhaps by the system because memory ran out.")
        next_step = _(
            "What was written is kept. Send the message again; if it happens again, close other programs"
            " or choose a smaller context."
        )
    else:
        sentence = _("The engine ended in the middle of its work ({how}).").format(how=_how_it_ended(error))
        next_step = _("What was written is kept. Send the message again: the engine starts again.")
    return Explanation(_("The engine has stopped"), sentence, next_step, _engine_detail(error))


@explain.register
def _unresponsive(error: errors.EngineUnresponsive) -> Explanation:
    return Explanation(
        _("The engine did not answer any more"),
        _("The engine did not react in time and was ended."),
        _("What was written is kept. Send the message again: the engine starts again."),
        _engine_detail(error),
    )


@explain.register
def _load_failed(error: errors.ModelLoadFailed) -> Explanation:
    file = file_name(error.path)
    texts = {
        FAIL_MISSING: (
            _("{file} is not there any more.").format(file=file),
            _("Choose the file again."),
        ),
        FAIL_ARCHITECTURE: (
            _("The engine does not know the kind of model in {file}.").format(file=file),
            _("Install a newer engine (python3 installers/engine.py), or choose another file."),
        ),
        FAIL_TRUNCATED: (
            _("{file} is incomplete: it was not copied whole.").format(file=file),
            _("Copy or download it again."),
        ),
        FAIL_CORRUPT: (
            _("{file} is damaged.").format(file=file),
            _("Download it again, from another place if it happens twice."),
        ),
        FAIL_MEMORY: (
            _("There is not enough memory for {file}.").format(file=file),
            _("Close other programs, choose a smaller context, or choose a smaller model."),
        ),
        FAIL_DEVICE: (
            _("A graphics card of the plan is not there any more ({reason}).").format(reason=_reason(error)),
            _("Check the machine again, so that it is planned anew; a restart often brings a device back."),
        ),
        FAIL_CANCELLED: (
            _("Loading {file} was stopped.").format(file=file),
            _("Choose a model when you are ready."),
        ),
    }
    sentence, next_step = texts.get(
        error.kind,
        (
            _("The engine could not load {file}: {reason}.").format(file=file, reason=_reason(error)),
            _("Choose another file, or download this one again."),
        ),
    )
    return Explanation(_("The model could not be loaded"), sentence, next_step, _engine_detail(error))


@explain.register
def _not_loaded(error: errors.ModelNotLoaded) -> Explanation:
    return Explanation(
        _("No model is loaded"),
        _("There is no model that could answer."),
        _("Choose a model first."),
        _engine_detail(error),
    )


@explain.register
def _context_full(error: errors.ContextFull) -> Explanation:
    return Explanation(
        _("The chat is too long"),
        _("The chat has {used} tokens, and the model was loaded with room for {room}.").format(
            used=number(error.prompt_tokens), room=number(error.context_tokens)
        ),
        _("Begin a new chat, shorten the message, or load the model with a larger context if it has one."),
        _engine_detail(error),
    )


@explain.register
def _template(error: errors.TemplateFailed) -> Explanation:
    return Explanation(
        _("The chat template of the model failed"),
        _("The template in the model file could not bring this chat into its form: {reason}.").format(
            reason=_reason(error)
        ),
        _("Begin a new chat. If that fails as well, get the model file from another place."),
        _engine_detail(error),
    )


@explain.register
def _generation(error: errors.GenerationFailed) -> Explanation:
    sentence = _("The engine reported an error while it computed: {reason}.").format(reason=_reason(error))
    next_step = _("What was written is kept. Send the message again, or load the model again.")
    if _ran_out_of_memory(error):
        sentence = _("The engine ran out of memory in the middle of its work.")
        next_step = _(
            "What was written is kept. Load the model anew with a smaller context or fewer layers on the"
            " graphics card."
        )
    elif _lost_device(error):
        sentence = _("The graphics card was lost: its driver was reset or crashed, or it was unplugged.")
        next_step = _("What was written is kept. Load the model anew; if it fails, restart the computer.")
    return Explanation(_("The answer could not be continued"), sentence, next_step, _engine_detail(error))


def _start_words(error: errors.EngineError) -> str:
    """What the loader's words mean, where they name a library or a version; else ""."""
    fault = fault_of(error)
    if fault.kind in (FaultKind.OTHER, FaultKind.DAMAGED) or not (
        fault.what or fault.kind is _NO_INSTRUCTION
    ):
        return ""
    return refusal_words(fault.kind.value, fault.what)[0]


def _install_step() -> str:
    """How an engine comes here: a checkout builds it, an installed program brings it or downloads one."""
    if checkout_root() is not None:
        return _("Install it: python3 installers/engine.py")
    return _(
        "Install an engine: in the settings on the page Engine, or in a terminal with"
        " clover-gui engine --install cpu"
    )


def _reason(error: errors.EngineError) -> str:
    return capped(error.reason, 160).rstrip(".") or _("no reason given")


def _ran_out_of_memory(error: errors.EngineError) -> bool:
    signs = ("out of memory", "outofdevicememory", "insufficient memory", "bad_alloc", "oom")
    return _tells_of(error, signs)


def _lost_device(error: errors.EngineError) -> bool:
    signs = ("device lost", "devicelost", "device_lost", "gpu has fallen off the bus", "unspecified launch")
    return _tells_of(error, signs)


def _tells_of(error: errors.EngineError, signs: tuple[str, ...]) -> bool:
    words = " ".join((error.reason, *error.log_lines)).lower()
    return any(sign in words for sign in signs)


def _how_it_ended(error: errors.EngineDied) -> str:
    code = error.exit_code
    if code is None:
        return _("no exit code")
    if code < 0:
        try:
            return _("signal {name}").format(name=signal.Signals(-code).name)
        except ValueError:
            return _("signal {name}").format(name=-code)
    return _("exit code {code}").format(code=code)


def _engine_detail(error: errors.EngineError) -> str:
    """The engine's own word and its last lines, never empty."""
    own = [str(error)] if str(error) else []
    if isinstance(error, errors.EngineDied):
        own.append(_how_it_ended(error))
    lines = [*own, *error.log_lines[-DETAIL_LINES:]]
    return "\n".join(capped(line, DETAIL_LINE_LIMIT) for line in lines) or type(error).__name__
