"""Two starts on one data folder: the second raises the first. Real processes for the second one."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket as sockets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalSocket

from clover_gui.ui.instance_address import addresses, is_own_socket
from clover_gui.ui.single_instance import SingleInstance

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
    "request_bytes",
    [
        b"open relative.gguf\n",
        b'open "relative.gguf"\n',
        b"open 7\n",
        b"open \xff\n",
        b"open " + b"[" * 100_000 + b"\n",
        b"?\n",
    ],
)
def test_what_is_no_request_does_nothing(request_bytes: bytes, qtbot, tmp_path: Path) -> None:
    first = SingleInstance(tmp_path, tmp_path / "instance.lock")
    assert first.acquire()
    seen: list[object] = []
    first.raise_requested.connect(lambda: seen.append("raise"))
    first.open_requested.connect(seen.append)
    socket = QLocalSocket()
    socket.connectToServer(addresses(tmp_path)[0])
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


def test_a_name_that_no_file_can_have_raises_the_window_all_the_same(qtbot, tmp_path: Path) -> None:
    first = SingleInstance(tmp_path, tmp_path / "instance.lock")
    assert first.acquire()
    files: list[str] = []
    first.open_requested.connect(files.append)
    long = "/" + "ä" * 30_000  # sent in several pieces
    with qtbot.waitSignals([first.raise_requested, first.open_requested], timeout=20_000):
        process = _second(tmp_path, long)
    assert process.communicate(timeout=20)[0].strip() == "handed over"
    with qtbot.waitSignal(first.raise_requested, timeout=20_000):
        process = _second(tmp_path, "/" + "ä" * 60_000)
    assert process.communicate(timeout=20)[0].strip() == "handed over"
    assert files == [long]
    first.release()


needs_posix = pytest.mark.skipif(os.name != "posix", reason="sockets are files, and people are numbers")


@needs_posix
def test_the_socket_lies_where_only_this_person_may_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(tempfile.mkdtemp(prefix="c", dir=tempfile.gettempdir()))
    runtime, temporary = home / "run", home / "tmp"
    runtime.mkdir(mode=0o700)
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    environment = {"XDG_RUNTIME_DIR": str(runtime)}
    try:
        places = [Path(address).parent for address in addresses(home, environment)]
        own = temporary / f"clover-gui-{os.geteuid()}"
        assert places == [home.resolve(), runtime, own]
        assert own.stat().st_mode & 0o777 == 0o700
        # Where the way is too long for a socket, one of the others is taken.
        deep = home / ("d" * 100)
        assert [Path(address).parent for address in addresses(deep, environment)] == [runtime, own]
        # And none that others may enter, or that leads elsewhere.
        runtime.chmod(0o755)
        own.rmdir()
        own.symlink_to(home)
        assert addresses(deep, environment) == ()
    finally:
        shutil.rmtree(home)


@needs_posix
def test_a_deep_data_folder_is_one_instance_too(qtbot, tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    first = SingleInstance(folder, folder / "instance.lock")
    assert first.acquire()
    with qtbot.waitSignal(first.raise_requested, timeout=20_000):
        process = _second(folder)
    assert process.communicate(timeout=20)[0].strip() == "handed over"
    first.release()


@contextmanager
def listening(address: str) -> Iterator[list[bytes]]:
    """Somebody who listens in place of the first window, and answers like it; what was sent."""
    got: list[bytes] = []
    with sockets.socket(sockets.AF_UNIX) as server:
        server.bind(address)
        server.listen()

        def serve() -> None:
            while True:
                try:
                    peer, _address = server.accept()
                except OSError:
                    return
                with peer:
                    peer.settimeout(5)
                    got.append(peer.recv(4096))
                    if got[-1]:
                        peer.sendall(b"ok\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield got
        server.shutdown(sockets.SHUT_RDWR)
    thread.join(10)


@needs_posix
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to give files away"
)
def test_nothing_is_told_to_somebody_elses_socket(qtbot, tmp_path: Path) -> None:
    address = addresses(tmp_path)[0]
    with listening(address) as got:
        os.chown(address, 65534, 65534)
        second = SingleInstance(tmp_path, tmp_path / "instance.lock")
        assert not second.hand_over("/home/me/secret.gguf", timeout_s=0.2)
    assert not b"".join(got)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system for the peer")
def test_whose_process_listens_is_asked_of_the_system(
    qtbot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = addresses(tmp_path)[0]
    here = os.geteuid()
    with listening(address), sockets.socket(sockets.AF_UNIX) as asking:
        asking.connect(address)
        assert is_own_socket(address, asking.fileno())
        with monkeypatch.context() as other:
            other.setattr(os, "geteuid", lambda: here + 1)
            if here == 0:  # who may give files away can tell the process from the file
                os.chown(address, here + 1, -1)
            assert not is_own_socket(address, asking.fileno())


def test_a_socket_that_cannot_be_is_said_in_the_log(
    qtbot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("clover_gui.ui.single_instance.addresses", lambda _folder: ())
    instance = SingleInstance(tmp_path, tmp_path / "instance.lock")
    with caplog.at_level(logging.WARNING):
        assert instance.acquire()
    assert "a second start cannot reach this window" in caplog.text
    instance.release()
