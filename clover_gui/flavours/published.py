"""The binding's published wheels: which sets there are, where they are listed, which file fits this machine.

A set ("cpu", "cu124", "vulkan") is a folder below one address with a plain page of links. CLOVER_ENGINE_INDEX
replaces the address; empty, it switches them off.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

from clover_gui.download.answers import error_for_status
from clover_gui.download.connection import Connection
from clover_gui.download.hub_settings import HubSettings, host_of, tls_context
from clover_gui.errors import FlavourNotPublished, HubNotFound
from clover_gui.flavours.platform_tags import Platform, misfit

PUBLISHED_INDEX = "https://abetlen.github.io/llama-cpp-python/whl"

PUBLISHED_CUDA = (
    ("cu132", (13, 2)),
    ("cu130", (13, 0)),
    ("cu125", (12, 5)),
    ("cu124", (12, 4)),
    ("cu123", (12, 3)),
    ("cu122", (12, 2)),
    ("cu121", (12, 1)),
    ("cu118", (11, 8)),
)
"""Sets for CUDA, newest first, with the version that they need of the driver."""

SETS = frozenset({"cpu", "vulkan", "metal", "rocm72", "hip-radeon", *(name for name, _v in PUBLISHED_CUDA)})

_MOST_PAGE_BYTES = 4 << 20
_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S = 10.0, 20.0
_WHEEL_NAME = re.compile(r"llama_cpp_python-([^-]+)(?:-\d[^-]*)?-[^-]+-[^-]+-([^-]+)\.whl")
_SHA256 = re.compile(r"sha256=([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class PublishedWheel:
    """One wheel that fits. ``sha256`` is "" where the page states none."""

    set_name: str
    url: str
    file_name: str
    sha256: str

    @property
    def host(self) -> str:
        return host_of(self.url)


def index_address(environment: Mapping[str, str] | None = None) -> str:
    """Where the sets are; "" when they are switched off."""
    environment = os.environ if environment is None else environment
    return environment.get("CLOVER_ENGINE_INDEX", PUBLISHED_INDEX).rstrip("/")


def find_wheel(
    set_name: str, version: str, here: Platform, *, address: str, proxy: str = ""
) -> PublishedWheel:
    """The wheel of a set for this version and machine. Asks the server; blocks.

    Raises:
        FlavourNotPublished: no such set, version or platform.
        DownloadError: the server cannot be reached or fails.
    """
    if not address or set_name not in SETS:
        raise FlavourNotPublished(host_of(address), set_name, version)
    page_address = f"{address}/{set_name}/llama-cpp-python/"
    host = host_of(page_address)
    try:
        page = _read_page(page_address, proxy)
    except HubNotFound as error:
        raise FlavourNotPublished(host, set_name, version) from error
    fitting = [wheel for wheel in _wheels(page, page_address, set_name, version) if _fits(wheel, here)]
    if not fitting:
        raise FlavourNotPublished(host, set_name, version)
    return fitting[0]


def size_of(wheel: PublishedWheel, *, proxy: str = "") -> int:
    """The size of the file in bytes as its server states it; 0 where it does not. Blocks.

    Raises:
        DownloadError: the server cannot be reached or fails.
    """
    settings = index_settings(wheel.url, proxy)
    connection = Connection(settings, tls_context(settings), _CONNECT_TIMEOUT_S, _READ_TIMEOUT_S)
    try:
        answer = connection.get(wheel.url, 0, 0)
        if answer.status not in (200, 206):
            raise error_for_status(
                answer.status,
                answer.headers,
                host=answer.host,
                repository=wheel.set_name,
                token_sent=False,
                file_name=wheel.file_name,
            )
        ranged = answer.status == 206
        stated = answer.headers.get("content-range" if ranged else "content-length") or ""
        number = stated.rpartition("/")[2]
        return int(number) if number.isdigit() else 0
    finally:
        connection.abort()
        connection.close()


def index_settings(address: str, proxy: str = "") -> HubSettings:
    """How the server of the wheels is reached: as the hub is, and never with its token."""
    return HubSettings(address, "", proxy)


def _read_page(address: str, proxy: str) -> str:
    settings = index_settings(address, proxy)
    connection = Connection(settings, tls_context(settings), _CONNECT_TIMEOUT_S, _READ_TIMEOUT_S)
    try:
        answer = connection.get(address, 0)
        if answer.status != 200:
            raise error_for_status(
                answer.status,
                answer.headers,
                host=answer.host,
                repository="llama-cpp-python",
                token_sent=False,
            )
        data = b""
        while len(data) < _MOST_PAGE_BYTES and (piece := answer.read()):
            data += piece
        return data.decode("utf-8", "replace")
    finally:
        connection.close()


def _wheels(page: str, address: str, set_name: str, version: str) -> list[PublishedWheel]:
    links = _Links()
    links.feed(page)
    found = []
    for link in links.found:
        url = urljoin(address, link)
        parts = urlsplit(url)
        name = unquote(PurePosixPath(parts.path).name)
        match = _WHEEL_NAME.fullmatch(name)
        if parts.scheme not in ("http", "https") or match is None or match[1] != version:
            continue
        if address.startswith("https:") and parts.scheme != "https":
            continue
        checksum = _SHA256.search(parts.fragment)
        found.append(
            PublishedWheel(
                set_name, parts._replace(fragment="").geturl(), name, checksum[1] if checksum else ""
            )
        )
    return found


def _fits(wheel: PublishedWheel, here: Platform) -> bool:
    match = _WHEEL_NAME.fullmatch(wheel.file_name)
    return match is not None and misfit(match[2].split("."), here) is None


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attributes if name == "href" and value]
