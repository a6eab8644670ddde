"""The memory panel beside the chat: what it says, what can be tried in it, and that it is loaded so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from clover_gui import i18n, settings
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory
from clover_gui.paths import DataFolder
from clover_gui.pipeline.free_memory import FreeMemory
from clover_gui.pipeline.gpu_choice import GPU_CHOICE_MISSING, gpu_id
from clover_gui.pipeline.measured import GPU_NOT_USED, Measured
from clover_gui.pipeline.placing import load_settings
from clover_gui.pipeline.placing_events import MEMORY_TAKEN, Replanned
from clover_gui.pipeline.services import Services
from clover_gui.planning.plan import PROCESSOR_ONLY, KvType
from clover_gui.ui.application import Application
from clover_gui.ui.chat.chat_page import CHATS_EM, ChatPage
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.memory.memory_panel import MINIMUM_EM
from clover_gui.ui.setup.plan_controls import PlanWishes
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.notice_bar import NoticeKind
from clover_gui.ui.workspace import Workspace
from tests.benchmarks.panel_scenes import PanelScene, PanelStage, panel_scenes
from tests.ui.accessible_tree import unnamed
from tests.ui.test_window import answered, ask, last_view, ready, until

GIB = 1 << 30
Play = Callable[..., PanelStage]
Then = Callable[[PanelStage], Awaitable[None]]


@pytest.fixture
def play(qtbot, theme: Theme, tmp_path: Path) -> Play:
    """``play(name, then)``: the scene, and what a person does in it, in one event loop."""
    i18n.set_language("en")

    def run(scene: str | PanelScene, then: Then | None = None) -> PanelStage:
        stage = PanelStage(theme)
        qtbot.addWidget(stage.page)
        stage.page.resize(theme.space(90), theme.space(60))
        stage.page.show()

        async def both() -> None:
            await stage.play(panel_scenes()[scene] if isinstance(scene, str) else scene, tmp_path)
            if then is not None:
                await then(stage)

        asyncio.run(both())
        return stage

    return run


def said(stage: PanelStage) -> str:
    return "\n".join(stage.panel.texts)


def test_what_is_loaded_is_shown_by_its_parts_with_planned_against_measured(play: Play) -> None:
    stage = play("panel-loaded")
    text = said(stage)
    for words in (
        "model 12.5 GB, context 640 MB, state 63 MB, working space 248 MB, overhead 450 MB",
        "other programs 819 MB, left free 1.4 GB",
        "RTX 4060 Ti: planned 13.8 GB, measured 13.9 GB",
        "RAM: planned 5.8 GB, measured 5.8 GB",
        "about 59 tokens per second",
        "experts of 13 of 40 layers",
    ):
        assert words in text
    assert not stage.panel.reload_button.isEnabled()
    assert unnamed(stage.panel) == []


def test_what_is_tried_changes_bars_speed_and_button(play: Play) -> None:
    async def try_it(stage: PanelStage) -> None:
        before = said(stage)
        await stage.try_out(PlanWishes(cpu_expert_layers=40))
        text = said(stage)
        assert "model 2.2 GB" in text or "model 1." in text
        assert text != before
        assert "experts of 40 of 40" in text
        assert "tokens per second" in text
        assert "59 tokens" not in text
        assert stage.panel.reload_button.isEnabled()
        assert "planned 13.8 GB, measured 13.9 GB" in text  # what is loaded is still told
        await stage.try_out(PlanWishes())
        assert said(stage) == before
        assert not stage.panel.reload_button.isEnabled()

    play("panel-loaded", try_it)


def test_the_same_set_by_hand_is_no_change(play: Play) -> None:
    async def try_it(stage: PanelStage) -> None:
        await stage.try_out(PlanWishes(cpu_expert_layers=13))
        assert not stage.panel.reload_button.isEnabled()

    play("panel-loaded", try_it)


def test_an_answer_is_said_to_be_stopped_before_the_model_is_loaded_again(play: Play) -> None:
    async def press(stage: PanelStage) -> None:
        assert "stopped first" in said(stage)
        assert "stopped first" in stage.panel.reload_button.accessibleDescription()
        stage.presenter.set_answering(False)
        assert "stopped first" not in said(stage)
        stage.panel.reload_button.click()
        assert stage.asked == [PlanWishes(65536, KvType.Q8_0)]
        assert not stage.panel.reload_button.isEnabled()
        assert "Loading" in said(stage)
        done = asyncio.Event()
        stage.presenter.shown.connect(done.set)
        stage.presenter.load_ended()  # it came to nothing: the old model is still there
        await asyncio.wait_for(done.wait(), 20)
        assert stage.panel.reload_button.isEnabled()

    play("panel-tried", press)


def test_what_does_not_fit_is_red_and_one_button_cures_it(play: Play) -> None:
    async def cure(stage: PanelStage) -> None:
        panel = stage.panel
        assert "missing 2.6 GB" in said(stage)
        assert "It does not fit." in panel.refusal_label.text()
        assert panel.refusal_label.property("kind") == "danger"
        assert not panel.reload_button.isEnabled()
        assert panel.cure_button.text() == "Keep the experts of 17 layers in RAM"
        assert unnamed(panel) == []
        done = asyncio.Event()
        stage.presenter.shown.connect(done.set)
        panel.cure_button.click()
        await asyncio.wait_for(done.wait(), 20)
        assert panel.refusal_label.isHidden()
        assert panel.cure_button.isHidden()
        assert "experts of 17 of 40" in said(stage)
        assert panel.controls.wishes == PlanWishes(context=131072)
        assert panel.reload_button.isEnabled()

    play("panel-does-not-fit", cure)


def test_several_cards_can_be_chosen_from(play: Play) -> None:
    async def choose(stage: PanelStage) -> None:
        box = stage.panel.controls.graphics
        names = [box.itemText(place) for place in range(box.count())]
        assert names == [
            "Automatic",
            "Only NVIDIA GeForce RTX 3060",
            "Only NVIDIA GeForce RTX 3080",
            "Processor only",
        ]
        assert not box.isHidden()
        assert isinstance(stage.machine, Machine)
        await stage.try_out(PlanWishes(graphics=gpu_id(stage.machine.gpus[1])))
        assert "experts of 26 of 40" in said(stage)
        assert len(stage.panel.bars.texts) == 2
        assert stage.panel.reload_button.isEnabled()
        await stage.try_out(PlanWishes(graphics=PROCESSOR_ONLY))
        assert "runs on the processor" in said(stage)
        assert "cannot use it" not in said(stage)

    play("panel-two-cards", choose)


def test_a_single_card_is_no_choice(play: Play) -> None:
    assert play("panel-loaded").panel.controls.graphics.isHidden()


def test_a_chosen_card_that_is_gone_is_said_and_stays_chosen(play: Play) -> None:
    stage = play("panel-missing-card")
    box = stage.panel.controls.graphics
    assert "is not there now; the choice is made automatically" in said(stage)
    assert box.currentText() == "NVIDIA RTX 3090 (not there now)"
    assert not box.isHidden()
    assert not stage.panel.reload_button.isEnabled()


def test_without_a_model_there_is_one_sentence_and_the_way_to_one(qtbot, play: Play) -> None:
    stage = play("panel-nothing")
    assert stage.panel.texts == ("No model is loaded. With one, this shows where its parts lie.",)
    assert not stage.panel.reload_button.isVisible()
    stage.presenter.going_on("Reading the model file… 40 %")
    assert stage.panel.texts == ("Reading the model file… 40 %",)
    assert not stage.panel.choose_button.isVisible()
    stage.presenter.model_gone()
    assert stage.panel.choose_button.isVisible()
    with qtbot.waitSignal(stage.page.model_requested, timeout=2000):
        stage.panel.choose_button.click()


def test_nothing_is_planned_while_the_panel_is_closed(play: Play) -> None:
    async def close(stage: PanelStage) -> None:
        planned: list[bool] = []
        stage.presenter.shown.connect(lambda: planned.append(True))
        stage.page.close_memory_panel()
        stage.presenter.refresh()
        assert planned == []

    play("panel-loaded", close)


# ------------------------------------------------------------ the page


@pytest.fixture
def page(qtbot, theme: Theme) -> ChatPage:
    i18n.set_language("en")
    page = ChatPage(theme)
    qtbot.addWidget(page)
    page.resize(theme.space(90), theme.space(50))
    page.show()
    return page


def press(key: Qt.Key) -> Callable[[QWidget], None]:
    return lambda gauge: QTest.keyClick(gauge, key)


@pytest.mark.parametrize(
    "open_it",
    [
        lambda gauge: QTest.mouseClick(gauge, Qt.MouseButton.LeftButton, pos=QPoint(5, 5)),
        press(Qt.Key.Key_Return),
        press(Qt.Key.Key_Space),
    ],
    ids=["click", "enter", "space"],
)
def test_both_memory_gauges_open_it_and_escape_closes_it(
    page: ChatPage, open_it: Callable[[QWidget], None]
) -> None:
    for gauge in (page.gauges.vram, page.gauges.ram):
        open_it(gauge)
        assert page.memory_panel.isVisible()
        assert page.memory_panel.isAncestorOf(page.focusWidget())
        page._escape()
        assert page.memory_panel.isHidden()
        assert page.composer.isAncestorOf(page.focusWidget())
    open_it(page.gauges.speed)
    assert page.memory_panel.isHidden()


def test_escape_elsewhere_means_the_answer(qtbot, page: ChatPage) -> None:
    page.open_memory_panel(take_focus=False)
    page.composer.setFocus()
    with qtbot.waitSignal(page.stop_requested, timeout=2000):
        page._escape()
    assert page.memory_panel.isVisible()
    page.memory_panel.close_button.click()
    assert page.memory_panel.isHidden()


def test_the_menu_shows_whether_it_is_open(page: ChatPage) -> None:
    for is_open in (False, True, False):
        entry = next(action for action in page.menu().actions() if action.text() == "Memory")
        assert entry.isChecked() is is_open
        entry.trigger()


def test_a_narrow_window_gives_up_the_list_and_then_the_chat(qtbot, theme: Theme) -> None:
    window = MainWindow(theme)
    qtbot.addWidget(window)
    window.show_chat()
    window.resize(theme.space(90), theme.space(50))
    window.show()
    page = window.chat_page

    def parts() -> tuple[bool, bool, bool]:
        QApplication.processEvents()
        main = page.messages.parentWidget()
        assert main is not None
        return page.conversations.isVisible(), main.isVisible(), page.memory_panel.isVisible()

    page.open_memory_panel()
    assert parts() == (True, True, True)
    window.resize(theme.space(52), theme.space(40))
    assert parts() == (False, True, True)
    window.resize(theme.space(35), theme.space(40))
    assert parts() == (False, False, True)
    assert page.memory_panel.width() > theme.space(33)
    page.close_memory_panel()
    assert parts() == (True, True, False)
    page.open_memory_panel()
    page._go_to_list(page.conversations.focus_search)
    assert parts() == (True, True, False)
    assert CHATS_EM + MINIMUM_EM < 52


# ------------------------------------------------------------ the whole program

Script = Callable[[MainWindow, Workspace], Coroutine[Any, Any, None]]


@pytest.fixture
def drive(qapp: QApplication, tmp_path: Path) -> Callable[[Script, Path], DataFolder]:
    data = DataFolder(tmp_path / "data")
    data.root.mkdir()
    i18n.set_language("en")
    settings.save(data.settings, settings.Settings(language="en", theme="light"))

    def run(script: Script, model: Path) -> DataFolder:
        async def driver(window: MainWindow, workspace: Workspace) -> int:
            await script(window, workspace)
            return 0

        assert Application(qapp, str(model), data).run(driver) == 0
        return data

    return run


async def set_context(window: MainWindow, tokens: int) -> None:
    panel = window.chat_page.memory_panel
    box = panel.controls.context
    box.setCurrentIndex(box.findData(tokens))
    box.activated.emit(box.currentIndex())
    await until(panel.reload_button.isEnabled, "the new settings are planned")


def test_the_model_is_loaded_again_and_the_chat_goes_on(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        assert workspace.engine.loaded.context != 4096
        window.chat_page.toggle_memory_panel()
        await set_context(window, 4096)
        window.chat_page.memory_panel.reload_button.click()
        await until(
            lambda: workspace.engine.loaded is not None and workspace.engine.loaded.context == 4096,
            "it is loaded as it was set",
        )
        await until(lambda: not window.chat_page.memory_panel.reload_button.isEnabled(), "nothing is left")
        assert window.pages.currentWidget() is window.chat_page
        assert len(window.chat_page.messages) == 2
        assert window.chat_page.memory_panel.isVisible()
        await ask(window, workspace, "And now?")
        await answered(workspace)
        assert len(window.chat_page.messages) == 4
        assert workspace.setup.by_hand == PlanWishes(context=4096)
        assert window.setup_page.plan_card.controls.wishes == PlanWishes(context=4096)

    data = drive(script, scripted_gguf)
    assert settings.load(data.settings).settings.memory_panel is True

    async def afterwards(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        assert window.chat_page.memory_panel.isVisible()
        await until(lambda: "planned" in " ".join(window.chat_page.memory_panel.texts), "it is filled")

    drive(afterwards, scripted_gguf)


def test_a_running_answer_is_stopped_and_kept(drive, scripted_endless_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.toggle_memory_panel()
        await set_context(window, 4096)
        await ask(window, workspace, "Go on for ever")
        view = window.chat_page.messages
        await until(lambda: len(view) == 2 and len(last_view(window).text()) > 20, "it is written")
        assert "stopped first" in " ".join(window.chat_page.memory_panel.texts)
        window.chat_page.memory_panel.reload_button.click()
        await until(lambda: not workspace.chat.answering, "the answer is stopped")
        await until(
            lambda: workspace.engine.loaded is not None and workspace.engine.loaded.context == 4096,
            "it is loaded again",
        )
        assert len(last_view(window).text()) > 20
        assert window.pages.currentWidget() is window.chat_page

    drive(script, scripted_endless_gguf)


# ------------------------------------------------------------ the set-up page


def test_a_card_chosen_on_the_set_up_page_is_kept_and_missed(drive, scripted_gguf: Path) -> None:
    cards = tuple(
        Gpu(f"NVIDIA X{place}", "NVIDIA", DeviceKind.DISCRETE, GIB, GIB, bus_id=f"0000:4{place}:00.0")
        for place in (1, 2)
    )

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        workspace.open_file(scripted_gguf)
        controls = window.setup_page.plan_card.controls
        await until(
            lambda: (
                controls.isVisible() and workspace.setup.can_start and workspace.setup.path == scripted_gguf
            ),
            "it is planned",
        )
        assert not controls.graphics.isVisible()
        controls.show_graphics(cards, "")
        assert controls.graphics.isVisible()
        controls.graphics.setCurrentIndex(controls.graphics.findData(gpu_id(cards[1])))
        controls.graphics.activated.emit(controls.graphics.currentIndex())
        said = window.setup_page.plan_card.texts
        await until(lambda: "is not there now" in " ".join(said()), "this machine has no such card")
        assert controls.graphics.currentText() == "NVIDIA X2 (not there now)"
        await until(lambda: workspace.setup.can_start, "it can be loaded all the same")

    data = drive(script, scripted_gguf)
    assert settings.load(data.settings).settings.graphics == "0000:42:00.0 NVIDIA X2"


def test_the_set_up_page_offers_the_one_change_that_cures(
    drive, scripted_gguf: Path, twin_gguf: Path
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        memory = Memory(32 * GIB, 23 * GIB)
        workspace.setup._stages._services = Services(free_memory=FreeMemory(read_ram=lambda: memory))
        workspace.open_file(twin_gguf)
        card = window.setup_page.plan_card
        await until(
            lambda: (
                card.controls.isVisible() and workspace.setup.can_start and workspace.setup.path == twin_gguf
            ),
            "it is planned",
        )
        card.controls.show_wishes(PlanWishes(131072, KvType.F16))
        card.controls.changed.emit(card.controls.wishes)
        await until(card.cure_button.isVisible, "a cure is offered")
        assert not workspace.setup.can_start
        assert card.cure_button.text() == "Keep the context in the compact form (Q8_0)"
        card.cure_button.click()
        await until(lambda: workspace.setup.can_start, "it fits")
        assert not card.cure_button.isVisible()
        assert workspace.setup.by_hand == PlanWishes(131072, KvType.Q8_0)

    drive(script, scripted_gguf)


def test_what_was_said_during_a_quick_load_stands_on_the_chat_page(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        loaded = workspace.flow.ready
        assert loaded is not None
        before = replace(loaded.plan, ram_available_bytes=20 * GIB)
        now = replace(loaded.plan, ram_available_bytes=9 * GIB, warnings=(GPU_CHOICE_MISSING,))
        again = Replanned(MEMORY_TAKEN, before, now, load_settings(now, scripted_gguf))
        measured = Measured((), 0, 0, (GPU_NOT_USED,))
        workspace.setup.ready.emit(replace(loaded, plan=now, replanned=again, measured=measured))
        notice = window.chat_page.notice
        assert notice.isVisible()
        lines = notice.label.text().splitlines()
        assert any("9.0 GB are free instead of 20.0 GB" in line for line in lines)
        assert any("the engine holds nothing there" in line for line in lines)
        assert any("is not there now" in line for line in lines)
        assert notice.notices[0].kind is NoticeKind.WARNING
        workspace.setup.ready.emit(loaded)
        assert not notice.says("loaded"), "it was said of another load"

    drive(script, scripted_gguf)


def test_a_reload_that_cannot_be_planned_leaves_the_model_and_says_why(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.toggle_memory_panel()
        await set_context(window, 4096)
        nothing = Memory(32 * GIB, GIB // 8)
        workspace.setup._stages._services = Services(free_memory=FreeMemory(read_ram=lambda: nothing))
        before = workspace.engine.loaded
        window.chat_page.memory_panel.reload_button.click()
        notice = window.chat_page.notice
        await until(lambda: notice.isVisible() and notice.notices[0].kind is NoticeKind.ERROR, "it is said")
        assert "of RAM" in notice.label.text()
        assert workspace.engine.loaded is before
        assert window.pages.currentWidget() is window.chat_page
        panel = window.chat_page.memory_panel
        await until(lambda: "Loading" not in " ".join(panel.texts), "the panel knows it too")

    drive(script, scripted_gguf)
