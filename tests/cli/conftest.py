"""The terminal front end sets up logging for its process: put it back after tests that call it directly."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    level, before = root.level, list(root.handlers)
    yield
    for handler in [handler for handler in root.handlers if handler not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
