"""From an HTTP status to the error that a person can understand: for listings and transfers alike."""

from __future__ import annotations

from collections.abc import Mapping

from clover_gui.errors import (
    DownloadError,
    HubBusy,
    HubFailed,
    HubNotFound,
    HubRefused,
    ProxyFailed,
)
from clover_gui.i18n import capped

# Worth another try: they tell of the server's state, not of the question.
PASSING_STATUS = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524)
_LONGEST_WAIT_S = 86_400.0


def error_for_status(
    status: int,
    headers: Mapping[str, str],
    *,
    host: str,
    repository: str,
    token_sent: bool,
    file_name: str = "",
    revision: str = "",
) -> DownloadError:
    """The error for a status of 400 or more. ``headers`` answers ``get`` without regard to case."""
    code = headers.get("x-error-code") or ""
    if code == "RevisionNotFound":
        return HubNotFound(host, "revision", capped(revision))
    if status == 404:
        file_is_meant = file_name and code != "RepoNotFound"
        return HubNotFound(
            host, *(("file", capped(file_name)) if file_is_meant else ("repository", repository))
        )
    if status in (401, 403):
        return HubRefused(host, status, capped(repository), code == "GatedRepo", token_sent)
    if status == 407:
        return ProxyFailed(host, "login", "HTTP 407")
    if status == 429:
        return HubBusy(host, retry_after_s(headers.get("retry-after") or ""))
    return HubFailed(host, status)


def retry_after_s(value: str) -> float | None:
    """Seconds of a Retry-After header in its number form; None where there is none that can be true."""
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT_S else None
