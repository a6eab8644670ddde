"""Wheels made of the engine that is installed here, and a server that lists and serves them."""

from __future__ import annotations

import base64
import hashlib
import http.server
import threading
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from clover_gui.engine.libraries import ENGINE_VERSION
from clover_gui.flavours.platform_tags import this_platform

Change = Callable[[dict[str, bytes]], None]


def real_libraries() -> dict[str, bytes]:
    """The libraries of the installed engine by name; equal ones under one name each, as far as needed."""
    spec = find_spec("llama_cpp")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(next(iter(spec.submodule_search_locations))) / "lib"
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def platform_tag() -> str:
    here = this_platform()
    machine = {"windows": {"x86_64": "amd64"}}.get(here.system, {}).get(here.machine, here.machine)
    return {"linux": f"linux_{machine}", "windows": f"win_{machine}"}.get(
        here.system, f"macosx_11_0_{machine}"
    )


def make_wheel(
    path: Path,
    libraries: dict[str, bytes] | None = None,
    *,
    version: str = ENGINE_VERSION,
    tag: str = "",
    sums: dict[str, bytes] | None = None,
    extra: dict[str, bytes] | None = None,
    project: str = "llama_cpp_python",
    links: tuple[str, ...] = (),
) -> Path:
    """A wheel. ``sums`` gives contents whose checksums are listed in place of the true ones; ``extra`` are
    members under their own names; ``links`` are names in llama_cpp/lib that are written as links."""
    taken = real_libraries() if libraries is None else libraries
    members = {f"llama_cpp/lib/{name}": data for name, data in taken.items()}
    rows = []
    for name, data in members.items():
        listed = (sums or {}).get(name.rpartition("/")[2], data)
        coded = base64.urlsafe_b64encode(hashlib.sha256(listed).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={coded},{len(data)}\n")
    info = f"{project}-{version}.dist-info"
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n",
        "WHEEL": f"Wheel-Version: 1.0\nTag: py3-none-{tag or platform_tag()}\n",
        "RECORD": "".join(rows),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name)
            if name.rpartition("/")[2] in links:
                entry.external_attr = 0o120777 << 16
            archive.writestr(entry, data)
        for name, data in (extra or {}).items():
            archive.writestr(name, data)
        for name, text in texts.items():
            archive.writestr(f"{info}/{name}", text)
    return path


class Index:
    """Serves ``folder`` on loopback with ranges, and counts what was asked for. A ``with`` block.

    ``cut_at``: the next answers with a wheel end after so many bytes, once for each number.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[tuple[str, str]] = []
        self.cut_at: list[int] = []
        self.gate: threading.Event | None = None
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Index:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self.gate is not None:
            self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, set_name: str, wheel: Path, *, sha256: str | None = None) -> None:
        """List a wheel in a set; ``sha256`` None states the true one, "" none."""
        page = self.folder / set_name / "llama-cpp-python"
        page.mkdir(parents=True, exist_ok=True)
        target = self.folder / set_name / wheel.name
        if wheel != target:
            target.write_bytes(wheel.read_bytes())
        known = hashlib.sha256(wheel.read_bytes()).hexdigest() if sha256 is None else sha256
        fragment = f"#sha256={known}" if known else ""
        with open(page / "index.html", "a", encoding="utf-8") as file:
            file.write(f'<a href="../{wheel.name}{fragment}">{wheel.name}</a><br>\n')


def _handler(index: Index) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range") or ""
            index.asked.append((self.path, wanted))
            path = index.folder / self.path.strip("/")
            path = path / "index.html" if path.is_dir() else path
            if not path.is_file():
                self.send_error(404)
                return
            data = path.read_bytes()
            first, last = 0, len(data) - 1
            if wanted:
                begin, _dash, end = wanted.removeprefix("bytes=").partition("-")
                first, last = int(begin), int(end) if end else last
            self.send_response(206 if wanted else 200)
            if wanted:
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            self.send_header("Content-Length", str(last + 1 - first))
            self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()[:16]}"')
            self.end_headers()
            body = data[first : last + 1]
            if path.suffix == ".whl" and wanted != "bytes=0-0" and index.cut_at:
                body = body[: index.cut_at.pop(0)]
            if index.gate is not None and path.suffix == ".whl" and wanted != "bytes=0-0":
                begun = min(1_500_000, len(body) // 2)  # more than who asks keeps in a buffer
                self.wfile.write(body[:begun])
                index.gate.wait(20)
                body = body[begun:]
            try:
                self.wfile.write(body)
            except OSError:
                pass  # whoever asked has gone
            self.close_connection = True

        def log_message(self, format: str, *arguments: object) -> None:
            return

    return Handler
