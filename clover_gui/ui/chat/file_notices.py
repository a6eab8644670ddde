"""What the notice bar says of files that cannot go with a message: one notice for all given at once.

Must not know: how files are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from clover_gui.errors import AttachmentRefused
from clover_gui.explain import explain
from clover_gui.i18n import _, capped, ngettext, number
from clover_gui.ui.widgets.notice_bar import NoticeBar, NoticeKind

MOST = 6
"""Files that are named; the rest are counted."""
NAME_LIMIT = 60


class FileNotices:
    """Each call is one notice; it goes with the chat it is about."""

    def __init__(self, notice: NoticeBar) -> None:
        self._notice = notice

    def refused(self, errors: Sequence[AttachmentRefused]) -> None:
        """Why each of these files cannot be attached."""
        lines = [explain(error).text for error in errors[:MOST]]
        self._say(lines, len(errors), NoticeKind.ERROR)

    def repeated(self, names: Sequence[str]) -> None:
        """These files are attached already."""
        said = _("{name} is attached already.")
        lines = [said.format(name=capped(name, NAME_LIMIT)) for name in names[:MOST]]
        self._say(lines, len(names), NoticeKind.INFO)

    def _say(self, lines: list[str], count: int, kind: NoticeKind) -> None:
        if more := count - len(lines):
            lines.append(
                ngettext("{count} more file as well.", "{count} more files as well.", more).format(
                    count=number(more)
                )
            )
        self._notice.show_notice("\n".join(lines), kind, of_chat=True)
