"""One GET for a range of bytes: proxy, TLS, redirects, and a way to end it from another thread.

Plain ``http.client``: half the processor time per byte of the usual client libraries, and the socket at
hand, which is what makes a stalled transfer stop at once. Knows nothing of files and hashes.
"""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from clover_gui import __version__
from clover_gui.download.hub_settings import HubSettings, host_of
from clover_gui.errors import (
    DownloadError,
    HubCertificateRefused,
    HubFailed,
    HubUnreachable,
    ProxyFailed,
)
from clover_gui.i18n import capped
from clover_gui.logs import masked

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 6
PIECE_BYTES = 1 << 18


@dataclass(slots=True)
class Answer:
    """The head of an answer, and its body to be read. Names of headers are in lower case.

    ``linked`` holds what the hub said of the file on the way.
    """

    status: int
    headers: Mapping[str, str]
    host: str
    token_sent: bool
    body: http.client.HTTPResponse
    linked: dict[str, str] = field(default_factory=dict)
    redirected: bool = False

    def read(self) -> bytes:
        """What has arrived, at most PIECE_BYTES; b"" at the end.

        Raises:
            OSError, http.client.HTTPException: the connection broke or was silent for too long.
        """
        return self.body.read1(PIECE_BYTES)


class Connection:
    """Follows redirects until a server answers; ``abort`` ends whatever is going on."""

    def __init__(
        self, settings: HubSettings, context: ssl.SSLContext, connect_timeout_s: float, read_timeout_s: float
    ) -> None:
        self._settings = settings
        self._context = context
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._http: http.client.HTTPConnection | None = None
        self._response: http.client.HTTPResponse | None = None
        self._socket: socket.socket | None = None
        self._aborted = False

    def get(self, url: str, first: int, last: int | None = None) -> Answer:
        """Ask for the bytes from ``first`` to ``last`` (inclusive; None: to the end).

        Raises:
            HubUnreachable, HubCertificateRefused, ProxyFailed, HubFailed (too many or bad redirects).
        """
        linked: dict[str, str] = {}
        for hop in range(_MOST_REDIRECTS):
            answer = self._ask(url, first, last)
            for name in ("x-linked-etag", "x-linked-size"):
                if value := answer.headers.get(name):
                    linked.setdefault(name, value)
            if answer.status not in _REDIRECTS:
                answer.linked, answer.redirected = linked, hop > 0
                return answer
            self._close()
            url = redirect_target(url, answer.headers.get("location") or "")
        raise HubFailed(host_of(url), 310, "too many redirects")

    def abort(self) -> None:
        """End the request from any thread: a read that waits comes back at once."""
        self._aborted = True
        if (waiting := self._socket) is not None:
            try:
                # The method of the plain socket: that of a TLS socket would also drop its state, which
                # the reading thread still uses.
                socket.socket.shutdown(waiting, socket.SHUT_RDWR)
            except OSError:
                pass  # closed already

    def close(self) -> None:
        """Give the socket back; for the thread that reads."""
        self._close()

    def _close(self) -> None:
        # The body has its own hold on the socket: both must let go of it.
        for held in (self._response, self._http):
            if held is not None:
                held.close()
        self._response = self._http = self._socket = None

    def _ask(self, url: str, first: int, last: int | None) -> Answer:
        self._settings.require_usable()
        parts = urlsplit(url)
        headers = {
            "User-Agent": f"clover-gui/{__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        if first or last is not None:
            headers["Range"] = f"bytes={first}-{'' if last is None else last}"
        token_sent = self._settings.may_have_token(url)
        if token_sent:
            headers["Authorization"] = f"Bearer {self._settings.token}"
        proxy = self._proxy(parts)
        try:
            opened, target = self._open(parts, proxy, headers)
            self._http = opened
            opened.connect()
            self._socket = opened.sock
            if self._aborted:
                raise ConnectionAbortedError("stopped")
            opened.sock.settimeout(self._read_timeout_s)
            opened.request("GET", target, headers=headers)
            self._response = response = opened.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._close()
            raise connection_error(error, host_of(url), proxy) from error
        known = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, known, host_of(url), token_sent, response)

    def _open(
        self, parts: SplitResult, proxy: SplitResult | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPConnection, str]:
        """A connection that is not yet made, and the request's target on it."""
        host, port = parts.hostname or "", parts.port
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        timeout = self._connect_timeout_s
        if proxy is not None:
            login = _proxy_login(proxy)
            if parts.scheme == "http":
                headers.update(login)
                plain = http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=timeout)
                return plain, f"http://{parts.netloc.rpartition('@')[2]}{target}"
            tunnel = http.client.HTTPSConnection(
                proxy.hostname or "", proxy.port or 80, timeout=timeout, context=self._context
            )
            tunnel.set_tunnel(host, port or 443, login)
            return tunnel, target
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port or 80, timeout=timeout), target
        return http.client.HTTPSConnection(host, port or 443, timeout=timeout, context=self._context), target

    def _proxy(self, parts: SplitResult) -> SplitResult | None:
        """The proxy for this address: the person's own, else the system's, else none."""
        address = self._settings.proxy
        if not address:
            known = urllib.request.getproxies()
            address = known.get(parts.scheme) or known.get("all") or ""
            if not address or urllib.request.proxy_bypass(parts.netloc):
                return None
        proxy = urlsplit(address if "://" in address else f"http://{address}")
        if proxy.scheme != "http" or not proxy.hostname:
            raise ProxyFailed(capped(proxy.hostname or ""), "unsupported", capped(proxy.scheme))
        return proxy


def redirect_target(url: str, location: str) -> str:
    """Where a redirect leads. From https there is no way back to http.

    Raises:
        HubFailed: nowhere that could be asked.
    """
    allowed = ("https",) if url.startswith("https:") else ("http", "https")
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        leads = bool(location) and parts.scheme in allowed and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no address, or a port that there is not
        leads = False
    if not leads:
        raise HubFailed(host_of(url), 302, "bad redirect")
    return target


def connection_error(error: Exception, host: str, proxy: SplitResult | None = None) -> DownloadError:
    """Our error for one of the socket, TLS or HTTP layer."""
    text = error_text(error)
    proxy_host = (proxy.hostname or "") if proxy else ""
    if "Tunnel connection failed" in text:
        return ProxyFailed(proxy_host, "login" if "407" in text else "refused", text)
    if isinstance(error, ssl.SSLCertVerificationError):
        return HubCertificateRefused(text, host)
    if isinstance(error, socket.gaierror):
        return ProxyFailed(proxy_host, "refused", text) if proxy else HubUnreachable(host, "name", text)
    if isinstance(error, ConnectionRefusedError):
        return ProxyFailed(proxy_host, "refused", text) if proxy else HubUnreachable(host, "refused", text)
    kind = "silent" if isinstance(error, TimeoutError) else "broken"
    return HubUnreachable(host, kind, text)


def error_text(error: Exception) -> str:
    """What an error says, without what was sent."""
    text = str(error) or type(error).__name__
    if "header value" in text.lower():  # such a text quotes it, with any token in it
        return "a header that cannot be sent"
    return capped(masked(text), 200)


def _proxy_login(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair).decode('ascii')}"}
