"""A model hub on loopback: a real HTTP server with the hub's API, ranges, and every fault one can order.

In a test: ``with FakeHub(folder) as hub``. As a process of its own: ``python -m tests.kit.fake_hub FOLDER``
prints the endpoint and serves until its standard input closes. All files of the folder belong to one
repository, ``REPOSITORY``.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

REPOSITORY = "acme/tiny-GGUF"
LOGIN_PAGE = (
    b"<!DOCTYPE html><html><head><title>Guest network &ndash; sign in</title></head><body>Hello</body></html>"
)
_PIECE = 1 << 20


@dataclass(slots=True)
class Fault:
    """One misbehaviour, used up after ``times`` requests.

    ``kind``: "reset" and "close" (connection, after ``after`` bytes of the body), "stall" (says nothing more
    then), "flip" (one bit at the file offset ``after``,
    when that is sent), "long" (promises ``after`` bytes more than there
    are), "page" (200 and a web page), "login" (redirect to one), "status" (``value``), "ignore-range",
    "elsewhere" (redirect to ``location``), "loop" (redirects for ever), "gzip". ``on`` is "file" or "api";
    ``retry_after`` and ``error_code`` go with a status.
    """

    kind: str
    after: int = 0
    times: int = 1
    value: int = 0
    on: str = "file"
    retry_after: str = ""
    error_code: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived. ``sent`` is filled at its end: body bytes that went out."""

    method: str
    path: str
    range: str
    authorization: str
    proxy_authorization: str
    user_agent: str
    sent: list[int] = field(default_factory=lambda: [0])

    @property
    def is_file(self) -> bool:
        return "/resolve/" in self.path or self.path.startswith("/cdn/")

    @property
    def first(self) -> int:
        """The first byte of the range; 0 without one."""
        return int(self.range.removeprefix("bytes=").partition("-")[0]) if self.range else 0


class FakeHub:
    """``token``: asked for where set. ``cdn``: another FakeHub that files are redirected to.

    ``rate`` limits bytes per second of each body; 0 is no limit. ``listing_extra`` is added to the sizes
    that the API states.
    """

    def __init__(
        self, folder: Path, certificate: tuple[Path, Path] | None = None, repository: str = REPOSITORY
    ) -> None:
        self.folder = folder
        self.repository = repository
        self.faults: list[Fault] = []
        self.log: list[Asked] = []
        self.token = ""
        self.gated = False
        self.cdn: FakeHub | None = None
        self.rate = 0
        self.listing_extra = 0
        self.checksums = True
        self.stop = threading.Event()
        self._hashes: dict[tuple[str, int, int], str] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.hub = self
        self.scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self.scheme = "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def endpoint(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def order(self, kind: str, **facts: Any) -> Fault:
        """Have the next fitting request go wrong."""
        fault = Fault(kind, **facts)
        self.faults.append(fault)
        return fault

    def take_fault(self, on: str, *kinds: str) -> Fault | None:
        """The first ordered fault of one of these kinds; counts it down."""
        for fault in self.faults:
            if fault.on == on and fault.kind in kinds and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def take_flips(self, first: int, end: int) -> list[int]:
        """The offsets of all ordered flips within a range that is about to be sent; counts them down."""
        found = [
            fault
            for fault in self.faults
            if fault.kind == "flip" and fault.times > 0 and first <= fault.after < end
        ]
        for fault in found:
            fault.times -= 1
        return [fault.after for fault in found]

    def file_requests(self) -> list[Asked]:
        """The requests for bytes of files, in order."""
        return [asked for asked in self.log if asked.is_file and asked.method == "GET"]

    def sent_bytes(self) -> int:
        """Body bytes of files that went out."""
        return sum(asked.sent[0] for asked in self.file_requests())

    def sha256(self, path: Path) -> str:
        facts = path.stat()
        key = (str(path), facts.st_size, facts.st_mtime_ns)
        if key not in self._hashes:
            with path.open("rb") as file:
                self._hashes[key] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._hashes[key]

    def commit(self) -> str:
        """Changes with any file."""
        everything = "".join(self.sha256(path) for path in self.paths())
        return hashlib.sha1(everything.encode(), usedforsecurity=False).hexdigest()

    def paths(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())

    def info(self) -> dict[str, Any]:
        """What the API says of the repository."""
        siblings = []
        for path in self.paths():
            size = path.stat().st_size + self.listing_extra
            entry: dict[str, Any] = {"rfilename": path.relative_to(self.folder).as_posix(), "size": size}
            if self.checksums:
                entry["lfs"] = {"sha256": self.sha256(path), "size": size, "pointerSize": 135}
            siblings.append(entry | {"blobId": "0" * 40})
        return {
            "id": self.repository,
            "modelId": self.repository,
            "sha": self.commit(),
            "private": False,
            "tags": ["gguf"],
            "siblings": siblings,
            "gguf": {"total": 1, "architecture": "clover_moe", "context_length": 4096},
        }


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    hub: FakeHub

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.resets: set[socket.socket] = set()

    def shutdown_request(self, request: Any) -> None:
        if request in self.resets:
            # Straight to close: a shutdown before it would make a clean end of the reset.
            self.resets.discard(request)
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what this server is for."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 60

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_CONNECT(self) -> None:
        self._note()
        self._empty(405)

    def do_GET(self) -> None:
        self._asked = self._note()
        hub = self.server.hub
        # A proxy is asked for whole addresses: serve them as if they were ours.
        path = urllib.parse.urlsplit(self.path).path
        if path == "/login":
            return self._page()
        on = "api" if path.startswith("/api/") else "file"
        if (fault := hub.take_fault(on, "status", "page", "login", "loop", "elsewhere")) is not None:
            return self._refuse(fault)
        if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
            code = "GatedRepo" if hub.gated else "RepoNotFound"
            return self._empty(403 if hub.gated else 401, {"X-Error-Code": code})
        if on == "api":
            if not path.startswith(f"/api/models/{hub.repository}"):
                return self._empty(404, {"X-Error-Code": "RepoNotFound"})
            return self._json(hub.info())
        return self._file(path)

    def _note(self) -> Asked:
        header = self.headers.get
        asked = Asked(
            self.command,
            self.path,
            header("Range", ""),
            header("Authorization", ""),
            header("Proxy-Authorization", ""),
            header("User-Agent", ""),
        )
        self.server.hub.log.append(asked)
        return asked

    def _refuse(self, fault: Fault) -> None:
        if fault.kind == "page":
            return self._page()
        if fault.kind in ("login", "loop", "elsewhere"):
            places = {"login": f"{self.server.hub.endpoint}/login", "loop": self.path}
            return self._empty(302, {"Location": places.get(fault.kind, fault.location)})
        headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
        if fault.error_code:
            headers["X-Error-Code"] = fault.error_code
        return self._empty(fault.value, headers)

    def _page(self) -> None:
        self._head(200, {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(LOGIN_PAGE))})
        if self.command != "HEAD":
            self.wfile.write(LOGIN_PAGE)

    def _json(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self._head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _empty(self, status: int, headers: dict[str, str] | None = None) -> None:
        self._head(status, {"Content-Length": "0", **(headers or {})})

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _file(self, path: str) -> None:
        hub = self.server.hub
        name = urllib.parse.unquote(
            path.partition("/cdn/")[2] or path.split("/resolve/")[-1].partition("/")[2]
        )
        file = hub.folder / name
        if not file.is_file():
            return self._empty(404, {"X-Error-Code": "EntryNotFound"})
        size, digest = file.stat().st_size, hub.sha256(file)
        linked = {"X-Linked-Size": str(size), "X-Linked-Etag": f'"{digest}"', "X-Repo-Commit": hub.commit()}
        if hub.cdn is not None:
            return self._empty(
                302, {"Location": f"{hub.cdn.endpoint}/cdn/{urllib.parse.quote(name)}", **linked}
            )
        long = hub.take_fault("file", "long")
        claimed = size + (long.after if long else 0)
        first, last, status = 0, claimed - 1, 200
        wanted = self.headers.get("Range", "")
        if wanted and not hub.take_fault("file", "ignore-range"):
            low, _, high = wanted.removeprefix("bytes=").partition("-")
            first, last, status = int(low), int(high) if high else claimed - 1, 206
            if first >= claimed:
                return self._empty(416, {"Content-Range": f"bytes */{claimed}"})
            last = min(last, claimed - 1)
        # Storage servers have tags of their own, of the same form as a checksum.
        tag = hashlib.sha256(digest.encode()).hexdigest() if path.startswith("/cdn/") else digest
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(last - first + 1),
            "Accept-Ranges": "bytes",
            "ETag": f'"{tag}"',
            "X-Repo-Commit": hub.commit(),
        }
        if long is None and not path.startswith("/cdn/"):
            headers |= linked
        if status == 206:
            headers["Content-Range"] = f"bytes {first}-{last}/{claimed}"
        if hub.take_fault("file", "gzip"):
            headers["Content-Encoding"] = "gzip"
        self._head(status, headers)
        if self.command != "HEAD":
            self._body(file, first, min(last + 1, size))
            if last + 1 > size:
                self.close_connection = True
        return None

    def _body(self, path: Path, first: int, end: int) -> None:
        hub = self.server.hub
        fault = hub.take_fault("file", "reset", "close", "stall")
        stop_at = min(end, first + fault.after) if fault else end
        flips = hub.take_flips(first, stop_at)
        position = first
        try:
            with path.open("rb") as file:
                while position < stop_at and not hub.stop.is_set():
                    count = min(stop_at - position, _PIECE if not hub.rate else max(1, hub.rate // 400))
                    if not flips and not hub.rate:
                        count = self.connection.sendfile(file, position, stop_at - position)
                    else:
                        file.seek(position)
                        data = bytearray(file.read(count))
                        for offset in flips:
                            if position <= offset < position + count:
                                data[offset - position] ^= 1
                        self.connection.sendall(data)
                    position += count
                    self._asked.sent[0] = position - first
                    if hub.rate:
                        time.sleep(count / hub.rate)
        except OSError:
            self.close_connection = True
            return
        if fault is not None and position < end:
            self.close_connection = True
            if fault.kind == "stall":
                hub.stop.wait(60)
            elif fault.kind == "reset":
                self.server.resets.add(self.connection)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def main() -> int:
    """Serve one folder until standard input closes."""
    with FakeHub(Path(sys.argv[1])) as hub:
        print(hub.endpoint, flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
