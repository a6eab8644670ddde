"""The gauges say what they are given, in both languages, and can be read without a mouse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from clover_gui import i18n
from clover_gui.hardware.machine import Gpu
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.plan import FitPlan
from clover_gui.planning.planner import make_plan
from clover_gui.ui.gauges.memory_parts import MemoryPart, in_use, part_color, parts_of
from clover_gui.ui.gauges.readings import (
    ContextReading,
    MemoryLevel,
    MemoryReading,
    SpeedReading,
    sum_of,
)
from clover_gui.ui.gauges.segment_bar import SegmentBar
from clover_gui.ui.gauges.strip import GaugeStrip
from clover_gui.ui.setup.plan_card import PlanCard
from tests.planning.shapes import card, machine

GB = 1 << 30


@pytest.fixture
def strip(qtbot, theme) -> Iterator[GaugeStrip]:
    i18n.set_language("en")
    widget = GaugeStrip(theme)
    qtbot.addWidget(widget)
    yield widget
    i18n.set_language("en")


def test_memory_is_split_into_ours_others_and_free(strip: GaugeStrip) -> None:
    vram = MemoryLevel(total=16 * GB, available=4 * GB, ours=10 * GB)
    ram = MemoryLevel(total=32 * GB, available=20 * GB, ours=2 * GB, ours_mapped=6 * GB)
    strip.show_memory(MemoryReading(ram, vram))
    assert strip.vram.value_label.text() == "12.0 GB of 16.0 GB"
    assert "Clover: 10.0 GB" in strip.vram.toolTip()
    assert "Other programs: 2.0 GB" in strip.vram.toolTip()
    assert "Free: 4.0 GB" in strip.vram.toolTip()
    assert strip.ram.value_label.text() == "18.0 GB of 32.0 GB"
    assert "Other programs: 10.0 GB" in strip.ram.toolTip()
    assert "6.0 GB" in strip.ram.toolTip()
    assert "Free: 14.0 GB" in strip.ram.toolTip()


def test_no_graphics_card_takes_no_room(strip: GaugeStrip) -> None:
    strip.resize(900, 60)
    strip.show()
    QApplication.processEvents()
    with_card = strip.ram.width()
    strip.show_memory(MemoryReading(MemoryLevel(8 * GB, 4 * GB, GB)))
    QApplication.processEvents()
    assert not strip.vram.isVisible()
    assert strip.ram.width() > with_card
    strip.resize(400, 120)  # in two rows the last one takes its whole row
    QApplication.processEvents()
    assert strip.ram.width() > strip.speed.width() + strip.context.width()
    strip.show_memory(MemoryReading(MemoryLevel(8 * GB, 4 * GB, GB), MemoryLevel(4 * GB, GB, GB)))
    QApplication.processEvents()
    assert strip.vram.isVisible()
    assert strip.ram.width() == strip.vram.width()


def test_a_narrow_gauge_shortens_its_value_before_its_name(strip: GaugeStrip) -> None:
    strip.resize(1400, 60)
    strip.show()
    strip.show_memory(MemoryReading(MemoryLevel(32 * GB, 20 * GB, GB), MemoryLevel(16 * GB, 4 * GB, GB)))
    QApplication.processEvents()
    assert strip.vram.value_label.text() == "12.0 GB of 16.0 GB"
    strip.resize(360, 120)
    QApplication.processEvents()
    assert strip.vram.value_label.text() == "12.0 GB"
    assert strip.vram.accessibleName() == "Graphics memory: 12.0 GB of 16.0 GB"
    label = strip.vram.caption_label
    assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()


def test_a_driver_that_does_not_tell_shares_is_not_guessed_at(strip: GaugeStrip) -> None:
    level = MemoryLevel(total=8 * GB, available=6 * GB, ours=None)
    strip.show_memory(MemoryReading(level, level))
    assert "all programs together: 2.0 GB" in strip.vram.toolTip()
    assert "Clover" not in strip.vram.toolTip()


def test_speed_now_average_and_reading_stand_apart(strip: GaugeStrip) -> None:
    strip.show_speed(SpeedReading(now=61.24, average=58.0, reading=1203.4))
    assert strip.speed.value_label.text() == "61.2 tok/s"
    details = strip.speed.toolTip()
    assert "Writing now: 61.2" in details
    assert "average of this answer: 58.0" in details
    assert "Reading the prompt: 1,203" in details


def test_numbers_follow_the_language(strip: GaugeStrip) -> None:
    i18n.set_language("de")
    strip.show_context(ContextReading(1204, 8192))
    assert "1.204" in strip.context.value_label.text()
    assert "8.192" in strip.context.value_label.text()


def test_every_gauge_can_be_read_by_keyboard_and_screen_reader(strip: GaugeStrip) -> None:
    strip.show_speed(SpeedReading(10.0, 9.0, 100.0))
    strip.show_context(ContextReading(10, 100))
    strip.show_memory(MemoryReading(MemoryLevel(8 * GB, 4 * GB, GB)))
    for gauge in (strip.speed, strip.context, strip.vram, strip.ram):
        assert gauge.focusPolicy()
        assert gauge.value_label.text() in gauge.accessibleName()
        assert gauge.accessibleDescription()


def plan_for(*cards: Gpu) -> FitPlan:
    plan = make_plan(machine(32, *cards), clover_shape(), None, cards)
    assert isinstance(plan, FitPlan)
    return plan


def test_no_byte_of_a_plan_or_of_what_is_in_use_is_left_out() -> None:
    plan = plan_for(card(16))
    for need in (plan.gpu, plan.ram):
        assert sum(parts_of(need).values()) == need.total
        for ours in (0, GB, need.total, 2 * need.total):
            assert sum(in_use(ours, need).values()) == ours


def test_plan_and_gauge_use_the_same_colours(qtbot, theme, strip: GaugeStrip) -> None:
    plan = plan_for(card(16))
    page = PlanCard(theme)
    qtbot.addWidget(page)
    page.show_plan(plan)
    ours = plan.gpu.total
    strip.show_plan(plan)
    strip.show_memory(
        MemoryReading(MemoryLevel(32 * GB, 20 * GB, GB), MemoryLevel(16 * GB, 16 * GB - ours - GB, ours))
    )
    bar = page.findChildren(SegmentBar)[0]
    planned = [segment.color.name(QColor.NameFormat.HexArgb) for segment in bar.segments]
    shown = [segment.color.name(QColor.NameFormat.HexArgb) for segment in strip._vram_bar.segments]
    assert shown == planned
    parts = (
        MemoryPart.MODEL,
        MemoryPart.CONTEXT,
        MemoryPart.STATE,
        MemoryPart.WORKING,
        MemoryPart.OVERHEAD,
        MemoryPart.OTHERS,
    )
    assert planned == [part_color(part, theme.colors).name(QColor.NameFormat.HexArgb) for part in parts]
    assert len(set(planned)) == len(parts)


def test_when_nothing_is_loaded_any_more_nothing_is_claimed(strip: GaugeStrip) -> None:
    level = MemoryLevel(8 * GB, 4 * GB, GB)
    strip.show_memory(MemoryReading(level, level))
    assert strip._vram_bar.segments
    strip.show_plan(None)
    strip.show_memory(None)
    for gauge, bar in ((strip.vram, strip._vram_bar), (strip.ram, strip._ram_bar)):
        assert gauge.value_label.text() == "–"
        assert bar.segments == ()


def test_the_last_minute_is_kept(strip: GaugeStrip) -> None:
    for step in range(70):
        strip.show_memory(
            MemoryReading(MemoryLevel(8 * GB, 4 * GB, GB), MemoryLevel(8 * GB, (70 - step) << 20, GB))
        )
    assert len(strip._vram_curve.values) == 60
    assert list(strip._vram_curve.values) == sorted(strip._vram_curve.values)
    assert set(strip._ram_curve.values) == {0.5}


@pytest.mark.parametrize("width", [400, 720, 1000])
def test_the_curves_can_be_seen(qtbot, strip: GaugeStrip, width: int) -> None:
    level = MemoryLevel(8 * GB, 5 * GB, GB)
    for _second in range(60):
        strip.show_memory(MemoryReading(level, level))
    strip.resize(width, 100)
    strip.show()
    for curve in (strip._vram_curve, strip._ram_curve):
        assert curve.width() >= 3 * strip.fontMetrics().height()
        image = curve.grab().toImage()
        middle = image.width() // 2
        column = {image.pixelColor(middle, y).name() for y in range(image.height())}
        line = QColor(strip._theme.colors.gauge_ours).name()
        assert line in column, "a line of full colour"
        assert len(column) >= 3, "and a faint area below it"


def test_several_cards_are_one_bar_and_told_apart_in_words(strip: GaugeStrip) -> None:
    cards = (MemoryLevel(12 * GB, 2 * GB, 9 * GB), MemoryLevel(10 * GB, GB, 8 * GB))
    reading = MemoryReading(MemoryLevel(8 * GB, 4 * GB, GB), sum_of(cards), cards)
    strip.show_memory(reading)
    assert strip.vram.value_label.text() == "19.0 GB of 22.0 GB"
    assert "Card 2: 9.0 GB of 10.0 GB" in strip.vram.toolTip()
    assert reading.least_available_vram == GB
    assert sum_of((cards[0], MemoryLevel(GB, GB, None))) == MemoryLevel(13 * GB, 3 * GB, None)


def test_a_card_that_nobody_can_read_is_not_said_to_be_unused(strip: GaugeStrip) -> None:
    strip.show_plan(plan_for(card(16)))
    strip.show_memory(MemoryReading(MemoryLevel(8 * GB, 4 * GB, GB)))
    assert "asleep or lost" in strip.vram.toolTip()
    strip.show_plan(None)
    assert strip.vram.value_label.text() == "none"
