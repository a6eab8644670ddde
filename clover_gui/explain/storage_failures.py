"""Sentences for models that could not be moved. Each says that nothing was lost, and what to do now."""

from __future__ import annotations

from clover_gui import errors
from clover_gui.explain.explanation import Explanation, cleaned, explain, file_name
from clover_gui.i18n import _, capped, file_size

_FOLDER_LIMIT = 120


def _title() -> str:
    return _("The models were not moved")


@explain.register
def _any(error: errors.StorageError) -> Explanation:
    return Explanation(
        _title(),
        _("The models could not be moved from or to {name}.").format(name=file_name(error.path)),
        _("Try again. The models are where they were."),
        cleaned(str(error)),
    )


@explain.register
def _target(error: errors.MoveTargetUnusable) -> Explanation:
    folder = capped(str(error.path), _FOLDER_LIMIT)
    if error.detail == "same":
        sentence = _("The models are in {folder} already.").format(folder=folder)
        return Explanation(_title(), sentence, _("Choose another folder."), "")
    return Explanation(
        _title(),
        _("{folder} cannot be used: {reason}.").format(folder=folder, reason=capped(error.detail)),
        _("Choose another folder, or give yourself the right to write there."),
        cleaned(str(error)),
    )


@explain.register
def _space(error: errors.MoveNoSpace) -> Explanation:
    return Explanation(
        _title(),
        _("The disk of {folder} has {free} free; the models need {needed}.").format(
            folder=capped(str(error.path), _FOLDER_LIMIT),
            free=file_size(error.free_bytes),
            needed=file_size(error.needed_bytes),
        ),
        _("Make room on that disk, or choose another one. The models are where they were."),
        cleaned(str(error)),
    )


@explain.register
def _name_taken(error: errors.MoveNameTaken) -> Explanation:
    return Explanation(
        _title(),
        _("There is another file called {name} in the chosen folder. It was not touched.").format(
            name=file_name(error.path)
        ),
        _("Rename or remove that file, or choose another folder. The models are where they were."),
        cleaned(str(error)),
    )


@explain.register
def _in_use(error: errors.MoveSourceInUse) -> Explanation:
    return Explanation(
        _title(),
        _("{name} is being downloaded or repaired just now.").format(name=file_name(error.path)),
        _("Wait until that is over, or stop it, and try again. The models are where they were."),
        cleaned(str(error)),
    )


@explain.register
def _failed(error: errors.MoveFailed) -> Explanation:
    return Explanation(
        _title(),
        _("{name} could not be moved: {reason}.").format(
            name=file_name(error.path), reason=capped(error.detail)
        ),
        _("Check that disk, and try again. No model was lost."),
        cleaned(str(error)),
    )


@explain.register
def _cancelled(error: errors.MoveCancelled) -> Explanation:
    return Explanation(
        _title(), _("You stopped it. The models are where they were."), _("You can move them later."), ""
    )
