"""Advice: what is said about a machine and an engine, and the command that cures it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clover_gui.engine.protocol import EngineInfo
from clover_gui.errors import EngineError, EngineMissing, EngineStartFailed
from clover_gui.explain import advice_text
from clover_gui.hardware.machine import DeviceKind, Disk, Gpu, Machine, Memory, ProbeNote, Processor
from clover_gui.pipeline.advice import Advice, AdviceLevel, advise, installer_command

GB = 1 << 30
MACHINE = Machine(
    "Linux",
    Processor("x", "x86_64", 4, 8, frozenset({"avx", "avx2"})),
    Memory(24 * GB, 20 * GB),
    Disk("/", 500 * GB, 100 * GB),
)
CARD = Gpu("NVIDIA GeForce RTX 4070", "NVIDIA", DeviceKind.DISCRETE, 12 * GB, 11 * GB)
ENGINE = EngineInfo(1, "0.3.36", False, (), {"qwen35moe": True, "clover_moe": False})


def advice(machine: Machine, engine: EngineInfo | EngineError = ENGINE) -> dict[str, Advice]:
    found = advise(machine, engine, installer="INSTALL")
    for item in found:
        text = advice_text(item.key, item.facts)
        assert "{" not in text
        assert "something to look at" not in text
    return {item.key: item for item in found}


def test_a_plain_machine_gets_one_note() -> None:
    assert list(advice(MACHINE)) == ["no-gpu"]


def test_an_unusable_gpu_comes_with_the_command_for_its_backend() -> None:
    for gpu, system, backend in (
        (CARD, "Linux", "cuda"),
        (replace(CARD, name="AMD Radeon RX 6800", vendor="AMD"), "Linux", "vulkan"),
        (replace(CARD, name="Apple M3", vendor="Apple", kind=DeviceKind.UNIFIED), "macOS 15", "metal"),
    ):
        found = advice(replace(MACHINE, gpus=(gpu,), system=system))
        assert found["gpu-unusable"].command == f"INSTALL --backend {backend}"
        assert found["gpu-unusable"].level is AdviceLevel.WARNING
        assert gpu.name in advice_text("gpu-unusable", found["gpu-unusable"].facts)


def test_a_missing_engine_is_the_first_thing_said() -> None:
    poor = replace(MACHINE, memory=Memory(2 * GB, GB), disk=Disk("/", GB, GB // 2), gpus=(CARD,))
    found = advice(poor, EngineMissing("No module named 'llama_cpp'"))
    assert list(found) == ["engine-missing", "little-ram", "little-disk"]
    assert found["engine-missing"].command == "INSTALL --backend cuda"
    assert found["engine-missing"].level is AdviceLevel.PROBLEM
    assert "engine-failed" in advice(MACHINE, EngineStartFailed("libgomp.so.1"))


def test_without_an_installer_there_is_no_command() -> None:
    found = advise(replace(MACHINE, gpus=(CARD,)), ENGINE, installer="")
    assert [item.command for item in found] == [""]


def test_drivers() -> None:
    card = ProbeNote("graphics", "no-driver", "NVIDIA at 0000:01:00.0: no driver is loaded for it")
    assert list(advice(replace(MACHINE, notes=(card,)))) == ["gpu-driver-missing"]
    broken = ProbeNote("nvidia", "driver-error", "nvmlInit: Driver/library version mismatch")
    assert list(advice(replace(MACHINE, notes=(broken,)))) == ["gpu-driver-error"]
    absent = ProbeNote("nvidia", "no-driver", "no NVIDIA driver library on this system")
    assert list(advice(replace(MACHINE, notes=(absent,)))) == ["no-gpu"]


def test_an_old_engine_and_an_old_processor() -> None:
    old = replace(ENGINE, architectures={"qwen35moe": False, "clover_moe": False})
    assert "engine-too-old" in advice(MACHINE, old)
    slow = replace(MACHINE, processor=Processor("x", "x86_64", 2, 2, frozenset({"sse4_2"})))
    assert "slow-processor" in advice(slow)
    arm = replace(MACHINE, processor=Processor("x", "arm64", 2, 2, frozenset({"neon"})))
    assert "slow-processor" not in advice(arm)


def test_the_installers_command_can_be_pasted() -> None:
    assert installer_command(None) == ""
    assert installer_command(Path("/a b/engine.py")).endswith('"/a b/engine.py"')
