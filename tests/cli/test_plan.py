"""plan as a process: for described machines, for files, for this machine; JSON and text."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from clover_gui.cli import plan as command
from clover_gui.cli.plan import size_of
from clover_gui.exit_codes import ExitCode
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor
from clover_gui.pipeline.measurements import FILE_NAME, Measurements
from clover_gui.planning.plan import PROCESSOR_ONLY
from tests.cli import terminal

GIB, MIB = 1 << 30, 1 << 20
KEYS = {
    "fits", "reason", "context", "kv_type", "ubatch", "gpu_layers", "cpu_expert_layers", "weights_gpu_bytes",
    "weights_ram_bytes", "kv_bytes", "state_bytes", "compute_bytes", "output_bytes", "overhead_bytes",
    "reserve_bytes", "total_gpu_bytes", "total_ram_bytes", "expected_tokens_per_second",
}  # fmt: skip


def report(data: Path, *arguments: str, code: ExitCode = ExitCode.OK) -> dict[str, Any]:
    done = terminal.run(data, "plan", "--json", *arguments)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert set(found) >= KEYS
    return found


def test_a_described_machine_with_every_summand(tmp_path: Path) -> None:
    found = report(tmp_path, "--vram", "16GiB", "--ram", "32GiB", "--gpu-name", "NVIDIA GeForce RTX 4090")
    assert found["fits"] is True
    assert (found["context"], found["kv_type"], found["gpu_layers"], found["ubatch"]) == (
        32768,
        "f16",
        41,
        512,
    )
    assert 9 <= found["cpu_expert_layers"] <= 13
    assert found["weights_gpu_bytes"] + found["weights_ram_bytes"] == 19_572_951_552
    gpu = found["gpu"]
    parts = ("weights_bytes", "kv_bytes", "state_bytes", "compute_bytes", "output_bytes", "overhead_bytes")
    assert sum(gpu[part] for part in parts) == gpu["total_bytes"] == found["total_gpu_bytes"]
    assert found["total_gpu_bytes"] + found["reserve_bytes"] <= 16 * GIB
    assert found["kv_bytes"] == 640 * MIB
    assert 60 < found["expected_tokens_per_second"] < 120
    low, high = found["expected_range"]
    assert low < found["expected_tokens_per_second"] < high


def test_values_set_by_hand(tmp_path: Path) -> None:
    by_hand = ("--context", "131072", "--kv", "q4_0", "--cpu-experts", "7", "--ubatch", "1024")
    found = report(tmp_path, "--vram", "48GiB", "--ram", "64GiB", *by_hand)
    assert (found["context"], found["kv_type"]) == (131072, "q4_0")
    assert (found["cpu_expert_layers"], found["ubatch"]) == (7, 1024)
    assert found["kv_bytes"] == 720 * MIB


def test_published_points(tmp_path: Path) -> None:
    """24 GB card, 128K: 21.4 GB; experts of 10 layers in RAM: 15,456 MiB (32K of context)."""
    machine = ("--vram", "24GiB", "--ram", "32GiB")
    whole = report(tmp_path, *machine, "--context", "131072", "--cpu-experts", "0", "--kv", "f16")
    assert whole["total_gpu_bytes"] / GIB == pytest.approx(21.4, rel=0.03)
    part = report(tmp_path, *machine, "--context", "32768", "--cpu-experts", "10", "--kv", "f16")
    assert part["total_gpu_bytes"] / MIB == pytest.approx(15456, rel=0.03)


def test_what_does_not_fit_says_what_would(tmp_path: Path) -> None:
    asked = ("--vram", "8GiB", "--ram", "64GiB", "--cpu-experts", "28", "--context", "131072", "--kv", "f16")
    found = report(tmp_path, *asked, code=ExitCode.DOES_NOT_FIT)
    assert found["fits"] is False
    assert found["where"] == "gpu"
    assert found["missing_bytes"] == found["needed_bytes"] - found["available_bytes"] > 0
    assert 0 < found["fitting_context"] < 131072
    assert found["suggestions"][0] == "smaller-context"
    done = terminal.run(tmp_path, "plan", *asked)
    assert done.returncode == ExitCode.DOES_NOT_FIT
    assert "does not fit" in done.stdout
    assert "tokens of context it would fit" in done.stdout


def test_a_file_on_this_machine(tmp_path: Path, demo_gguf: Path) -> None:
    found = report(tmp_path, "--gguf", str(demo_gguf))
    assert found["fits"] is True
    assert found["total_ram_bytes"] > found["weights_ram_bytes"] > 50 * MIB
    by_name = report(tmp_path, "--model", "demo")
    assert by_name["weights_ram_bytes"] == found["weights_ram_bytes"]
    assert not (tmp_path / FILE_NAME).exists(), "looking leaves nothing behind"


def test_no_gpu_can_be_described(tmp_path: Path) -> None:
    found = report(tmp_path, "--vram", "0", "--ram", "32GiB")
    assert found["gpu_layers"] == 0
    assert found["total_gpu_bytes"] == 0
    assert found["weights_ram_bytes"] == 19_572_951_552


def test_a_card_can_be_left_out_by_hand(tmp_path: Path) -> None:
    described = ("--vram", "24GiB", "--ram", "32GiB")
    assert report(tmp_path, *described)["gpu_layers"] > 0
    assert report(tmp_path, *described, "--card", "cpu")["gpu_layers"] == 0


def test_the_card_with_this_in_its_name_is_taken_alone() -> None:
    cards = tuple(
        Gpu(name, "NVIDIA", DeviceKind.DISCRETE, 8 * GIB, 8 * GIB, bus_id=f"0000:0{place}:00.0")
        for place, name in enumerate(("NVIDIA GeForce RTX 3060", "NVIDIA GeForce RTX 3080"))
    )
    assert command._wish("3080", cards) == "0000:01:00.0 NVIDIA GeForce RTX 3080"
    assert command._wish("cpu", cards) == PROCESSOR_ONLY
    assert command._wish("", cards) == ""
    assert command._wish("9999", cards) == "9999"  # which is then said to be missing


def test_missing_files_and_wrong_sizes(tmp_path: Path) -> None:
    assert terminal.run(tmp_path, "plan", "--gguf", "none.gguf").returncode == ExitCode.MODEL_FILE
    unknown = terminal.run(tmp_path, "plan", "--model", "nobody")
    assert unknown.returncode == ExitCode.MODEL_FILE
    assert "Known are clover, qwen3-0.6b" in unknown.stderr
    away = terminal.run(tmp_path, "plan", "--model", "qwen3-0.6b")
    assert away.returncode == ExitCode.MODEL_FILE
    assert "clover-gui fetch qwen3-0.6b" in away.stderr
    assert terminal.run(tmp_path, "plan", "--vram", "much").returncode == ExitCode.USAGE
    assert terminal.run(tmp_path, "plan", "--context", "0").returncode == ExitCode.USAGE


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16GiB", 16 * GIB),
        ("16 GB", 16 * GIB),
        ("16g", 16 * GIB),
        ("15888MiB", 15888 * MIB),
        ("1.5T", 1536 * GIB),
        ("4096", 4096),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-3GiB", "3 apples"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        size_of(text)


def test_a_described_card_takes_the_place_of_all_others() -> None:
    own = Gpu("own", "NVIDIA", DeviceKind.DISCRETE, 12 * GIB, 3 * GIB)
    here = Machine("x", Processor("p", "x86_64", 4, 8), Memory(32 * GIB, 16 * GIB), None, (own, own))
    machine, choice = command.described_card(here, 16 * GIB, "RTX 5080\n\x1b[2J")
    assert machine.gpus == choice.gpus
    assert [gpu.vram_free_bytes for gpu in machine.gpus] == [16 * GIB]
    assert "\x1b" not in machine.gpus[0].name
    assert command.described_card(here, None, "RTX 5080")[1].gpus[0].vram_total_bytes == 12 * GIB


def test_what_was_measured_here_is_used(tmp_path: Path, demo_gguf: Path) -> None:
    from clover_gui.hardware.probe import probe_machine
    from clover_gui.model_file.header import read_model_file
    from clover_gui.planning.plan import FitPlan
    from clover_gui.planning.planner import make_plan

    model = read_model_file(demo_gguf)
    plan = make_plan(probe_machine(tmp_path), model)
    assert isinstance(plan, FitPlan)
    known = Measurements(tmp_path / FILE_NAME)
    known.learn_speed(model, plan, 1000, 10.0)
    known.save()
    found = report(tmp_path, "--gguf", str(demo_gguf))
    assert found["speed_measured"] is True
    assert found["expected_tokens_per_second"] == 100
