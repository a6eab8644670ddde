"""Settings as wishes for a plan: each one that was set is wished, each other one is left to the planner."""

from __future__ import annotations

from clover_gui.pipeline.wishes import wishes_of
from clover_gui.planning.plan import PROCESSOR_ONLY, KvType, Wishes
from clover_gui.settings import Settings


def test_settings_as_they_come_leave_everything_open() -> None:
    assert wishes_of(Settings()) == Wishes()


def test_every_setting_of_memory_is_wished() -> None:
    settings = Settings(context=8192, kv_type="q8_0", reserve_mb=256, graphics=PROCESSOR_ONLY)
    assert wishes_of(settings) == Wishes(
        context=8192, kv_type=KvType.Q8_0, reserve_bytes=256 << 20, graphics=PROCESSOR_ONLY
    )


def test_no_reserve_at_all_is_a_wish_too() -> None:
    assert wishes_of(Settings(reserve_mb=0)).reserve_bytes == 0
