"""Every error as one clear sentence with a next step; the technical words stay in ``detail``."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path

from clover_gui import errors
from clover_gui.engine.protocol import (
    FAIL_ARCHITECTURE,
    FAIL_CANCELLED,
    FAIL_CORRUPT,
    FAIL_MEMORY,
    FAIL_MISSING,
    FAIL_TRUNCATED,
)
from clover_gui.explain.hints import suggestion_text
from clover_gui.i18n import _, capped, number, size

DETAIL_LINE_LIMIT = 400
DETAIL_LINES = 12


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened (``title``, ``sentence``), what to do now (``next_step``), and the technical words."""

    title: str
    sentence: str
    next_step: str
    detail: str = ""


@singledispatch
def explain(error: BaseException) -> Explanation:
    """The text for an error. Errors that are not ours are bugs of the program and say so."""
    return Explanation(
        _("Something went wrong in the program"),
        _("An error that should not happen: {name}.").format(name=type(error).__name__),
        _("Your chats are kept. Please report it with the details below."),
        _cleaned(str(error)),
    )


@explain.register
def _any_of_ours(error: errors.CloverError) -> Explanation:
    return Explanation(
        _("That did not work"),
        _("The program could not do this."),
        _("Try again. If it happens again, report it with the details below."),
        _cleaned(str(error)),
    )


@explain.register
def _data_folder(error: errors.DataFolderError) -> Explanation:
    return Explanation(
        _("The data folder cannot be used"),
        _("Chats and settings cannot be kept in {folder}: {reason}.").format(
            folder=capped(str(error.folder), 120), reason=capped(error.reason)
        ),
        _("Make the folder writable, or choose another one with --data-dir FOLDER."),
        _cleaned(error.reason),
    )


@explain.register
def _chat_store(error: errors.ChatStoreError) -> Explanation:
    return Explanation(
        _("The chat could not be saved"),
        _("The file with your chats cannot be read or written: {reason}.").format(
            reason=capped(error.reason)
        ),
        _("Check that there is free disk space and that {folder} is writable, then try again.").format(
            folder=capped(str(error.path.parent), 120)
        ),
        _cleaned(str(error)),
    )


# ---------------------------------------------------------------------- model files


@explain.register
def _model_file(error: errors.ModelFileError) -> Explanation:
    return Explanation(
        _("The model file cannot be used"),
        _("There is something wrong with {file}.").format(file=_name(error.path)),
        _("Choose another file."),
        _cleaned(error.detail),
    )


@explain.register
def _missing(error: errors.ModelFileMissing) -> Explanation:
    if error.detail == "not-installed":  # a name of the catalogue, see catalog.index.resolve_model
        return Explanation(
            _("The model is not on this machine"),
            _("No file of this model was found here ({file}).").format(file=_name(error.path)),
            _("Get its GGUF file and choose it, or begin with another model."),
            _cleaned(str(error.path)),
        )
    return Explanation(
        _("The model file is not there"),
        _("There is no file {path}.").format(path=capped(str(error.path), 160)),
        _("Check the name, or choose the file again: it may have been moved, renamed or deleted."),
        _cleaned(error.detail),
    )


@explain.register
def _unreadable(error: errors.ModelFileUnreadable) -> Explanation:
    return Explanation(
        _("The model file cannot be read"),
        _("{file} is there but cannot be read: {reason}.").format(
            file=_name(error.path), reason=capped(error.detail) or _("no reason given")
        ),
        _("Check that it is a file, not a folder, and that you may read it."),
        _cleaned(error.detail),
    )


@explain.register
def _not_a_model(error: errors.NotAModelFile) -> Explanation:
    name = _name(error.path)
    sentences = {
        "empty": _("{file} is empty: nothing of the model has arrived."),
        "html": _("{file} is a web page, not a model: a site answered with a page in place of the file."),
        "ggml": _("{file} is in a format from before 2023 that is no longer supported."),
    }
    next_steps = {
        "empty": _("Download or copy it again."),
        "html": _("Download it again; on the page of the model use the download button of the file itself."),
        "ggml": _("Get the model as a GGUF file."),
    }
    looks_like = error.looks_like.lower()
    return Explanation(
        _("This is not a model file"),
        sentences.get(looks_like, _("{file} is not a GGUF file.")).format(file=name),
        next_steps.get(looks_like, _("Choose a file whose name ends in .gguf.")),
        _cleaned(error.detail),
    )


@explain.register
def _truncated(error: errors.ModelFileTruncated) -> Explanation:
    if error.expected_bytes is None:
        sentence = _("The file ends after {present}, in the middle of its header: it was not copied whole.")
        text = sentence.format(present=size(error.present_bytes))
    else:
        present, expected = _pair(error.present_bytes, error.expected_bytes)
        sentence = _("The file is {present} of {expected}: it was not copied whole.")
        text = sentence.format(present=present, expected=expected)
    return Explanation(
        _("The model file is incomplete"),
        text,
        _("Copy or download it again."),
        _cleaned(f"{error.path.name}: {error.detail}"),
    )


@explain.register
def _unsupported(error: errors.ModelFileUnsupported) -> Explanation:
    sentences = {
        "split": _("{file} is one of several parts of a model; models in parts are not supported."),
        "big-endian": _("{file} was written for another kind of computer (big-endian)."),
        "version": _("{file} has a version of the GGUF format that this program does not know."),
        "tensor-type": _("{file} uses a newer kind of quantization that this program does not know."),
        "no-weights": _("{file} holds no weights, only the vocabulary of a model."),
    }
    next_steps = {
        "split": _("Choose a file that holds the whole model."),
        "version": _("Update this program, or choose another file of this model."),
        "tensor-type": _("Update this program, or choose another quantization of this model."),
    }
    return Explanation(
        _("This form of model file is not supported"),
        sentences.get(error.kind, _("{file} has a form that this program does not read.")).format(
            file=_name(error.path)
        ),
        next_steps.get(error.kind, _("Choose another file of this model.")),
        _cleaned(error.detail),
    )


@explain.register
def _corrupt(error: errors.ModelFileCorrupt) -> Explanation:
    return Explanation(
        _("The model file is damaged"),
        _("The header of {file} contradicts itself, so its content cannot be trusted.").format(
            file=_name(error.path)
        ),
        _("Download it again, from another place if it happens twice."),
        _cleaned(error.detail),
    )


# ---------------------------------------------------------------------- fitting


@explain.register
def _does_not_fit(error: errors.DoesNotFitError) -> Explanation:
    sentence = (
        _("It needs {needed} on the GPU, and {available} are available there.")
        if error.where == "gpu"
        else _("It needs {needed} of memory, and {available} are available.")
    )
    steps = [suggestion_text(word) for word in error.suggestions]
    return Explanation(
        _("The model is too large for this machine"),
        sentence.format(needed=size(error.needed_bytes), available=size(error.available_bytes)),
        " ".join(step for step in steps if step)
        or _("Close other programs, choose a smaller context, or choose a smaller model."),
        _cleaned(str(error)),
    )


# ---------------------------------------------------------------------- the engine


@explain.register
def _engine(error: errors.EngineError) -> Explanation:
    return Explanation(
        _("The engine reported an error"),
        _("The engine could not do this: {reason}.").format(reason=_reason(error)),
        _("Try again. If it happens again, load the model anew."),
        _engine_detail(error),
    )


@explain.register
def _engine_missing(error: errors.EngineMissing) -> Explanation:
    return Explanation(
        _("The engine is not installed"),
        _("The part that computes the answers (llama-cpp-python) is missing or cannot be loaded."),
        _("Install it: python3 installers/engine.py"),
        _engine_detail(error),
    )


@explain.register
def _engine_start(error: errors.EngineStartFailed) -> Explanation:
    return Explanation(
        _("The engine did not start"),
        _("The engine ended or fell silent before it was ready: {reason}.").format(reason=_reason(error)),
        _("Try again. If it happens again, install the engine anew: python3 installers/engine.py"),
        _engine_detail(error),
    )


@explain.register
def _engine_died(error: errors.EngineDied) -> Explanation:
    if _ran_out_of_memory(error):
        sentence = _("The engine ran out of memory and was ended by the system.")
        next_step = _("Close other programs or choose a smaller context, then send the message again.")
    elif error.exit_code == -4:
        sentence = _("The engine uses instructions that this processor does not have.")
        next_step = _("Build the engine on this machine: python3 installers/engine.py")
    elif error.exit_code == -7:
        sentence = _("The model file was changed or shortened while the engine read from it.")
        next_step = _("What was written is kept. Check the file, or download it again, and load it anew.")
    elif error.exit_code == -9:
        sentence = _("The engine was ended from outside, perhaps by the system because memory ran out.")
        next_step = _(
            "What was written is kept. Send the message again; if it happens again, close other programs"
            " or choose a smaller context."
        )
    else:
        sentence = _("The engine ended in the middle of its work ({how}).").format(how=_how_it_ended(error))
        next_step = _("What was written is kept. Send the message again: the engine is started anew.")
    return Explanation(_("The engine has stopped"), sentence, next_step, _engine_detail(error))


@explain.register
def _unresponsive(error: errors.EngineUnresponsive) -> Explanation:
    return Explanation(
        _("The engine did not answer any more"),
        _("The engine did not react in time and was ended."),
        _("What was written is kept. Send the message again: the engine is started anew."),
        _engine_detail(error),
    )


@explain.register
def _load_failed(error: errors.ModelLoadFailed) -> Explanation:
    file = _name(error.path)
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
        _("Begin a new chat, shorten the message, or load the model with a larger context."),
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
    return Explanation(
        _("The answer could not be continued"),
        _("The engine reported an error while it computed: {reason}.").format(reason=_reason(error)),
        _("What was written is kept. Send the message again, or load the model anew."),
        _engine_detail(error),
    )


# ---------------------------------------------------------------------- the chat store's condition


def store_text(condition: str, reason: str, set_aside: Path | None = None) -> str:
    """What to say about a chat database that was not simply opened; "" when all is well."""
    reason = capped(reason)
    if condition == "set-aside" and set_aside is not None:
        return _("The file with your chats was damaged. It is kept as {name}; a new one was begun.").format(
            name=capped(set_aside.name)
        )
    if condition == "read-only":
        return _("The data folder cannot be written ({reason}): new chats are not kept.").format(
            reason=reason
        )
    if condition == "too-new":
        return _("Your chats were written by a newer version of this program: new chats are not kept.")
    if condition == "unusable":
        return _("The file with your chats cannot be used ({reason}): new chats are not kept.").format(
            reason=reason
        )
    return ""


# ---------------------------------------------------------------------- helpers


def _name(path: Path) -> str:
    return capped(path.name or str(path))


def _reason(error: errors.EngineError) -> str:
    return capped(error.reason, 160).rstrip(".") or _("no reason given")


def _pair(first: int, second: int) -> tuple[str, str]:
    """Two sizes for comparison: in one unit, and exact where rounding would make them look the same."""
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if second >= factor:
            texts = number(first / factor, 1), number(second / factor, 1)
            if texts[0] != texts[1]:
                return texts[0], f"{texts[1]} {unit}"
    return number(first), _("{count} bytes").format(count=number(second))


def _ran_out_of_memory(error: errors.EngineDied) -> bool:
    words = " ".join((error.reason, *error.log_lines)).lower()
    return any(word in words for word in ("out of memory", "insufficient memory", "bad_alloc", "oom"))


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


def _cleaned(text: str) -> str:
    return "\n".join(capped(line, DETAIL_LINE_LIMIT) for line in text.splitlines()[:DETAIL_LINES])
