"""What a wheel says of itself is checked before anything of it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clover_gui.errors import FlavourRefused
from clover_gui.flavours.wheel_file import EngineWheel
from tests.flavours.wheels import make_wheel

LIBRARIES = {"libllama.so": b"one" * 1000, "libggml.so": b"two" * 1000, "libggml.so.0": b"two" * 1000}


def refusal(path: Path, unpack_to: Path | None = None) -> FlavourRefused:
    with pytest.raises(FlavourRefused) as caught, EngineWheel(path) as wheel:
        wheel.unpack(unpack_to or path.parent, lambda _done, _total: None)
    return caught.value


def test_libraries_are_taken_out_and_equal_ones_are_stored_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    target = tmp_path / "out"
    target.mkdir()
    with EngineWheel(make_wheel(tmp_path / "a.whl", LIBRARIES, extra={"llama_cpp/llama.py": b"x"})) as wheel:
        files = wheel.unpack(target, lambda done, total: seen.append((done, total)))
        assert wheel.facts.unpacked_bytes == 6000
    assert dict(files) == dict.fromkeys(LIBRARIES, 3000)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == LIBRARIES
    assert (target / "libggml.so").samefile(target / "libggml.so.0")
    assert seen[-1] == (6000, 6000)
    assert os.access(target / "libllama.so", os.R_OK)


@pytest.mark.parametrize(
    "name",
    [
        "llama_cpp/lib/../../evil.so",
        "../evil.so",
        "/etc/evil.so",
        "llama_cpp/lib/sub/evil.so",
        "llama_cpp/lib/.hidden",
        "C:/evil.dll",
        "llama_cpp\\lib\\..\\evil.dll",
    ],
)
def test_a_name_that_leads_elsewhere_refuses_the_whole_wheel(name: str, tmp_path: Path) -> None:
    path = make_wheel(tmp_path / "a.whl", LIBRARIES, extra={name: b"evil"})
    target = tmp_path / "out"
    target.mkdir()
    error = refusal(path, target)
    assert error.kind == "unsafe-names"
    assert "evil" in error.what or "hidden" in error.what
    assert not list(target.iterdir())
    assert not list(tmp_path.rglob("evil*"))


def test_a_link_in_place_of_a_library_is_refused(tmp_path: Path) -> None:
    path = make_wheel(tmp_path / "a.whl", LIBRARIES, links=("libggml.so",))
    assert refusal(path).kind == "unsafe-names"


def test_a_library_that_is_not_the_listed_one_is_named(tmp_path: Path) -> None:
    path = make_wheel(tmp_path / "a.whl", LIBRARIES, sums={"libllama.so": b"another"})
    error = refusal(path)
    assert (error.kind, error.what) == ("damaged", "libllama.so")


def test_damage_in_the_file_is_found(tmp_path: Path) -> None:
    path = make_wheel(tmp_path / "a.whl", LIBRARIES)
    data = bytearray(path.read_bytes())
    data[data.index(b"oneone") + 50] ^= 1
    path.write_bytes(data)
    assert refusal(path).kind == "damaged"
    path.write_bytes(data[:3000])
    assert refusal(path).kind == "damaged"


@pytest.mark.parametrize("content", [b"", b"hello", b"<html>sign in</html>"])
def test_what_is_no_archive_is_no_wheel(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(content)
    assert refusal(path).kind == "not-a-wheel"


def test_a_wheel_of_another_project_or_without_libraries_is_refused(tmp_path: Path) -> None:
    other = make_wheel(tmp_path / "a.whl", LIBRARIES, project="other")
    assert refusal(other).kind == "not-a-wheel"
    assert refusal(make_wheel(tmp_path / "b.whl", {})).kind == "no-libraries"
