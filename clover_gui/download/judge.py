"""Is this answer the file that was asked for? Looks at the head only, before one byte of the body is kept."""

from __future__ import annotations

import re

from clover_gui.download.answers import error_for_status
from clover_gui.download.connection import Answer
from clover_gui.download.hub_file import HubFile
from clover_gui.download.web_page import GGUF_MAGIC, PAGE_TYPES, is_web_page, page_title
from clover_gui.errors import HubFailed, NotAModelReceived, RemoteFileChanged, WebPageReceived

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_SHA256 = re.compile(r'(?:W/)?"?([0-9a-f]{64})"?')


def accepted_start(answer: Answer, source: HubFile, first: int) -> int:
    """The offset at which the body begins: ``first``, or 0 from a server that ignores ranges.

    A body that begins at 0 must still pass ``check_beginning``.

    Raises:
        RemoteFileChanged: another size, or another checksum, than the listing said.
        DownloadError: for the status.
    """
    if answer.status == 416:
        _check_total((answer.headers.get("content-range") or "").rpartition("/")[2], answer, source)
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
    if answer.status == 200 and _content_type(answer).startswith(PAGE_TYPES):
        return 0  # its length and checksums are those of the page; the first bytes decide
    if (coding := (answer.headers.get("content-encoding") or "identity").lower()) != "identity":
        raise HubFailed(answer.host, answer.status, f"content is {coding}")
    _check_identity(answer, source)
    if answer.status == 200:
        _check_total(answer.headers.get("content-length") or "", answer, source)
        return 0
    found = _CONTENT_RANGE.fullmatch((answer.headers.get("content-range") or "").strip())
    if found is None:
        raise HubFailed(answer.host, 206, "no content range")
    _check_total(found[2], answer, source)
    if int(found[1]) != first:
        raise HubFailed(answer.host, 206, f"range from {found[1]} in place of {first}")
    return first


def check_beginning(answer: Answer, source: HubFile, beginning: bytes) -> None:
    """Nothing but GGUF may be kept. ``beginning``: at least four bytes from offset 0, better a page's head.

    Raises:
        WebPageReceived, NotAModelReceived.
    """
    if beginning.startswith(GGUF_MAGIC):
        return
    if is_web_page(_content_type(answer), beginning):
        raise WebPageReceived(answer.host, page_title(beginning))
    raise NotAModelReceived(answer.host, source.file_name)


def _content_type(answer: Answer) -> str:
    return (answer.headers.get("content-type") or "").lower()


def _check_total(stated: str, answer: Answer, source: HubFile) -> None:
    if stated.isdigit() and int(stated) != source.size_bytes:
        raise RemoteFileChanged(f"{stated} bytes in place of {source.size_bytes}", answer.host)


def _check_identity(answer: Answer, source: HubFile) -> None:
    """Size and checksum as the hub states them.

    The ETag of a storage server behind the hub has 64 digits, too, but need not be the file's sha256.
    """
    _check_total(answer.linked.get("x-linked-size") or "", answer, source)
    stated = answer.linked.get("x-linked-etag") or ("" if answer.redirected else answer.headers.get("etag"))
    found = _SHA256.fullmatch((stated or "").strip().lower())
    if found is not None and found[1] != source.sha256:
        raise RemoteFileChanged(f"sha256 {found[1][:12]}… in place of {source.sha256[:12]}…", answer.host)
