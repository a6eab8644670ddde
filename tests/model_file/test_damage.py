"""Broken, hostile and foreign files: the right class of error for each, and never another exception."""

from __future__ import annotations

import os
import random
import struct
import tracemalloc
from pathlib import Path

import pytest

from clover_gui.errors import (
    ModelFileCorrupt,
    ModelFileError,
    ModelFileMissing,
    ModelFileTruncated,
    ModelFileUnreadable,
    ModelFileUnsupported,
    NotAModelFile,
)
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.window import CutShort, Window
from tests.kit.gguf_maker import make_tiny
from tests.model_file import gguf_bytes as g

LOOKS = {"empty": "empty", "html": "html", "magic": "ggml"}
CUTS = {
    "cut-magic": "header",
    "cut-header": "header",
    "cut-keys": "keys",
    "cut-tensors": "tensors",
    "cut-data": "data",
    "cut-last-byte": "data",
}


@pytest.mark.parametrize("kind", LOOKS)
def test_not_a_model_file(damaged_ggufs: dict[str, Path], kind: str) -> None:
    with pytest.raises(NotAModelFile) as caught:
        read_model_file(damaged_ggufs[kind])
    assert caught.value.looks_like == LOOKS[kind]


@pytest.mark.parametrize(
    ("start", "looks"),
    [
        (b"PK\x03\x04", "other"),
        (b"\n <html><body>login", "html"),
        (b"version https://git-lfs.github.com", "other"),
    ],
)
def test_other_formats(tmp_path: Path, start: bytes, looks: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(start + bytes(100))
    with pytest.raises(NotAModelFile) as caught:
        read_model_file(path)
    assert caught.value.looks_like == looks


@pytest.mark.parametrize("kind", CUTS)
def test_cut_files_say_where(damaged_ggufs: dict[str, Path], kind: str) -> None:
    path = damaged_ggufs[kind]
    with pytest.raises(ModelFileTruncated) as caught:
        read_model_file(path)
    assert caught.value.where == CUTS[kind]
    assert caught.value.present_bytes == path.stat().st_size


def test_a_cut_in_the_data_says_how_many_bytes_are_missing(
    damaged_ggufs: dict[str, Path], tmp_path: Path
) -> None:
    whole = make_tiny(tmp_path / "whole.gguf").stat().st_size
    with pytest.raises(ModelFileTruncated) as caught:
        read_model_file(damaged_ggufs["cut-last-byte"])
    assert caught.value.expected_bytes == whole


@pytest.mark.parametrize("kind", ["counts-tensors", "counts-keys", "counts-string", "counts-array"])
def test_absurd_counts(damaged_ggufs: dict[str, Path], kind: str) -> None:
    with pytest.raises(ModelFileCorrupt):
        read_model_file(damaged_ggufs[kind])


def read_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "case.gguf"
    path.write_bytes(data)
    read_model_file(path)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"GGUF" + struct.pack("<I", 99) + bytes(64), "version"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(64), "version"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(64), "big-endian"),
        (
            g.build([g.ARCHITECTURE, g.u32("split.count", 3), g.u32("split.no", 1)], [g.TENSOR], data=32),
            "split",
        ),
        (g.build([g.ARCHITECTURE], [("a", (32,), 77, 0)], data=64), "tensor-type"),
        (g.build([g.ARCHITECTURE], []), "no-weights"),
    ],
)
def test_unsupported_forms(tmp_path: Path, data: bytes, kind: str) -> None:
    with pytest.raises(ModelFileUnsupported) as caught:
        read_bytes(tmp_path, data)
    assert caught.value.kind == kind
    assert caught.value.detail


NESTED = ("a.nested", struct.pack("<IIQ", g.ARRAY, g.ARRAY, 1 << 20) + struct.pack("<IQ", g.ARRAY, 1) * 64)


@pytest.mark.parametrize(
    "data",
    [
        g.build([g.string("general.name", "no architecture")], [g.TENSOR], data=32),
        g.build([g.ARCHITECTURE, g.ARCHITECTURE], [g.TENSOR], data=32),
        g.build([g.ARCHITECTURE], [g.TENSOR, ("token_embd.weight", (4,), 0, 32)], data=64),
        g.build([g.ARCHITECTURE], [("a", (4,), 0, 16)], data=64),  # not aligned
        g.build([g.ARCHITECTURE], [("a", (16,), 0, 0), ("b", (16,), 0, 32)], data=96),  # overlap
        g.build([g.ARCHITECTURE], [("a", (33,), 2, 0)], data=64),  # half a block
        g.build([g.ARCHITECTURE], [("a", (4, 0), 0, 0)], data=64),
        g.build([g.ARCHITECTURE], [("a", (1 << 40, 1 << 40), 0, 0)], data=64),
        g.build([g.ARCHITECTURE], [("a", (1, 1, 1, 1, 1), 0, 0)], data=64),
        g.build([g.ARCHITECTURE, g.u32("general.alignment", 33)], [g.TENSOR], data=64),
        g.build([g.ARCHITECTURE, g.u32("general.alignment", 0)], [g.TENSOR], data=64),
        g.build([g.ARCHITECTURE, ("a.odd", struct.pack("<II", 99, 1))], [g.TENSOR], data=64),
        g.build([g.ARCHITECTURE, NESTED], [g.TENSOR], data=64),
    ],
)
def test_impossible_headers(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ModelFileCorrupt) as caught:
        read_bytes(tmp_path, data)
    assert caught.value.detail


def test_missing_folder_and_special_files(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissing):
        read_model_file(tmp_path / "nothing.gguf")
    with pytest.raises(ModelFileMissing):
        read_model_file(tmp_path / "no folder" / "nothing.gguf")
    with pytest.raises(ModelFileUnreadable) as caught:
        read_model_file(tmp_path)
    assert "folder" in caught.value.detail


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes exist on POSIX systems only")
def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(ModelFileUnreadable):
        read_model_file(tmp_path / "pipe.gguf")


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")]
)
def test_files_that_cannot_be_read(tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def fail(*_arguments: object, **_keywords: object) -> None:
        raise error

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(ModelFileUnreadable) as caught:
        read_model_file(tiny_gguf)
    assert caught.value.detail == error.strerror
    assert caught.value.__cause__ is error


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(bytes(10))
    with path.open("rb") as file:
        window = Window(file, 1000)
        window.skip(8)
        with pytest.raises(CutShort):
            window.u64()


def test_texts_longer_than_the_window_are_passed_over(tmp_path: Path) -> None:
    """A list of texts of which some do not fit into one piece of the file."""
    words = ["a", "x" * 5_000_000, "", "y" * 4_194_304, "end"]
    keys = [g.strings("tokenizer.ggml.tokens", words), g.ARCHITECTURE]
    path = tmp_path / "long.gguf"
    path.write_bytes(g.build(keys, [g.TENSOR], data=32))
    assert read_model_file(path).vocabulary_size == 5


def test_random_damage_never_raises_anything_else(tmp_path: Path) -> None:
    """3,000 small changes of a valid header (seeded). Only our errors, and little memory."""
    keys = [
        g.ARCHITECTURE,
        g.string("general.name", "fuzz"),
        g.u32("llama.block_count", 2),
        g.u32("llama.attention.head_count", 4),
        g.numbers("llama.attention.head_count_kv", [2, 0]),
        g.strings("tokenizer.ggml.tokens", ["a", "bc", "def"]),
        g.string("tokenizer.chat_template", "{{ messages }}"),
    ]
    tensors = [g.TENSOR, ("blk.0.attn_k.weight", (8,), 0, 32), ("blk.1.ffn_up_exps.weight", (256,), 12, 64)]
    whole = g.build(keys, tensors, data=64 + 144)
    head = len(whole) - 208
    dice = random.Random(20)
    path = tmp_path / "fuzz.gguf"
    refused = 0
    tracemalloc.start()
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(4, head)
            data[at] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)])
        path.write_bytes(bytes(data[: dice.randrange(len(data))]) if dice.random() < 0.1 else bytes(data))
        try:
            read_model_file(path)
        except ModelFileError:
            refused += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 500 < refused < 3000
    assert peak < 64 << 20
