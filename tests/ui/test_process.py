"""The program as a process of its own: killed in mid-answer, started twice, on a real screen."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtGui import QImage

from clover_gui.exit_codes import ExitCode

ASK_AND_WAIT = """
import asyncio, sys
from pathlib import Path
from clover_gui.paths import DataFolder
from clover_gui.ui.application import run_window

async def driver(window, workspace):
    while workspace.engine.loaded is None or window.pages.currentWidget() is not window.chat_page:
        await asyncio.sleep(0.01)
    window.chat_page.composer.set_text("Go on for ever")
    window.chat_page.composer.send_button.click()
    while not (len(window.chat_page.messages) == 2 and window.chat_page.messages.view_at(1).thinking):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.7)  # longer than the pause between two savings
    print(workspace.engine.pid, flush=True)
    await asyncio.sleep(600)

sys.exit(run_window(sys.argv[2], DataFolder(Path(sys.argv[1])), driver))
"""


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "QT_QPA_PLATFORM": "offscreen", "CLOVER_LANGUAGE": "en", **more}


def test_a_killed_window_loses_nothing_and_leaves_no_engine(
    tmp_path: Path, scripted_endless_gguf: Path
) -> None:
    data = tmp_path / "data"
    process = subprocess.Popen(
        [sys.executable, "-c", ASK_AND_WAIT, str(data), str(scripted_endless_gguf)],
        stdout=subprocess.PIPE,
        env=_environment(),
        text=True,
    )
    assert process.stdout is not None
    engine = psutil.Process(int(process.stdout.readline()))
    process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    process.communicate(timeout=20)
    try:
        engine.wait(timeout=5)
    except psutil.NoSuchProcess:
        pass
    with sqlite3.connect(data / "chats.sqlite3") as database:
        question, answer = database.execute("select text from messages order by id").fetchall()
    assert question[0] == "Go on for ever"
    assert len(answer[0]) > 100


def test_a_second_start_ends_at_once(tmp_path: Path, scripted_endless_gguf: Path) -> None:
    data = tmp_path / "data"
    first = subprocess.Popen(
        [sys.executable, "-c", ASK_AND_WAIT, str(data), str(scripted_endless_gguf)],
        stdout=subprocess.PIPE,
        env=_environment(),
        text=True,
    )
    try:
        assert first.stdout is not None
        assert first.stdout.readline()
        second = subprocess.run(
            [sys.executable, "-m", "clover_gui", "--data-dir", str(data)],
            env=_environment(),
            timeout=30,
            check=False,
        )
        assert second.returncode == 0
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a screen")
def test_without_a_screen_it_says_so_and_offers_the_terminal(tmp_path: Path) -> None:
    environment = _environment()
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        environment.pop(name, None)
    result = subprocess.run(
        [sys.executable, "-m", "clover_gui", "--data-dir", str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.returncode == ExitCode.NO_DISPLAY
    assert "clover-gui chat" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="screens of X11 have names only there")
def test_a_screen_that_is_not_there_is_said_before_qt_ends_the_process(tmp_path: Path) -> None:
    environment = _environment(DISPLAY=":55")
    for name in ("WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        environment.pop(name, None)
    result = subprocess.run(
        [sys.executable, "-m", "clover_gui", "--data-dir", str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.returncode == ExitCode.NO_DISPLAY
    assert ":55" in result.stderr


@pytest.fixture
def display() -> Iterator[str]:
    """A virtual X screen of its own."""
    reader, writer = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x860x24", "-nolisten", "tcp"],
        pass_fds=(writer,),
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    with os.fdopen(reader) as numbers:
        number = numbers.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait(timeout=10)


@pytest.mark.xvfb
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="virtual screens are a thing of X11")
def test_smoke_test_on_a_real_screen(display: str, tmp_path: Path, scripted_gguf: Path) -> None:
    picture = tmp_path / "picture.png"
    begin = time.monotonic()
    result = subprocess.run(
        [
            *(sys.executable, "-m", "clover_gui", "--data-dir", str(tmp_path / "data")),
            *("--smoke-test", "--model", str(scripted_gguf), "--prompt", "Hello?"),
            *("--screenshot", str(picture)),
        ],
        env=_environment(QT_QPA_PLATFORM="xcb", DISPLAY=display),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    print(f"smoke test in {time.monotonic() - begin:.1f} s")
    assert result.returncode == 0, result.stderr
    assert "Hello world" in result.stdout
    image = QImage(str(picture))
    assert image.width() >= 600
    colors = {image.pixel(x, y) for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}
    assert len(colors) > 8


def test_smoke_test_fails_with_the_reason(tmp_path: Path, damaged_ggufs: dict[str, Path]) -> None:
    result = subprocess.run(
        [
            *(sys.executable, "-m", "clover_gui", "--data-dir", str(tmp_path / "data")),
            *("--smoke-test", "--model", str(damaged_ggufs["html"])),
        ],
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode != 0
    assert "web page" in result.stderr
