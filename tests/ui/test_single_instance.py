"""Two starts on one data folder: the second raises the first. Real processes for the second one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalSocket

from clover_gui.ui.single_instance import SingleInstance, _socket_name

SECOND = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from clover_gui.ui.single_instance import SingleInstance
app = QCoreApplication([])
folder = Path(sys.argv[1])
instance = SingleInstance(folder, folder / "instance.lock")
if instance.acquire():
    print("first", flush=True)
    if len(sys.argv) > 2:
        sys.stdin.read()
else:
    print("handed over" if instance.hand_over(*sys.argv[2:]) else "no answer", flush=True)
"""


def _second(folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SECOND, str(folder), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_second_start_raises_the_first(qtbot, tmp_path: Path) -> None:
    first = SingleInstance(tmp_path, tmp_path / "instance.lock")
    assert first.acquire()
    with qtbot.waitSignal(first.raise_requested, timeout=20_000):
        process = _second(tmp_path)
    assert process.communicate(timeout=20)[0].strip() == "handed over"
    first.release()


def test_a_second_start_brings_its_file(qtbot, tmp_path: Path) -> None:
    first = SingleInstance(tmp_path, tmp_path / "instance.lock")
    assert first.acquire()
    name = str(tmp_path / "a model,\n“quoted” ü.gguf")
    files: list[str] = []
    first.open_requested.connect(files.append)
    with qtbot.waitSignals([first.raise_requested, first.open_requested], timeout=20_000):
        process = _second(tmp_path, name)
    assert files == [name]
    assert process.communicate(timeout=20)[0].strip() == "handed over"
    first.release()


@pytest.mark.parametrize(
    "request_bytes", [b"open relative.gguf\n", b'open "relative.gguf"\n', b"open 7\n", b"open \xff\n", b"?\n"]
)
def test_what_is_no_request_does_nothing(request_bytes: bytes, qtbot, tmp_path: Path) -> None:
    first = SingleInstance(tmp_path, tmp_path / "instance.lock")
    assert first.acquire()
    seen: list[object] = []
    first.raise_requested.connect(lambda: seen.append("raise"))
    first.open_requested.connect(seen.append)
    socket = QLocalSocket()
    socket.connectToServer(_socket_name(tmp_path))
    assert socket.waitForConnected(2000)
    socket.write(request_bytes)
    assert socket.waitForBytesWritten(2000)
    qtbot.waitUntil(lambda: socket.state() is QLocalSocket.LocalSocketState.UnconnectedState, timeout=5000)
    assert seen == []
    first.release()


def test_another_data_folder_is_another_instance(qtbot, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = SingleInstance(tmp_path / "a", tmp_path / "a" / "instance.lock")
    second = SingleInstance(tmp_path / "b", tmp_path / "b" / "instance.lock")
    assert first.acquire()
    assert second.acquire()
    first.release()
    second.release()


def test_the_lock_of_a_killed_instance_does_not_matter(qtbot, tmp_path: Path) -> None:
    process = _second(tmp_path, "stay")
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "first"
    os.kill(process.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    process.wait(timeout=10)
    process.communicate()
    after = SingleInstance(tmp_path, tmp_path / "instance.lock")
    assert after.acquire()
    after.release()


def test_a_folder_that_cannot_be_written_still_gives_a_window(qtbot, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    instance = SingleInstance(blocked / "data", blocked / "data" / "instance.lock")
    assert instance.acquire()
    instance.release()
