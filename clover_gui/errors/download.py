"""A model cannot be brought here."""

from __future__ import annotations

from pathlib import Path

from clover_gui.errors.base import CloverError


class DownloadError(CloverError):
    """A model could not be brought here. ``host`` is the server that it is about, or ""."""

    def __init__(self, detail: str = "", host: str = "") -> None:
        super().__init__(f"{host}: {detail}" if host else detail)
        self.host = host
        self.detail = detail


class HubUnreachable(DownloadError):
    """No connection. ``kind`` is "name" (not found), "refused", "silent", "broken" or "offline-mode"."""

    def __init__(self, host: str, kind: str, detail: str = "") -> None:
        super().__init__(detail or kind, host)
        self.kind = kind


class HubCertificateRefused(DownloadError):
    """The certificate of ``host`` is not trusted by this system."""


class ProxyFailed(DownloadError):
    """``host`` is the proxy. ``kind`` is "refused", "login" (407) or "unsupported" (its scheme)."""

    def __init__(self, host: str, kind: str, detail: str = "") -> None:
        super().__init__(detail or kind, host)
        self.kind = kind


class NetworkSettingWrong(DownloadError):
    """A setting is no address, so nobody was asked. ``what`` is "endpoint" or "proxy", ``value`` the setting
    ("" for a proxy: it may hold a password)."""

    def __init__(self, what: str, value: str = "") -> None:
        super().__init__(f"the {what} is no address: {value!r}" if value else f"the {what} is no address")
        self.what = what
        self.value = value


class HubRefused(DownloadError):
    """401 or 403. ``gated``: the terms must be accepted first; ``token_sent``: a token was not enough."""

    def __init__(self, host: str, status: int, repository: str, gated: bool, token_sent: bool) -> None:
        super().__init__(f"HTTP {status} for {repository}", host)
        self.status = status
        self.repository = repository
        self.gated = gated
        self.token_sent = token_sent


class HubNotFound(DownloadError):
    """404. ``what`` is "repository", "revision" or "file"; ``name`` says which."""

    def __init__(self, host: str, what: str, name: str) -> None:
        super().__init__(f"no such {what}: {name}", host)
        self.what = what
        self.name = name


class HubBusy(DownloadError):
    """429. ``retry_after_s`` as the server asked, or None."""

    def __init__(self, host: str, retry_after_s: float | None) -> None:
        super().__init__("HTTP 429", host)
        self.retry_after_s = retry_after_s


class HubFailed(DownloadError):
    """An answer that is of no use; ``status`` is its HTTP status, 0 when it was not HTTP."""

    def __init__(self, host: str, status: int, detail: str = "") -> None:
        super().__init__(detail or f"HTTP {status}", host)
        self.status = status


class WebPageReceived(DownloadError):
    """A web page came in place of the data. ``title`` is the page's own, capped; may be empty."""

    def __init__(self, host: str, title: str = "") -> None:
        super().__init__(f"web page {title!r}", host)
        self.title = title


class NotAModelReceived(DownloadError):
    """The file at ``host`` does not begin as GGUF does; nothing of it was kept."""

    def __init__(self, host: str, name: str) -> None:
        super().__init__(f"{name} is not GGUF", host)
        self.name = name


class ModelChoiceFailed(DownloadError):
    """``kind`` is "none", "several" or "split" (only files in parts fit); ``names`` are the candidates."""

    def __init__(self, repository: str, pattern: str, kind: str, names: tuple[str, ...]) -> None:
        super().__init__(f"{repository}: {kind} for {pattern!r}")
        self.repository = repository
        self.pattern = pattern
        self.kind = kind
        self.names = names


class ChecksumUnknown(DownloadError):
    """The hub publishes no sha256 or size for ``name``, so that the file could not be checked."""

    def __init__(self, host: str, name: str) -> None:
        super().__init__(f"no checksum for {name}", host)
        self.name = name


class RemoteFileChanged(DownloadError):
    """The server's file is not the listed one (size or checksum differ)."""


class WrongSize(DownloadError):
    """The server ends before the size that the hub states. Sizes in bytes."""

    def __init__(self, host: str, expected_bytes: int, received_bytes: int) -> None:
        super().__init__(f"{received_bytes} of {expected_bytes} bytes", host)
        self.expected_bytes = expected_bytes
        self.received_bytes = received_bytes


class WrongHash(DownloadError):
    """The sha256 is not the published one. ``fetched_again_bytes`` were compared with a second copy."""

    def __init__(self, host: str, expected: str, actual: str, fetched_again_bytes: int) -> None:
        super().__init__(f"sha256 {actual} in place of {expected}", host)
        self.expected = expected
        self.actual = actual
        self.fetched_again_bytes = fetched_again_bytes


class NotEnoughSpace(DownloadError):
    """``folder`` has too little room. Sizes in bytes; ``missing_bytes`` must become free."""

    def __init__(self, folder: Path, needed_bytes: int, free_bytes: int) -> None:
        super().__init__(f"{folder}: needs {needed_bytes} bytes, {free_bytes} free")
        self.folder = folder
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes

    @property
    def missing_bytes(self) -> int:
        return max(0, self.needed_bytes - self.free_bytes)


class DestinationNotWritable(DownloadError):
    """``path`` cannot be created or written; ``reason`` is the system's."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class DownloadInUse(DownloadError):
    """Another process, or another window, is bringing the same file to ``path``."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: in use")
        self.path = path


class DownloadStopped(DownloadError):
    """Stopped by the person. ``kept_bytes`` are on disk; the next start goes on from there."""

    def __init__(self, kept_bytes: int) -> None:
        super().__init__(f"stopped at {kept_bytes} bytes")
        self.kept_bytes = kept_bytes
