"""Places in the real window: moving the models, removing everything, folders that vanish, newer versions."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox, QPushButton, QWidget

from clover_gui import i18n, settings
from clover_gui.paths import DataFolder
from clover_gui.storage import carrying, verified_copy
from clover_gui.storage.carrying import carry
from clover_gui.storage.move_state import MoveState, Step, pending_move
from clover_gui.storage.moving import begin
from clover_gui.ui.application import Application
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.settings.general_page import GeneralPage
from clover_gui.ui.settings.move_dialog import MoveDialog
from clover_gui.ui.settings.places_page import PlacesPage
from clover_gui.ui.settings.remove_dialog import RemoveDialog
from clover_gui.ui.settings.settings_dialog import SettingsDialog
from clover_gui.ui.workspace import Workspace
from tests.storage.model_folder import contents
from tests.ui.test_window import Script, answered, ask, last_view, until
from tests.ui.test_window import ready as model_ready

NAME = "scripted.gguf"


@pytest.fixture
def data(tmp_path: Path, scripted_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    """A data folder with one model, which is the last one used."""
    monkeypatch.setenv("CLOVER_CACHE_DIR", str(tmp_path / "cache"))
    folder = DataFolder(tmp_path / "data")
    folder.models.mkdir(parents=True)
    shutil.copy(scripted_gguf, folder.models / NAME)
    i18n.set_language("en")
    model = str(folder.models / NAME)
    settings.save(folder.settings, settings.Settings(language="en", theme="light", model_path=model))
    return folder


@pytest.fixture
def drive(qapp: QApplication, data: DataFolder) -> Callable[[Script], None]:
    def run(script: Script) -> None:
        async def driver(window: MainWindow, workspace: Workspace) -> int:
            await script(window, workspace)
            return 0

        assert Application(qapp, "", data).run(driver) == 0

    return run


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves are copies, as onto another disk."""

    def cannot(_state: object) -> None:
        raise AssertionError("renamed")

    real = begin

    def begin_copy(root: Path, source: Path, target: Path, *, every_model: bool) -> MoveState:
        return real(root, source, target, every_model=every_model).at(Step.COPYING, ())

    monkeypatch.setattr("clover_gui.ui.settings.models_move.begin", begin_copy)
    monkeypatch.setattr(carrying, "_rename_all", cannot)


def top_level(kind: type[QWidget], name: str = "") -> QWidget | None:
    found = [w for w in QApplication.topLevelWidgets() if isinstance(w, kind) and w.isVisible()]
    return next((w for w in found if not name or w.objectName() == name), None)


async def places_page(window: MainWindow) -> PlacesPage:
    window.chat_page.settings_requested.emit()
    dialog = top_level(SettingsDialog)
    assert isinstance(dialog, SettingsDialog)
    page = dialog.findChild(PlacesPage)
    dialog.show_page(page)
    await until(page.move_button.isEnabled, "the sizes are shown")
    return page


def press(box: QWidget, text: str) -> None:
    next(button for button in box.findChildren(QPushButton) if button.text() == text).click()


async def question() -> QMessageBox:
    await until(lambda: top_level(QMessageBox, "moveQuestion"), "the question")
    box = top_level(QMessageBox, "moveQuestion")
    assert isinstance(box, QMessageBox)
    return box


async def choose(page: PlacesPage, target: Path, answer: str, application: Application) -> None:
    """What follows the folder dialog."""
    application._desk.places.choose_target(target, page)
    press(await question(), answer)


def run(qapp: QApplication, data: DataFolder, script) -> None:
    """As ``drive``, for scripts that need the program itself."""
    application = Application(qapp, "", data)

    async def driver(window: MainWindow, workspace: Workspace) -> int:
        await script(window, workspace, application)
        return 0

    assert application.run(driver) == 0


async def ready(window: MainWindow, workspace: Workspace) -> None:
    """Here the chat is shown from the start, so that its page says nothing of the load."""
    await model_ready(window, workspace)
    await until(lambda: not workspace.setup.is_loading, "the chat knows of the model")


def close_dialogs() -> None:
    for widget in QApplication.topLevelWidgets():
        if isinstance(widget, QDialog) and widget.isVisible():
            widget.close()


def test_the_loaded_model_moves_and_is_loaded_again(
    qapp: QApplication, data: DataFolder, tmp_path: Path, copying: None
) -> None:
    target = tmp_path / "large disk" / "models"

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        assert "MB" in page.rows["models"].size_label.text() or "KB" in page.rows["models"].size_label.text()
        await choose(page, target, "Move", application)
        dialog = application._desk.move.dialog
        assert dialog is not None
        await until(lambda: not dialog.is_working, "the move is over")
        assert str(target) in dialog.status.text()
        dialog.close_button.click()
        await until(lambda: str(target) in page.rows["models"].folder.text(), "the page shows the new place")
        close_dialogs()
        await ready(window, workspace)
        assert workspace.engine.last_settings is not None
        assert workspace.engine.last_settings.path == str(target / NAME)
        await ask(window, workspace, "Hello?")
        await answered(workspace)

    run(qapp, data, script)
    kept = settings.load(data.settings).settings
    assert kept.models_folder == str(target)
    assert kept.model_path == str(target / NAME)
    assert contents(data.models) == {}
    assert list(contents(target)) == [NAME]
    assert pending_move(data.root) is None


def test_models_put_there_by_hand_move_there_and_back(
    qapp: QApplication, data: DataFolder, tmp_path: Path, tiny_gguf: Path
) -> None:
    target = tmp_path / "large disk"
    (data.models / "mine").mkdir()
    shutil.copy(tiny_gguf, data.models / "mine" / "x.gguf")
    both = {NAME, "mine/x.gguf"}
    whole = i18n.file_size(sum(len(content) for content in contents(data.models, below=True).values()))

    async def move(page: PlacesPage, to: Path, application: Application) -> None:
        application._desk.places.choose_target(to, page)
        box = await question()
        assert "2 models" in box.text()
        press(box, "Move")
        dialog = application._desk.move.dialog
        assert dialog is not None
        await until(lambda: not dialog.is_working, "the move is over")
        assert f"The models are in {to} now" in dialog.status.text()
        dialog.close_button.click()
        await until(lambda: page.rows["models"].folder.text() == str(to), "the page shows the new place")
        assert page.rows["models"].size_label.text() == whole

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        await move(page, target, application)
        assert set(contents(target, below=True)) == both
        assert contents(data.models, below=True) == {}
        await move(page, data.models, application)
        assert set(contents(data.models, below=True)) == both
        assert contents(target, below=True) == {}
        close_dialogs()
        await ready(window, workspace)

    run(qapp, data, script)
    assert settings.load(data.settings).settings.models_folder == ""


def test_with_nothing_to_move_no_move_is_offered_and_a_model_elsewhere_is_explained(
    qapp: QApplication, data: DataFolder, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere" / NAME
    elsewhere.parent.mkdir()
    (data.models / NAME).rename(elsewhere)
    settings.save(data.settings, replace(settings.load(data.settings).settings, model_path=str(elsewhere)))

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        assert page.rows["models"].size_label.text() == "0 B"
        assert str(elsewhere.parent) in page.rows["models"].remark.text()
        application._desk.places.choose_target(tmp_path / "new", page)
        box = await question()
        assert [b.text() for b in box.findChildren(QPushButton) if "Move" in b.text()] == []
        press(box, "Use that folder from now on")
        close_dialogs()

    run(qapp, data, script)
    assert settings.load(data.settings).settings.models_folder == str(tmp_path / "new")


def test_stopped_it_stays_where_it_was(
    qapp: QApplication, data: DataFolder, tmp_path: Path, copying: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "large disk"
    (data.models / "second.gguf").write_bytes(b"GGUF" + os.urandom(1 << 20))
    began, go = threading.Event(), threading.Event()
    real = verified_copy._write

    def slowly(file: object, piece: memoryview) -> None:
        began.set()
        assert go.wait(60)
        real(file, piece)  # type: ignore[arg-type]

    monkeypatch.setattr(verified_copy, "_write", slowly)

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        await choose(page, target, "Move", application)
        await until(began.is_set, "it copies")
        dialog = application._desk.move.dialog
        assert dialog is not None
        assert pending_move(data.root) is not None
        dialog.stop_button.click()
        go.set()
        await until(lambda: not dialog.is_working, "it has stopped")
        assert "where they were" in dialog.status.text()
        close_dialogs()
        await ready(window, workspace)
        assert workspace.engine.last_settings.path == str(data.models / NAME)

    run(qapp, data, script)
    assert settings.load(data.settings).settings.models_folder == ""
    assert set(contents(data.models)) == {NAME, "second.gguf"}
    assert not target.exists()
    assert pending_move(data.root) is None


def test_a_refusal_is_said_and_changes_nothing(qapp: QApplication, data: DataFolder, tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.mkdir()
    (target / NAME).write_bytes(b"of somebody else")

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        await choose(page, target, "Move", application)
        dialog = application._desk.move.dialog
        assert dialog is not None
        await until(lambda: not dialog.is_working, "it says no")
        assert NAME in dialog.status.text()
        assert dialog.close_button.isVisible()
        close_dialogs()
        await ready(window, workspace)

    run(qapp, data, script)
    assert contents(target) == {NAME: b"of somebody else"}
    assert list(contents(data.models)) == [NAME]


def test_only_another_folder_from_now_on(qapp: QApplication, data: DataFolder, tmp_path: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        await choose(page, tmp_path / "new", "Use that folder from now on, move nothing", application)
        close_dialogs()

    run(qapp, data, script)
    assert settings.load(data.settings).settings.models_folder == str(tmp_path / "new")
    assert list(contents(data.models)) == [NAME]


def interrupted(data: DataFolder, target: Path) -> None:
    """As a kill in the middle of copying leaves it."""
    state = begin(data.root, data.models, target, every_model=True).at(Step.COPYING, ())
    verified_copy.growing_path(state.target / NAME).write_bytes((data.models / NAME).read_bytes()[:1000])


@pytest.mark.parametrize("answer", ["Go on", "Leave them where they are", "Later"])
def test_an_interrupted_move_is_offered_at_the_next_start(
    qapp: QApplication, data: DataFolder, tmp_path: Path, answer: str
) -> None:
    target = tmp_path / "large disk"
    interrupted(data, target)

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        box = await question()
        assert str(target) in box.informativeText()
        press(box, answer)
        if answer == "Later":
            return
        dialog = application._desk.move.dialog
        assert isinstance(dialog, MoveDialog)
        await until(lambda: not dialog.is_working, "it is over")
        dialog.close_button.click()
        if answer == "Go on":
            assert str(target) in dialog.status.text()
        await ready(window, workspace)
        place = target if answer == "Go on" else data.models
        assert workspace.engine.last_settings is not None
        assert workspace.engine.last_settings.path == str(place / NAME)

    run(qapp, data, script)
    moved = answer == "Go on"
    assert list(contents(target)) == ([NAME] if moved else [NAME + ".clover-moving"] * (answer == "Later"))
    assert list(contents(data.models)) == ([] if moved else [NAME])
    assert (pending_move(data.root) is None) is (answer != "Later")
    assert settings.load(data.settings).settings.models_folder == (str(target) if moved else "")


def test_a_disk_that_is_pulled_out_in_the_middle_is_never_done(
    qapp: QApplication, data: DataFolder, tmp_path: Path, copying: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tried again without the disk it fails again; with the disk it goes on."""
    target, away = tmp_path / "large disk", data.root / "unplugged"
    (data.models / "another.gguf").write_bytes(b"GGUF" + os.urandom(1 << 16))
    names = {NAME, "another.gguf"}
    pulled: list[bool] = []
    real = verified_copy._write

    def unplug(file: object, piece: memoryview) -> None:
        if not pulled and (target / "another.gguf").exists():
            pulled.append(True)
            data.models.rename(away)
            raise OSError(5, "Input/output error")
        real(file, piece)  # type: ignore[arg-type]

    monkeypatch.setattr(verified_copy, "_write", unplug)

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        await choose(page, target, "Move", application)
        dialog = application._desk.move.dialog
        assert dialog is not None
        await until(lambda: not dialog.is_working, "it fails")
        for _round in range(2):
            dialog.retry_button.click()
            assert dialog.is_working
            await until(lambda: not dialog.is_working, "it fails again")
            assert dialog.retry_button.isVisible()
            assert "could not be moved" in dialog.status.text()
            assert settings.load(data.settings).settings.models_folder == ""
            assert pending_move(data.root) is not None
            data.models.mkdir(exist_ok=True)  # where the disk was, the second time
        data.models.rmdir()
        away.rename(data.models)
        dialog.retry_button.click()
        await until(lambda: not dialog.is_working, "it goes on")
        assert f"The models are in {target} now" in dialog.status.text()
        close_dialogs()

    run(qapp, data, script)
    assert set(contents(target)) == names
    assert settings.load(data.settings).settings.models_folder == str(target)
    assert pending_move(data.root) is None


def test_with_the_disk_of_the_models_away_no_move_is_offered(
    qapp: QApplication, data: DataFolder, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    settings.save(
        data.settings, replace(settings.load(data.settings).settings, models_folder=str(disk / "models"))
    )

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        application._desk.places.choose_target(tmp_path / "new", page)
        box = await question()
        assert "Is its disk connected?" in box.text()
        assert [b.text() for b in box.findChildren(QPushButton) if b.text() == "Move"] == []
        box.reject()
        # As where the disk went between the question and the answer.
        application._desk.move.start(disk / "models", tmp_path / "new", page.window())
        dialog = application._desk.move.dialog
        assert dialog is not None
        await until(lambda: not dialog.is_working, "it says no")
        assert dialog.close_button.isVisible()
        close_dialogs()

    run(qapp, data, script)
    assert settings.load(data.settings).settings.models_folder == str(disk / "models")
    assert not (tmp_path / "new").exists()


def test_whatever_goes_wrong_ends_the_dialog_and_loads_the_model_again(
    qapp: QApplication, data: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_options: object) -> MoveState:
        raise UnicodeEncodeError("utf-8", "caf\udce9", 3, 4, "surrogates not allowed")

    monkeypatch.setattr("clover_gui.ui.settings.models_move.begin", broken)

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        await choose(page, tmp_path / "new", "Move", application)
        dialog = application._desk.move.dialog
        assert dialog is not None
        await until(lambda: not dialog.is_working, "it says so")
        assert "UnicodeEncodeError" in dialog.status.text()
        dialog.close_button.click()
        assert application._desk.move.dialog is None
        close_dialogs()
        await ready(window, workspace)
        assert workspace.engine.last_settings.path == str(data.models / NAME)

    run(qapp, data, script)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is text")
def test_a_folder_whose_name_is_no_text(qapp: QApplication, data: DataFolder, tmp_path: Path) -> None:
    target = tmp_path / os.fsdecode(b"caf\xe9")

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        page = await places_page(window)
        await choose(page, target, "Move", application)
        dialog = application._desk.move.dialog
        assert dialog is not None
        await until(lambda: not dialog.is_working, "the move is over")
        assert "The models are in" in dialog.status.text()
        close_dialogs()
        await ready(window, workspace)
        assert workspace.engine.last_settings.path == str(target / NAME)

    run(qapp, data, script)
    assert list(contents(target)) == [NAME]
    assert settings.load(data.settings).settings.models_folder == str(target)


def test_a_move_that_lacks_only_its_end_is_ended_without_a_question(
    drive: Callable[[Script], None], data: DataFolder, tmp_path: Path
) -> None:
    target = tmp_path / "large disk"
    state = begin(data.root, data.models, target, every_model=True).at(Step.COPYING, ())
    carry(state, lambda _progress: None, lambda: False)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        assert workspace.engine.last_settings.path == str(target / NAME)
        assert top_level(QMessageBox) is None

    drive(script)
    assert contents(data.models) == {}
    assert settings.load(data.settings).settings.models_folder == str(target)


def test_a_move_waits_for_the_end_of_an_answer(
    qapp: QApplication, data: DataFolder, tmp_path: Path, scripted_endless_gguf: Path
) -> None:
    shutil.copy(scripted_endless_gguf, data.models / NAME)

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Go on")
        page = await places_page(window)
        await choose(page, tmp_path / "other", "Move", application)
        assert application._desk.move.dialog is None
        box = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox) and w.isVisible())
        assert "answer" in box.text()
        close_dialogs()
        workspace.chat.stop()
        await answered(workspace)

    run(qapp, data, script)
    assert list(contents(data.models)) == [NAME]


def test_a_data_folder_that_was_carried_elsewhere_finds_its_model(
    drive: Callable[[Script], None], data: DataFolder
) -> None:
    """As on a stick that has another name on this machine."""
    elsewhere = replace(settings.load(data.settings).settings, model_path=f"/another machine/{NAME}")
    settings.save(data.settings, elsewhere)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        assert workspace.engine.last_settings is not None
        assert workspace.engine.last_settings.path == str(data.models / NAME)

    drive(script)


# ---------------------------------------------------------------------- removing


@pytest.mark.parametrize("chats_too", [False, True])
def test_everything_is_removed_after_the_window_has_closed(
    qapp: QApplication, data: DataFolder, tmp_path: Path, chats_too: bool
) -> None:
    (data.models / (NAME + ".receipt.json")).write_text("{}")
    (data.models / "by-hand.gguf").write_bytes(b"mine")
    if chats_too:
        (data.models / "by-hand.gguf").unlink()

    async def script(window: MainWindow, workspace: Workspace, application: Application) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        page = await places_page(window)
        page.remove_button.click()
        await until(lambda: top_level(RemoveDialog), "what would be removed")
        dialog = top_level(RemoveDialog)
        assert isinstance(dialog, RemoveDialog)
        assert NAME in dialog.list.toPlainText()
        dialog.chats_too.setChecked(chats_too)
        closing: list[bool] = []
        window.close_requested.connect(lambda: closing.append(True))
        dialog.remove_button.click()
        assert closing == [True]
        assert data.settings.exists()
        close_dialogs()

    run(qapp, data, script)
    if chats_too:
        assert not data.root.exists()
    else:
        assert sorted(path.name for path in data.root.rglob("*")) == [
            "by-hand.gguf",
            "chats.sqlite3",
            "models",
        ]
        with sqlite3.connect(data.chats) as chats:
            assert chats.execute("SELECT count(*) FROM messages").fetchone()[0] == 2
        chats.close()


# ---------------------------------------------------------------------- the folder vanishes


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be removed there")
def test_the_data_folder_is_removed_while_the_program_runs(
    drive: Callable[[Script], None], data: DataFolder, scripted_gguf: Path
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "One?")
        await answered(workspace)
        shutil.rmtree(data.root)
        await ask(window, workspace, "Two?")
        await answered(workspace)
        notice = window.chat_page.notice
        await until(lambda: "removed while" in notice.label.text(), "it is told")
        assert str(data.root) in notice.label.text()
        assert data.chats.exists()

    async def afterwards(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: len(window.chat_page.messages) == 4, "the chat is whole")
        assert last_view(window).text()

    drive(script)
    drive(afterwards)


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be removed there")
def test_what_cannot_be_saved_is_told_and_saved_later(
    drive: Callable[[Script], None], data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clover_gui.chat.async_store.SAVE_AGAIN_S", 0.05)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        notice = window.chat_page.notice
        shutil.rmtree(data.root)
        data.root.write_text("a file where the folder was")
        window.chat_page.composer.set_text("A draft")
        await until(lambda: "tried again" in notice.label.text(), "it is told")
        data.root.unlink()
        await until(lambda: "saved again" in notice.label.text(), "it is saved")
        window.chat_page.composer.set_text("A draft")

    drive(script)
    with sqlite3.connect(data.chats) as chats:
        assert chats.execute("SELECT text FROM drafts").fetchall() == [("A draft",)]
    chats.close()


# ---------------------------------------------------------------------- newer versions


@pytest.fixture
def releases(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A server with a newer version; the list has the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = json.dumps({"tag_name": "v99.1"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("CLOVER_RELEASES", f"http://127.0.0.1:{server.server_port}/latest")
    yield asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_newer_version_is_one_line_with_a_question_before_the_browser(
    drive: Callable[[Script], None], data: DataFolder, releases: list[str]
) -> None:
    changed = replace(settings.load(data.settings).settings, look_for_new_versions=True)
    settings.save(data.settings, changed)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        notice = window.chat_page.notice
        await until(lambda: notice.isVisible() and "99.1" in notice.label.text(), "the line")
        notice.action_button.click()
        box = top_level(QMessageBox)
        assert isinstance(box, QMessageBox)
        assert "https://" in box.informativeText()
        box.reject()

    drive(script)
    assert releases == ["/latest"]


def test_switched_on_it_asks_at_once(
    drive: Callable[[Script], None], data: DataFolder, releases: list[str]
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.settings_requested.emit()
        dialog = top_level(SettingsDialog)
        assert isinstance(dialog, SettingsDialog)
        dialog.findChild(GeneralPage).new_versions.setChecked(True)
        dialog.save_button.click()
        await until(lambda: "99.1" in window.chat_page.notice.label.text(), "the line")

    drive(script)
    assert releases == ["/latest"]
    assert settings.load(data.settings).settings.look_for_new_versions


def test_nothing_is_asked_unless_it_was_switched_on(
    drive: Callable[[Script], None], releases: list[str]
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)

    drive(script)
    assert releases == []
