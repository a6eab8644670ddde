"""Pictures of the window in every state that matters, made with real models in the real engine.

    python -m tests.benchmarks.window_scenes FOLDER [--only NAME ...] [--themes light dark]
        [--scales 100 150] [--languages en de] [--sizes small large]

One PNG for each picture, theme, scale, language and size. The models are tiny files that say what
``scene_texts.py`` holds; everything else is the program as it is. So small a model writes a page in the
blink of an eye: its process is slowed down, and paused for a picture in the middle of an answer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QScrollArea,
)

from clover_gui import i18n, settings
from clover_gui.chat.message import AnswerStats, MessageState
from clover_gui.chat.store import ChatStore
from clover_gui.paths import DataFolder
from clover_gui.ui.application import Application
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.benchmarks.scene_stage import Picture, Stage
from tests.benchmarks.scene_texts import (
    LANGUAGES,
    MEASUREMENTS,
    SceneTexts,
    Talk,
    empty_answer_script,
    long_thought_script,
    looping_answer_script,
    looping_thought_script,
    talk_script,
)
from tests.kit.gguf_maker import make_scripted
from tests.kit.scripts import Script

SIZES = {"small": (800, 600), "large": (1400, 900)}
DAY_S = 86_400.0
# As a broken file does: thinking and answer alike.
ONE_LETTER_ONLY = Script((("\n\n", ("!",)), ("\n", ("!",))), loop_to="!")
MODEL_NAME = "Scripted demo"
# So many tokens that a long thought, or some short turns, do not fit.
SMALL_CONTEXT = 768


@dataclass(frozen=True)
class Look:
    """One way of showing all scenes."""

    theme: str = "light"
    language: str = "en"
    size: str = "large"


# ------------------------------------------------------------------ the scenes


@dataclass(frozen=True)
class Scene:
    """``pictures`` are the names of what ``play`` takes; ``script`` None: a model with broken numbers."""

    pictures: tuple[str, ...]
    script: Callable[[SceneTexts], Script]
    play: Callable[[Stage], Awaitable[None]]
    context: int = 0
    broken: bool = False
    load: bool = True


async def _frame(stage: Stage) -> None:
    """What needs no answer: the empty chat, the lists and the dialogs."""
    window, page, texts = stage.window, stage.window.chat_page, stage.texts
    await stage.new_chat()
    await stage.take("empty")
    page.conversations.focus_search()
    page.conversations.search.setText(texts.search)
    await stage.until(lambda: 0 < page.conversations.list.count() < len(texts.earlier), "it is found")
    await stage.take("search")
    page.conversations.search.clear()
    await stage.open_chat(texts.earlier[0].question)
    options = stage.chat.show_options()
    options.instructions.setPlainText(texts.instructions)
    await stage.take("options", options)
    options.reject()
    page.settings_requested.emit()
    await stage.take("settings", stage.dialog("settingsDialog"))
    stage.dialog("settingsDialog").reject()
    page.diagnostics_requested.emit()
    dialog = stage.dialog("diagnosticsDialog")
    await stage.until(lambda: dialog.save_button.isEnabled(), "the report is made")  # type: ignore[attr-defined]
    await stage.take("diagnostics", dialog)
    dialog.reject()
    window.show_help()
    await stage.take("help", stage.dialog("helpSheet"))
    stage.dialog("helpSheet").reject()


async def _files(stage: Stage) -> None:
    page, texts = stage.window.chat_page, stage.texts
    await stage.new_chat()
    notes, table = stage.folder / texts.notes_name, stage.folder / "lamp-hours.csv"
    notes.write_text(texts.notes, encoding="utf-8")
    table.write_text(MEASUREMENTS, encoding="utf-8")
    page.composer.files_given.emit([notes, table])
    page.composer.set_text(texts.about_files)
    await stage.until(
        lambda: (
            len(stage.chat._field._tray.files) == 2 and all(f.tokens for f in stage.chat._field._tray.files)
        ),
        "the files are counted",
    )
    await stage.take("attachments")


async def _setup(stage: Stage) -> None:
    page = stage.window.setup_page
    stage.workspace.open_file(stage.model)
    await stage.until(lambda: stage.workspace.setup.can_start, "the plan is made")
    await stage.until(page.start_button.isEnabled, "it can be started")
    await stage.take("setup")
    for area in page.findChildren(QScrollArea, "setupArea"):
        area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    await stage.take("plan")


async def _prose(stage: Stage) -> None:
    talk = stage.texts.prose
    await stage.new_chat()
    async with stage.slowed():
        await stage.ask(talk.question)
        await stage.until(lambda: _has(stage, len(talk.answer) // 3), "a third of the answer is there")
        async with stage.frozen():
            await stage.take("streaming")
        await stage.answered()
    await stage.take("thinking-folded")


def _has(stage: Stage, characters: int) -> bool:
    return stage.chat.view is not None and len(stage.view.text()) >= characters


def _thinks(stage: Stage, characters: int = 1) -> bool:
    view = stage.chat.view
    return view is not None and view.thinking is not None and len(view.thinking.text()) >= characters


async def _answer(stage: Stage, name: str, talk: Talk, top: bool = False) -> None:
    await stage.new_chat()
    async with stage.slowed():
        await stage.asked_and_answered(talk.question)
    if top:
        stage.window.chat_page.messages.scroll_to(0)
    await stage.take(name)


async def _open_thinking(stage: Stage) -> None:
    talk = stage.texts.riddle
    await stage.new_chat()
    async with stage.slowed():
        await stage.ask(talk.question)
        await stage.until(lambda: _thinks(stage), "it thinks")
        stage.view.thinking.set_open(True)  # type: ignore[union-attr]
        await stage.until(lambda: _thinks(stage, len(talk.thought) // 3), "a third of it is there")
        async with stage.frozen():
            await stage.take("thinking-open")
        await stage.answered()


async def _budget(stage: Stage) -> None:
    await stage.new_chat()
    await stage.ask(stage.texts.count.question)
    await stage.until(lambda: _thinks(stage), "it thinks")
    header = stage.view.thinking.header  # type: ignore[union-attr]
    comma = i18n.number(4096)[1]
    await stage.until(lambda: header.text().count(comma) == 2, "more than a thousand of the budget")
    async with stage.frozen():
        await stage.take("thinking-budget")
    await stage.answered()
    await stage.take("thinking-stopped")


async def _closed(stage: Stage, name: str, question: str) -> None:
    await stage.new_chat()
    await stage.asked_and_answered(question)
    await stage.take(name)


async def _killed(stage: Stage) -> None:
    talk, engine = stage.texts.prose, stage.workspace.engine
    await stage.new_chat()
    async with stage.slowed():
        await stage.ask(talk.question)
        await stage.until(lambda: _has(stage, len(talk.answer) // 3), "a third of the answer is there")
        stage.process().kill()
        await stage.answered()
    await stage.until(lambda: engine.loaded is not None, "the engine is back")
    await stage.take("error")


async def _overflow(stage: Stage) -> None:
    bar = stage.window.chat_page.overflow
    await stage.open_chat(stage.texts.long_history[0].question)
    await stage.ask(stage.texts.rain.question)
    await stage.until(bar.isVisible, "the question is asked")
    await stage.take("overflow")
    bar.drop_button.click()
    await stage.answered()
    chat = stage.chat.chat
    assert chat is not None
    path = await stage.store.messages(chat.id)
    marked = next(place for place, message in enumerate(path) if message.begins_context)
    stage.window.chat_page.messages.scroll_to(marked - 1)
    await stage.take("dropped")


def scenes() -> tuple[Scene, ...]:
    def said(pick: Callable[[SceneTexts], Talk]) -> Callable[[SceneTexts], Script]:
        return lambda texts: talk_script(pick(texts))

    def question(name: str, pick: Callable[[SceneTexts], str]) -> Callable[[Stage], Awaitable[None]]:
        return lambda stage: _closed(stage, name, pick(stage.texts))

    def answer(
        name: str, pick: Callable[[SceneTexts], Talk], top: bool = False
    ) -> Callable[[Stage], Awaitable[None]]:
        return lambda stage: _answer(stage, name, pick(stage.texts), top)

    return (
        Scene(
            ("empty", "search", "options", "settings", "diagnostics", "help"),
            said(lambda t: t.prose),
            _frame,
        ),
        Scene(("attachments",), said(lambda t: t.prose), _files),
        Scene(("setup", "plan"), said(lambda t: t.prose), _setup, load=False),
        Scene(("streaming", "thinking-folded"), said(lambda t: t.prose), _prose),
        Scene(("code",), said(lambda t: t.code), answer("code", lambda t: t.code, top=True)),
        Scene(("table",), said(lambda t: t.table), answer("table", lambda t: t.table)),
        Scene(("formula",), said(lambda t: t.formula), answer("formula", lambda t: t.formula)),
        Scene(("thinking-open",), said(lambda t: t.riddle), _open_thinking),
        Scene(("thinking-budget", "thinking-stopped"), long_thought_script, _budget),
        Scene(
            ("reserve",),
            long_thought_script,
            question("reserve", lambda t: t.count.question),
            context=SMALL_CONTEXT,
        ),
        Scene(
            ("thinking-loop",),
            looping_thought_script,
            question("thinking-loop", lambda t: t.riddle.question),
        ),
        Scene(
            ("answer-loop",),
            looping_answer_script,
            question("answer-loop", lambda t: t.earlier[0].question),
        ),
        Scene(
            ("empty-answer",),
            empty_answer_script,
            question("empty-answer", lambda t: t.riddle.question),
        ),
        Scene(
            ("degenerate",),
            lambda _texts: ONE_LETTER_ONLY,
            question("degenerate", lambda t: t.earlier[1].question),
        ),
        Scene(
            ("no-numbers",),
            said(lambda t: t.prose),
            question("no-numbers", lambda t: t.earlier[1].question),
            broken=True,
        ),
        Scene(("error",), said(lambda t: t.prose), _killed),
        Scene(("overflow", "dropped"), said(lambda t: t.rain), _overflow, context=SMALL_CONTEXT),
    )


# ------------------------------------------------------------------ playing them


def _fill(path: Path, texts: SceneTexts) -> None:
    """Chats of the last weeks, so that the list at the left looks as it does in use."""
    now = time.time()
    moment = [now]
    store = ChatStore(path, clock=lambda: moment[0])
    ages = (30, 12, 6, 3, 1)
    for age, talk in zip(ages, reversed(texts.earlier), strict=True):
        moment[0] = now - age * DAY_S
        chat = store.create_chat()
        _say(store, chat.id, talk)
        if age == ages[0]:
            store.set_pinned(chat.id, True)
    moment[0] = now - 3600
    chat = store.create_chat()
    for talk in texts.long_history:
        _say(store, chat.id, talk)
    store.close()


def _say(store: ChatStore, chat_id: int, talk: Talk) -> None:
    question = store.add_user_message(chat_id, talk.question)
    answer = store.begin_answer(chat_id, question.id)
    stats = AnswerStats(tokens_read=120, tokens_written=210, read_seconds=0.2, write_seconds=3.4)
    store.finish_answer(answer.id, talk.answer, talk.thought, MessageState.COMPLETE, stats)


def play(qt: QApplication, scene: Scene, look: Look, folder: Path) -> list[Picture]:
    """Run the program once, with the scene in place of a person. Raises what goes wrong."""
    texts = LANGUAGES[look.language]
    i18n.set_language(look.language)
    data = DataFolder(folder / "data")
    data.root.mkdir(parents=True)
    settings.save(
        data.settings, settings.Settings(language=look.language, theme=look.theme, context=scene.context)
    )
    _fill(data.chats, texts)
    model = make_scripted(
        folder / "demo.gguf", script=scene.script(texts), name=MODEL_NAME, broken=scene.broken
    )
    pictures: list[Picture] = []

    async def driver(window: MainWindow, workspace: Workspace) -> int:
        stage = Stage(window, workspace, texts, folder, model)
        window.resize(*SIZES[look.size])
        if scene.load:
            await stage.ready()
        await scene.play(stage)
        pictures.extend(stage.pictures)
        return 0

    qt.setCursorFlashTime(0)
    assert Application(qt, str(model) if scene.load else "", data).run(driver) == 0
    assert tuple(picture.name for picture in pictures) == scene.pictures
    return pictures


def make_pictures(folder: Path, only: Sequence[str], looks: Sequence[Look], scale: int) -> None:
    qt = QApplication(["clover-gui"])
    qt.setAttribute(Qt.ApplicationAttribute.AA_DontShowIconsInMenus, False)
    for look in looks:
        for scene in scenes():
            if only and not set(only) & set(scene.pictures):
                continue
            with tempfile.TemporaryDirectory() as work:
                for picture in play(qt, scene, look, Path(work)):
                    name = f"{picture.name}-{look.theme}-{scale}-{look.language}-{look.size}.png"
                    picture.pixmap.save(str(folder / name))
                    print(name, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Pictures of the window in every state that matters.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--themes", nargs="*", default=["light"], choices=["light", "dark"])
    parser.add_argument("--scales", nargs="*", type=int, default=[100])
    parser.add_argument("--languages", nargs="*", default=["en"], choices=sorted(LANGUAGES))
    parser.add_argument("--sizes", nargs="*", default=["large"], choices=sorted(SIZES))
    arguments = parser.parse_args()
    known = {name for scene in scenes() for name in scene.pictures}
    if unknown := set(arguments.only) - known:
        parser.error(f"no such pictures: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if len(arguments.scales) == 1 and os.environ.get("QT_SCALE_FACTOR") == _factor(arguments.scales[0]):
        looks = [
            Look(theme, language, size)
            for theme in arguments.themes
            for language in arguments.languages
            for size in arguments.sizes
        ]
        try:
            make_pictures(arguments.folder, arguments.only, looks, arguments.scales[0])
        except Exception:
            traceback.print_exc()  # the program's own hook would show a dialog
            return 1
        return 0
    # The scale is read when Qt starts, so each one has a process of its own.
    for scale in arguments.scales:
        command = [sys.executable, "-m", "tests.benchmarks.window_scenes", str(arguments.folder)]
        command += ["--scales", str(scale)]
        for option in ("only", "themes", "languages", "sizes"):
            if values := getattr(arguments, option):
                command += [f"--{option}", *values]
        result = subprocess.run(command, env={**os.environ, "QT_SCALE_FACTOR": _factor(scale)}, check=False)
        if result.returncode:
            return result.returncode
    return 0


def _factor(scale: int) -> str:
    return f"{scale / 100:g}"


if __name__ == "__main__":
    sys.exit(main())
