"""A short run of the soak through the window: chats in turn with stops, kills, switches and edits."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QApplication

from tests.benchmarks.window_soak import soak


def test_nothing_is_lost_and_the_window_is_always_ready(
    qapp: QApplication, tiny_gguf: Path, tmp_path: Path
) -> None:
    report = soak(qapp, tiny_gguf, tmp_path / "data", messages=30, chats=4, seed=3, tell=lambda _line: None)
    steps = report.steps
    assert {"send", "whole", "kill", "again", "edit", "stop"} <= set(steps), steps
    assert steps["kill"] + 1 >= len(report.children) >= 2
    assert report.checked_messages > 60
