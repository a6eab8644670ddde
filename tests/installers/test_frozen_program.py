"""The frozen program itself: made once (minutes), then run as a person runs it, without this environment.

CLOVER_FROZEN names the program in a folder that was made before, so that a release tests what it publishes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import clover_gui
from installers import places
from installers.freeze import freezer

SYSTEM_PYTHON = Path("/usr/bin/python3")
TIMEOUT_S = 1500

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(TIMEOUT_S),
    pytest.mark.skipif(sys.platform != "linux", reason="packed and run on Linux"),
    pytest.mark.skipif(
        shutil.which("strip") is None or not SYSTEM_PYTHON.exists(), reason="no binutils, or no system Python"
    ),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("CLOVER_FROZEN"):
        return Path(given)
    base = tmp_path_factory.mktemp("frozen")
    usable = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))"
    if subprocess.run([SYSTEM_PYTHON, "-c", usable], check=False).returncode != 0:
        pytest.skip("the system's Python is too old or has no venv")
    command = [SYSTEM_PYTHON, places.ROOT / "installers" / "package.py", "--only", "folder"]
    # An engine that was built here for this very person may name the home folder; what is published does not.
    environ = {**os.environ, "HOME": str(base), "CLOVER_CACHE_DIR": str(places.cache_folder())}
    done = subprocess.run(
        [*command, "--out", base / "out", "--work", base / "work"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return base / "out" / freezer.NAME / freezer.NAME


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "QT_QPA_PLATFORM": "offscreen", "LANG": "C.UTF-8"}


def test_it_answers(program: Path, tmp_path: Path, scripted_gguf: Path) -> None:
    picture = tmp_path / "picture.png"
    done = subprocess.run(
        [program, "--smoke-test", "--model", scripted_gguf, "--screenshot", picture, "--timeout", "120"],
        env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 5_000


def test_a_smoke_test_without_a_model_says_how_to_get_one(program: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [program, "--smoke-test"],
        env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert "clover-gui fetch demo" in done.stderr


def test_its_child_ends_with_it(program: Path, tmp_path: Path, scripted_gguf: Path) -> None:
    window = psutil.Popen(
        [program, "--model", scripted_gguf],
        env=environment(tmp_path),
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    try:
        limit = time.monotonic() + 60
        while not (children := window.children()):
            assert time.monotonic() < limit
            time.sleep(0.05)
        assert Path(children[0].exe()).samefile(program)
        assert children[0].cmdline()[1:] == ["--role", "engine"]
    finally:
        window.send_signal(signal.SIGKILL)
        window.wait()
    _gone, alive = psutil.wait_procs(children, timeout=10)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]


def test_terminal_commands_and_version(program: Path, tmp_path: Path) -> None:
    for words, expected in ((["--version"], clover_gui.__version__), (["doctor"], "Engine")):
        done = subprocess.run(
            [program, *words],
            env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
