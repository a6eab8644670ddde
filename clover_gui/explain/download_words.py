"""What a running download says about itself, in one line."""

from __future__ import annotations

from clover_gui.download.progress import Note, Phase, Status
from clover_gui.explain.explanation import explain
from clover_gui.i18n import _, duration, file_size, number


def status_text(status: Status) -> str:
    """The line below the bar: what is going on, how far, how fast, how long still."""
    amount = _("{done} of {total}").format(
        done=file_size(status.done_bytes), total=file_size(status.total_bytes)
    )
    match status.phase:
        case Phase.WAITING:
            return _("Asking the server")
        case Phase.READING_BACK:
            return _("Checking what is here: {amount}").format(amount=amount)
        case Phase.DOWNLOADING:
            return _with_speed(amount, status)
        case Phase.VERIFYING:
            return _("Checking the file: {amount}").format(amount=amount)
        case Phase.MENDING:
            return _("Wrong bytes: fetching parts again to compare, {amount}").format(
                amount=file_size(status.done_bytes)
            )
        case Phase.PAUSED:
            return _("Paused at {amount}").format(amount=amount)
        case Phase.NO_SPACE:
            return _("The disk is full: {missing} must become free; then it goes on by itself").format(
                missing=file_size(status.missing_bytes)
            )
        case Phase.RETRYING:
            reason = explain(status.error).sentence if status.error else ""
            again = _("Next try in {time}.").format(time=duration(status.wait_s))
            return f"{reason} {again}".strip()
        case Phase.DONE:
            return _("Complete and checked: {total}").format(total=file_size(status.total_bytes))
        case Phase.STOPPED:
            return _("Stopped at {amount}").format(amount=amount)
        case Phase.FAILED:
            return explain(status.error).sentence if status.error else _("The download failed")


def download_note_text(note: Note) -> str:
    """The sentence for something out of the ordinary; "" for nothing."""
    texts = {
        Note.RESUMED: _("Going on from where it stopped."),
        Note.ALREADY_THERE: _("The file is here already."),
        Note.RANGE_IGNORED: _("The server cannot go on in the middle: it sends the beginning once more."),
        Note.STARTED_AGAIN: _("The server did not have the rest of the file: started again."),
        Note.CHANGED_ON_HUB: _("The file on the server has changed: started again with the new one."),
        Note.PART_DAMAGED: _("Some of what was here was damaged: it is fetched again."),
        Note.WRONG_BYTES: _("Some bytes arrived wrong: they are looked for and fetched again."),
    }
    return texts.get(note, "")


def _with_speed(amount: str, status: Status) -> str:
    parts = [amount]
    if status.total_bytes:
        parts.insert(0, _("{percent} %").format(percent=number(int(status.fraction * 100))))
    if status.bytes_per_second > 0:
        parts.append(_("{speed} per second").format(speed=file_size(status.bytes_per_second)))
    if status.seconds_left is not None and status.done_bytes < status.total_bytes:
        parts.append(_("{time} left").format(time=duration(status.seconds_left)))
    return ", ".join(parts)
