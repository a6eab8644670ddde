"""Files that go with a message: their text, whatever the form, and how it stands in the prompt.

Text of any encoding that can be told, code, Markdown, CSV, and the text of a PDF. Reading may take seconds
(a long PDF), so the window does it in a thread. Must not know: widgets, the engine.
"""

from __future__ import annotations

import codecs
import io
import logging
import re
import time
from pathlib import Path

from clover_gui.chat.message import Attachment
from clover_gui.errors import AttachmentRefused
from clover_gui.i18n import capped

# More than any context holds; a larger file would only cost time before it is refused.
LIMIT_BYTES = 32 * 1024 * 1024
PDF_LIMIT_PAGES = 3000
PDF_PATIENCE_S = 60.0
# A pasted text of more characters than this becomes an attachment.
PASTE_LIMIT = 4000
NAME_LIMIT = 120

_LANGUAGES = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "md": "markdown",
    "markdown": "markdown",
    "sh": "bash",
    "rs": "rust",
    "rb": "ruby",
    "yml": "yaml",
    "htm": "html",
    "h": "c",
    "cc": "cpp",
    "hpp": "cpp",
    "cs": "csharp",
    "kt": "kotlin",
    "ps1": "powershell",
    "txt": "",
    "log": "",
    "pdf": "",
}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_attachment(path: Path) -> Attachment:
    """The text of a file.

    Raises:
        AttachmentRefused: "unreadable", "too-big", "empty", "binary", and of PDFs "encrypted",
            "no-text" (pictures of pages) and "damaged".
    """
    try:
        if not path.is_file():
            raise AttachmentRefused(path.name, "unreadable" if path.exists() else "missing")
        size_bytes = path.stat().st_size
        if size_bytes > LIMIT_BYTES:
            raise AttachmentRefused(path.name, "too-big", size=size_bytes, limit=LIMIT_BYTES)
        data = path.read_bytes()
    except OSError as error:
        raise AttachmentRefused(path.name, "unreadable", error.strerror or str(error)) from error
    name = capped(path.name, NAME_LIMIT)
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return Attachment(name, _pdf_text(data, name))
    return Attachment(name, _decoded(data, name))


def _decoded(data: bytes, name: str) -> str:
    if not data.strip():
        raise AttachmentRefused(name, "empty")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return _plain(data.decode(encoding))
            except UnicodeDecodeError as error:
                raise AttachmentRefused(name, "binary", str(error)) from error
    if b"\0" in data:
        raise AttachmentRefused(name, "binary", "zero bytes")
    try:
        return _plain(data.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    # What is not UTF-8 is nearly always Windows' Western European; control codes tell that it is no text.
    text = data.decode("cp1252", errors="replace")
    strange = sum(1 for c in text[:65536] if (c < " " and c not in "\t\n\r\f\v\x1b") or c == "�")
    if strange > len(text[:65536]) // 100:
        raise AttachmentRefused(name, "binary", "control codes")
    return _plain(text)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _pdf_text(data: bytes, name: str) -> str:
    import pypdf

    # It reports every oddity of a file, with parts of its content.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    deadline = time.monotonic() + PDF_PATIENCE_S
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise AttachmentRefused(name, "encrypted")
        pages = []
        for number, page in enumerate(reader.pages, 1):
            if number > PDF_LIMIT_PAGES or time.monotonic() > deadline:
                raise AttachmentRefused(name, "too-long", size=len(reader.pages), limit=number - 1)
            pages.append(page.extract_text())
    except AttachmentRefused:
        raise
    except Exception as error:
        # A parser of damaged files meets everything; a cipher that is not installed counts as locked.
        kind = "encrypted" if isinstance(error, ImportError) else "damaged"
        raise AttachmentRefused(name, kind, f"{type(error).__name__}: {error}") from error
    text = "\n\n".join(page.strip() for page in pages).strip()
    if not text:
        raise AttachmentRefused(name, "no-text")
    return text.replace("\0", "")


def pasted(text: str, name: str) -> Attachment:
    """A large text from the clipboard."""
    return Attachment(capped(name, NAME_LIMIT), _plain(text))


def fenced(attachment: Attachment) -> str:
    """The attachment as it stands in the prompt: its name, and its text in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", attachment.text)), default=2)
    fence = "`" * (longest + 1)
    name = capped(attachment.name, NAME_LIMIT).replace("`", "'")
    ending = "" if attachment.text.endswith("\n") else "\n"
    return f"{name}:\n{fence}{_language_of(name)}\n{attachment.text}{ending}{fence}"


def _language_of(name: str) -> str:
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    language = _LANGUAGES.get(suffix, suffix)
    return language if re.fullmatch(r"[a-z0-9+#-]{0,16}", language) else ""


def with_attachments(text: str, attachments: tuple[Attachment, ...]) -> str:
    """What the model is told: the files first, then what the person wrote."""
    return "\n\n".join([*(fenced(attachment) for attachment in attachments), *([text] if text else [])])
