"""The log: a file that rotates, a ring for reports, no secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from clover_gui.logs import LINES_KEPT, masked, start_logging


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    level, before = root.level, list(root.handlers)
    yield
    for handler in [h for h in root.handlers if h not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


def test_lines_go_to_the_file_and_the_ring(tmp_path: Path) -> None:
    started = start_logging(tmp_path / "logs", "window")
    logging.getLogger("a").info("model loaded: %s layers", 40)
    assert started.file == tmp_path / "logs" / "window.log"
    assert "a: model loaded: 40 layers" in started.file.read_text()
    assert started.recent.lines[-1].endswith("model loaded: 40 layers")
    for number in range(LINES_KEPT + 10):
        logging.getLogger("a").info("%s", number)
    assert len(started.recent.lines) == LINES_KEPT


def test_starting_again_replaces_the_handlers(tmp_path: Path) -> None:
    start_logging(tmp_path, "one")
    before = len(logging.getLogger().handlers)
    start_logging(tmp_path, "two")
    assert len(logging.getLogger().handlers) == before


def test_without_a_writable_folder_it_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    started = start_logging(tmp_path / "file" / "logs", "window")
    assert started.file is None
    assert started.reason
    logging.getLogger("a").warning("seen")
    assert "seen" in capfd.readouterr().err


@pytest.mark.parametrize(
    "secret",
    [
        "hf_abcdefghijklmnop",
        "Bearer eyJhbGciOi.J9",
        "https://someone:word@host/x",
        "?token=abc123&x=1",
        '"api_key": "abc123"',
        "Authorization: abc123",
    ],
)
def test_secrets_are_masked(secret: str) -> None:
    text = masked(f"before {secret} after")
    assert "[hidden]" in text
    assert text.startswith("before ")
    assert text.endswith(" after") or "x=1" in text
    for part in ("abcdefgh", "eyJhb", "someone", "word", "abc123"):
        assert part not in text


def test_long_lines_are_capped() -> None:
    assert len(masked("x" * 10**6)) < 3000
    assert masked("a plain line, 12 tokens read") == "a plain line, 12 tokens read"
