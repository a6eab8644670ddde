"""A window comes back where it can be seen and moved, whatever became of the screens."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect

from clover_gui.ui.window_place import within_screens

ONE = [QRect(0, 0, 1920, 1040)]
SMALL = [QRect(0, 0, 960, 520)]  # the same at 200 %
TWO = [QRect(0, 0, 1920, 1040), QRect(1920, 200, 1280, 760)]
LEFT = [QRect(-1280, 0, 1280, 1024), QRect(0, 0, 1920, 1040)]


@pytest.mark.parametrize(
    ("place", "screens", "expected"),
    [
        ((100, 100, 900, 700), ONE, (100, 100, 900, 700)),  # as it was
        ((1800, 900, 900, 700), ONE, (1020, 340, 900, 700)),  # only a corner was seen
        ((-800, -600, 900, 700), ONE, (0, 20, 900, 700)),  # its title was above the screen
        ((900, 400, 900, 700), SMALL, (60, 20, 900, 500)),  # another scaling: moved and shrunk
        ((0, 20, 4000, 4000), ONE, (0, 20, 1920, 1020)),
        ((1800, 300, 900, 700), TWO, (1920, 260, 900, 700)),  # onto the one that shows more of it
        ((-1000, 100, 900, 700), LEFT, (-1000, 100, 900, 700)),  # left of the first screen is a place
        ((-1000, 100, 900, 700), ONE, None),  # that screen is gone
        ((0, 0, 10, 10), [], None),
    ],
)
def test_a_saved_place_on_the_screens_there_are(
    place: tuple[int, int, int, int], screens: list[QRect], expected: tuple[int, int, int, int] | None
) -> None:
    found = within_screens(QRect(*place), screens, 20)
    assert (None if found is None else found.getRect()) == expected
    if found is not None:
        assert any(screen.contains(found) for screen in screens)
