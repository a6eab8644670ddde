"""Chats as files: what is written, what is read back, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from clover_gui.chat.export import (
    ExportFormat,
    export_text,
    suggested_name,
    write_export,
)
from clover_gui.chat.export_html import record_to_html
from clover_gui.chat.message import AnswerStats, Attachment, MessageState
from clover_gui.chat.options import ChatOptions
from clover_gui.chat.record import ChatRecord, read_record, record_from_json, record_to_json
from clover_gui.chat.store import ChatStore
from clover_gui.errors import ChatFileError

EVIL = (
    '<script>fetch("http://evil.example")</script><img src=x onerror=alert(1)>\n\n'
    "![pixel](http://evil.example/p.png) [go](javascript:alert(1)) [file](file:///etc/passwd)"
    ' [ok](https://example.org/?a=1&b="2") </div></article>\n\n```html\n<b>code</b>\n```\n'
)


@pytest.fixture
def record() -> ChatRecord:
    """Two versions of the question, an answer with thoughts, a file, options."""
    store = ChatStore()
    chat = store.create_chat(title="Title <b>", system_prompt="Be kind & brief.", thinking=False)
    store.set_options(chat.id, ChatOptions(temperature=0.2, json_only=True))
    first = store.add_user_message(chat.id, "first </title>", [Attachment("a.py", "print(1)\n", 5)])
    store.begin_answer(chat.id, first.id)
    second = store.revise_user_message(first.id, EVIL)
    answer = store.begin_answer(chat.id, second.id)
    store.finish_answer(
        answer.id, EVIL, "hm <i>", MessageState.COMPLETE, AnswerStats(tokens_written=3, write_seconds=1.5)
    )
    store.begin_context(second.id)
    record = store.record(chat.id)
    store.close()
    return record


def test_json_brings_everything_back(record: ChatRecord) -> None:
    text = record_to_json(record)
    again = record_from_json(text, Path("x.json"))
    store = ChatStore()
    store.create_chat()
    chat = store.import_record(again)
    back = store.record(chat.id)
    assert record_to_json(replace(back, chat=replace(back.chat, updated=record.chat.updated))) == (
        text.replace('"state": "running"', '"state": "interrupted"')
    )
    assert [m.text for m in store.messages(chat.id)] == [EVIL, EVIL]
    assert store.messages(chat.id)[0].attachments == (Attachment("a.py", "print(1)\n", 5),)
    assert store.search("pixel")[0].chat_id == chat.id
    store.close()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "not-ours"),
        ("[1]", "not-ours"),
        ('{"format": "other"}', "not-ours"),
        ("[" * 100_000, "not-ours"),
        ('{"format": "clover-gui-chat", "version": 2}', "too-new"),
        ('{"format": "clover-gui-chat", "version": 1}', "damaged"),
        ('{"format": "clover-gui-chat", "version": 1, "messages": [{"id": 1}]}', "damaged"),
        ('{"format": "clover-gui-chat", "version": 1, "messages": 7}', "damaged"),
        ('{"format": "clover-gui-chat", "version": 1, "title": 3, "messages": []}', "damaged"),
    ],
)
def test_what_is_no_chat_is_refused(text: str, kind: str) -> None:
    with pytest.raises(ChatFileError) as caught:
        record_from_json(text, Path("x.json"))
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "change",
    [
        {"parent": 99},
        {"parent": "1"},
        {"id": 1},
        {"role": "system"},
        {"role": "tool"},
        {"state": "strange"},
        {"text": None},
        {"created": "now"},
        {"attachments": [{"name": "x"}]},
    ],
)
def test_a_message_that_cannot_be_true_is_refused(record: ChatRecord, change: dict[str, object]) -> None:
    data = json.loads(record_to_json(record))
    data["messages"][1] |= change
    with pytest.raises(ChatFileError) as caught:
        record_from_json(json.dumps(data), Path("x.json"))
    assert caught.value.kind == "damaged"


def test_fields_of_later_versions_and_odd_values_are_left_out(record: ChatRecord) -> None:
    data = json.loads(record_to_json(record))
    data["new"] = data["messages"][0]["new"] = 1
    data["options"] = {"temperature": 1e9, "top_p": "x", "seed": True, "min_p": 0.1, "json_only": 1}
    data["messages"][-1]["stats"] = {"tokens_written": "many", "seed": 4, "write_seconds": 2}
    data["shown"] = 77
    again = record_from_json(json.dumps(data), Path("x.json"))
    assert again.chat.options == ChatOptions(min_p=0.1)
    assert again.messages[-1].stats == AnswerStats(seed=4, write_seconds=2)
    assert again.leaf_id == again.messages[-1].id


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name, content, kind in (("no", None, "unreadable"), ("bytes", b"\xff\xfe\x00", "not-ours")):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ChatFileError) as caught:
            read_record(path)
        assert caught.value.kind == kind
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf{}")
    with pytest.raises(ChatFileError, match="not-ours"):
        read_record(tmp_path / "marked.json")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        self.handlers += [name for name, _value in attrs if name.startswith("on")]


def test_html_runs_nothing_and_fetches_nothing(record: ChatRecord) -> None:
    page = export_text(record, ExportFormat.HTML)
    seen = _Tags()
    seen.feed(page)
    assert not seen.tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form", "svg"}
    assert seen.handlers == []
    assert set(seen.addresses) == {"https://example.org/?a=1&b=%222%22"}
    assert "default-src 'none'" in page
    assert page.count("<article") == page.count("</article>") == 3
    assert "<title>Title &lt;b&gt;</title>" in page
    assert "&lt;b&gt;code&lt;/b&gt;" in page
    assert "evil.example]" in page


def test_markdown_has_the_texts_as_they_are(record: ChatRecord) -> None:
    text = export_text(record, ExportFormat.MARKDOWN)
    assert text.startswith("# Title <b>\n\n## Instructions\n\nBe kind & brief.\n")
    assert text.count(EVIL) == 2
    assert "a.py:\n```python\nprint(1)\n```" in text
    assert "first" not in text


def test_a_file_is_never_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "chat.md"
    write_export(path, "one")
    with pytest.raises(ChatFileError) as caught:
        write_export(path, "two")
    assert caught.value.kind == "exists"
    assert path.read_text() == "one"
    write_export(path, "two\n\ud83d", replace=True)
    assert path.read_text() == "two\n?"
    assert [p.name for p in tmp_path.iterdir()] == ["chat.md"]
    with pytest.raises(ChatFileError) as caught:
        write_export(tmp_path / "no folder" / "x.md", "x")
    assert caught.value.kind == "unwritable"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("What is 1/2?", "What is 1 2.md"),
        ("..", "Chat 1970-01-02.md"),
        ("con", "Chat 1970-01-02.md"),
        ("", "Chat 1970-01-02.md"),
        ("a\nb\u202e", "a b.md"),
        ("x" * 300, "x" * 59 + ".md"),
    ],
)
def test_names_that_every_system_allows(title: str, name: str) -> None:
    assert suggested_name(title, ExportFormat.MARKDOWN, 86_400 + 43_200) == name


def test_numbers_beyond_all_bounds_are_made_sound(record: ChatRecord, tmp_path: Path) -> None:
    data = json.loads(record_to_json(record))
    huge = 10**400
    data["created"], data["updated"] = 1e30, -1e308
    data["options"] = {"temperature": huge, "seed": huge}
    data["messages"][0] |= {"created": huge, "attachments": [{"name": "a", "text": "b", "tokens": huge}]}
    data["messages"][-1]["stats"] = {"tokens_written": huge, "write_seconds": huge, "seed": 4}
    again = record_from_json(json.dumps(data), Path("x.json"))
    assert (again.chat.created, again.chat.updated, again.chat.options) == (0.0, 0.0, ChatOptions())
    assert again.messages[0].attachments[0].tokens == 0
    assert again.messages[-1].stats == AnswerStats(seed=4)
    store = ChatStore(tmp_path / "chats.sqlite3")
    chat = store.import_record(again)
    kept = store.record(chat.id)
    assert "</html>" in record_to_html(kept)
    assert record_from_json(record_to_json(kept), Path("x.json")).messages == again.messages
    store.close()
