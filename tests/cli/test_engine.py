"""``clover-gui engine`` as a real process: list, install, choose, remove, and what it says when it cannot."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from clover_gui import settings as settings_file
from clover_gui.exit_codes import ExitCode
from clover_gui.paths import DataFolder
from tests.cli.terminal import command, environment, run
from tests.flavours.wheels import Index, make_wheel

pytestmark = pytest.mark.skipif(find_spec("llama_cpp") is None, reason="the engine is not installed")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.flavours.wheels import platform_tag

    name = f"llama_cpp_python-0.3.36-py3-none-{platform_tag()}.whl"
    return make_wheel(tmp_path_factory.mktemp("wheels") / name)


def chosen(data: Path) -> str:
    return settings_file.load(DataFolder(data).settings).settings.engine_flavour


def test_the_whole_way(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, folder = tmp_path / "data", tmp_path / "index"
    folder.mkdir()
    with Index(folder) as index:
        index.add("cpu", wheel)
        monkeypatch.setenv("CLOVER_ENGINE_INDEX", index.address)
        done = run(data, "engine", "--install", "cpu")
    assert done.returncode == 0, done.stderr
    assert "127.0.0.1" in done.stderr  # where it came from, and how much, before it was brought
    assert "* cpu-0.3.36" in done.stdout
    assert chosen(data) == "cpu-0.3.36"
    found = json.loads(run(data, "doctor", "--json").stdout)
    assert str(data / "engines" / "cpu-0.3.36") in json.dumps(found) or found["engine"]
    assert run(data, "engine", "--use", "own").returncode == 0
    assert chosen(data) == ""
    run(data, "engine", "--use", "cpu-0.3.36")
    done = run(data, "engine", "--remove", "cpu-0.3.36", "--json")
    report = json.loads(done.stdout)
    assert (report["chosen"], [one["key"] for one in report["installed"]]) == ("own", ["own"])
    assert [one["set_name"] for one in report["fitting"]][-1] == "cpu"


def test_from_a_file_and_a_fall_back_that_is_told(tmp_path: Path, wheel: Path) -> None:
    data = tmp_path / "data"
    done = run(data, "engine", "--install", str(wheel), "--json")
    report = json.loads(done.stdout)
    key = report["chosen"]
    assert [one["key"] for one in report["installed"]] == ["own", key]
    assert [one["missing"] for one in report["installed"]] == [[], []]
    library = next((data / "engines" / key).glob("*ggml-cpu*"))
    library.unlink()
    done = run(data, "doctor")
    assert done.returncode == 0  # the program's own engine takes over
    assert library.name in done.stderr
    assert "llama-cpp-python 0.3.36" in done.stdout
    assert library.name in run(data, "engine").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--use", "nothing"), ExitCode.USAGE, "nothing"),
        (("--remove", "own"), ExitCode.USAGE, "own engine cannot be removed"),
        (("--remove", "../.."), ExitCode.USAGE, ".."),
        (("--install", "/nowhere/x.whl"), ExitCode.ENGINE, "x.whl"),
        (("--install", "cu124"), ExitCode.ENGINE, "CLOVER_ENGINE_INDEX"),
        (("--install", "cpu", "--use", "own"), ExitCode.USAGE, "--use"),
    ],
)
def test_what_cannot_be_done(
    arguments: tuple[str, ...], code: ExitCode, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOVER_ENGINE_INDEX", "")
    done = run(tmp_path / "data", "engine", *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to a child")
def test_an_interrupt_stops_at_once_and_the_next_try_goes_on(
    tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, folder = tmp_path / "data", tmp_path / "index"
    folder.mkdir()
    with Index(folder) as index:
        index.add("cpu", wheel)
        index.gate = threading.Event()
        monkeypatch.setenv("CLOVER_ENGINE_INDEX", index.address)
        process = subprocess.Popen(
            command(data, "engine", "--install", "cpu"), env=environment(), stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 30
        while not [part for part in (data / "engines").glob(".download-*.whl") if part.stat().st_size]:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=15)
        assert process.returncode == ExitCode.INTERRUPTED
        assert "Traceback" not in err
        assert chosen(data) == ""
        index.gate.set()
        assert run(data, "engine", "--install", "cpu").returncode == 0
        wanted = [part for path, part in index.asked if path.endswith(".whl")][-1]
        assert re.fullmatch(r"bytes=[1-9]\d*-", wanted), wanted
