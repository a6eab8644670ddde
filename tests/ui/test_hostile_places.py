"""Hostile texts wherever a text may stand: nothing is opened or fetched, nothing is lost.

How long each holds the window up is measured by tests/benchmarks/hostile_texts.py. The answer itself is in
test_hostile_texts.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtNetwork import QNetworkAccessManager
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from clover_gui.chat.attachments import fenced
from clover_gui.chat.export import ExportFormat, export_text
from clover_gui.chat.message import AnswerStats, Attachment, MessageState
from clover_gui.chat.record import record_from_json, record_to_json
from clover_gui.chat.store import ChatStore
from clover_gui.i18n import capped
from clover_gui.ui.chat.attachment_chips import AttachmentChips
from clover_gui.ui.chat.conversation_list import ConversationList
from clover_gui.ui.chat.message_list import MessageList
from clover_gui.ui.chat.text_dialog import TextDialog
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.notice_bar import NoticeBar
from clover_gui.ui.widgets.plain_body import PlainBody
from tests.ui.hostile_texts import LONG_TEXTS, fetching
from tests.ui.test_hostile_texts import Canaries, canaries, messages

__all__ = ["canaries", "messages"]

NAMES = ("fetching", *LONG_TEXTS)
_OWN = (sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[2]))


class Watched:
    """What Python opens and connects to while it is on. Audit hooks stay for ever, so there is one."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open" and isinstance(arguments[0], str | bytes):
            name = arguments[0] if isinstance(arguments[0], str) else arguments[0].decode(errors="replace")
            # What is imported only now is the program's own.
            if not name.startswith(_OWN):
                self.seen.append(f"open {name}")
        elif event.startswith(
            ("socket.connect", "socket.getaddrinfo", "subprocess", "os.system", "webbrowser")
        ):
            self.seen.append(event)


_WATCHED: list[Watched] = []


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    if not _WATCHED:
        _WATCHED.append(Watched())
    watch = _WATCHED[0]
    for name in ("get", "post", "put", "head", "createRequest", "sendCustomRequest"):
        if hasattr(QNetworkAccessManager, name):
            monkeypatch.setattr(
                QNetworkAccessManager, name, lambda *_a, n=name, **_k: watch.seen.append(f"Qt {n}")
            )
    watch.seen.clear()
    watch.on = True
    yield watch.seen
    watch.on = False


def text_of(name: str, canaries: Canaries) -> str:
    return fetching(canaries.host, str(canaries.file)) if name == "fetching" else LONG_TEXTS[name]


def test_the_watch_watches(tmp_path: Path, watched: list[str]) -> None:
    (tmp_path / "x.png").write_bytes(b"")
    assert watched == [f"open {tmp_path / 'x.png'}"]


@pytest.mark.parametrize("name", NAMES)
def test_in_a_message_of_a_person_and_in_thoughts(
    name: str,
    messages: MessageList,
    canaries: Canaries,
    watched: list[str],
    qtbot: QtBot,
) -> None:
    text = text_of(name, canaries)
    question = messages.add_user(text)
    assert isinstance(question.body, PlainBody)
    question.body.show_all()
    answer = messages.add_answer()
    answer.append_thinking(text[:1])
    assert answer.thinking is not None
    answer.thinking.set_open(True)
    for start in range(1, len(text), 50_000):
        answer.append_thinking(text[start : start + 50_000])
        QApplication.processEvents()
    answer.append_answer("done")
    answer.finish()
    qtbot.waitUntil(lambda: not question.body._rest, timeout=30_000)
    for index in range(2):
        messages.scroll_to(index)
        messages.grab()
    assert question.text() == text
    assert answer.thinking.text() == text
    question.copy_text()
    assert QApplication.clipboard().text().replace("\0", "") == text.replace("\0", "")
    assert watched == []
    assert canaries.touched() == []


@pytest.mark.parametrize("name", NAMES)
def test_as_a_name_and_in_the_dialogs(
    name: str,
    theme: Theme,
    canaries: Canaries,
    watched: list[str],
    qtbot: QtBot,
) -> None:
    """Title of a chat, name of a file, a notice, and the dialog that shows a file."""
    text = text_of(name, canaries)
    chats = ConversationList(theme)
    qtbot.addWidget(chats)
    chats.resize(300, 400)
    chats.show()
    store = ChatStore()
    chat = store.create_chat(title=text)
    chats.show_chats(store.list_chats(), chat.id)
    store.close()
    shown = chats.list.item(0).text()
    assert shown == capped(shown, 200)
    chips = AttachmentChips(theme, chats)
    chips.show_attachments([Attachment(text, text, 1)])
    chips.show()
    notice = NoticeBar(chats)
    notice.show_notice(capped(text))
    dialog = TextDialog(text, text, theme, chats)
    dialog.open()
    qtbot.waitUntil(lambda: dialog.reader.is_filled, timeout=30_000)
    for widget in (chats, dialog):
        widget.grab()
    assert dialog.windowTitle() == capped(text)
    assert dialog.reader.text() == text
    dialog.reader.selectAll()
    assert dialog.reader.selected_text() == text
    dialog.reject()
    assert watched == []
    assert canaries.touched() == []


class Active(HTMLParser):
    """What of a page could do something by itself, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "link", "img", "image", "svg", "form", "base"):
            self.found.append(tag)
        for attribute, value in attrs:
            if attribute.startswith("on") or attribute in ("src", "srcset", "background", "action"):
                self.found.append(f"{attribute}={value}")
            elif attribute == "href" and not (value or "").startswith(
                ("http://", "https://", "mailto:", "#")
            ):
                self.found.append(f"href={value}")


@pytest.mark.parametrize("name", NAMES)
def test_in_an_exported_page_and_back_from_json(
    name: str,
    canaries: Canaries,
    watched: list[str],
    tmp_path: Path,
) -> None:
    watched.clear()  # the folder of this test
    text = text_of(name, canaries)
    store = ChatStore()
    chat = store.create_chat(title=text, system_prompt=text)
    asked = store.add_user_message(chat.id, text, [Attachment("a.txt", text, 1)])
    begun = store.begin_answer(chat.id, asked.id)
    store.finish_answer(begun.id, text, text, MessageState.COMPLETE, AnswerStats())
    record = store.record(chat.id)
    store.close()
    page = Active()
    page.feed(export_text(record, ExportFormat.HTML))
    assert page.found == []
    again = record_from_json(record_to_json(record), tmp_path / "x.json")
    assert [message.text for message in again.messages] == [text, text]
    assert again.messages[1].thinking == text
    assert again.messages[0].attachments[0].text == text
    # The file cannot close the fence that it stands in.
    fence = fenced(Attachment("a.txt", text)).splitlines()
    assert fence[-1] not in text.split("\n")
    assert watched == []
    assert canaries.touched() == []
