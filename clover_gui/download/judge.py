"""Is this answer the file that was asked for? Looks at the head only, before one byte of the body is kept."""

from __future__ import annotations

import re

from clover_gui.download.answers import error_for_status
from clover_gui.download.connection import Answer
from clover_gui.download.hub_file import HubFile
from clover_gui.download.web_page import GGUF_MAGIC, is_web_page, page_title
from clover_gui.errors import HubFailed, RemoteFileChanged, WebPageReceived

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_SHA256 = re.compile(r'(?:W/)?"?([0-9a-f]{64})"?')
_PAGE_TYPES = ("text/html", "application/xhtml")


def accepted_start(answer: Answer, source: HubFile, first: int) -> int:
    """The offset at which the body begins: ``first``, or 0 from a server that ignores ranges.

    Raises:
        WebPageReceived: a page with status 200 or 206.
        RemoteFileChanged: another size, or another checksum, than the listing said.
        DownloadError: for the status.
    """
    if answer.status not in (200, 206):
        raise error_for_status(
            answer.status,
            answer.headers,
            host=answer.host,
            repository=source.repository,
            token_sent=answer.token_sent,
            file_name=source.name,
            revision=source.revision,
        )
    if (answer.headers.get("content-type") or "").lower().startswith(_PAGE_TYPES):
        _refuse_page(answer)
    if (coding := (answer.headers.get("content-encoding") or "identity").lower()) != "identity":
        raise HubFailed(answer.host, answer.status, f"content is {coding}")
    _check_identity(answer, source)
    if answer.status == 200:
        length = answer.headers.get("content-length")
        if length is not None and length != str(source.size_bytes):
            raise RemoteFileChanged(f"{length} bytes in place of {source.size_bytes}", answer.host)
        return 0
    found = _CONTENT_RANGE.fullmatch((answer.headers.get("content-range") or "").strip())
    if found is None:
        raise HubFailed(answer.host, 206, "no content range")
    if found[3] not in ("*", str(source.size_bytes)):
        raise RemoteFileChanged(f"{found[3]} bytes in place of {source.size_bytes}", answer.host)
    if int(found[1]) != first:
        raise HubFailed(answer.host, 206, f"range from {found[1]} in place of {first}")
    return first


def _refuse_page(answer: Answer) -> None:
    """A server may call a model text/html; the first bytes decide."""
    beginning = answer.read()
    if not beginning.startswith(GGUF_MAGIC) and is_web_page("text/html", beginning):
        raise WebPageReceived(answer.host, page_title(beginning))
    raise HubFailed(answer.host, answer.status, "a model that is sent as text/html")


def _check_identity(answer: Answer, source: HubFile) -> None:
    """Size and checksum as the hub states them on the way, and an ETag that is a sha256."""
    size = answer.linked.get("x-linked-size")
    if size is not None and size != str(source.size_bytes):
        raise RemoteFileChanged(f"{size} bytes in place of {source.size_bytes}", answer.host)
    for stated in (answer.linked.get("x-linked-etag"), answer.headers.get("etag")):
        found = _SHA256.fullmatch((stated or "").strip().lower())
        if found is not None and found[1] != source.sha256:
            raise RemoteFileChanged(f"sha256 {found[1][:12]}… in place of {source.sha256[:12]}…", answer.host)
