"""One button from "not here" to "chatting": download, check, repair, load, ask, in the real window."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QRadioButton

from clover_gui import i18n, settings
from clover_gui.download.receipt import Standing, read_receipt, standing
from clover_gui.paths import DataFolder
from clover_gui.ui.application import Application
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.kit.diffuspace import DIFFUSPACE, make_form
from tests.kit.fake_hub import FakeHub
from tests.ui.test_window import until

REPOSITORY = "Diffuspace/Clover-35B-A3B-Preview-GGUF"
NAME = "Clover-35B-A3B-Preview-Q4_K_M.gguf"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    folder = tmp_path / "served"
    folder.mkdir()
    make_form(folder / NAME, DIFFUSPACE)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with FakeHub(folder, repository=REPOSITORY) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        yield server


def run(qapp: QApplication, data: DataFolder, script) -> None:
    i18n.set_language("en")
    data.root.mkdir(exist_ok=True)
    settings.save(data.settings, settings.Settings(language="en"))

    async def driver(window: MainWindow, workspace: Workspace) -> int:
        await script(window, workspace)
        return 0

    assert Application(qapp, "", data).run(driver) == 0


async def choose_clover(window: MainWindow, workspace: Workspace) -> None:
    card = window.setup_page.model_card
    await until(
        lambda: workspace.setup.can_start or window.setup_page.notice.isVisible(), "the page is filled"
    )
    button = next(b for b in card.findChildren(QRadioButton) if "Clover" in b.text())
    button.click()


def test_from_nothing_to_a_chat_with_one_button(qapp: QApplication, tmp_path: Path, hub: FakeHub) -> None:
    data = DataFolder(tmp_path / "data")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await choose_clover(window, workspace)
        page = window.setup_page
        await until(lambda: workspace.setup.can_start, "the offer is shown")
        shown = " ".join(page.plan_card.texts())
        assert NAME in shown
        assert "after a small repair" in shown
        assert "Computed before the download" in shown
        assert [name for name, _value, _details in page.plan_card.bars] != []
        assert page.plan_card.controls.isVisible()
        assert not (data.models / NAME).exists()
        QTest.mouseClick(page.start_button, Qt.MouseButton.LeftButton)
        await until(lambda: window.pages.currentWidget() is window.chat_page, "the chat is open")
        assert workspace.engine.loaded is not None
        assert "repaired" in window.chat_page.notice.label.text()
        path = data.models / NAME
        receipt = read_receipt(path)
        assert receipt is not None
        assert receipt.sha256 == hub.sha256(hub.folder / NAME)
        assert receipt.repair is not None
        assert receipt.repair["target"] == "qwen35moe"
        assert receipt.repair["speaks"] in ("passes", "fails", "degenerate")
        assert standing(path) is Standing.VERIFIED

    run(qapp, data, script)


@pytest.mark.parametrize(
    ("field", "value"), [("hub_endpoint", "ftp://foo"), ("proxy", "not a proxy"), ("proxy", "http://[::1")]
)
def test_a_wrong_setting_of_the_network_is_told_and_never_gone_round(
    qapp: QApplication, tmp_path: Path, hub: FakeHub, field: str, value: str
) -> None:
    data = DataFolder(tmp_path / "data")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        workspace._change_settings(replace(workspace._settings(), **{field: value}))
        await choose_clover(window, workspace)
        notice = window.setup_page.notice
        await until(
            lambda: notice.isVisible() and "settings, page Network" in notice.label.text(), "it is told"
        )

    run(qapp, data, script)
    assert hub.log == []


def test_a_download_can_be_paused_stopped_and_gone_on_with(
    qapp: QApplication, tmp_path: Path, hub: FakeHub
) -> None:
    data = DataFolder(tmp_path / "data")
    hub.rate = 300_000

    async def stops(window: MainWindow, workspace: Workspace) -> None:
        await choose_clover(window, workspace)
        page = window.setup_page
        await until(lambda: workspace.setup.can_start, "the offer is shown")
        page.start_button.click()
        await until(
            lambda: page.pause_button.isVisible() and "per second" in page.progress_label.text(), "it runs"
        )
        page.pause_button.click()
        await until(lambda: "Paused" in page.progress_label.text(), "it pauses")
        assert page.pause_button.text() == "Continue"
        page.cancel_button.click()
        await until(lambda: not page.cancel_button.isVisible(), "it stops")

    async def goes_on(window: MainWindow, workspace: Workspace) -> None:
        hub.rate = 0
        await choose_clover(window, workspace)
        await until(lambda: workspace.setup.can_start, "the offer is shown")
        assert "here already" in " ".join(window.setup_page.plan_card.texts())
        window.setup_page.start_button.click()
        await until(lambda: window.pages.currentWidget() is window.chat_page, "the chat is open")

    run(qapp, data, stops)
    run(qapp, data, goes_on)
    ranges = [asked.range for asked in hub.file_requests() if asked.range]
    assert any(asked != "bytes=0-" for asked in ranges)


def test_a_hub_that_cannot_be_reached_is_said_and_the_page_lives(
    qapp: QApplication, tmp_path: Path, hub: FakeHub
) -> None:
    hub.order("status", value=503, on="api", times=50)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await choose_clover(window, workspace)
        await until(lambda: window.setup_page.notice.isVisible(), "the reason is shown")
        assert len(window.setup_page.notice.label.text()) > 20
        assert "The download needs a connection." in " ".join(window.setup_page.plan_card.texts())
        assert window.setup_page.plan_card.bars
        await until(lambda: workspace.setup.can_start, "it can be tried again")
        assert window.setup_page.start_button.text() == "Try again"
        hub.faults.clear()
        window.setup_page.start_button.click()
        await until(lambda: "Download" in window.setup_page.start_button.text(), "the offer is shown")

    run(qapp, DataFolder(tmp_path / "data"), script)


def test_a_file_of_ones_own_is_repaired_at_the_start_and_can_be_brought_back(
    qapp: QApplication, tmp_path: Path, hub: FakeHub
) -> None:
    own = tmp_path / "own.gguf"
    make_form(own, DIFFUSPACE)
    original = own.read_bytes()

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.setup_page
        await until(lambda: workspace.setup.can_start or page.notice.isVisible(), "the page is filled")
        workspace.open_file(own)
        await until(lambda: workspace.setup.can_start and workspace.setup.path == own, "it is planned")
        assert any("does not run" in text for text in page.plan_card.texts())
        assert own.read_bytes() == original
        page.start_button.click()
        await until(lambda: window.pages.currentWidget() is window.chat_page, "the chat is open")
        assert own.read_bytes() != original
        window.chat_page.model_requested.emit()
        await until(lambda: page.plan_card.undo_button.isVisible(), "the way back is offered")
        page.plan_card.undo_button.click()
        await until(lambda: own.read_bytes() == original, "the original is back")
        await until(lambda: workspace.setup.can_start, "it can be started again")
        assert not page.plan_card.undo_button.isVisible()

    run(qapp, DataFolder(tmp_path / "data"), script)


def test_a_file_of_ones_own_takes_the_place_of_an_offer(
    qapp: QApplication, tmp_path: Path, hub: FakeHub, scripted_gguf: Path
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await choose_clover(window, workspace)
        await until(lambda: "Download" in window.setup_page.start_button.text(), "the offer is shown")
        workspace.open_file(scripted_gguf)
        await until(
            lambda: workspace.setup.can_start and workspace.setup.path == scripted_gguf, "it is planned"
        )
        assert "Download" not in window.setup_page.start_button.text()
        window.setup_page.start_button.click()
        await until(lambda: window.pages.currentWidget() is window.chat_page, "the chat is open")
        assert hub.file_requests() == []

    run(qapp, DataFolder(tmp_path / "data"), script)


def test_the_plan_before_the_download_follows_the_controls(
    qapp: QApplication, tmp_path: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known shape or not, asked or not: what is set shows at once, the offer stays, no byte is fetched."""
    monkeypatch.setattr("clover_gui.ui.setup.model_fetch.known_shape", lambda _entry: None)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await choose_clover(window, workspace)
        page = window.setup_page
        await until(lambda: workspace.setup.can_start, "the offer is shown")
        assert "from the beginning of the file" in " ".join(page.plan_card.texts())
        controls, before = page.plan_card.controls, page.plan_card.bars
        assert before
        controls.context.setCurrentIndex(1)
        controls.context.activated.emit(1)
        await until(lambda: page.plan_card.bars != before, "the bars follow")
        await until(lambda: workspace.setup.can_start, "it can be brought still")
        assert "Download" in page.start_button.text()
        assert workspace.setup.by_hand.context == controls.context.currentData()
        assert not any(data.models.iterdir()) if data.models.exists() else True

    data = DataFolder(tmp_path / "data")
    run(qapp, data, script)


def test_two_wishes_to_stop_a_download_are_one(qapp: QApplication, tmp_path: Path, hub: FakeHub) -> None:
    hub.rate = 200_000

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await choose_clover(window, workspace)
        await until(lambda: workspace.setup.can_start, "the offer is shown")
        page = window.setup_page
        page.start_button.click()
        await until(lambda: "per second" in page.progress_label.text(), "it runs")
        workspace.setup.cancel()
        await asyncio.sleep(0)
        workspace.setup.cancel()
        await until(lambda: not page.cancel_button.isVisible(), "it stops")
        assert page.start_button.isEnabled()

    run(qapp, DataFolder(tmp_path / "data"), script)
