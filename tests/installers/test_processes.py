"""Children, locks and the virtual screen: nothing of them outlives its holder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from installers import child, locks, places, start
from installers.screen import virtual_screen

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups")
HOLDER = """
import sys, time
from pathlib import Path
from installers import locks
with locks.exclusive(Path(sys.argv[1]), lambda: None):
    print("held", flush=True)
    time.sleep(60)
"""


def wait_until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    """Poll; the time is only there to end a test that hangs."""
    limit = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < limit, "the condition did not come true"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_output_goes_to_log_callback_and_tail(tmp_path: Path) -> None:
    lines: list[str] = []
    code = "import sys; print('one'); print('two', file=sys.stderr)"
    tail = child.run([sys.executable, "-c", code], tmp_path / "log", lines.append)
    assert sorted(tail) == ["one", "two"]
    assert sorted(line.strip() for line in lines) == ["one", "two"]
    assert "one" in (tmp_path / "log").read_text()


def test_a_failure_keeps_the_last_lines(tmp_path: Path) -> None:
    code = "[print(i) for i in range(100)]; raise SystemExit(3)"
    with pytest.raises(child.ChildFailed) as caught:
        child.run([sys.executable, "-c", code], tmp_path / "log")
    assert caught.value.exit_code == 3
    assert caught.value.tail == tuple(str(i) for i in range(80, 100))


@posix_only
def test_an_interruption_ends_the_grandchildren_too(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(inner.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    pids: list[int] = []

    def interrupt(line: str) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        child.run([sys.executable, "-c", code], tmp_path / "log", interrupt)
    wait_until(lambda: not is_alive(pids[0]))


@posix_only
def test_a_lock_is_free_once_its_holder_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], cwd=places.ROOT, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waited: list[bool] = []

        def kill_the_holder() -> None:
            waited.append(True)
            holder.send_signal(signal.SIGKILL)

        with locks.exclusive(path, kill_the_holder):
            assert waited == [True]


@posix_only
def test_a_lock_is_held_until_the_last_child_of_its_holder_is_gone(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from installers import child, locks\n"
        "inner = 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'\n"
        "with locks.exclusive(Path(sys.argv[1]), lambda: None):\n"
        "    show = lambda line: print(line.strip(), flush=True)\n"
        "    child.run([sys.executable, '-c', inner], Path(sys.argv[2]), show)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock"), str(tmp_path / "log")]
    holder = subprocess.Popen(command, cwd=places.ROOT, stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        orphan = int(holder.stdout.readline())
        holder.send_signal(signal.SIGKILL)
        holder.wait()

        def end_the_orphan() -> None:
            assert is_alive(orphan)
            os.kill(orphan, signal.SIGKILL)

        with locks.exclusive(tmp_path / "lock", end_the_orphan):
            wait_until(lambda: not is_alive(orphan))


@pytest.mark.xvfb
@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="installers/run.py test brings Xvfb")
def test_the_virtual_screen_lives_as_long_as_its_block() -> None:
    with virtual_screen() as display:
        address = f"/tmp/.X11-unix/X{display.removeprefix(':')}"
        assert can_connect(address)
    assert not can_connect(address)


def can_connect(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(address)
        except OSError:
            return False
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a screen")
def test_no_screen_is_one_sentence_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(start, "set_up", lambda *rest: pytest.fail("nothing may be set up"))
    assert start.main([]) == start.EXIT_NO_SCREEN
    said = capsys.readouterr().err
    assert "python3 installers/run.py chat --model demo" in said
    assert len(said.splitlines()) == 1
