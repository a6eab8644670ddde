"""What is set by hand on the plan: it goes out at once, the numbers follow, and the engine gets just that."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from clover_gui import i18n, settings
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor
from clover_gui.model_file.header import read_model_file
from clover_gui.paths import DataFolder
from clover_gui.planning.plan import FitPlan, KvType, Wishes
from clover_gui.planning.planner import make_plan
from clover_gui.ui.application import Application
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.setup.plan_controls import PlanControls, PlanWishes
from clover_gui.ui.workspace import Workspace
from tests.ui.test_window import until

GB = 1 << 30
CARD = Gpu("A card", "NVIDIA", DeviceKind.DISCRETE, 16 * GB, 15 * GB)
MACHINE = Machine("Linux", Processor("x", "x86_64", 8, 16), Memory(32 * GB, 28 * GB), None, (CARD,))


def plan_for(model_path: Path, wishes: Wishes) -> FitPlan:
    plan = make_plan(MACHINE, read_model_file(model_path), wishes, (CARD,))
    assert isinstance(plan, FitPlan)
    return plan


@pytest.fixture
def controls(qtbot, theme, twin_gguf: Path) -> PlanControls:
    i18n.set_language("en")
    widget = PlanControls()
    qtbot.addWidget(widget)
    widget.show()
    widget.show_model(read_model_file(twin_gguf), plan_for(twin_gguf, Wishes()))
    return widget


def test_untouched_everything_is_automatic(controls: PlanControls) -> None:
    assert controls.wishes == PlanWishes()
    assert "Automatic" in controls.context.currentText()
    assert controls.experts_automatic.isChecked()
    assert controls.experts.value() > 0


def test_moving_the_slider_changes_need_speed_and_what_is_asked(
    qtbot, controls: PlanControls, twin_gguf: Path
) -> None:
    with qtbot.waitSignal(controls.changed, timeout=2000) as caught:
        controls.experts.setValue(40)
    wishes = caught.args[0]
    assert wishes == PlanWishes(cpu_expert_layers=40)
    assert not controls.experts_automatic.isChecked()
    some = plan_for(twin_gguf, Wishes())
    all_in_ram = plan_for(twin_gguf, Wishes(cpu_expert_layers=wishes.cpu_expert_layers))
    assert all_in_ram.cpu_expert_layers == 40
    assert all_in_ram.gpu.total < some.gpu.total
    assert all_in_ram.ram.total > some.ram.total
    assert all_in_ram.speed is not None
    assert some.speed is not None
    assert all_in_ram.speed.tokens_per_second < some.speed.tokens_per_second


def test_back_to_automatic(qtbot, controls: PlanControls) -> None:
    controls.experts.setValue(40)
    with qtbot.waitSignal(controls.changed, timeout=2000) as caught:
        controls.experts_automatic.setChecked(True)
    assert caught.args[0] == PlanWishes()


def test_context_and_its_memory(qtbot, controls: PlanControls) -> None:
    controls.context.setCurrentIndex(controls.context.findData(8192))
    controls.kv_type.setCurrentIndex(controls.kv_type.findData(KvType.Q8_0))
    with qtbot.waitSignal(controls.changed, timeout=2000) as caught:
        controls.kv_type.activated.emit(controls.kv_type.currentIndex())
    assert caught.args[0] == PlanWishes(context=8192, kv_type=KvType.Q8_0)


def test_the_engine_gets_what_was_set(qapp: QApplication, tmp_path: Path, scripted_gguf: Path) -> None:
    data = DataFolder(tmp_path / "data")
    data.root.mkdir()
    i18n.set_language("en")
    settings.save(data.settings, settings.Settings(language="en"))

    async def driver(window: MainWindow, workspace: Workspace) -> int:
        page = window.setup_page
        await until(lambda: workspace.setup.can_start or page.notice.isVisible(), "the page is filled")
        workspace.open_file(scripted_gguf)
        await until(
            lambda: workspace.setup.can_start and workspace.setup.path == scripted_gguf, "it is planned"
        )
        before = page.plan_card.bars
        controls = page.plan_card.controls
        controls.context.setCurrentIndex(controls.context.findData(4096))
        controls.context.activated.emit(controls.context.currentIndex())
        await until(lambda: page.plan_card.bars != before, "the plan follows")
        await until(lambda: workspace.setup.can_start, "it can be started")
        page.start_button.click()
        await until(lambda: workspace.engine.loaded is not None, "it is loaded")
        assert workspace.engine.loaded.context == 4096
        return 0

    assert Application(qapp, "", data).run(driver) == 0
