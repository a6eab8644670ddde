"""What was set by hand for a model file comes back at the next start, and goes with one choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from clover_gui import i18n, settings
from clover_gui.errors import DoesNotFitError
from clover_gui.paths import DataFolder
from clover_gui.planning.plan import KvType
from clover_gui.settings import ByHand
from clover_gui.ui.application import Application
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.setup.hand_memory import HandMemory
from clover_gui.ui.setup.plan_controls import PlanWishes
from clover_gui.ui.setup.stage_runner import StageRunner
from clover_gui.ui.workspace import Workspace
from tests.ui.test_window import ready, until

Script = Callable[[MainWindow, Workspace], object]


def test_values_come_back_for_their_file_and_are_forgotten_with_automatic() -> None:
    kept = [settings.Settings()]
    memory = HandMemory(lambda: kept[-1], kept.append)
    one, two = Path("/m/one.gguf"), Path("/m/two.gguf")
    assert memory.recall(one) == PlanWishes()
    memory.keep(one, PlanWishes())
    assert len(kept) == 1, "nothing was set: nothing is written"
    memory.keep(one, PlanWishes(4096, KvType.Q8_0, 0))
    memory.keep(two, PlanWishes(cpu_expert_layers=7))
    assert memory.recall(one) == PlanWishes(4096, KvType.Q8_0, 0)
    assert memory.recall(two) == PlanWishes(cpu_expert_layers=7)
    memory.keep(two, PlanWishes())
    assert [entry.path for entry in kept[-1].by_hand] == [str(one)]
    for number in range(settings.MOST_BY_HAND + 5):
        memory.keep(Path(f"/m/{number}.gguf"), PlanWishes(1024 + number))
    assert len(kept[-1].by_hand) == settings.MOST_BY_HAND
    assert memory.recall(one) == PlanWishes(), "the oldest ones make room"


def run(qapp: QApplication, data: DataFolder, model: str, script: Script) -> None:
    async def driver(window: MainWindow, workspace: Workspace) -> int:
        await script(window, workspace)  # type: ignore[misc]
        return 0

    assert Application(qapp, model, data).run(driver) == 0


def test_the_next_start_loads_as_last_time_and_says_so(
    qapp: QApplication, tmp_path: Path, scripted_gguf: Path
) -> None:
    i18n.set_language("en")
    data = DataFolder(tmp_path / "data")
    data.root.mkdir()
    settings.save(data.settings, settings.Settings(language="en", memory_panel=True))

    async def sets(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        workspace.setup.load_again(scripted_gguf, PlanWishes(context=512))
        await until(
            lambda: workspace.engine.loaded is not None and workspace.engine.loaded.context == 512, "smaller"
        )
        await until(lambda: not workspace.setup.is_loading, "it is kept")

    async def finds(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        assert workspace.engine.loaded is not None
        assert workspace.engine.loaded.context == 512
        controls = window.chat_page.memory_panel.controls
        await until(lambda: controls.wishes.context == 512, "the panel shows it")
        assert controls.by_hand_label.text() == "As last time, set by hand."
        assert controls.automatic_button.isVisible()
        window.chat_page.model_requested.emit()
        await until(lambda: workspace.setup.can_start, "the set-up page says it too")
        card = window.setup_page.plan_card.controls
        assert card.by_hand_label.text() == "As last time, set by hand."
        card.automatic_button.click()
        await until(lambda: workspace.setup.by_hand == PlanWishes(), "one choice")
        await until(lambda: workspace.setup.can_start, "planned again")
        assert not card.automatic_button.isVisible()
        window.setup_page.start_button.click()
        await until(
            lambda: workspace.engine.loaded is not None and workspace.engine.loaded.context != 512,
            "automatic",
        )
        await until(lambda: not workspace.setup.is_loading, "it is kept")

    run(qapp, data, str(scripted_gguf), sets)
    assert settings.load(data.settings).settings.by_hand == (ByHand(str(scripted_gguf), 512),)
    run(qapp, data, "", finds)
    assert settings.load(data.settings).settings.by_hand == ()


def test_what_does_not_fit_any_more_gives_way_and_is_not_forgotten(
    qapp: QApplication, tmp_path: Path, scripted_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    i18n.set_language("en")
    data = DataFolder(tmp_path / "data")
    data.root.mkdir()
    huge = ByHand(str(scripted_gguf), 4096)
    load = StageRunner.load

    async def full(runner: StageRunner, path: Path) -> None:
        if runner._wishes().context is not None:
            raise DoesNotFitError(2, 1)
        await load(runner, path)

    monkeypatch.setattr(StageRunner, "load", full)
    start = replace(settings.Settings(language="en"), model_path=str(scripted_gguf), by_hand=(huge,))
    settings.save(data.settings, start)

    async def loads(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        assert workspace.setup.by_hand == PlanWishes()

    run(qapp, data, "", loads)
    assert settings.load(data.settings).settings.by_hand == (huge,)
