"""The gauges say what they are given, in both languages, and can be read without a mouse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clover_gui import i18n
from clover_gui.ui.gauges.readings import ContextReading, MemoryLevel, MemoryReading, SpeedReading
from clover_gui.ui.gauges.strip import GaugeStrip

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


def test_no_graphics_card_is_said(strip: GaugeStrip) -> None:
    strip.show_memory(MemoryReading(MemoryLevel(8 * GB, 4 * GB, GB)))
    assert strip.vram.value_label.text() == "none"
    assert "processor" in strip.vram.toolTip()


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
