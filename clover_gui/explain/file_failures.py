"""What can be wrong with a model file, or with its size on this machine."""

from __future__ import annotations

from clover_gui import errors
from clover_gui.catalog.index import MODEL_SUFFIX, load_catalog
from clover_gui.explain.explanation import Explanation, cleaned, explain, file_name
from clover_gui.explain.hints import suggestion_text
from clover_gui.i18n import _, capped, file_size, number, size


@explain.register
def _model_file(error: errors.ModelFileError) -> Explanation:
    return Explanation(
        _("The model file cannot be used"),
        _("There is something wrong with {file}.").format(file=file_name(error.path)),
        _("Choose another file."),
        cleaned(error.detail),
    )


@explain.register
def _missing(error: errors.ModelFileMissing) -> Explanation:
    if error.detail == "not-installed":  # a name of the catalogue, see catalog.index.resolve_model
        return Explanation(
            _("The model is not on this machine"),
            _("No file of this model was found here ({file}).").format(file=file_name(error.path)),
            # A name without a suffix is the catalogue's: such a model can be downloaded.
            _("Get its GGUF file and choose it, or begin with another model.")
            if error.path.suffix.lower() == MODEL_SUFFIX
            else _("Download it: in the window, or with {command}.").format(
                command=f"clover-gui fetch {file_name(error.path)}"
            ),
            cleaned(str(error.path)),
        )
    if error.detail == "unknown-name":
        return Explanation(
            _("The model is not known"),
            _("There is no file {path}, and no known model of this name.").format(
                path=capped(str(error.path), 160)
            ),
            _("Known are {names}; or name a file.").format(
                names=", ".join(entry.id for entry in load_catalog().entries)
            ),
        )
    return Explanation(
        _("The model file is not there"),
        _("There is no file {path}.").format(path=capped(str(error.path), 160)),
        _("Check the name, or choose the file again: it may have been moved, renamed or deleted."),
        cleaned(error.detail),
    )


@explain.register
def _unreadable(error: errors.ModelFileUnreadable) -> Explanation:
    return Explanation(
        _("The model file cannot be read"),
        _("{file} is there but cannot be read: {reason}.").format(
            file=file_name(error.path), reason=capped(error.detail) or _("no reason given")
        ),
        _("Check that it is a file, not a folder, and that you may read it."),
        cleaned(error.detail),
    )


@explain.register
def _not_a_model(error: errors.NotAModelFile) -> Explanation:
    name = file_name(error.path)
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
        cleaned(error.detail),
    )


@explain.register
def _truncated(error: errors.ModelFileTruncated) -> Explanation:
    if error.expected_bytes is None:
        sentence = _("The file ends after {present}, in the middle of its header: it was not copied whole.")
        text = sentence.format(present=file_size(error.present_bytes))
    else:
        present, expected = _pair(error.present_bytes, error.expected_bytes)
        sentence = _("The file is {present} of {expected}: it was not copied whole.")
        text = sentence.format(present=present, expected=expected)
    return Explanation(
        _("The model file is incomplete"),
        text,
        _("Copy or download it again."),
        cleaned(f"{error.path.name}: {error.detail}"),
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
            file=file_name(error.path)
        ),
        next_steps.get(error.kind, _("Choose another file of this model.")),
        cleaned(error.detail),
    )


@explain.register
def _corrupt(error: errors.ModelFileCorrupt) -> Explanation:
    return Explanation(
        _("The model file is damaged"),
        _("The header of {file} contradicts itself, so its content cannot be trusted.").format(
            file=file_name(error.path)
        ),
        _("Download it again, from another place if it happens twice."),
        cleaned(error.detail),
    )


@explain.register
def _does_not_fit(error: errors.DoesNotFitError) -> Explanation:
    sentence = (
        _("It needs {needed} of graphics memory, and {available} are available.")
        if error.where == "gpu"
        else _("It needs {needed} of RAM, and {available} are available.")
    )
    steps = [suggestion_text(word) for word in error.suggestions]
    return Explanation(
        _("The model is too large for this machine"),
        sentence.format(needed=size(error.needed_bytes), available=size(error.available_bytes)),
        " ".join(step for step in steps if step)
        or _("Close other programs, choose a smaller context, or choose a smaller model."),
        cleaned(str(error)),
    )


def _pair(first: int, second: int) -> tuple[str, str]:
    """Two sizes for comparison: in one unit, and exact where rounding would make them look the same."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if second >= factor:
            texts = number(first / factor, 1), number(second / factor, 1)
            if texts[0] != texts[1]:
                return texts[0], f"{texts[1]} {unit}"
    return number(first), _("{count} bytes").format(count=number(second))
