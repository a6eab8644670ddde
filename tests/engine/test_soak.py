"""A short run of the soak: chats in turn with stops, kills, edits, against a fresh engine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.benchmarks.soak import soak


@pytest.mark.parametrize("fixture", ["tiny_gguf", "tiny_dense_gguf"])
def test_nothing_is_lost_and_every_state_is_right(
    request: pytest.FixtureRequest, fixture: str, tmp_path: Path
) -> None:
    model: Path = request.getfixturevalue(fixture)
    run = soak(model, tmp_path, messages=40, chats=4, seed=7, compare_every=8, budget_bytes=8 << 20)
    report = asyncio.run(run)
    assert report.compared >= 4
    assert {"send", "edit", "again", "whole", "stop", "stop reading", "leave", "kill"} <= set(report.steps)
    assert report.tokens_reused > report.tokens_read
