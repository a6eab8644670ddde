"""Small files of ours: what is in their place is never a reason to stop or to wait."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clover_gui.download.json_file import read_json, write_json


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"{", b"\xff", b"[" * 200_000, b'{"a":' * 100_000, b'{"n":' + b"9" * 6000 + b"}"],
    ids=["empty", "list", "brace", "no text", "deep list", "deep object", "long number"],
)
def test_what_is_no_object_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    assert read_json(path) is None


def test_a_mark_of_the_encoding_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "a.json") == {"a": 1}


@pytest.mark.skipif(os.name != "posix", reason="names of bytes, and pipes")
def test_names_that_are_no_text_come_back(tmp_path: Path) -> None:
    value = {"file": os.fsdecode(b"caf\xe9 \xc3\xbc.gguf")}
    write_json(tmp_path / "a.json", value)
    assert read_json(tmp_path / "a.json") == value


@pytest.mark.skipif(os.name != "posix", reason="names of bytes, and pipes")
def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert read_json(tmp_path / "pipe.json") is None
    assert read_json(Path("/dev/zero")) is None
    assert read_json(tmp_path) is None
    assert read_json(tmp_path / "a\0b.json") is None
