"""What is kept of this machine, and that a broken file is no trouble."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.pipeline.measurements import FILE_NAME, Measurements
from clover_gui.pipeline.services import Services
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.plan import FitPlan, KvType
from clover_gui.planning.planner import make_plan
from tests.pipeline.scripted import CARD, GIB, MIB, machine

CLOVER = clover_shape()


def a_plan() -> FitPlan:
    plan = make_plan(machine(CARD), CLOVER, None, CARD)
    assert isinstance(plan, FitPlan)
    return plan


def test_figures_come_back_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    known = Measurements(path)
    known.learn_overhead(CARD.name, CARD.driver, 480 * MIB)
    known.learn_speed(CLOVER, a_plan(), 200, 4.0)
    known.learn_ram_bandwidth(30 * 10**9)
    known.learn_ram_bandwidth(10 * 10**9)
    known.save()
    again = Measurements(path)
    assert again.overhead(CARD) == 480 * MIB
    assert again.speed(CLOVER, a_plan()) == 50
    assert again.ram_bandwidth == 30 * 10**9
    assert [file.name for file in tmp_path.iterdir()] == [FILE_NAME]


def test_figures_belong_to_their_card_driver_model_and_plan() -> None:
    known = Measurements()
    known.learn_overhead(CARD.name, CARD.driver, 480 * MIB)
    known.learn_speed(CLOVER, a_plan(), 200, 4.0)
    assert known.overhead(replace(CARD, driver="590")) is None
    assert known.speed(CLOVER, replace(a_plan(), cpu_expert_layers=0)) is None
    assert known.speed(CLOVER, replace(a_plan(), kv_type=KvType.Q4_0)) is None
    assert known.speed(replace(CLOVER, size_bytes=1), a_plan()) is None


def test_a_new_speed_moves_the_old_one() -> None:
    known, plan = Measurements(), a_plan()
    for tokens in (100, 50):
        known.learn_speed(CLOVER, plan, tokens, 1.0)
    assert known.speed(CLOVER, plan) == pytest.approx(80)
    known.learn_speed(CLOVER, plan, 5, 1.0)
    known.learn_speed(CLOVER, plan, 100, 0.0)
    assert known.speed(CLOVER, plan) == pytest.approx(80), "short answers and broken clocks tell nothing"


def test_impossible_figures_are_left_out() -> None:
    known = Measurements()
    known.learn_overhead(CARD.name, CARD.driver, 40 * GIB)
    known.learn_overhead(CARD.name, CARD.driver, -1)
    assert known.overhead(CARD) is None


@pytest.mark.parametrize(
    "text",
    [
        "{broken",
        "[]",
        '{"overheads": 3, "speeds": {"x": "fast"}, "ram_bandwidth": -5}',
        '{"overheads": {"NVIDIA X | 580": 1e300}}',
    ],
)
def test_a_broken_file_counts_as_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(text)
    known = Measurements(path)
    assert known.overhead(CARD) is None
    known.learn_ram_bandwidth(10**9)
    known.save()
    assert json.loads(path.read_text())["ram_bandwidth"] == 10**9


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    known, plan = Measurements(tmp_path / FILE_NAME), a_plan()
    for layers in range(1000):
        known.learn_speed(CLOVER, replace(plan, gpu_layers=layers), 100, 1.0)
    known.save()
    assert len(json.loads((tmp_path / FILE_NAME).read_text())["speeds"]) == 200
    assert known.speed(CLOVER, replace(plan, gpu_layers=999)) is not None


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = Measurements(tmp_path / "none" / FILE_NAME)
    known.learn_ram_bandwidth(1)
    known.save()
    assert "not kept" in caplog.text


def test_nothing_new_is_not_written(tmp_path: Path) -> None:
    Measurements(tmp_path / FILE_NAME).save()
    assert list(tmp_path.iterdir()) == []
    assert Services.for_folder(tmp_path / "absent").dry_runner is not None
