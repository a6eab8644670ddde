"""Garbage is collected in the window's thread only, and what the program keeps is looked at once."""

from __future__ import annotations

import gc

import pytest
from PySide6.QtWidgets import QApplication

from clover_gui.ui.garbage import UiThreadCollector


def test_the_first_full_collection_sets_aside_what_stays(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = gc.get_freeze_count()
    collector = UiThreadCollector()
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, 0))
    collector.collect_if_due()
    assert gc.get_freeze_count() == frozen
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, 1_000))
    collector.collect_if_due()
    kept = gc.get_freeze_count()
    assert kept > 10_000
    collector.collect_if_due()
    assert gc.get_freeze_count() <= kept
    collector.end()
    assert gc.get_freeze_count() == 0
