"""What other settings would do to a loaded model, and the gentlest change that makes them fit."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from clover_gui.explain import cure_text
from clover_gui.hardware.machine import Machine
from clover_gui.pipeline.gpu_choice import gpu_id
from clover_gui.pipeline.preview import Preview, is_other, preview
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.cure import CureKind, possible_cures
from clover_gui.planning.plan import KvType, Wishes
from tests.pipeline.scripted import CARD, GIB, ScriptedEngine, ScriptedMemory, machine, services, with_free


def look(here: Machine, wishes: Wishes, memory: ScriptedMemory | None = None) -> Preview:
    engine = ScriptedEngine(gpus=here.gpus)

    async def ask() -> Preview:
        info = await engine.describe()
        return await preview(engine, here, info, clover_shape(), wishes, services(here, memory))

    found = asyncio.run(ask())
    assert engine.asked_for == []  # nothing was loaded
    return found


def test_what_fits_is_a_plan_with_what_was_wished() -> None:
    found = look(machine(CARD), Wishes(context=65536, kv_type=KvType.Q8_0))
    assert found.plan is not None
    assert (found.plan.context, found.plan.kv_type) == (65536, KvType.Q8_0)
    assert found.cure is None


def test_what_the_loaded_model_holds_counts_as_free() -> None:
    full = ScriptedMemory(1 * GIB, ours=14 * GIB)
    found = look(machine(with_free(CARD, 1 * GIB)), Wishes(), full)
    assert found.plan is not None
    assert found.plan.gpu_available_bytes == 15 * GIB


SMALL_CARD = replace(
    CARD, name="NVIDIA Y", vram_total_bytes=2 * GIB, vram_free_bytes=GIB, bus_id="0000:02:00.0"
)
LARGE_CARD = replace(CARD, vram_total_bytes=24 * GIB, vram_free_bytes=23 * GIB, bus_id="0000:01:00.0")


@pytest.mark.parametrize(
    ("here", "wishes", "kind", "text"),
    [
        (
            machine(CARD),
            Wishes(cpu_expert_layers=0),
            CureKind.EXPERTS,
            "Keep the experts of 13 layers in RAM",
        ),
        (
            machine(ram_gib=23),
            Wishes(context=131072, kv_type=KvType.F16),
            CureKind.KV_TYPE,
            "Keep the context in the compact form (Q8_0)",
        ),
        (machine(ram_gib=22.5), Wishes(context=131072), CureKind.CONTEXT, "Take 65,536 tokens of context"),
        (
            machine(SMALL_CARD, LARGE_CARD, ram_gib=12),
            Wishes(graphics=gpu_id(SMALL_CARD)),
            CureKind.GRAPHICS,
            "Choose the graphics cards automatically",
        ),
        (
            machine(SMALL_CARD, LARGE_CARD, ram_gib=12),
            Wishes(graphics=gpu_id(SMALL_CARD), cpu_expert_layers=0),
            CureKind.GRAPHICS,
            "Choose the graphics cards automatically",
        ),
        (
            machine(CARD, ram_gib=16),
            Wishes(context=131072, cpu_expert_layers=40),
            CureKind.EXPERTS,
            "Keep the experts of",
        ),
    ],
    ids=["experts", "kv-type", "context", "graphics", "graphics-of-two-wishes", "fewer-experts-in-ram"],
)
def test_the_gentlest_change_that_cures(here: Machine, wishes: Wishes, kind: CureKind, text: str) -> None:
    found = look(here, wishes)
    assert found.plan is None
    assert found.refusal is not None
    assert found.cure is not None
    assert found.cure.kind is kind
    assert cure_text(found.cure).startswith(text)
    again = look(here, found.cure.wishes)
    assert again.plan is not None, "the cure cures"


def test_where_nothing_set_by_hand_is_to_blame_there_is_no_cure() -> None:
    found = look(machine(SMALL_CARD, ram_gib=12), Wishes())
    assert found.plan is None
    assert found.cure is None
    assert found.refusal is not None
    assert found.refusal.suggestions


def test_order_of_what_is_tried() -> None:
    wishes = Wishes(65536, KvType.F16, cpu_expert_layers=3, graphics="x", reserve_bytes=7)
    tried = list(possible_cures(wishes, 32768))
    assert [kind for kind, _wishes in tried] == list(CureKind)
    assert tried[0][1].cpu_expert_layers is None
    assert tried[0][1].context == 65536
    assert tried[1][1].kv_type is KvType.Q8_0
    assert tried[2][1].context == 32768
    assert tried[3][1].graphics == ""
    assert tried[4][1] == Wishes(reserve_bytes=7)
    assert list(possible_cures(Wishes())) == []


def test_only_what_the_engine_holds_makes_a_plan_another_one() -> None:
    one = look(machine(CARD), Wishes()).plan
    same = look(machine(CARD, ram_gib=12), Wishes()).plan
    other = look(machine(CARD), Wishes(cpu_expert_layers=20)).plan
    assert one is not None
    assert same is not None
    assert other is not None
    assert one.ram != same.ram
    assert not is_other(same, one)
    assert is_other(other, one)
