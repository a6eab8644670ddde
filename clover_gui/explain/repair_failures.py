"""What can keep a model file from being repaired, or a repair from being undone."""

from __future__ import annotations

from clover_gui import errors
from clover_gui.explain.explanation import Explanation, cleaned, explain, file_name
from clover_gui.i18n import _, capped, file_size

USERS_SHOWN = 3


def _explanation(
    error: errors.RepairError, title: str, sentence: str, next_step: str, **facts: str
) -> Explanation:
    text = sentence.format(file=file_name(error.path), **facts)
    return Explanation(title, text, next_step, cleaned(str(error)))


@explain.register
def _repair(error: errors.RepairError) -> Explanation:
    return _explanation(
        error,
        _("The file could not be repaired"),
        _("{file} could not be repaired."),
        _("Choose another file of this model."),
    )


@explain.register
def _impossible(error: errors.RepairImpossible) -> Explanation:
    sentences = {
        "not-understood": _("{file} has a form that cannot be changed safely."),
        "not-family": _("{file} is another kind of model, which the engine does not know."),
        "engine-too-old": _("The engine does not know any name for the kind of model in {file}."),
        "incomplete": _("{file} lacks something that cannot be derived from the rest of it."),
        "no-room": _("{file} can only be repaired as a copy."),
    }
    next_steps = {
        "engine-too-old": _("Install a newer engine: python3 installers/engine.py"),
        "no-room": _("Allow a copy; it needs as much disk space as the file."),
    }
    return _explanation(
        error,
        _("This file cannot be repaired"),
        sentences.get(error.kind, _("{file} cannot be repaired.")),
        next_steps.get(error.kind, _("Choose another file of this model.")),
    )


@explain.register
def _needed(error: errors.RepairNeeded) -> Explanation:
    return _explanation(
        error,
        _("The file needs a repair"),
        _("{file} does not run as it was published; after a repair it does. The repair can be undone."),
        _("Repair it: in the window when you choose the file, or with clover-gui patch FILE"),
    )


@explain.register
def _contradictory(error: errors.RepairContradictory) -> Explanation:
    return _explanation(
        error,
        _("The file contradicts itself"),
        _("Some values in {file} look original, others look converted: a repair could make it worse."),
        _("Download the file again. If that is how it was published, the repair can be forced."),
    )


@explain.register
def _not_in_place(error: errors.RepairNotInPlace) -> Explanation:
    sentences = {
        "link": _("{file} is a link to a file elsewhere, which must not be changed."),
        "hard-link": _("{file} has several names on the disk; all of them would change."),
        "hub-cache": _("{file} lies in the cache of the Hugging Face tools, which other programs use."),
    }
    return _explanation(
        error,
        _("The file must not be changed there"),
        sentences.get(error.owner, _("{file} belongs to {owner}.")),
        _("Let a repaired copy be made."),
        owner=capped(error.owner, 40),
    )


@explain.register
def _file_in_use(error: errors.RepairFileInUse) -> Explanation:
    users = ", ".join(capped(user, 40) for user in error.users[:USERS_SHOWN])
    sentence = _("{file} is in use by {users}.") if users else _("{file} is in use by another program.")
    return _explanation(
        error, _("The file is in use"), sentence, _("Close that program and try again."), users=users
    )


@explain.register
def _no_space(error: errors.RepairNoSpace) -> Explanation:
    return Explanation(
        _("Too little disk space"),
        _("The repaired copy needs {needed}, and {free} are free.").format(
            needed=file_size(error.needed_bytes), free=file_size(error.available_bytes)
        ),
        _("Free some space, or choose another folder for the copy."),
        cleaned(str(error)),
    )


@explain.register
def _write_failed(error: errors.RepairWriteFailed) -> Explanation:
    next_step = (
        _("The file is as it was before. Check the disk and the rights, then try again.")
        if error.restored
        else _("Check the disk and the rights; at the next start the file is put in order.")
    )
    return _explanation(
        error, _("The file could not be written"), _("The system refused to write {file}."), next_step
    )


@explain.register
def _cancelled(error: errors.RepairCancelled) -> Explanation:
    return _explanation(
        error,
        _("The repair was stopped"),
        _("{file} is as it was before."),
        _("Start the repair again when you like."),
    )


@explain.register
def _undo_missing(error: errors.RepairUndoMissing) -> Explanation:
    return _explanation(
        error,
        _("There is nothing to undo"),
        _("No record of a repair lies beside {file}."),
        _("Download the file again if you want its published form."),
    )


@explain.register
def _damaged(error: errors.RepairDamaged) -> Explanation:
    return _explanation(
        error,
        _("The file is damaged"),
        _("{file} and the record of its repair do not fit together."),
        _("Download the file again."),
    )
