"""The Markdown view: streaming gives the final look, finished blocks are left alone, nothing is fetched."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QTextCursor, QWheelEvent
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.widgets import message_body
from clover_gui.ui.widgets.blocks import Block, BlockKind
from clover_gui.ui.widgets.code_block import CodeBlock
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.prose_view import ProseView
from tests.ui.markdown_texts import FORMULAS, MIXED, random_pieces, random_text

WIDTH = 600


BodyMaker = Callable[[], MessageBody]


@pytest.fixture
def make_body(theme: Theme, qtbot: QtBot) -> Iterator[BodyMaker]:
    """In a scroll area, as in the window: only a part of a long text is painted."""
    areas: list[QScrollArea] = []

    def make() -> MessageBody:
        area = QScrollArea()
        areas.append(area)
        qtbot.addWidget(area)
        made = MessageBody(theme)
        made.fit(WIDTH)
        area.setWidget(made)
        area.resize(WIDTH + 40, 500)
        area.show()
        return made

    yield make
    for area in areas:
        area.close()


@pytest.fixture
def body(make_body: BodyMaker) -> MessageBody:
    return make_body()


def settle(qtbot: QtBot, body: MessageBody) -> None:
    qtbot.waitUntil(lambda: body.is_settled, timeout=20_000)
    for part in body.parts():
        if isinstance(part.widget, CodeBlock) and part.widget.highlighter:
            highlighter = part.widget.highlighter
            qtbot.waitUntil(lambda h=highlighter: h.is_settled, timeout=20_000)


def look(body: MessageBody) -> list[tuple[Block, object, tuple[int, int, int, int]]]:
    """Everything that decides how it looks: blocks, HTML or code with its colours, and places."""
    seen: list[tuple[Block, object, tuple[int, int, int, int]]] = []
    for part in body.parts():
        widget = part.widget
        if widget is None:
            continue
        content: object
        if isinstance(widget, CodeBlock):
            spans = widget.highlighter.spans() if widget.highlighter else []
            content = (widget.language, widget.code(), widget.editor.toPlainText(), spans)
        else:
            content = (widget.html_source, widget.toHtml())
        seen.append((part.block, content, widget.geometry().getRect()))
    return seen


def stream(qtbot: QtBot, body: MessageBody, pieces: list[str]) -> None:
    for piece in pieces:
        body.append(piece)
        QApplication.processEvents()
    body.finish()
    settle(qtbot, body)


@pytest.mark.parametrize("seed", range(6))
def test_streamed_looks_like_set_at_once(seed: int, make_body: BodyMaker, qtbot: QtBot) -> None:
    source = random.Random(seed)
    text = MIXED if seed == 0 else random_text(source, 60)
    streamed, whole = make_body(), make_body()
    stream(qtbot, streamed, random_pieces(text, source, 60))
    whole.set_text(text)
    settle(qtbot, whole)
    assert look(streamed) == look(whole)
    assert streamed.height() == whole.height()
    assert streamed.text() == whole.text() == text


def test_long_code_gets_the_colours_of_the_whole(make_body: BodyMaker, qtbot: QtBot) -> None:
    """While it is written only the last lines are read; the text over several lines shows the difference."""
    text = "```python\n" + 's = """\nnot = "code"\n"""\nx = 1  # 😀 note\n' * 150 + "```\n"
    streamed, whole = make_body(), make_body()
    stream(qtbot, streamed, random_pieces(text, random.Random(1), 300))
    whole.set_text(text)
    settle(qtbot, whole)
    assert look(streamed) == look(whole)


def test_finished_blocks_are_not_touched(body: MessageBody, qtbot: QtBot) -> None:
    """20,000 tokens: each block is drawn a few times while it is open, and never again."""
    text = (MIXED.replace("[ref]: https://example.org/reference", "").replace(FORMULAS, "") * 100)[:60_000]
    tokens = [text[i : i + 3] for i in range(0, len(text), 3)]
    assert len(tokens) == 20_000
    counts: dict[QWidget, int] = {}
    for number, token in enumerate(tokens):
        body.append(token)
        if number % 40 == 0:
            QApplication.processEvents()
            for part in body.parts()[len(counts) : -1]:
                if part.widget is not None:
                    counts.setdefault(part.widget, part.widget.render_count)
    frozen = [part.widget for part in body.parts() if part.widget in counts]
    assert len(frozen) > 200
    assert all(widget and widget.render_count == counts[widget] for widget in frozen)
    body.finish()
    settle(qtbot, body)
    assert body.text() == text


def test_a_slow_update_makes_the_next_one_wait(
    body: MessageBody, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """Four times as long as it took, so that a huge table costs a fifth of the time and not all of it."""
    now = [100.0]
    monkeypatch.setattr(message_body, "perf_counter", lambda: now[0])
    body.append("x")
    draw = ProseView.show_html

    def slowly(view: ProseView, text: str) -> None:
        draw(view, text)
        now[0] += 0.5

    monkeypatch.setattr(ProseView, "show_html", slowly)
    qtbot.waitUntil(lambda: now[0] > 100)
    body.append("y")
    assert body.next_update_in_s == pytest.approx(2.0)


def test_paragraphs_become_one_document_without_moving(body: MessageBody, qtbot: QtBot) -> None:
    text = "One paragraph.\n\nAnother one.\n\n- a\n- b\n\n## Head\n\nThe end.\n\n"
    body.append(text)
    qtbot.waitUntil(lambda: len(body.parts()) == 6)
    before = [p.widget.toPlainText() for p in body.parts() if isinstance(p.widget, ProseView)]
    height = body.height()
    body.finish()
    settle(qtbot, body)
    (part,) = body.parts()
    assert isinstance(part.widget, ProseView)
    assert part.widget.toPlainText() == "\n".join(before)
    assert body.height() == height


def test_a_selection_survives_the_end(body: MessageBody, qtbot: QtBot) -> None:
    body.append("First.\n\nSecond paragraph.\n\nThird.\n\n")
    qtbot.waitUntil(lambda: len(body.parts()) >= 3)
    view = body.parts()[1].widget
    assert isinstance(view, ProseView)
    view.setTextCursor(view.document().find("paragraph"))
    body.finish()
    settle(qtbot, body)
    merged = body.parts()[0].widget
    assert isinstance(merged, ProseView)
    assert merged.textCursor().selectedText() == "paragraph"


def test_selecting_across_paragraphs_copies_marks_and_tables(body: MessageBody, qtbot: QtBot) -> None:
    body.set_text("One **bold**.\n\n- a\n- b\n  1. c\n\n- [x] done\n\n| h | i |\n|---|---|\n| j | k |\n")
    settle(qtbot, body)
    copied = []
    for part in body.parts():
        assert isinstance(part.widget, ProseView)
        part.widget.selectAll()
        part.widget.copy()
        copied.append(QApplication.clipboard().text().strip())
    assert copied[0] == "One bold.\n\n- a\n- b\n  1. c\n[x] done"
    assert copied[1] == "h\ti\nj\tk"


@pytest.mark.parametrize("code", ["\tx = 1   \n\n\n  y\t\n", "a\u00a0b", "é😀\r\nz", "   ", "x\n" * 1_000])
def test_code_is_copied_byte_for_byte(code: str, body: MessageBody, qtbot: QtBot) -> None:
    text = f"Look:\n\n```sh\n{code}\n```\n"
    stream(qtbot, body, random_pieces(text, random.Random(3), 50))
    block = next(p.widget for p in body.parts() if isinstance(p.widget, CodeBlock))
    qtbot.mouseClick(block.copy_button, Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == code


def test_the_copy_button_of_long_code_stays_in_sight(body: MessageBody, qtbot: QtBot) -> None:
    body.set_text("```\n" + "line\n" * 300 + "```\n")
    settle(qtbot, body)
    block = body.parts()[0].widget
    assert isinstance(block, CodeBlock)
    for top in (0, 1_000, 2_000):
        body.follow_viewport(top)
        assert block.copy_button.mapTo(body, QPoint(0, 0)).y() in range(top, top + 40)
    body.follow_viewport(100_000)
    assert block.copy_button.mapTo(body, QPoint(0, 0)).y() < block.height()


def test_wheel_over_text_and_code_scrolls_the_page(theme: Theme, qtbot: QtBot) -> None:
    area = QScrollArea()
    qtbot.addWidget(area)
    body = MessageBody(theme)
    body.fit(400)
    body.set_text(("text\n\n" * 20) + "```\n" + "very long line " * 30 + "\n" + "line\n" * 60 + "```\n")
    settle(qtbot, body)
    area.setWidget(body)
    area.resize(450, 300)
    area.show()
    for part in body.parts():
        assert part.widget is not None
        inner = part.widget.editor if isinstance(part.widget, CodeBlock) else part.widget
        before = area.verticalScrollBar().value()
        wheel(inner.viewport(), QPoint(0, -120))
        assert area.verticalScrollBar().value() > before
    block = body.parts()[-1].widget
    assert isinstance(block, CodeBlock)
    wheel(block.editor.viewport(), QPoint(-120, 0))
    assert block.editor.horizontalScrollBar().value() > 0


def wheel(target: QWidget, delta: QPoint) -> None:
    """Turn the wheel over a widget: as in a real window, who ignores it passes it to its parent."""
    widget: QWidget | None = target
    while widget is not None:
        event = QWheelEvent(
            QPointF(5, 5),
            QPointF(widget.mapToGlobal(QPoint(5, 5))),
            QPoint(),
            delta,
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        if QApplication.sendEvent(widget, event) and event.isAccepted():
            return
        widget = widget.parentWidget()


def test_a_document_gets_nothing_even_if_it_asks(theme: Theme, body: MessageBody, qtbot: QtBot) -> None:
    body.set_text("x")
    view = body.parts()[0].widget
    assert isinstance(view, ProseView)
    assert view.loadResource(2, QUrl("file:///etc/hostname")) == b""


def test_links_ask_by_a_signal_and_only_for_web_and_mail(body: MessageBody, qtbot: QtBot) -> None:
    body.set_text("[site](https://example.org/a?b=c)")
    view = body.parts()[0].widget
    assert isinstance(view, ProseView)
    asked: list[str] = []
    body.link_activated.connect(asked.append)
    view.anchorClicked.emit(QUrl("file:///etc/hostname"))
    view.anchorClicked.emit(QUrl("//host/x"))
    assert asked == []
    point = view.cursorRect(QTextCursor(view.document())).center() + QPoint(3, 0)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert asked == ["https://example.org/a?b=c"]
    assert view.source() == QUrl()


def test_links_defined_later_are_drawn_again_at_the_end(body: MessageBody, qtbot: QtBot) -> None:
    text = "See [this][r].\n\n```\ncode\n```\n\n[r]: https://example.org\n"
    stream(qtbot, body, list(text))
    view = body.parts()[0].widget
    assert isinstance(view, ProseView)
    assert 'href="https://example.org"' in view.html_source


def test_colours_follow_the_theme(body: MessageBody, theme: Theme, qapp: QApplication, qtbot: QtBot) -> None:
    body.set_text("A `code` [link](https://example.org)\n\n```python\nimport os\n```\n")
    settle(qtbot, body)
    light = body.grab().toImage()
    theme.apply(qapp, Mode.DARK)
    body.restyle()
    prose = body.parts()[0].widget
    assert isinstance(prose, ProseView)
    assert theme.colors.link in prose.toHtml()
    assert body.grab().toImage() != light


def test_a_tables_last_row_is_inside_its_height(body: MessageBody, qtbot: QtBot) -> None:
    body.set_text("| a |\n|---|\n| b |\n| last |\n")
    view = body.parts()[0].widget
    assert isinstance(view, ProseView)
    assert body.parts()[0].block.kind is BlockKind.TABLE
    cursor = view.document().find("last")
    assert view.cursorRect(cursor).bottom() < view.height()
    assert view.height() < 2.2 * view.cursorRect(cursor).bottom()


def test_texts_are_named_for_screen_readers(body: MessageBody, qtbot: QtBot) -> None:
    body.set_name("Answer, message 4")
    body.set_text("text\n\n```python\ncode\n```\n")
    prose, code = (part.widget for part in body.parts() if part.widget)
    assert prose.accessibleName() == "Answer, message 4"
    assert isinstance(code, CodeBlock)
    assert code.editor.accessibleName() == "Code, python"
    assert code.copy_button.accessibleName() == "Copy code"
