"""A chat as a file for other programs and people: Markdown, HTML, or JSON that can be read back.

Writing never replaces a file that nobody has agreed to replace. Must not know: dialogs.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from enum import StrEnum
from pathlib import Path

from clover_gui.chat.attachments import fenced
from clover_gui.chat.message import Message, Role
from clover_gui.chat.record import ChatRecord, record_to_json
from clover_gui.errors import ChatFileError
from clover_gui.i18n import _, capped

_NAME_LIMIT = 60
# Names that Windows keeps for devices.
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)$")


class ExportFormat(StrEnum):
    """The value is the ending of the file's name."""

    MARKDOWN = "md"
    HTML = "html"
    JSON = "json"


def export_text(record: ChatRecord, form: ExportFormat) -> str:
    """The chat in that form: the shown path; in JSON all versions of all messages."""
    if form is ExportFormat.JSON:
        return record_to_json(record)
    if form is ExportFormat.HTML:
        from clover_gui.chat.export_html import record_to_html  # its parser is slow to import

        return record_to_html(record)
    return record_to_markdown(record)


def record_to_markdown(record: ChatRecord) -> str:
    """The shown path as Markdown. What people and models wrote stays as it is."""
    title = capped(record.chat.title, 200) or _("Chat")
    parts = [f"# {title}"]
    if record.chat.system_prompt.strip():
        parts += [f"## {_('Instructions')}", record.chat.system_prompt]
    for message in record.path():
        parts += _markdown_of(message)
    return "\n\n".join(parts) + "\n"


def _markdown_of(message: Message) -> list[str]:
    parts = [f"## {_('You') if message.role is Role.USER else _('Answer')}"]
    if message.thinking.strip():
        parts += [f"<details><summary>{_('Thoughts')}</summary>", message.thinking, "</details>"]
    parts += [fenced(attachment) for attachment in message.attachments]
    if message.text:
        parts.append(message.text)
    return parts


def suggested_name(title: str, form: ExportFormat, created: float) -> str:
    """A file name from the title that every system allows; without a title from the date."""
    clean = re.sub(r'[<>:"/\\|?*\x00-\x1f]', " ", capped(title, _NAME_LIMIT).removesuffix("…"))
    clean = " ".join(clean.split()).strip(". ")
    if not clean or _RESERVED.match(clean):
        clean = _("Chat") + time.strftime(" %Y-%m-%d", time.localtime(created))
    return f"{clean}.{form.value}"


def write_export(path: Path, text: str, *, replace: bool = False) -> None:
    """Write the file whole or not at all. ``replace``: the person has agreed to lose a former one.

    Raises:
        ChatFileError: "exists", or "unwritable" with the system's reason.
    """
    if not replace and path.exists():
        raise ChatFileError(path, "exists")
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".clover-", suffix=".new")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if os.name == "posix":
            # mkstemp makes files that only their owner may read; others are made as the person's mask says.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        if not replace and path.exists():
            raise ChatFileError(path, "exists")
        temporary.replace(path)
    except OSError as error:
        raise ChatFileError(path, "unwritable", error.strerror or str(error)) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
