"""From the loader's words to the library that is missing, for every system. Nothing is loaded here."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from clover_gui.engine.library_file import library_kind, windows_imports
from clover_gui.engine.start_fault import FaultKind, StartFault, fault_of, missing_imports, read_fault
from clover_gui.errors import EngineDied, EngineMissing, EngineStartFailed
from clover_gui.explain import explain

WINDOWS_TEXT = (
    r"RuntimeError: Failed to load shared library 'C:\Program Files\Clover\llama_cpp\lib\llama.dll':"
    r" Could not find module 'C:\Program Files\Clover\llama_cpp\lib\llama.dll' (or one of its"
    r" dependencies). Try using the full path with constructor syntax."
)


def portable_executable(imports: list[str]) -> bytes:
    """The smallest 64-bit Windows library with an import table."""
    base, raw = 0x1000, 0x400
    names = b"".join(name.encode() + b"\0" for name in imports)
    table_bytes = 20 * (len(imports) + 1)
    table, at = b"", base + table_bytes
    for name in imports:
        table += struct.pack("<12xII", at, 0)
        at += len(name) + 1
    section = table.ljust(table_bytes, b"\0") + names
    optional = struct.pack("<H110x", 0x20B) + struct.pack("<IIII", 0, 0, base, len(table)) + bytes(14 * 8)
    header = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, len(optional), 0x2022)
    row = b".rdata\0\0" + struct.pack("<IIII16x", len(section), base, len(section), raw)
    return (header + coff + optional + row).ljust(raw, b"\0") + section


@pytest.mark.parametrize(
    ("reason", "kind", "what"),
    [
        (WINDOWS_TEXT, FaultKind.MISSING_LIBRARY, "llama.dll"),
        (
            "RuntimeError: Failed to load shared library '/a/libllama.so': libcudart.so.12: cannot open"
            " shared object file: No such file or directory",
            FaultKind.MISSING_LIBRARY,
            "libcudart.so.12",
        ),
        (
            "OSError: libcuda.so.1: cannot open shared object file: No such file or directory",
            FaultKind.MISSING_DRIVER,
            "libcuda.so.1",
        ),
        (
            "OSError: dlopen(/a/libllama.dylib): Library not loaded: @rpath/libggml-metal.dylib\n  Refer",
            FaultKind.MISSING_LIBRARY,
            "libggml-metal.dylib",
        ),
        (
            "OSError: Error loading shared library libgomp.so.1: No such file or directory (needed by b.so)",
            FaultKind.MISSING_LIBRARY,
            "libgomp.so.1",
        ),
        (
            "OSError: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /a/libggml-base.so.0)",
            FaultKind.SYSTEM_TOO_OLD,
            "GLIBC_2.38",
        ),
        (
            "AttributeError: /a/libllama.so: undefined symbol: llama_new_thing",
            FaultKind.OTHER_VERSION,
            "llama_new_thing",
        ),
        ("llama_batch has 60 bytes, 56 expected", FaultKind.OTHER_VERSION, ""),
        ("OSError: /a/libggml.so.0: file too short", FaultKind.DAMAGED, "libggml.so.0"),
        ("something else", FaultKind.OTHER, ""),
    ],
)
def test_the_loaders_words(reason: str, kind: FaultKind, what: str) -> None:
    assert read_fault(reason) == StartFault(kind, what)


@pytest.mark.parametrize(("platform", "name"), [("win32", "llama.dll"), ("linux", "libllama.so")])
def test_a_library_that_is_not_there_at_all(platform: str, name: str) -> None:
    reason = "FileNotFoundError: Shared library with base name 'llama' not found"
    assert read_fault(reason, platform=platform).what == name


@pytest.mark.parametrize("code", [-4, 0xC000001D, 0xC000001D - (1 << 32)])
def test_an_unknown_instruction_is_told_by_the_exit_code(code: int) -> None:
    assert fault_of(EngineDied(code)).kind is FaultKind.ILLEGAL_INSTRUCTION
    assert fault_of(EngineStartFailed(f"it ended with code {code}")).kind is FaultKind.ILLEGAL_INSTRUCTION


def test_windows_names_only_the_first_library_so_the_missing_one_is_looked_for(tmp_path: Path) -> None:
    """Windows says "llama.dll (or one of its dependencies)", although llama.dll is there."""
    lib, system = tmp_path / "lib", tmp_path / "System32"
    lib.mkdir()
    system.mkdir()
    (system / "VCRUNTIME140.dll").write_bytes(b"")
    (lib / "llama.dll").write_bytes(portable_executable(["ggml.dll", "KERNEL32.dll", "VCRUNTIME140.dll"]))
    (lib / "ggml.dll").write_bytes(portable_executable(["ggml-cuda.dll", "api-ms-win-crt-heap-l1-1-0.dll"]))
    (lib / "ggml-cuda.dll").write_bytes(portable_executable(["cudart64_12.dll", "KERNEL32.dll"]))
    assert windows_imports(lib / "ggml-cuda.dll") == ("cudart64_12.dll", "KERNEL32.dll")
    assert missing_imports(lib, [system]) == ("cudart64_12.dll",)
    fault = read_fault(WINDOWS_TEXT, folder=lib, search=[system])
    assert fault == StartFault(FaultKind.MISSING_LIBRARY, "cudart64_12.dll")
    (lib / "ggml-cuda.dll").write_bytes(portable_executable(["cudart64_12.dll", "nvcuda.dll"]))
    assert read_fault(WINDOWS_TEXT, folder=lib, search=[system]).kind is FaultKind.MISSING_DRIVER


def test_the_sentence_names_the_file_and_what_to_do() -> None:
    words = explain(EngineMissing(WINDOWS_TEXT))
    assert "llama.dll" in words.sentence
    assert words.next_step
    assert WINDOWS_TEXT[:100] in words.detail


@pytest.mark.parametrize("data", [b"", b"MZ", b"MZ" + bytes(100), portable_executable(["a.dll"])[:0x410]])
def test_no_imports_can_be_read_from_damaged_files(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.dll"
    path.write_bytes(data)
    assert windows_imports(path) in ((), ("",))
    library_kind(path)


def test_the_kind_of_a_library(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data, system, machine in (
        (portable_executable([]), "windows", "x86_64"),
        (b"\x7fELF\x02\x01".ljust(18, b"\0") + struct.pack("<H", 183) + bytes(40), "linux", "arm64"),
        (struct.pack("<II", 0xFEEDFACF, 0x0100000C) + bytes(40), "macos", "arm64"),
    ):
        path.write_bytes(data)
        kind = library_kind(path)
        assert kind is not None
        assert (kind.system, kind.machines) == (system, {machine})
    path.write_bytes(b"hello")
    assert library_kind(path) is None
