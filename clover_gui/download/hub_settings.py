"""How the hub is reached: endpoint, token, proxy, certificates. One frozen value, handed down.

The token belongs to the endpoint and to nothing else; it is kept out of every text that this value makes.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from clover_gui.download.access_token import AccessToken

DEFAULT_ENDPOINT = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class HubSettings:
    """``endpoint`` without a closing slash; may be a mirror, also one with a path.

    ``token`` "" asks without one. ``proxy`` "" takes the system's (environment, Windows and macOS
    settings), else it is an ``http://[user:password@]host:port`` for everything. ``certificates`` is a
    PEM file that is trusted in addition to the system's store.
    """

    endpoint: str = DEFAULT_ENDPOINT
    token: str = field(default="", repr=False)
    proxy: str = field(default="", repr=False)
    certificates: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "endpoint", self.endpoint.strip().rstrip("/"))
        parts = urlsplit(self.endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the endpoint must be an http:// or https:// address")
        if parts.username or parts.password:
            raise ValueError("the endpoint must not hold a user name or password")

    @property
    def host(self) -> str:
        """The endpoint's host, with its port where one is given: for texts."""
        return urlsplit(self.endpoint).netloc

    def may_have_token(self, url: str) -> bool:
        """True where ``url`` has the endpoint's own scheme, host and port."""
        return bool(self.token) and origin(url) == origin(self.endpoint)


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
        ValueError: the endpoint is not an address; the text says what is wrong.
    """
    environment = os.environ if environment is None else environment
    known = endpoint_for("", environment)
    chosen = endpoint_for(endpoint, environment)
    token = environment.get("HF_TOKEN", "").strip() if chosen == known else ""
    if not token and kept is not None and kept.endpoint == chosen:
        token = kept.token
    extra = environment.get("SSL_CERT_FILE") or environment.get("REQUESTS_CA_BUNDLE")
    certificates = Path(extra) if extra and Path(extra).is_file() else None
    return HubSettings(chosen, token, proxy, certificates)


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
