"""What can be wrong with a file that a chat is written to or read from, or that goes with a message."""

from __future__ import annotations

from clover_gui import errors
from clover_gui.explain.explanation import Explanation, cleaned, explain, file_name
from clover_gui.i18n import _, capped, file_size, number


@explain.register
def _chat_file(error: errors.ChatFileError) -> Explanation:
    reason = capped(error.detail) or _("no reason given")
    sentence, next_step = {
        "exists": (
            _("There is already a file {file}."),
            _("Choose another name; nothing was replaced."),
        ),
        "unwritable": (
            _("{file} cannot be written: {reason}."),
            _("Choose another folder, or make room on the disk."),
        ),
        "unreadable": (_("{file} cannot be read: {reason}."), _("Check the file and your rights.")),
        "too-big": (_("{file} is too large for a chat."), _("Choose another file.")),
        "too-new": (
            _("{file} was written by a later version of this program."),
            _("Update this program, then import the file."),
        ),
        "damaged": (
            _("{file} is a chat of this program, but not whole."),
            _("Export the chat again, then import the new file."),
        ),
    }.get(
        error.kind,
        (
            _("{file} is not a chat that this program has exported as JSON."),
            _("Choose a file that was exported as JSON; Markdown and HTML cannot be read back."),
        ),
    )
    return Explanation(
        _("The file of the chat"),
        sentence.format(file=file_name(error.path), reason=reason),
        next_step,
        cleaned(str(error)),
    )


@explain.register
def _attachment(error: errors.AttachmentRefused) -> Explanation:
    name = capped(error.name)
    other = _("Choose another file.")
    sentence, next_step = {
        "missing": (_("{name} is not there any more."), other),
        "unreadable": (
            _("{name} cannot be read: {reason}."),
            _("Check the file and your rights."),
        ),
        "empty": (_("{name} is empty."), other),
        "too-big": (
            _("{name} has {size}; at most {limit} can be attached."),
            _("Attach the part that matters."),
        ),
        "too-long": (
            _("{name} has {size} pages; only {limit} of them could be read in time."),
            _("Attach the part that matters."),
        ),
        "too-many-tokens": (
            _("{name} has {size} tokens; the context has room for {limit} with an answer."),
            _("Attach the part that matters, or load the model with a larger context."),
        ),
        "too-many-for-model": (
            _("{name} has {size} tokens; the context has room for {limit} with an answer."),
            _("Attach the part that matters."),
        ),
        "encrypted": (
            _("{name} is protected by a password."),
            _("Save a copy without the password and attach that."),
        ),
        "no-text": (
            _("{name} has no text: its pages are pictures."),
            _("Let a text recognition program read it first."),
        ),
        "damaged": (_("{name} is a damaged PDF file."), _("Save it again with the program it comes from.")),
    }.get(
        error.kind,
        (
            _("{name} is not a text file: pictures, archives and office files cannot be read here."),
            _("Save it as text, Markdown, CSV or PDF and attach that."),
        ),
    )
    write = file_size if error.kind == "too-big" else number
    sentence = sentence.format(
        name=name,
        reason=capped(error.detail) or _("no reason given"),
        size=write(error.size),
        limit=write(error.limit),
    )
    return Explanation(_("This file cannot be attached"), sentence, next_step, cleaned(error.detail))
