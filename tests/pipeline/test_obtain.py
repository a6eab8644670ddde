"""Whether a model would run is said before it is fetched."""

from __future__ import annotations

import pytest

from clover_gui.pipeline.obtain import Runnable, runnable

OLD_ENGINE = {"qwen35moe": True, "clover_moe": False}
NEW_ENGINE = {"qwen35moe": True, "clover_moe": True}
ANCIENT_ENGINE = {"qwen35moe": False, "clover_moe": False}


@pytest.mark.parametrize(
    ("architecture", "known", "verdict"),
    [
        ("clover_moe", OLD_ENGINE, Runnable.AFTER_REPAIR),
        ("clover_moe", NEW_ENGINE, Runnable.AS_IT_IS),
        ("clover_moe", ANCIENT_ENGINE, Runnable.NOT),
        ("qwen35moe", OLD_ENGINE, Runnable.AS_IT_IS),
        ("qwen35moe", ANCIENT_ENGINE, Runnable.NOT),
        ("llama", OLD_ENGINE, Runnable.AS_IT_IS),
        ("", OLD_ENGINE, Runnable.UNKNOWN),
    ],
)
def test_verdicts(architecture: str, known: dict[str, bool], verdict: Runnable) -> None:
    assert runnable(architecture, known) is verdict
