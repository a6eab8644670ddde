"""Only a receipt that still fits makes a file a model that may be loaded."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from clover_gui.download.receipt import (
    Receipt,
    Standing,
    is_verified,
    now_utc,
    read_receipt,
    receipt_path,
    sha256_of,
    standing,
    write_receipt,
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(1000))
    blank = Receipt("a/b", "main", path.name, "https://hub", 1004, "00" * 32, now_utc(), 0, 0)
    write_receipt(path, blank.with_stamp(path))
    return path


def test_a_file_with_its_receipt(model: Path) -> None:
    assert standing(model) is Standing.VERIFIED
    receipt = read_receipt(model)
    assert receipt is not None
    assert receipt.file_size_bytes == 1004
    assert receipt.repair is None


def test_what_is_not_verified(model: Path, tmp_path: Path) -> None:
    assert standing(tmp_path / "nothing.gguf") is Standing.MISSING
    os.utime(model, ns=(0, 0))
    assert standing(model) is Standing.CHANGED
    model.write_bytes(b"GGUF")
    assert standing(model) is Standing.CHANGED
    receipt_path(model).unlink()
    assert standing(model) is Standing.NO_RECEIPT
    assert not is_verified(model)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', '{"version": 99, "size_bytes": 4}', "\0"])
def test_a_receipt_that_cannot_be_read(model: Path, text: str) -> None:
    receipt_path(model).write_text(text)
    assert read_receipt(model) is None
    assert standing(model) is Standing.NO_RECEIPT


def test_a_value_of_another_kind(model: Path) -> None:
    text = receipt_path(model).read_text()
    receipt_path(model).write_text(text.replace('"size_bytes": 1004', '"size_bytes": "1004"', 1))
    assert read_receipt(model) is None


def test_the_checksum_of_a_file(model: Path) -> None:
    told: list[int] = []
    assert sha256_of(model, told.append) == hashlib.sha256(model.read_bytes()).hexdigest()
    assert told == [1004]
