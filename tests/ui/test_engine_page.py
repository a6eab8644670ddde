"""The page "Engine" with a real store, a real server and real children."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel
from pytestqt.qtbot import QtBot

from clover_gui import i18n
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import EngineInfo
from clover_gui.errors import EngineDied, EngineError, EngineMissing
from clover_gui.flavours.flavour import BUILT_IN
from clover_gui.flavours.selection import FlavourSelection
from clover_gui.flavours.store import FlavourStore
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor
from clover_gui.pipeline.gpu_choice import GpuChoice
from clover_gui.pipeline.prepare import EngineDescribed, MachineProbed
from clover_gui.settings import Settings
from clover_gui.ui import loop
from clover_gui.ui.settings.engine_page import EnginePage
from clover_gui.ui.settings.engine_presenter import EnginePresenter
from clover_gui.ui.setup.setup_display import ENGINE, SetupDisplay
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme
from tests.flavours.wheels import Index, make_wheel, platform_tag

pytestmark = pytest.mark.skipif(find_spec("llama_cpp") is None, reason="the engine is not installed")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    name = f"llama_cpp_python-0.3.36-py3-none-{platform_tag()}.whl"
    return make_wheel(tmp_path_factory.mktemp("wheels") / name)


@pytest.fixture
def index(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    folder = tmp_path / "index"
    folder.mkdir()
    with Index(folder) as served:
        served.add("cpu", wheel)
        monkeypatch.setenv("CLOVER_ENGINE_INDEX", served.address)
        yield served


@dataclass
class Scene:
    """A page and what is behind it; ``restarts`` are the wishes to start the engine anew."""

    folder: Path
    loaded: bool = False
    settings: Settings = field(default_factory=Settings)
    restarts: list[bool] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def open(self) -> None:
        self.store = FlavourStore(self.folder / "engines")
        self.selection = FlavourSelection(self.store, lambda: self.settings.engine_flavour)
        self.client = EngineClient(libraries=self.selection)
        self.tasks = TaskSet(self.errors.append)
        self.presenter = EnginePresenter(
            self.store,
            self.selection,
            self.tasks,
            lambda: self.settings,
            self.change,
            describe=self.client.describe,
            restart=self.restart,
            is_loaded=lambda: self.loaded,
        )
        self.page = EnginePage(self.presenter)
        self.page.show()

    def change(self, settings: Settings) -> None:
        self.settings = settings

    def restart(self, load: bool) -> None:
        self.restarts.append(load)
        self.tasks.start(self.client.close(), "close")

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.01)

    async def looked(self) -> None:
        await self.until(lambda: bool(self.presenter.view.suggestions))

    def button(self, name: str) -> QAbstractButton:
        found = [
            one
            for one in self.page.findChildren(QAbstractButton)
            if name in (one.accessibleName(), one.text()) and one.isVisible()
        ]
        assert len(found) == 1, (name, found)
        return found[0]

    @property
    def texts(self) -> str:
        return "\n".join(one.text() for one in self.page.findChildren(QLabel) if one.isVisible())

    async def close(self) -> None:
        await self.presenter.end()
        await self.tasks.cancel_all()
        await self.client.close()
        self.page.close()
        self.page.deleteLater()
        assert not self.errors


def play(qapp: QApplication, scene: Scene, act: Callable[[Scene], Awaitable[None]]) -> None:
    async def main() -> int:
        scene.open()
        try:
            await scene.looked()
            await act(scene)
        finally:
            await scene.close()
        return 0

    errors: list[BaseException] = []
    assert loop.run(qapp, main, errors.append) == 0
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not errors


def test_a_message_is_in_the_language_of_the_moment_and_gone_when_the_page_is_opened_again(
    qapp: QApplication, theme: Theme, tmp_path: Path
) -> None:
    (tmp_path / "letter.whl").write_text("Dear engine")

    async def act(scene: Scene) -> None:
        scene.page.hide()
        scene.presenter.install_file(tmp_path / "letter.whl")
        await scene.until(lambda: not scene.presenter.view.busy)
        english = scene.presenter.view.message
        i18n.set_language("de")
        try:
            page = EnginePage(scene.presenter)
        finally:
            i18n.set_language("en")
        assert page.message.text() not in ("", english)
        page.show()
        page.hide()
        page.deleteLater()
        again = EnginePage(scene.presenter)
        assert again.message.text() == ""
        again.deleteLater()

    play(qapp, Scene(tmp_path), act)


def test_the_engine_for_the_processor_is_a_quiet_fall_back(
    qapp: QApplication, theme: Theme, tmp_path: Path
) -> None:
    async def act(scene: Scene) -> None:
        await scene.until(lambda: "computes on the processor already" in scene.texts)
        assert "as a fall-back" in scene.texts
        assert scene.button("Install Processor").property("kind") == "quiet"
        assert "installed with the program's set-up" in scene.texts

    play(qapp, Scene(tmp_path), act)


def test_from_the_suggestion_to_the_engine_in_use(
    qapp: QApplication, theme: Theme, tmp_path: Path, index: Index
) -> None:
    async def act(scene: Scene) -> None:
        scene.button("Install Processor").click()
        await scene.until(lambda: bool(scene.presenter.view.question))
        assert "MB" in scene.page.question_label.text()
        assert "127.0.0.1" in scene.page.question_label.text()
        assert not [path for path, wanted in index.asked if path.endswith(".whl") and wanted != "bytes=0-0"]
        scene.page.download_button.click()
        await scene.until(lambda: scene.page.progress.isVisible())
        await scene.until(lambda: not scene.presenter.view.busy)
        assert scene.settings.engine_flavour == "cpu-0.3.36"
        assert scene.restarts == [False]
        assert scene.page.message.text().startswith("Installed and tried")
        await scene.client.describe()
        assert scene.selection.in_use == "cpu-0.3.36"
        await scene.until(lambda: "In use" in [row.state for row in scene.presenter.view.rows if row.key])
        scene.button("Use The program's own engine").click()
        assert scene.settings.engine_flavour == BUILT_IN
        await scene.until(lambda: scene.presenter.view.rows[0].state == "In use")
        scene.button("Remove Processor").click()
        await scene.until(lambda: len(scene.presenter.view.rows) == 1)
        assert scene.store.all() == ()

    play(qapp, Scene(tmp_path), act)


def test_with_a_model_loaded_the_person_decides_when_it_is_loaded_again(
    qapp: QApplication, theme: Theme, tmp_path: Path, wheel: Path
) -> None:
    async def act(scene: Scene) -> None:
        await scene.client.describe()
        scene.presenter.install_file(wheel)
        await scene.until(lambda: bool(scene.settings.engine_flavour) and not scene.presenter.view.busy)
        assert scene.restarts == []  # nothing that is going on is ended
        assert "Chosen, from the next load on" in scene.texts
        scene.button("Load again with this engine").click()
        assert scene.restarts == [True]

    play(qapp, Scene(tmp_path, loaded=True), act)


def test_a_file_that_is_none_is_told_and_nothing_changes(
    qapp: QApplication, theme: Theme, tmp_path: Path
) -> None:
    path = tmp_path / "letter.whl"
    path.write_text("dear")

    async def act(scene: Scene) -> None:
        scene.presenter.install_file(path)
        await scene.until(lambda: scene.presenter.view.failed)
        assert "letter.whl" in scene.page.message.text()
        assert scene.settings.engine_flavour == BUILT_IN
        assert scene.restarts == []

    play(qapp, Scene(tmp_path), act)


def test_a_download_goes_on_while_the_settings_are_closed_and_can_be_stopped(
    qapp: QApplication, theme: Theme, tmp_path: Path, index: Index
) -> None:
    import threading

    index.gate = threading.Event()

    async def act(scene: Scene) -> None:
        scene.presenter.ask("cpu")
        await scene.until(lambda: bool(scene.presenter.view.question))
        scene.presenter.download()
        await scene.until(lambda: scene.page.progress.isVisible())
        scene.page.close()
        scene.page.deleteLater()
        qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert scene.presenter.view.busy
        scene.page = EnginePage(scene.presenter)  # opened once more
        scene.page.show()
        assert scene.page.progress.isVisible()
        scene.button("Stop the installation").click()
        await scene.until(lambda: not scene.presenter.view.busy)
        assert "Stopped" in scene.page.message.text()
        assert scene.store.all() == ()

    play(qapp, Scene(tmp_path), act)


def test_a_chosen_engine_that_fails_stays_visible_with_its_reason(
    qapp: QApplication, theme: Theme, tmp_path: Path, wheel: Path
) -> None:
    told: list[str] = []

    async def act(scene: Scene) -> None:
        scene.presenter.fell_back.connect(told.append)
        scene.presenter.install_file(wheel)
        await scene.until(lambda: bool(scene.settings.engine_flavour) and not scene.presenter.view.busy)
        library = next((scene.store.folder / scene.settings.engine_flavour).glob("*ggml-cpu*"))
        library.unlink()
        await scene.client.describe()
        await scene.until(lambda: "Chosen, but not usable" in scene.texts)
        assert library.name in scene.texts
        assert library.name in told[0]
        assert scene.presenter.view.rows[0].state == "In use"

    play(qapp, Scene(tmp_path), act)


CARD = Gpu("GeForce X", "NVIDIA", DeviceKind.DISCRETE, 12 << 30, 11 << 30, "550.54", "8.6", "nvml")
MACHINE = Machine("Linux", Processor("Chip", "x86_64", 4, 8), Memory(1 << 35, 1 << 34), None, (CARD,))


@pytest.mark.parametrize(("gpus", "shown"), [((CARD,), True), ((), False)])
def test_a_card_that_this_engine_cannot_use_leads_to_the_page(
    gpus: tuple[Gpu, ...], shown: bool, qtbot: QtBot, theme: Theme
) -> None:
    """A button in place of a command."""
    page = SetupPage(theme)
    qtbot.addWidget(page)
    page.show()
    display = SetupDisplay(page, lambda _text, _fraction: None, lambda: "")
    display.show(MachineProbed(replace(MACHINE, gpus=gpus)))
    info = EngineInfo(1, "0.3.36", False, (), {"qwen35moe": True})
    display.show(EngineDescribed(info, GpuChoice(None)))
    assert page.engine_button.isVisible() is shown
    assert "installers" not in "\n".join(page.machine_card.texts())
    if shown:
        with qtbot.waitSignal(page.engine_requested):
            page.engine_button.click()


@pytest.mark.parametrize("error", [EngineMissing("libcudart.so.12: cannot open"), EngineDied(-4)])
def test_an_engine_that_does_not_start_leads_to_the_page(
    error: EngineError, qtbot: QtBot, theme: Theme
) -> None:
    page = SetupPage(theme)
    qtbot.addWidget(page)
    page.show()
    display = SetupDisplay(page, lambda _text, _fraction: None, lambda: "")
    display.show_failure(error)
    with qtbot.waitSignal(page.notice.action_triggered, check_params_cb=lambda key: key == ENGINE):
        page.notice.notices[0].action_button.click()
    display.show_failure(EngineDied(-9))
    assert not page.notice.notices[0].action_button.isVisible()


def test_every_control_has_a_name_of_its_own(
    qapp: QApplication, theme: Theme, tmp_path: Path, wheel: Path
) -> None:
    async def act(scene: Scene) -> None:
        scene.presenter.install_file(wheel)
        await scene.until(lambda: bool(scene.settings.engine_flavour) and not scene.presenter.view.busy)
        buttons = [one for one in scene.page.findChildren(QAbstractButton) if one.isVisible()]
        names = [one.accessibleName() or one.text() for one in buttons]
        assert len(names) == len(set(names)) >= 4
        assert all(names)

    play(qapp, Scene(tmp_path), act)
