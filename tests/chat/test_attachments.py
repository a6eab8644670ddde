"""Files that go with a message: reading them, refusing them, and how they stand in the prompt."""

from __future__ import annotations

import io
from pathlib import Path

import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from clover_gui.chat import attachments
from clover_gui.chat.attachments import fenced, pasted, read_attachment
from clover_gui.chat.history import prompt_messages
from clover_gui.chat.message import Attachment
from clover_gui.chat.options import ChatOptions
from clover_gui.chat.store import ChatStore
from clover_gui.engine.protocol import Limits, Sampling
from clover_gui.errors import AttachmentRefused


def pdf_with(*texts: str, password: str = "") -> bytes:
    """A PDF with one line of text on each page."""
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in texts:
        page = writer.add_blank_page(200, 200)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
        )
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode() if text else b"")
        page[NameObject("/Contents")] = writer._add_object(content)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.txt", "grün\r\nzwei\rdrei\n".encode(), "grün\nzwei\ndrei\n"),
        ("b.csv", "a;b\n1;2".encode("utf-16"), "a;b\n1;2"),
        ("c.md", b"\xef\xbb\xbf# title", "# title"),
        ("d.txt", "Käse 5 €".encode("cp1252"), "Käse 5 €"),
        ("e.pdf", pdf_with("First page", "Second page"), "First page\n\nSecond page"),
    ],
)
def test_texts_of_every_kind(tmp_path: Path, name: str, data: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert read_attachment(tmp_path / name) == Attachment(name, text)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("none", None, "missing"),
        ("empty.txt", b" \n", "empty"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00", "binary"),
        ("noise.bin", bytes(range(1, 256)) * 20, "binary"),
        ("odd.txt", b"\xff\xfea", "binary"),
        ("scan.pdf", pdf_with("", ""), "no-text"),
        ("locked.pdf", pdf_with("secret", password="x"), "encrypted"),
        ("broken.pdf", b"%PDF-1.7\nnothing that makes sense", "damaged"),
        ("cut.pdf", pdf_with("text")[:300], "damaged"),
    ],
)
def test_what_has_no_text_is_refused(tmp_path: Path, name: str, data: bytes | None, kind: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(AttachmentRefused) as caught:
        read_attachment(tmp_path / name)
    assert caught.value.kind == kind


def test_a_folder_and_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttachmentRefused, match="unreadable"):
        read_attachment(tmp_path)
    monkeypatch.setattr(attachments, "LIMIT_BYTES", 10)
    (tmp_path / "long.txt").write_text("x" * 11)
    with pytest.raises(AttachmentRefused) as caught:
        read_attachment(tmp_path / "long.txt")
    assert (caught.value.kind, caught.value.size, caught.value.limit) == ("too-big", 11, 10)
    monkeypatch.setattr(attachments, "PDF_LIMIT_PAGES", 1)
    monkeypatch.setattr(attachments, "LIMIT_BYTES", 10**6)
    (tmp_path / "long.pdf").write_bytes(pdf_with("a", "b"))
    with pytest.raises(AttachmentRefused) as caught:
        read_attachment(tmp_path / "long.pdf")
    assert (caught.value.kind, caught.value.size, caught.value.limit) == ("too-long", 2, 1)


def test_a_file_cannot_close_its_own_fence() -> None:
    text = fenced(Attachment("notes.md", "before\n````\n```\nafter"))
    assert text == "notes.md:\n`````markdown\nbefore\n````\n```\nafter\n`````"
    assert fenced(Attachment("strange`.x y", "t")).startswith("strange'.x y:\n```\n")


def test_the_model_gets_the_files_before_the_words() -> None:
    store = ChatStore()
    chat = store.create_chat()
    file = pasted("a\r\nb", "Pasted text")
    message = store.add_user_message(chat.id, "What is this?", [file])
    assert store.messages(chat.id)[0].attachments == (Attachment("Pasted text", "a\nb"),)
    (sent,) = prompt_messages(store.messages(chat.id))
    assert sent.content == "Pasted text:\n```\na\nb\n```\n\nWhat is this?"
    assert store.revise_user_message(message.id, "And this?").attachments == (file,)
    only_file = store.create_chat()
    store.add_user_message(only_file.id, "", [file])
    assert store.chat(only_file.id).title == "Pasted text"
    store.close()


def test_files_of_a_draft_are_kept() -> None:
    store = ChatStore()
    file = Attachment("a.txt", "text", 3)
    store.save_draft(0, "", [file])
    store.save_draft(0, "words")
    assert store.draft_attachments(0) == (file,)
    store.save_draft(0, "", [])
    assert store.draft(0) == ""
    assert store._db.execute("SELECT count(*) FROM drafts").fetchone()[0] == 0
    store.close()


def test_options_change_only_what_is_set() -> None:
    usual = Sampling(temperature=0.6, top_k=20)
    assert ChatOptions().sampling(usual) == usual
    assert ChatOptions().limits() == Limits()
    changed = ChatOptions(temperature=0.0, json_only=True, thinking_tokens=0, seed=5)
    assert changed.sampling(usual) == Sampling(temperature=0.0, top_k=20, seed=5, json_only=True)
    assert changed.limits() == Limits(thinking_tokens=0)
    store = ChatStore()
    chat = store.create_chat()
    assert store.set_options(chat.id, changed).options == changed
    assert store.set_pinned(chat.id, True).pinned
    newer = store.create_chat()
    assert [c.id for c in store.list_chats()] == [chat.id, newer.id]
    store.close()


def test_versions_and_the_shown_path() -> None:
    store = ChatStore()
    chat = store.create_chat()
    question = store.add_user_message(chat.id, "q")
    first = store.begin_answer(chat.id, question.id)
    follow = store.add_user_message(chat.id, "more")
    second = store.begin_answer(chat.id, question.id)
    assert store.versions(chat.id) == {first.id: (first.id, second.id), second.id: (first.id, second.id)}
    store.show_message(first.id)
    assert [m.id for m in store.messages(chat.id)] == [question.id, first.id, follow.id]
    store.show_message(second.id)
    assert [m.id for m in store.messages(chat.id)] == [question.id, second.id]
    store.close()
