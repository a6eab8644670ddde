"""What a wheel says of itself is checked before anything of it is written."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import zipfile
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


def packed(path: Path, libraries: dict[str, bytes], packing: int, record: str | None = None) -> Path:
    """A wheel by hand: with another packing, or with a list of its own."""
    info = "llama_cpp_python-1.0.dist-info"
    members = {f"llama_cpp/lib/{name}": data for name, data in libraries.items()}
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/METADATA", "Version: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Tag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", rows(members) if record is None else record)
    return path


def rows(members: dict[str, bytes]) -> str:
    sums = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()) for name, data in members.items()}
    return "".join(f"{name},sha256={digest.rstrip(b'=').decode()},1\n" for name, digest in sums.items())


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_packing_that_no_wheel_has_is_refused(packing: int, tmp_path: Path) -> None:
    assert refusal(packed(tmp_path / "a.whl", LIBRARIES, packing)).kind == "damaged"


@pytest.mark.parametrize(
    "record",
    [
        '"' + "a" * 200_000 + '"\n',
        'a\0b,c\n\r\r"x',
        "llama_cpp/lib/libllama.so,sha256=\u00e9\u00e9\u00e9,3\n",
        "a\rb\r\rc",
    ],
    ids=["a long field", "nul and returns", "no checksum", "returns"],
)
def test_an_odd_list_is_damage(record: str, tmp_path: Path) -> None:
    path = packed(tmp_path / "a.whl", LIBRARIES, zipfile.ZIP_STORED, record)
    assert refusal(path).kind == "damaged"


@pytest.mark.parametrize("name", ["a" * 300 + ".so", "manifest.json", "Manifest.JSON", "LIBLLAMA.so"])
def test_names_that_would_get_in_the_way_are_refused(name: str, tmp_path: Path) -> None:
    """Too long for a disk, the name of our own list, and one that another disk takes for the same."""
    target = tmp_path / "out"
    target.mkdir()
    assert refusal(make_wheel(tmp_path / "a.whl", {**LIBRARIES, name: b"{}"}), target).kind == "damaged"
    assert not list(target.iterdir())


def test_only_libraries_are_taken(tmp_path: Path) -> None:
    more = {"README": b"hello", "tool.py": b"print()", "tool.exe": b"MZ", "libx.so.conf": b"x"}
    target = tmp_path / "out"
    target.mkdir()
    with EngineWheel(make_wheel(tmp_path / "a.whl", {**LIBRARIES, **more})) as wheel:
        wheel.unpack(target, lambda _done, _total: None)
    assert {path.name for path in target.iterdir()} == set(LIBRARIES)


def test_one_checksum_cannot_hide_a_large_file_behind_a_small_one(tmp_path: Path) -> None:
    large, small = bytes(1 << 20), b"x"
    record = rows({f"llama_cpp/lib/{name}": large for name in ("a.so", "z.so")})
    path = packed(tmp_path / "a.whl", {"a.so": large, "z.so": small}, zipfile.ZIP_DEFLATED, record)
    target = tmp_path / "out"
    target.mkdir()
    assert refusal(path, target).kind == "damaged"
    assert not list(target.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.whl")
    assert refusal(tmp_path / "a.whl").kind == "not-a-wheel"


def test_whatever_is_changed_in_a_wheel_it_is_refused_or_sound(tmp_path: Path) -> None:
    libraries = {"libllama.so": b"one" * 300, "b.so": b"two" * 100}
    sound = packed(tmp_path / "a.whl", libraries, zipfile.ZIP_DEFLATED).read_bytes()
    chance = random.Random(5)
    path, target = tmp_path / "b.whl", tmp_path / "out"
    kinds = set()
    for _attempt in range(1500):
        data = bytearray(sound)
        for _change in range(chance.choice([1, 1, 2, 8])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.randrange(len(data))] if chance.random() < 0.1 else data)
        target.mkdir()
        try:
            with EngineWheel(path) as wheel:
                wheel.unpack(target, lambda _done, _total: None)
        except FlavourRefused as error:
            kinds.add(error.kind)
        else:
            assert all(libraries[file.name] == file.read_bytes() for file in target.iterdir())
        for file in target.iterdir():
            file.unlink()
        target.rmdir()
    assert kinds >= {"damaged", "not-a-wheel"}
