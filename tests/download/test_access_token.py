"""The access token in a file of its own: for this person and one server only, and never in a text."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from clover_gui.download.access_token import AccessToken, forget_token, is_possible, load_token, save_token
from clover_gui.download.hub_settings import DEFAULT_ENDPOINT, hub_settings

SECRET = "hf_abcdefghijklmnop"


def test_kept_and_forgotten(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "new folder" / "access-token.json"
    assert load_token(path) is None
    save_token(path, AccessToken(DEFAULT_ENDPOINT, SECRET))
    kept = load_token(path)
    assert kept == AccessToken(DEFAULT_ENDPOINT, SECRET)
    assert SECRET not in repr(kept)
    assert SECRET not in repr(hub_settings(environment={}, kept=kept))
    assert SECRET not in caplog.text
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    forget_token(path)
    forget_token(path)
    assert load_token(path) is None


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_file_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "access-token.json"
    path.write_text("{}")
    path.chmod(0o644)
    save_token(path, AccessToken(DEFAULT_ENDPOINT, SECRET))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_variable_wins_and_the_server_decides() -> None:
    kept = AccessToken(DEFAULT_ENDPOINT, SECRET)
    assert hub_settings(environment={}, kept=kept).token == SECRET
    assert hub_settings(environment={"HF_TOKEN": "hf_variable"}, kept=kept).token == "hf_variable"
    assert hub_settings("https://mirror.example", environment={}, kept=kept).token == ""
    mirror = AccessToken("https://mirror.example", SECRET)
    assert hub_settings("https://mirror.example/", environment={}, kept=mirror).token == SECRET
    assert hub_settings(environment={}, kept=mirror).token == ""
    assert hub_settings(environment={"HF_ENDPOINT": "https://mirror.example/"}, kept=mirror).token == SECRET


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"endpoint": "x", "token": "a b"}', '{"token": 3}'])
def test_what_can_be_no_token_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "access-token.json"
    path.write_text(text)
    assert load_token(path) is None


def test_what_can_be_sent() -> None:
    assert is_possible(SECRET)
    for wrong in ("", "two words", "line\nbreak", "ümlaut", "x" * 501):
        assert not is_possible(wrong)
