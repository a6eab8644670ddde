"""doctor as a process: JSON for programs, plain sentences for people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clover_gui.cli import doctor
from clover_gui.engine.protocol import EngineInfo
from clover_gui.errors import EngineMissing
from clover_gui.hardware.machine import DeviceKind, Disk, Gpu, Machine, Memory, Processor
from clover_gui.paths import DataFolder
from clover_gui.pipeline.advice import advise
from tests.cli import terminal

GB = 1 << 30


def test_json_has_what_programs_need(tmp_path: Path) -> None:
    done = terminal.run(tmp_path / "data", "doctor", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ram_total_bytes"] >= report["ram_free_bytes"] > 0
    assert report["cpu"]
    assert isinstance(report["gpus"], list)
    assert isinstance(report["advice"], list)
    engine = report["engine"]
    assert engine["version"]
    assert isinstance(engine["gpu_offload"], bool)
    assert engine["devices"]
    assert engine["architectures"]["qwen35moe"] is True
    assert isinstance(engine["architectures"]["clover_moe"], bool)


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    terminal.run(tmp_path / "data", "doctor")
    assert not (tmp_path / "data").exists()


def test_the_text_is_aligned_and_complete(tmp_path: Path) -> None:
    done = terminal.run(tmp_path / "data", "doctor")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    labels = {line.split("  ")[0] for line in lines if line and not line.startswith(" ")}
    assert {"System", "Processor", "RAM", "Graphics", "Engine"} <= labels
    assert "llama-cpp-python" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_gpu_that_cannot_be_used_comes_with_its_command() -> None:
    card = Gpu("NVIDIA X", "NVIDIA", DeviceKind.DISCRETE, 12 * GB, 11 * GB)
    machine = Machine(
        "Linux", Processor("x", "x86_64", 4, 8), Memory(24 * GB, 20 * GB), Disk("/", GB, GB), (card,)
    )
    missing = EngineMissing("No module named 'llama_cpp'")
    advice = advise(machine, missing, installer="INSTALL")
    data = DataFolder(Path("/data"))
    text = doctor.as_text(machine, missing, advice, data)
    assert "NVIDIA X: 12.0 GB of graphics memory, 11.0 GB free" in text
    assert "\n    INSTALL --backend cuda\n" in text
    report = doctor.as_json(machine, missing, advice, data)
    assert report["engine"]["error"]["kind"] == "EngineMissing"
    assert report["engine"]["gpu_offload"] is False
    assert report["advice"][0]["command"] == "INSTALL --backend cuda"


@pytest.mark.parametrize("arguments", [["--help"], ["doctor", "--help"], ["chat", "--help"]])
def test_help_lists_the_exit_codes(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from clover_gui.cli.main import main

    assert main(arguments, DataFolder(tmp_path)) == 0
    text = capsys.readouterr().out
    assert "Exit codes:" in text
    assert "130" in text


@pytest.mark.parametrize(("clover_known", "said"), [(False, True), (True, False)])
def test_an_engine_without_the_name_of_clover_still_runs_it(clover_known: bool, said: bool) -> None:
    known = {"qwen35moe": True, "clover_moe": clover_known}
    engine = EngineInfo(
        id=1, engine_version="1", gpu_offload=False, devices=(), architectures=known, system_info=""
    )
    machine = Machine("Linux", Processor("x", "x86_64", 4, 8), Memory(24 * GB, 20 * GB), None, ())
    text = doctor.as_text(machine, engine, [], DataFolder(Path("/data")))
    assert ("after a small repair" in text) is said
