"""New headers keep what they should keep; and nothing is ever written to a file that is not understood."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import gguf
import pytest

from clover_gui.errors import CloverError
from clover_gui.patching.diagnosis import diagnose
from clover_gui.patching.gguf_edit import _filler, dispensable, fit_header
from clover_gui.patching.header_map import STRING, UINT8, HeaderMap, NotUnderstood, is_filler, read_map
from clover_gui.patching.recipe import Changes
from clover_gui.patching.recovery import is_clean
from clover_gui.patching.repair import repair, undo
from clover_gui.patching.requirements import text, u32
from tests.kit.diffuspace import CLOVER, DIFFUSPACE, Form, make_form
from tests.patching.forms import KNOWS_QWEN, sha256

COUNT, KEYS = 76, 38  # of the official form


def mapped(path: Path) -> HeaderMap:
    with path.open("rb") as file:
        return read_map(file, path, path.stat().st_size)


def remapped(data: bytes, header: HeaderMap, folder: Path) -> HeaderMap:
    """The map of a file with this header and room for the same data."""
    path = folder / "new.gguf"
    path.write_bytes(data)
    with path.open("r+b") as file:
        file.truncate(len(data) + header.file_size - header.data_offset)
    return mapped(path)


def test_the_map_agrees_with_the_gguf_package(tmp_path: Path) -> None:
    path = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    header, reader = mapped(path), gguf.GGUFReader(path)
    assert [key.name for key in header.keys] == [n for n in reader.fields if not n.startswith("GGUF.")]
    assert header.data_offset == int(reader.data_offset)
    for mine, other in zip(header.tensors, reader.tensors, strict=True):
        assert mine.name == other.name
        assert header.data_offset + mine.offset == int(other.data_offset)
        assert mine.size_bytes == int(other.n_bytes)
        assert list(mine.dims) == [int(n) for n in other.shape]
    for name in (f"{CLOVER}.block_count", "general.name", f"{CLOVER}.rope.dimension_sections"):
        value = header.value(name)
        assert (list(value) if isinstance(value, tuple) else value) == reader.fields[name].contents()


@pytest.mark.parametrize("size", range(14, 120))
@pytest.mark.parametrize("stem", [0, 1])
def test_padding_has_exactly_the_size_that_is_wanted(size: int, stem: int) -> None:
    (data,) = _filler(size, stem)
    assert len(data) == size
    length = struct.unpack_from("<Q", data)[0]
    kind = struct.unpack_from("<I", data, 8 + length)[0]
    assert kind in (UINT8, STRING)
    assert is_filler(data[8 : 8 + length].decode())


@pytest.mark.parametrize("vocabulary", [None, 6000])
@pytest.mark.parametrize("added", [1, 5, 20, 60, 200])
@pytest.mark.parametrize("slack", [0, 7, 31])
def test_a_header_ends_where_the_data_begins(
    tmp_path: Path, vocabulary: int | None, added: int, slack: int
) -> None:
    """Whatever is added: exact end, every other key as it was, descriptive keys only if there is no way."""
    header = mapped(make_form(tmp_path / "a.gguf", Form(slack=slack, vocabulary=vocabulary)))
    key = "x" * added
    new = fit_header(header, Changes(values={key: u32(7)}), header.data_offset)
    assert new is not None
    after = remapped(new.data, header, tmp_path)
    assert after.data_offset == header.data_offset
    assert after.value(key) == 7
    names = {entry.name for entry in after.keys if not is_filler(entry.name)}
    assert names == {entry.name for entry in header.keys} - set(new.given_up) | {key}
    assert set(new.given_up) <= set(dispensable(header))
    assert after.keys[0].name == "general.architecture"
    for entry in header.keys:
        if entry.name not in new.given_up:
            same = after.key(entry.name)
            assert same is not None
            assert after.header[same.start : same.end] == header.header[entry.start : entry.end]
    assert [(t.name, t.offset, t.dims) for t in after.tensors] == [
        (t.name, t.offset, t.dims) for t in header.tensors
    ]


def test_no_room_is_said(tmp_path: Path) -> None:
    header = mapped(make_form(tmp_path / "a.gguf", Form(descriptive=False)))
    long = Changes(values={"x": text("y" * 1000)})
    assert fit_header(header, long, header.data_offset) is None
    assert fit_header(header, long, header.data_offset + 4096, 4096) is not None


def test_what_may_be_given_up() -> None:
    """Never tokenizer, template, hyperparameters, quantisation or the licence itself."""
    import re

    from clover_gui.patching.gguf_edit import _DISPENSABLE

    kept = (
        "general.architecture", "general.name", "general.license", "general.file_type", "general.alignment",
        "general.quantization_version", "tokenizer.chat_template", "tokenizer.ggml.tokens",
        "clover_moe.block_count", "quantize.imatrix.file", "general.base_model.count",
    )  # fmt: skip
    assert not [name for name in kept for pattern in _DISPENSABLE if re.fullmatch(pattern, name)]


def damaged(data: bytes, rng: random.Random, header_bytes: int) -> bytes:
    """The file with one to three random changes in its header, or cut, or with bytes moved."""
    result = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(header_bytes)
        match rng.randrange(6):
            case 0:
                result[at] = rng.randrange(256)
            case 1:
                result[at : at + 8] = struct.pack("<Q", rng.choice((0, 1, 1 << 31, 1 << 62, (1 << 64) - 1)))
            case 2:
                result[at : at + 4] = struct.pack("<I", rng.choice((0, 3, 8, 9, 12, 13, 99, 1 << 31)))
            case 3:
                del result[at : at + rng.randint(1, 64)]
            case 4:
                result[at:at] = rng.randbytes(rng.randint(1, 64))
            case 5:
                del result[rng.randrange(24, len(result)) :]
                header_bytes = max(25, min(header_bytes, len(result)))
    return bytes(result)


def check_damage(folder: Path, seeds: range) -> dict[str, int]:
    base = make_form(folder / "base.gguf", DIFFUSPACE)
    whole, length = base.read_bytes(), mapped(base).data_offset
    counts = {"refused": 0, "unchanged": 0, "repaired": 0}
    file = folder / "a.gguf"
    for seed in seeds:
        data = damaged(whole, random.Random(seed), length)
        file.write_bytes(data)
        try:
            result = repair(file, KNOWS_QWEN)
        except CloverError:
            counts["refused"] += 1
            assert file.read_bytes() == data, seed
        else:
            if result.changed:
                # Understood: a sound header came out, and the way back is exact.
                assert not diagnose(file, KNOWS_QWEN).findings, seed
                undo(file)
                counts["repaired"] += 1
            else:
                counts["unchanged"] += 1
            assert file.read_bytes() == data, seed
        assert is_clean(file) or data[:4] != b"GGUF"
        assert sorted(path.name for path in folder.iterdir()) == ["a.gguf", "base.gguf"]
    return counts


def test_damaged_headers_are_left_alone(tmp_path: Path) -> None:
    """Nothing is written to a file that is not understood, and no error of ours is a crash."""
    counts = check_damage(tmp_path, range(250))
    print(counts)
    assert counts["refused"] > 100
    assert counts["repaired"] > 10


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_damaged_headers_are_left_alone(tmp_path: Path) -> None:
    print(check_damage(tmp_path, range(1000, 5000)))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda data: data[:4] + struct.pack("<I", 1) + data[8:], "version"),
        (lambda data: data[:8] + struct.pack("<Q", 0) + data[16:], "0 tensors"),
        (lambda data: data[:8] + struct.pack("<Q", 1 << 40) + data[16:], "tensors"),
        (lambda data: data[: len(data) - 9], "asks for"),
        (lambda data: data.replace(b"blk.1.ssm_a", b"blk.0.ssm_a", 1), "same name"),
        (lambda data: data + bytes(100), "follow the last tensor"),
        (lambda data: data[:8] + struct.pack("<Q", COUNT - 1) + data[16:], "between|follow|asks for"),
        (lambda data: data[:8] + struct.pack("<Q", COUNT + 1) + data[16:], ""),
        (lambda data: data[:16] + struct.pack("<Q", KEYS - 1) + data[24:], ""),
    ],
)
def test_what_is_not_understood(tmp_path: Path, make: object, reason: str) -> None:
    whole = make_form(tmp_path / "a.gguf", DIFFUSPACE).read_bytes()
    path = tmp_path / "b.gguf"
    assert callable(make)
    path.write_bytes(make(whole))
    if reason:
        with pytest.raises(NotUnderstood, match=reason):
            mapped(path)
    before = sha256(path)
    with pytest.raises(CloverError):
        repair(path, KNOWS_QWEN)
    assert sha256(path) == before
