"""Removing everything of the program, at its very end: until then its files are in use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clover_gui.i18n import _, capped
from clover_gui.logs import start_logging
from clover_gui.storage.places import Place
from clover_gui.storage.removing import remove_places
from clover_gui.ui.errors import show_and_wait

_NAMED = 10


def remove_at_end(places: Sequence[Place], root: Path) -> None:
    """Nothing of this program is open any more, but its log. What could not be removed is said."""
    start_logging(None, "window", quiet=True)
    failed = remove_places(places, root)
    if failed:
        lines = [_("These files could not be removed:")]
        lines += [f"{capped(str(item.path), 200)}: {capped(item.reason)}" for item in failed[:_NAMED]]
        show_and_wait(_("Remove everything"), "\n".join(lines))
