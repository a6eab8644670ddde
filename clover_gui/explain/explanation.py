"""The form of an explanation, errors that belong to no stage, and what the other modules here share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path

from clover_gui import errors
from clover_gui.i18n import _, capped
from clover_gui.paths import PORTABLE_NAME, portable_folder

DETAIL_LINE_LIMIT = 400
DETAIL_LINES = 12


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened (``title``, ``sentence``), what to do now (``next_step``), and the technical words."""

    title: str
    sentence: str
    next_step: str
    detail: str = ""

    @property
    def text(self) -> str:
        """Sentence and next step, for where there is one line."""
        return f"{self.sentence} {self.next_step}".strip()


@singledispatch
def explain(error: BaseException) -> Explanation:
    """The text for an error. Errors that are not ours are bugs of the program and say so."""
    return Explanation(
        _("Something went wrong in the program"),
        _("An error that should not happen: {name}.").format(name=type(error).__name__),
        _("Your chats are kept. Please report it with the details below."),
        cleaned(str(error)),
    )


@explain.register
def _any_of_ours(error: errors.CloverError) -> Explanation:
    return Explanation(
        _("That did not work"),
        _("The program could not do this."),
        _("Try again. If it happens again, report it with the details below."),
        cleaned(str(error)),
    )


@explain.register
def _data_folder(error: errors.DataFolderError) -> Explanation:
    if error.folder == portable_folder():
        step = _(
            "Make the folder writable, or rename it: without a folder {name} beside it, the program uses"
            " your usual folder."
        ).format(name=PORTABLE_NAME)
    else:
        step = _("Make the folder writable, or choose another one (at the start: --data-dir FOLDER).")
    return Explanation(
        _("The data folder cannot be used"),
        _("Chats and settings cannot be kept in {folder}: {reason}.").format(
            folder=capped(str(error.folder), 120), reason=capped(error.reason)
        ),
        step,
        cleaned(error.reason),
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
        cleaned(str(error)),
    )


def file_name(path: Path) -> str:
    """The name of a file for a sentence."""
    return capped(path.name or str(path))


def cleaned(text: str) -> str:
    """Technical words for ``detail``: some lines, each capped."""
    return "\n".join(capped(line, DETAIL_LINE_LIMIT) for line in text.splitlines()[:DETAIL_LINES])
