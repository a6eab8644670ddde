"""The command: what it writes for people and for programs, its exit codes, and Ctrl+C."""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clover_gui import errors, i18n
from clover_gui.cli import fetch
from clover_gui.cli.screen import Screen
from clover_gui.download.receipt import is_verified
from clover_gui.exit_codes import ExitCode
from clover_gui.paths import DataFolder
from tests.download.conftest import CHUNK, NAME, SIZE, model_bytes
from tests.kit.fake_hub import REPOSITORY, FakeHub

CHILD = """
import argparse, sys
from pathlib import Path
from clover_gui.cli import fetch
from clover_gui.cli.screen import Screen
from clover_gui.paths import DataFolder
parser = argparse.ArgumentParser()
fetch.add_options(parser)
sys.exit(fetch.run(parser.parse_args(sys.argv[2:]), DataFolder(Path(sys.argv[1])), Screen()))
"""


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    i18n.set_language("en")
    monkeypatch.setenv("CLOVER_LANGUAGE", "en")


def run(data: Path, *words: str) -> tuple[ExitCode, str, str]:
    """Exit code, output and error stream."""
    parser = argparse.ArgumentParser()
    fetch.add_options(parser.add_argument_group("Options"))
    out, err = io.StringIO(), io.StringIO()
    code = fetch.run(parser.parse_args(words), DataFolder(data), Screen(out, err))
    return code, out.getvalue(), err.getvalue()


def test_a_repository_and_a_piece_of_the_name(hub: FakeHub, tmp_path: Path) -> None:
    code, out, err = run(tmp_path / "data", REPOSITORY, "q4_k_m", "--endpoint", hub.endpoint)
    path = tmp_path / "data" / "models" / NAME
    assert code is ExitCode.OK
    assert out == f"{path}\n"
    assert is_verified(path)
    assert f"from {REPOSITORY}" in err
    assert "Kind of model: clover_moe" in err
    assert "\x1b" not in err
    assert "\r" not in err


def test_another_folder(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "Ordner mit ü"
    code, out, _err = run(tmp_path, REPOSITORY, "--dest", str(folder), "--endpoint", hub.endpoint)
    assert code is ExitCode.OK
    assert Path(out.strip()) == folder / NAME


def test_events_for_programs(hub: FakeHub, tmp_path: Path) -> None:
    code, out, err = run(tmp_path, REPOSITORY, "--endpoint", hub.endpoint, "--json")
    events: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert code is ExitCode.OK
    assert not err
    assert events[0]["event"] == "found"
    assert events[0]["size_bytes"] == SIZE
    assert {event["phase"] for event in events[1:-1]} >= {"downloading"}
    assert events[-1]["event"] == "done"
    assert events[-1]["sha256"] == events[0]["sha256"]


def test_a_failure_for_programs(hub: FakeHub, tmp_path: Path) -> None:
    hub.order("page")
    code, out, _err = run(tmp_path, REPOSITORY, "--endpoint", hub.endpoint, "--json")
    last = json.loads(out.splitlines()[-1])
    assert code == ExitCode.DOWNLOAD
    assert (last["event"], last["kind"]) == ("failed", "WebPageReceived")
    assert "Guest network – sign in" in last["sentence"]
    assert last["next_step"]


def test_a_failure_for_people_is_raised_to_the_front_end(hub: FakeHub, tmp_path: Path) -> None:
    with pytest.raises(errors.ModelChoiceFailed):
        run(tmp_path, REPOSITORY, "Q2_K", "--endpoint", hub.endpoint)


@pytest.mark.parametrize("words", [("nonsense",), ("a/b/c",), (REPOSITORY, "--endpoint", "nowhere")])
def test_wrong_words(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, out, err = run(tmp_path, *words)
    assert code is ExitCode.USAGE
    assert not out
    assert err.strip()


def test_a_known_model_comes_from_its_repository(hub: FakeHub, tmp_path: Path) -> None:
    with pytest.raises(errors.HubNotFound):
        run(tmp_path, "clover", "--endpoint", hub.endpoint)
    assert hub.log[-1].path.startswith("/api/models/Diffuspace/Clover-35B-A3B-Preview-GGUF")


@pytest.mark.skipif(os.name != "posix", reason="sends the signal of Ctrl+C")
def test_ctrl_c_keeps_the_part_and_says_how_to_go_on(hub: FakeHub, tmp_path: Path) -> None:
    hub.order("stall", after=6 * CHUNK)
    words = [REPOSITORY, "--dest", str(tmp_path / "models"), "--endpoint", hub.endpoint]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    seen = ""
    while f"{6 * CHUNK // 1000} KB of" not in seen:
        line = child.stderr.readline()
        assert line, seen
        seen += line
    child.send_signal(signal.SIGINT)
    _out, err = child.communicate(timeout=20)
    assert child.returncode == ExitCode.INTERRUPTED, err
    assert "are kept" in err
    command = next(line for line in err.splitlines() if line.startswith("To go on: "))
    assert command == f"To go on: clover-gui fetch {REPOSITORY} " + " ".join(words[1:])
    code, out, err = run(tmp_path, *words)
    assert code is ExitCode.OK
    assert Path(out.strip()).read_bytes() == model_bytes()
    assert hub.file_requests()[-1].first == 6 * CHUNK
    assert "Going on from where it stopped." in err
