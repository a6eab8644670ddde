"""The question for a newer version, against a real server: asked rarely, answered calmly, never a failure."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clover_gui.pipeline.new_version import (
    DAY_S,
    NEWEST_RELEASE,
    RELEASES_PAGE,
    NewVersionCheck,
    is_newer,
    release_address,
)


@dataclass
class Forge:
    """Answers every request with ``body`` and keeps the heads of the requests."""

    address: str = ""
    status: int = 200
    body: bytes = b""
    pause_s: float = 0.0
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@pytest.fixture
def forge() -> Iterator[Forge]:
    state = Forge()
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests.append((self.path, dict(self.headers)))
            self.send_response(state.status)
            self.send_header("Content-Length", str(len(state.body)))
            self.end_headers()
            for letter in state.body if state.pause_s else ():
                if ended.wait(state.pause_s):
                    return
                try:
                    self.wfile.write(bytes([letter]))
                    self.wfile.flush()
                except OSError:
                    return
            if not state.pause_s:
                self.wfile.write(state.body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_port}/releases/latest"
    yield state
    ended.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def check(forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NewVersionCheck]:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)

    def make(**options: object) -> NewVersionCheck:
        values = {"address": forge.address, "current": "1.2.0", **options}
        return NewVersionCheck(tmp_path / "new-version.json", **values)

    return make


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("v1.3.0", "1.3.0"),
        ("1.2.1", "1.2.1"),
        ("v1.10", "1.10"),
        ("2", "2"),
        ("v1.2.0", ""),
        ("1.2", ""),
        ("v1.1.9", ""),
        ("v1.3.0-rc1", ""),
        ("nightly", ""),
        ("", ""),
        ("999999999999999999", ""),
    ],
)
def test_newer_same_older(forge: Forge, check, tag: str, said: str) -> None:
    forge.body = json.dumps({"tag_name": tag, "html_url": "https://evil.example/"}).encode()
    assert check().look() == said


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Sign in to the network</html>",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'{"tag_name": 7}',
        b'{"tag_name": ["v9"]}',
        b'{"tag_name": "v9.0", "prerelease": true}',
        b'{"tag_name": "v9.0", "draft": true}',
        b"[" * 100_000,
        b'{"tag_name": "v9.0"' + b" " * (300 << 10) + b"}",
    ],
)
def test_a_senseless_answer_says_nothing(forge: Forge, check, body: bytes) -> None:
    forge.body = body
    assert check().look() == ""


@pytest.mark.parametrize("status", [301, 403, 404, 429, 500])
def test_a_refusal_says_nothing(forge: Forge, check, status: int) -> None:
    forge.status, forge.body = status, b'{"tag_name": "v9.0"}'
    assert check().look() == ""


def test_asked_once_a_day_and_remembered(forge: Forge, check) -> None:
    forge.body = b'{"tag_name": "v1.3.0"}'
    now = 1_000_000.0
    assert check(clock=lambda: now).look() == "1.3.0"
    forge.body = b'{"tag_name": "v1.4.0"}'
    assert check(clock=lambda: now + DAY_S - 1).look() == "1.3.0"
    assert len(forge.requests) == 1
    assert check(clock=lambda: now + DAY_S).look() == "1.4.0"
    assert check(clock=lambda: now - 5).look() == "1.4.0"  # the clock was put back
    assert len(forge.requests) == 3
    assert check(clock=lambda: now, current="1.4.0").look() == ""


def test_also_a_failure_is_asked_again_only_tomorrow(forge: Forge, check) -> None:
    forge.status = 500
    assert check().look() == ""
    assert check().look() == ""
    assert len(forge.requests) == 1


def test_nothing_about_the_person_is_sent(forge: Forge, check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
    check().look()
    ((path, headers),) = forge.requests
    assert path == "/releases/latest"
    assert set(headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"}
    assert "secret" not in str(headers)
    assert headers["User-Agent"].startswith("clover-gui/")


def test_a_server_that_drips_is_left_in_time(forge: Forge, check) -> None:
    forge.body, forge.pause_s = b" " * 10_000, 0.05
    begin = time.monotonic()
    assert check(time_limit_s=0.4).look() == ""
    assert time.monotonic() - begin < 6


def test_nobody_there(check) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert check(address=f"http://127.0.0.1:{port}/").look() == ""
    assert check(address="http://does-not-exist.invalid/").look() == ""
    assert check(address="not an address").look() == ""
    assert check(address="").look() == ""


def test_a_folder_that_cannot_be_written_is_no_failure(forge: Forge, tmp_path: Path, check) -> None:
    forge.body = b'{"tag_name": "v1.3.0"}'
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert NewVersionCheck(blocked / "note.json", address=forge.address, current="1.0").look() == "1.3.0"


@pytest.mark.parametrize(
    "note",
    [
        '{"asked": "yesterday", "newest": 3}',
        '{"asked": ' + "9" * 400 + "}",
        '{"asked": -' + "9" * 400 + "}",
        '{"asked": 1e400}',
        '{"asked": NaN}',
        "[" * 200_000,
    ],
    ids=["words", "far ahead", "long ago", "infinite", "no number", "deep"],
)
def test_a_damaged_note_is_asked_anew(note: str, forge: Forge, tmp_path: Path, check) -> None:
    (tmp_path / "new-version.json").write_text(note)
    forge.body = b'{"tag_name": "v1.3.0"}'
    assert check().look() == "1.3.0"


def test_through_the_proxy_that_the_person_set(forge: Forge, check) -> None:
    forge.body = b'{"tag_name": "v1.3.0"}'
    proxy = forge.address.removesuffix("/releases/latest")
    assert check(address="http://forge.example/latest", proxy=proxy).look() == "1.3.0"
    assert forge.requests[0][0] == "http://forge.example/latest"


def test_addresses() -> None:
    assert release_address({}) == NEWEST_RELEASE
    assert release_address({"CLOVER_RELEASES": ""}) == ""
    assert NEWEST_RELEASE.startswith("https://")
    assert RELEASES_PAGE.startswith("https://")
    assert is_newer("0.1.1", "0.1.0")
    assert not is_newer("", "0.1.0")
