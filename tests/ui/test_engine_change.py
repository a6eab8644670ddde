"""Changing the engine under the real window: loads again, and falls back with a word. Real children."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from clover_gui import i18n, settings
from clover_gui.flavours.flavour import Flavour, write_manifest
from clover_gui.flavours.store import FlavourStore
from clover_gui.paths import DataFolder
from clover_gui.ui.application import Application
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.settings.engine_page import EnginePage
from clover_gui.ui.workspace import Workspace
from tests.flavours.wheels import real_libraries

KEY = "cpu-0.3.36"
pytestmark = pytest.mark.skipif(find_spec("llama_cpp") is None, reason="the engine is not installed")


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """A data folder with one installed engine, not chosen."""
    folder = DataFolder(tmp_path / "data")
    libraries = real_libraries()
    place = FlavourStore(folder.engines).library_folder(KEY)
    place.mkdir(parents=True)
    for name, content in libraries.items():
        (place / name).write_bytes(content)
    files = tuple((name, len(content)) for name, content in libraries.items())
    write_manifest(place, Flavour(KEY, "cpu", "cpu", "0.3.36", "a test", "0" * 64, "2026-01-01", (), files))
    i18n.set_language("en")
    settings.save(folder.settings, settings.Settings(language="en", theme="light"))
    return folder


def choose(data: DataFolder, key: str) -> None:
    found = settings.load(data.settings).settings
    settings.save(data.settings, dataclasses.replace(found, engine_flavour=key))


async def until(condition) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def loaded(window: MainWindow, workspace: Workspace) -> None:
    await until(
        lambda: workspace.engine.loaded is not None and window.pages.currentWidget() is window.chat_page
    )


def engine_page() -> EnginePage | None:
    found = [w for w in QApplication.allWidgets() if isinstance(w, EnginePage) and w.isVisible()]
    return found[0] if found else None


def run(qapp: QApplication, data: DataFolder, model: Path, script) -> None:
    async def driver(window: MainWindow, workspace: Workspace) -> int:
        await loaded(window, workspace)
        await script(window, workspace)
        return 0

    assert Application(qapp, str(model), data).run(driver) == 0


def test_another_engine_is_taken_when_the_person_says_so(
    qapp: QApplication, data: DataFolder, scripted_gguf: Path
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        before = workspace.engine.pid
        workspace.engines.page_requested.emit()
        await until(engine_page)
        page = engine_page()
        assert page is not None
        workspace.engines.use(KEY)
        await until(page.reload_button.isVisible)
        assert workspace.engine.pid == before  # nothing that is going on is ended
        page.reload_button.click()
        await until(lambda: workspace.selection.in_use == KEY)
        await loaded(window, workspace)
        assert workspace.engine.pid != before
        folder = Path((await workspace.engine.describe()).library_folder)
        assert folder == data.engines / KEY
        await until(lambda: not page.reload_button.isVisible())
        page.window().close()

    run(qapp, data, scripted_gguf, script)
    assert settings.load(data.settings).settings.engine_flavour == KEY


def test_a_chosen_engine_that_is_broken_costs_nothing_but_a_word(
    qapp: QApplication, data: DataFolder, scripted_gguf: Path
) -> None:
    choose(data, KEY)
    library = next((data.engines / KEY).glob("*ggml-cpu*"))
    library.unlink()

    async def script(window: MainWindow, workspace: Workspace) -> None:
        texts = [notice.text for notice in window.chat_page.notice.notices]
        assert any(library.name in text for text in texts), texts
        notice = next(n for n in window.chat_page.notice.notices if library.name in n.text)
        notice.action_button.click()
        await until(engine_page)
        page = engine_page()
        assert page is not None
        await until(lambda: "Chosen, but not usable" in [row.state for row in workspace.engines.view.rows])
        page.window().close()

    run(qapp, data, scripted_gguf, script)
    assert settings.load(data.settings).settings.engine_flavour == KEY  # the choice stays the person's


def test_what_a_killed_installation_left_is_swept_at_the_start(
    qapp: QApplication, data: DataFolder, scripted_gguf: Path
) -> None:
    with FlavourStore(data.engines).making() as made:
        (made / "libllama.so").write_bytes(b"half")
        shutil.copytree(made.parent, data.engines / ".new-killed_1")
    (data.engines / ".new-ideas").mkdir()  # of the person's
    (data.engines / ".new-ideas" / "diary.txt").write_text("dear diary")

    async def script(_window: MainWindow, _workspace: Workspace) -> None:
        left = {path.name for path in data.engines.iterdir() if path.name != ".working.json"}
        assert left == {KEY, ".new-ideas"}

    run(qapp, data, scripted_gguf, script)
