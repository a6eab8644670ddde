"""Is there a newer version? Asked only where the person switched it on, and once a day at most.

One request for one small answer, which is read for a number and for nothing else: the page that is offered
is the constant here, never an address from the answer. Whatever goes wrong, nothing is said and nothing is
raised. Must not know: windows.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path

from clover_gui import __version__
from clover_gui.download.connection import Connection
from clover_gui.download.hub_settings import HubSettings, tls_context
from clover_gui.download.json_file import read_json, write_json
from clover_gui.errors import DownloadError

PROJECT = "clover-gui/clover-gui"
"""Where the program is published; the two addresses below follow from it."""
NEWEST_RELEASE = f"https://api.github.com/repos/{PROJECT}/releases/latest"
RELEASES_PAGE = f"https://github.com/{PROJECT}/releases"

DAY_S = 86_400.0
TIME_LIMIT_S = 15.0
MOST_BYTES = 256 << 10
_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S = 6.0, 6.0
_VERSION = re.compile(r"v?(\d{1,5}(?:\.\d{1,5}){0,3})")
_log = logging.getLogger(__name__)


def release_address(environment: Mapping[str, str] | None = None) -> str:
    """Where the number is asked for; CLOVER_RELEASES replaces it, empty it switches the question off."""
    environment = os.environ if environment is None else environment
    return environment.get("CLOVER_RELEASES", NEWEST_RELEASE)


class NewVersionCheck:
    """``note`` keeps when was asked last and what the answer was."""

    def __init__(
        self,
        note: Path,
        *,
        proxy: str = "",
        address: str | None = None,
        current: str = __version__,
        clock: Callable[[], float] = time.time,
        time_limit_s: float = TIME_LIMIT_S,
    ) -> None:
        self._note = note
        self._proxy = proxy
        self._address = release_address() if address is None else address
        self._current = current
        self._clock = clock
        self._time_limit_s = time_limit_s

    def look(self) -> str:
        """The number of a version that is newer than this one, or "". Blocking; never raises."""
        known = read_json(self._note) or {}
        newest, asked = known.get("newest"), known.get("asked")
        newest = newest if isinstance(newest, str) else ""
        now = self._clock()
        # A time in the future is that of a clock that was wrong.
        asked_today = isinstance(asked, int | float) and 0 <= asked <= now and now - asked < DAY_S
        if not asked_today:
            newest = self._ask() or newest
            try:
                write_json(self._note, {"asked": now, "newest": newest})
            except OSError as error:
                _log.info("the answer about new versions was not kept: %s", error.strerror)
        return newest if is_newer(newest, self._current) else ""

    def _ask(self) -> str:
        """The number of the newest release; "" where there is no sensible answer."""
        if not self._address:
            return ""
        try:
            settings = HubSettings(self._address, "", self._proxy)
            connection = Connection(settings, tls_context(settings), _CONNECT_TIMEOUT_S, _READ_TIMEOUT_S)
            # A server that sends a byte now and then would keep every single read in time.
            limit = threading.Timer(self._time_limit_s, connection.abort)
            limit.daemon = True
            limit.start()
            try:
                return _version_in(_body(connection, self._address))
            finally:
                limit.cancel()
                connection.close()
        except (DownloadError, HTTPException, OSError, ValueError, RecursionError) as error:
            _log.info("no answer about new versions: %s", type(error).__name__)
        return ""


def is_newer(version: str, current: str) -> bool:
    """Whether the first number is greater than the second; False where one of them is no number."""
    one, other = _numbers(version), _numbers(current)
    return bool(one) and bool(other) and one > other


def _body(connection: Connection, address: str) -> bytes:
    answer = connection.get(address, 0)
    if answer.status != 200:
        return b""
    data = bytearray()
    while len(data) <= MOST_BYTES and (piece := answer.read()):
        data += piece
    return bytes(data) if len(data) <= MOST_BYTES else b""


def _version_in(body: bytes) -> str:
    value = json.loads(body.decode("utf-8")) if body else None
    if not isinstance(value, dict) or value.get("draft") or value.get("prerelease"):
        return ""
    name = value.get("tag_name")
    match = _VERSION.fullmatch(name.strip()) if isinstance(name, str) else None
    return match[1] if match else ""


def _numbers(version: str) -> tuple[int, ...]:
    match = _VERSION.fullmatch(version)
    numbers = [int(part) for part in match[1].split(".")] if match else []
    while numbers and numbers[-1] == 0 and len(numbers) > 1:
        numbers.pop()
    return tuple(numbers)
