"""Processor, memory, limits and system name from recorded texts."""

from __future__ import annotations

from pathlib import Path

from clover_gui.hardware.cgroup import Limits, read_limits
from clover_gui.hardware.processor import processor_from_cpuinfo, processor_from_sysctl
from clover_gui.hardware.system import is_wsl, read_disk, read_memory, system_name

GIB = 1 << 30


def cpuinfo(*cores: tuple[int, int], flags: str = "fpu avx avx2 fma f16c avx512f avx512vnni") -> str:
    return "\n\n".join(
        f"processor\t: {number}\nmodel name\t: AMD Ryzen 9 7950X 16-Core Processor\n"
        f"physical id\t: {socket}\ncore id\t\t: {core}\nflags\t\t: {flags}"
        for number, (socket, core) in enumerate(cores)
    )


def test_threads_of_one_core_count_once() -> None:
    found = processor_from_cpuinfo(cpuinfo((0, 0), (0, 1), (0, 0), (0, 1)), "x86_64")
    assert (found.physical_cores, found.logical_cores) == (2, 4)
    assert found.name == "AMD Ryzen 9 7950X 16-Core Processor"
    assert found.features == {"avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni"}


def test_only_the_cores_that_this_process_may_use_count() -> None:
    text = cpuinfo((0, 0), (0, 1), (1, 0), (1, 1))
    assert processor_from_cpuinfo(text, "x86_64", frozenset({0, 2})).physical_cores == 2
    assert processor_from_cpuinfo(text, "x86_64", None, Limits(processors=1)).physical_cores == 1


def test_arm_without_core_numbers() -> None:
    text = "\n\n".join(f"processor\t: {i}\nFeatures\t: fp asimd asimddp i8mm" for i in range(4))
    found = processor_from_cpuinfo(text + "\n\nHardware\t: BCM2712\nModel\t: Raspberry Pi 5", "aarch64")
    assert (found.physical_cores, found.logical_cores) == (4, 4)
    assert found.name == "Raspberry Pi 5"
    assert found.features == {"neon", "dotprod", "i8mm"}


def test_an_empty_cpuinfo_still_gives_a_processor() -> None:
    found = processor_from_cpuinfo("", "riscv64")
    assert found.name == "riscv64"
    assert found.physical_cores >= 1


def test_apple_counts_performance_cores() -> None:
    table: dict[str, str | int] = {
        "machdep.cpu.brand_string": "Apple M3 Pro",
        "hw.perflevel0.physicalcpu": 6,
        "hw.physicalcpu": 12,
        "hw.logicalcpu": 12,
        "hw.optional.arm.FEAT_DotProd": 1,
    }
    found = processor_from_sysctl(table.get, "arm64")
    assert (found.name, found.physical_cores, found.logical_cores) == ("Apple M3 Pro", 6, 12)
    assert found.features == {"neon", "dotprod"}


def test_mac_with_intel_processor() -> None:
    table = {"hw.physicalcpu": 4, "hw.logicalcpu": 8, "machdep.cpu.features": "FPU SSE4.2 AVX1.0 FMA F16C"}
    table["machdep.cpu.leaf7_features"] = "AVX2 BMI2"
    found = processor_from_sysctl(table.get, "x86_64")
    assert found.physical_cores == 4
    assert found.features == {"sse4_2", "avx", "fma", "f16c", "avx2", "bmi2"}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_limits_of_a_container_v2(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "0::/system.slice/app.service\n")
    group = tmp_path / "sys/fs/cgroup/system.slice/app.service"
    write(group / "memory.max", "max\n")
    write(group.parent / "memory.max", f"{4 * GIB}\n")
    write(group.parent / "memory.current", f"{3 * GIB}\n")
    write(group.parent / "memory.stat", f"anon {GIB}\ninactive_file {GIB}\nactive_file {GIB}\n")
    write(group / "cpu.max", "150000 100000\n")
    limits = read_limits(tmp_path)
    assert limits == Limits(memory_bytes=4 * GIB, memory_used_bytes=GIB, processors=2)


def test_limits_of_a_container_v1(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n")
    folder = tmp_path / "sys/fs/cgroup"  # seen from inside the container the own path is the mount
    write(folder / "memory/memory.limit_in_bytes", f"{2 * GIB}\n")
    write(folder / "memory/memory.usage_in_bytes", f"{GIB}\n")
    write(folder / "memory/memory.stat", "total_inactive_file 1024\n")
    write(folder / "cpu/cpu.cfs_quota_us", "-1\n")
    write(folder / "cpu/cpu.cfs_period_us", "100000\n")
    assert read_limits(tmp_path) == Limits(memory_bytes=2 * GIB, memory_used_bytes=GIB - 1024)


def test_no_limits(tmp_path: Path) -> None:
    assert read_limits(tmp_path) == Limits()
    write(tmp_path / "proc/self/cgroup", "4:memory:/\n")
    write(tmp_path / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert read_limits(tmp_path) == Limits()


def test_memory_is_capped_by_the_limit() -> None:
    free = read_memory(Limits())
    assert 0 < free.available_bytes <= free.total_bytes
    small = read_memory(Limits(memory_bytes=256 << 20, memory_used_bytes=200 << 20))
    assert (small.total_bytes, small.available_bytes) == (256 << 20, 56 << 20)


def test_disk_of_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    disk = read_disk(tmp_path / "a" / "b")
    assert disk.path == str(tmp_path / "a" / "b")
    assert 0 < disk.free_bytes <= disk.total_bytes


def test_system_name_with_wsl(tmp_path: Path) -> None:
    write(tmp_path / "etc/os-release", 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n')
    write(tmp_path / "proc/version", "Linux version 5.15.167.4-microsoft-standard-WSL2\n")
    assert is_wsl(tmp_path)
    assert "Ubuntu 24.04.1 LTS" in system_name(tmp_path)
    assert system_name(tmp_path).endswith("under WSL")
