"""How the hub is reached: endpoint, token, proxy, certificates. One frozen value, handed down.

The token belongs to the endpoint and to nothing else; it is kept out of every text that this value makes.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from clover_gui.download.access_token import AccessToken, is_possible
from clover_gui.errors import NetworkSettingWrong, ProxyFailed
from clover_gui.i18n import capped

_log = logging.getLogger(__name__)
DEFAULT_ENDPOINT = "https://huggingface.co"
# A name, or a number of version 4 or 6.
_HOST = re.compile(r"[\w.:-]+")


@dataclass(frozen=True, slots=True)
class HubSettings:
    """``endpoint`` without a closing slash; may be a mirror, also one with a path.

    ``token`` "" asks without one. ``proxy`` "" takes the system's (environment, Windows and macOS
    settings), else it is an ``http://[user:password@]host:port`` for everything. ``certificates`` is a
    PEM file that is trusted in addition to the system's store. ``unusable``: the endpoint is no address, and
    whoever asks gets that as the answer.
    """

    endpoint: str = DEFAULT_ENDPOINT
    token: str = field(default="", repr=False)
    proxy: str = field(default="", repr=False)
    certificates: Path | None = None
    unusable: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "endpoint", self.endpoint.strip().rstrip("/"))
        object.__setattr__(self, "proxy", _with_scheme(self.proxy.strip()))
        if self.unusable:
            return
        parts = urlsplit(self.endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the endpoint must be an http:// or https:// address")
        if parts.username or parts.password:
            raise ValueError("the endpoint must not hold a user name or password")

    @property
    def host(self) -> str:
        """The endpoint's host, with its port where one is given: for texts."""
        return self.endpoint if self.unusable else urlsplit(self.endpoint).netloc

    def require_usable(self) -> None:
        """Never goes round a wrong setting: who must use a proxy or a mirror is not served past it.

        Raises:
            NetworkSettingWrong, ProxyFailed
        """
        if self.unusable:
            raise NetworkSettingWrong("endpoint", capped(self.endpoint))
        if self.proxy and not is_proxy(self.proxy):
            parts = _split(self.proxy)
            if parts is None or not parts.hostname or parts.scheme == "http":
                raise NetworkSettingWrong("proxy")
            raise ProxyFailed(capped(parts.hostname), "unsupported", capped(parts.scheme))

    def may_have_token(self, url: str) -> bool:
        """True where ``url`` has the endpoint's own scheme, host and port."""
        return bool(self.token) and origin(url) == origin(self.endpoint)


def is_endpoint(text: str) -> bool:
    """Whether downloads could go to this address; "" stands for the usual one."""
    parts = _split(text.strip())
    if not text.strip():
        return True
    return (
        parts is not None
        and parts.scheme in ("http", "https")
        and _HOST.fullmatch(parts.hostname or "") is not None
        and not (parts.username or parts.password)
    )


def is_proxy(text: str) -> bool:
    """Whether this could be a proxy of the kind that is supported; "" stands for the system's."""
    parts = _split(_with_scheme(text.strip()))
    if not text.strip():
        return True
    if "://" not in text and (parts is None or parts.port is None):
        return False  # a mere word is more likely a mistake than a server
    return parts is not None and parts.scheme == "http" and bool(_HOST.fullmatch(parts.hostname or ""))


def _with_scheme(proxy: str) -> str:
    """People leave it out."""
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def _split(address: str) -> SplitResult | None:
    """None: it is not in the form of an address."""
    try:
        parts = urlsplit(address)
        return None if parts.port == 0 else parts
    except ValueError:
        return None


def host_of(url: str) -> str:
    """Host and port for texts: a name and a password before them are nobody's business."""
    return urlsplit(url).netloc.rpartition("@")[2]


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port; the port is never left out."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, (parts.hostname or "").lower(), port


def hub_settings(
    endpoint: str = "",
    proxy: str = "",
    environment: Mapping[str, str] | None = None,
    kept: AccessToken | None = None,
) -> HubSettings:
    """Settings from arguments and the variables that people know: HF_ENDPOINT, HF_TOKEN, SSL_CERT_FILE.

    HF_TOKEN belongs to HF_ENDPOINT (or to the usual hub): with another ``endpoint`` it is left out. Where it
    is not set, the ``kept`` token is used, for the server that it was kept for.

    Raises:
        ValueError: the endpoint is not an address, or HF_TOKEN no token; the text says what is wrong, and
            never the token.
    """
    environment = os.environ if environment is None else environment
    known = endpoint_for("", environment)
    chosen = endpoint_for(endpoint, environment)
    token = environment.get("HF_TOKEN", "").strip() if chosen == known else ""
    if token and not is_possible(token):
        raise ValueError(
            "HF_TOKEN cannot be an access token: a line end, a space or another odd sign is in it"
        )
    if not token and kept is not None and kept.endpoint == chosen:
        token = kept.token
    extra = environment.get("SSL_CERT_FILE") or environment.get("REQUESTS_CA_BUNDLE")
    certificates = Path(extra) if extra and Path(extra).is_file() else None
    return HubSettings(chosen, token, proxy, certificates)


def settings_as_they_are(endpoint: str, proxy: str, kept: AccessToken | None = None) -> HubSettings:
    """As ``hub_settings``, but a wrong address is the answer to whoever asks the hub, and no error here."""
    chosen = endpoint_for(endpoint)
    if not is_endpoint(chosen):
        return HubSettings(chosen, "", proxy, unusable=True)
    try:
        return hub_settings(endpoint, proxy, kept=kept)
    except ValueError as error:
        _log.warning("asked without the token: %s", error)
        return hub_settings(endpoint, proxy, {**os.environ, "HF_TOKEN": ""}, kept)


def endpoint_for(chosen: str, environment: Mapping[str, str] | None = None) -> str:
    """The address that downloads go to with this setting ("" for the usual one)."""
    environment = os.environ if environment is None else environment
    known = environment.get("HF_ENDPOINT", "").strip().rstrip("/") or DEFAULT_ENDPOINT
    return chosen.strip().rstrip("/") or known


def tls_context(settings: HubSettings) -> ssl.SSLContext:
    """Verification by the system's certificate store, plus the person's own file.

    Raises:
        OSError: the file with certificates cannot be read (``ssl.SSLError`` where it is not PEM).
    """
    import truststore

    context: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.certificates is not None:
        context.load_verify_locations(cafile=str(settings.certificates))
    return context
