"""The engine's backend follows the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from installers import advice, backend
from installers.backend import Facts, Way

MODERN = frozenset(backend.PROCESSOR_FEATURES)
PLAIN = Facts(processor_features=MODERN, has_compiler=True)
NVIDIA = replace(
    PLAIN,
    gpus=("nvidia",),
    nvidia_name="NVIDIA GeForce RTX 3060",
    nvidia_capabilities=("86",),
    driver_cuda=(12, 4),
)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (PLAIN, "cpu"),
        (replace(PLAIN, has_nvcc=True), "cpu"),  # a toolkit without a GPU
        (NVIDIA, "cuda"),
        (replace(PLAIN, gpus=("intel",)), "cpu"),
        (replace(PLAIN, gpus=("intel",), has_vulkan_tools=True), "vulkan"),
        (replace(PLAIN, gpus=("intel", "nvidia"), nvidia_name="x"), "cuda"),
        (replace(PLAIN, gpus=("amd",)), "vulkan"),
        (replace(PLAIN, gpus=("amd",), has_hip=True), "hip"),
        (Facts(system="darwin", machine="arm64"), "metal"),
        (Facts(system="darwin", machine="x86_64"), "cpu"),
    ],
)
def test_best_backend(facts: Facts, expected: str) -> None:
    assert backend.best_backend(facts) == expected


def test_without_a_gpu_there_is_one_backend_in_three_ways() -> None:
    ways = backend.plan(PLAIN).ways
    assert ways == (Way("cpu", "cached"), Way("cpu", "published", "cpu"), Way("cpu", "built"))


def test_nvidia_with_toolkit_builds_cuda_before_anything_else_is_taken() -> None:
    ways = backend.plan(replace(NVIDIA, has_nvcc=True)).ways
    assert [way.backend for way in ways].index("cpu") > ways.index(Way("cuda", "built"))
    assert [way.index for way in ways if way.source == "published"][:2] == ["cu124", "cu123"]


def test_nvidia_without_toolkit_tries_published_cuda_then_vulkan_then_the_processor() -> None:
    plan = backend.plan(NVIDIA)
    assert plan.wanted == "cuda"
    assert list(dict.fromkeys(way.backend for way in plan.ways)) == ["cuda", "vulkan", "cpu"]
    assert Way("cuda", "built") not in plan.ways


def test_a_silent_driver_means_the_processor_and_is_said() -> None:
    facts = replace(PLAIN, gpus=("nvidia",), has_nvcc=True)
    plan = backend.plan(facts)
    assert {way.backend for way in plan.ways} == {"cpu"}
    told = advice.second_best(facts, plan.wanted, "cpu")
    assert told is not None
    assert "driver does not answer" in told[0]


@pytest.mark.parametrize("facts", [NVIDIA, replace(NVIDIA, has_nvcc=True), replace(PLAIN, gpus=("amd",))])
def test_a_gpu_that_stays_unused_is_never_silent(facts: Facts) -> None:
    told = advice.second_best(facts, backend.plan(facts).wanted, "cpu")
    assert told is not None
    text, next_step = told
    assert "processor only" in text
    assert "installers/engine.py --backend" in next_step


def test_nothing_is_said_when_the_engine_fits_the_machine() -> None:
    assert advice.second_best(PLAIN, "cpu", "cpu") is None


def test_a_chosen_backend_has_no_second_best() -> None:
    assert {way.backend for way in backend.plan(NVIDIA, "vulkan").ways} == {"vulkan"}
    assert backend.plan(replace(NVIDIA, has_nvcc=True), "cuda", rebuild=True).ways == (Way("cuda", "built"),)


def test_vector_options_are_spelled_out_both_ways() -> None:
    old = replace(PLAIN, processor_features=frozenset({"sse4_2", "avx"}))
    options = backend.build_options(old, "cpu")
    assert {"-DGGML_NATIVE=OFF", "-DGGML_AVX=ON", "-DGGML_AVX2=OFF", "-DGGML_FMA=OFF"} <= set(options)
    assert not any("AVX" in option for option in backend.build_options(Facts(machine="arm64"), "cpu"))


def test_a_cuda_build_is_for_the_gpus_that_are_there() -> None:
    assert "-DCMAKE_CUDA_ARCHITECTURES=86" in backend.build_options(NVIDIA, "cuda")


def test_cache_key_tells_apart_what_cannot_be_shared() -> None:
    facts = [
        PLAIN,
        replace(PLAIN, processor_features=frozenset({"sse4_2"})),
        replace(PLAIN, machine="arm64"),
        replace(PLAIN, system="darwin"),
    ]
    keys = [backend.cache_key(one, "cpu", "1.0") for one in facts]
    keys += [backend.cache_key(NVIDIA, "cuda", "1.0"), backend.cache_key(PLAIN, "cpu", "1.1")]
    keys.append(backend.cache_key(replace(NVIDIA, nvidia_capabilities=("90",)), "cuda", "1.0"))
    assert len(set(keys)) == len(keys)


def test_more_features_than_a_portable_build_uses_change_nothing() -> None:
    newer = replace(PLAIN, processor_features=MODERN | {"avx512f"})
    assert backend.cache_key(newer, "cpu", "1.0") == backend.cache_key(PLAIN, "cpu", "1.0")


def test_driver_table_is_read() -> None:
    table = "NVIDIA H200, 9.0\nNVIDIA GeForce RTX 3060, 8.6\nNVIDIA GeForce RTX 3060, 8.6\n"
    assert backend.parse_nvidia_table(table) == ("NVIDIA H200", ("86", "90"))
    assert backend.parse_nvidia_table("No devices were found\n") == ("", ())


def test_processor_flags_are_read() -> None:
    text = "processor\t: 0\nvendor_id\t: X\nflags\t\t: fpu sse4_2 AVX2\n\nprocessor\t: 1\nflags\t\t: other\n"
    assert backend.parse_cpuinfo(text) == {"fpu", "sse4_2", "avx2"}
    assert backend.parse_cpuinfo("nothing here") == frozenset()


def test_adapters_are_read_from_the_bus(tmp_path: Path) -> None:
    for name, device_class, vendor in (("0", "0x030200", "0x10de"), ("1", "0x020000", "0x8086")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "class").write_text(device_class + "\n")
        (tmp_path / name / "vendor").write_text(vendor + "\n")
    assert backend._pci_adapters(tmp_path) == ("nvidia",)
    assert backend._pci_adapters(tmp_path / "absent") == ()


def test_old_vulkan_headers_do_not_count(tmp_path: Path) -> None:
    header = tmp_path / "vulkan" / "vulkan_core.h"
    header.parent.mkdir()
    header.write_text("typedef struct VkDeviceCreateInfo {} VkDeviceCreateInfo;")
    assert not backend._vulkan_headers_fit([tmp_path / "absent", tmp_path])
    header.write_text("typedef struct VkLayerSettingEXT {} VkLayerSettingEXT;")
    assert backend._vulkan_headers_fit([tmp_path])


def test_looking_at_this_machine_never_raises() -> None:
    facts = backend.look()
    assert facts.machine == backend.normal_machine(facts.machine)
    assert backend.plan(facts).ways
