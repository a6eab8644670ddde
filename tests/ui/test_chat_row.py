"""The rows of the list of chats: what was found is in sight, however narrow the list."""

from __future__ import annotations

import pytest

from clover_gui.chat.search import FOUND_END, FOUND_START
from clover_gui.ui.chat.chat_row import near_found

FOUND = f"{FOUND_START}light{FOUND_END}"


@pytest.mark.parametrize(
    ("snippet", "shown"),
    [
        (f"the {FOUND} of Sirius", f"the {FOUND} of Sirius"),
        (f"Arcturus, Spica and Regulus stand high; the {FOUND} of Sirius", f"…high; the {FOUND} of Sirius"),
        (f"{'x' * 60}{FOUND}", f"…{'x' * 14}{FOUND}"),
        ("nothing is marked in it", "nothing is marked in it"),
    ],
)
def test_the_snippet_begins_near_what_was_found(snippet: str, shown: str) -> None:
    assert near_found(snippet, characters=21) == shown
