"""Formulas: what counts as one, how it is drawn and copied, and that hostile ones harm nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage, QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.widgets.formula import INK, SIZE, Drawing, FormulaError, FormulaTimeout, draw_formula
from clover_gui.ui.widgets.formula_store import FormulaStore
from clover_gui.ui.widgets.markdown import render
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.prose_view import ProseView


def formulas_in(text: str) -> list[str]:
    """What is taken for a formula."""
    found: list[str] = []

    def note(source: str) -> None:
        found.append(source)

    render(text, None, note)
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Euler: $e^{i\\pi}=-1$.", ["$e^{i\\pi}=-1$"]),
        ("($x$), **$y$**, _$z$_", ["$x$", "$y$", "$z$"]),
        ("it is $5$ and \\(n\\)", ["$5$", "\\(n\\)"]),
        ("in a row $$a^2$$ too", ["$$a^2$$"]),
        ("$$\na\n= b\n- c\n+ d\n$$", ["$$\na\n= b\n- c\n+ d\n$$"]),
        ("so:\n\\[ x \\],\n\nand", ["\\[ x \\]"]),
        ("- item\n  \\[\n  x\n  \\]\n- $y$", ["\\[\nx\n\\]", "$y$"]),
        ("> \\[\n> x\n> \\]\n", ["\\[\nx\n\\]"]),
        ("| $a$ |\n|---|\n| \\(b\\) |", ["$a$", "\\(b\\)"]),
        ("# About $x$", ["$x$"]),
        ("costs \\$5 and $a \\$ b$", ["$a \\$ b$"]),
        # Money, names, and what is no formula.
        ("$5 and $10", []),
        ("between $5 and 6$, or $20; then 30$", []),
        ("$1,200 million or $3.5bn of $", []),
        ("US$5 or A$6", []),
        ("$HOME/$USER and ${x}", []),
        ("see \\[1\\] and \\[optional\\]", []),
        ("`$code$` and\n\n    $indented$\n\n```\n$x$\n```\n", []),
        ("$ spaced $ and $$ and $ $ and \\(\\)", []),
        ("not closed $x + 1", []),
        ("$$\nnot closed\n\nnext", []),
        ("$a\n\nb$", []),
    ],
)
def test_what_is_a_formula(text: str, found: list[str]) -> None:
    assert formulas_in(text) == found


def test_what_is_no_formula_is_shown_as_it_was_written() -> None:
    html = render("$5 and $10, $x$ and\n\n$$\na < b\n- c\n$$\n\n$$\nopen **b**\n")
    for part in ("$5 and $10, $x$ and", "$$<br />a &lt; b<br />- c<br />$$", "open <strong>b</strong>"):
        assert part in html
    assert "<img" not in html


def test_a_drawing_stands_on_its_baseline() -> None:
    """Sizes in parts of an em: a letter is about half an em high, a fraction reaches below the line."""
    letter = draw_formula("$x$", 5)
    fraction = draw_formula("$\\frac{a}{b}$", 5)
    assert 0.3 < letter.ascent / SIZE < 0.7
    assert letter.descent / SIZE < 0.1
    assert not letter.is_low
    assert fraction.is_low
    assert INK in letter.svg
    display = draw_formula("$$\\sum_{i=1}^n i$$", 5)
    assert display.ascent + display.descent > draw_formula("$\\sum_{i=1}^n i$", 5).ascent


@pytest.mark.parametrize(
    "source",
    [
        "$\\frac{$",
        "$\\unknowncommand{x}$",
        "$a & b$",
        "$$",
        "$\\mathop{x}$",
        "$\0$",
        "$\\text{</mtext><image href='file:///etc/hostname'/><mtext>}$",
        "$" + "{" * 5_000 + "}" * 5_000 + "$",
        "$" + "\\left(" * 3_000 + "$",
    ],
)
def test_what_cannot_be_drawn_says_so(source: str) -> None:
    with pytest.raises(FormulaError):
        draw_formula(source, 2)


def test_nothing_outside_is_referred_to() -> None:
    try:
        svg = draw_formula("$\\href{file:///etc/hostname}{x}$", 5).svg
    except FormulaError:
        return
    assert "hostname" not in svg


def test_a_formula_that_takes_too_long_is_given_up() -> None:
    """Its time doubles with each level: drawn to its end this one would take minutes."""
    source = "$" + "\\frac{1}{" * 16 + "x" + "}" * 16 + "$"
    started = time.thread_time()
    with pytest.raises(FormulaTimeout):
        draw_formula(source, 0.2)
    assert time.thread_time() - started < 10


# The store


@pytest.fixture
def store(qtbot: QtBot) -> Iterator[FormulaStore]:
    made = FormulaStore()
    yield made
    made.stop()


def test_each_formula_is_drawn_once_and_by_another_thread(
    store: FormulaStore, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[str, bool]] = []

    def draw(source: str, budget_s: float) -> Drawing:
        drawn.append((source, threading.current_thread() is threading.main_thread()))
        if "bad" in source:
            raise FormulaError("bad")
        return Drawing("<svg/>", 1, 1, 0)

    monkeypatch.setattr("clover_gui.ui.widgets.formula_store.draw_formula", draw)
    assert store.find("$a$") is None
    assert store.is_pending("$a$")
    with qtbot.waitSignal(store.drawn) as told:
        store.find("$a$")
        store.find("$bad$")
        qtbot.waitUntil(lambda: store._thread is None)
    assert told.args == [frozenset({"$a$", "$bad$"})]
    assert store.find("$a$") == Drawing("<svg/>", 1, 1, 0)
    assert store.find("$bad$") is None
    assert not store.is_pending("$bad$")
    assert drawn == [("$a$", False), ("$bad$", False)]
    assert store.is_idle


def test_after_some_slow_formulas_the_others_get_less_time(
    store: FormulaStore, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets: list[float] = []

    def draw(source: str, budget_s: float) -> Drawing:
        budgets.append(budget_s)
        raise FormulaTimeout("late")

    monkeypatch.setattr("clover_gui.ui.widgets.formula_store.draw_formula", draw)
    for number in range(8):
        store.find(f"${number}$")
    qtbot.waitUntil(lambda: store.is_idle)
    assert budgets == [1.0] * 5 + [0.1] * 3


def test_stopping_forgets_what_is_waiting(store: FormulaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    started = threading.Event()
    drawn: list[str] = []

    def draw(source: str, budget_s: float) -> Drawing:
        started.set()
        assert go.wait(10)
        drawn.append(source)
        raise FormulaError("x")

    monkeypatch.setattr("clover_gui.ui.widgets.formula_store.draw_formula", draw)
    store.find("$a$")
    assert started.wait(10)
    store.find("$b$")
    threading.Timer(0.05, go.set).start()
    store.stop()
    assert drawn == ["$a$"]
    assert store.is_idle


# In a message


@pytest.fixture
def show(theme: Theme, qtbot: QtBot) -> Callable[[str], MessageBody]:
    def made(text: str) -> MessageBody:
        body = MessageBody(theme)
        qtbot.addWidget(body)
        body.fit(600)
        body.set_text(text)
        body.show()
        qtbot.waitUntil(lambda: body.is_settled, timeout=20_000)
        return body

    return made


def only_view(body: MessageBody) -> ProseView:
    (view,) = [part.widget for part in body.parts() if part.widget]
    assert isinstance(view, ProseView)
    return view


def test_the_source_is_shown_until_the_formula_is_drawn(theme: Theme, qtbot: QtBot) -> None:
    body = MessageBody(theme)
    qtbot.addWidget(body)
    body.fit(600)
    body.append("Then $a^2 + b^2$ is")
    qtbot.waitUntil(lambda: bool(body.parts()))
    assert "$a^2 + b^2$" in only_view(body).html_source
    qtbot.waitUntil(lambda: "<img" in only_view(body).html_source)
    body.finish()
    qtbot.waitUntil(lambda: body.is_settled)


def test_copying_gives_the_source(show: Callable[[str], MessageBody]) -> None:
    text = "Say $x^2$$y$ and 😀 \\(\\frac{a}{b}\\) end.\n\n$\\alpha$\n\n\\[\n\\sqrt{2}\n\\].\n\n- $z$ first"
    view = only_view(show(text))
    view.selectAll()
    view.copy()
    assert QApplication.clipboard().text() == text
    cursor = QTextCursor(view.document())
    cursor.setPosition(4)
    cursor.setPosition(5, QTextCursor.MoveMode.KeepAnchor)
    view.setTextCursor(cursor)
    assert view.selected_text() == "$x^2$"


def test_a_screen_reader_is_told_the_sources(show: Callable[[str], MessageBody]) -> None:
    view = only_view(show("Say $a < b$ and \\(\\frac{a}{b}\\)."))
    assert view.accessibleDescription() == "$a < b$, \\(\\frac{a}{b}\\)"


def ink(body: MessageBody) -> set[str]:
    """The colours in a picture of it, without shades in between."""
    image = body.grab().toImage()
    pixels = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    return {color.name() for color in pixels}


def test_formulas_have_the_colour_of_the_text_and_of_the_theme(
    show: Callable[[str], MessageBody], theme: Theme, qapp: QApplication
) -> None:
    body = show("$\\blacksquare\\blacksquare$")
    assert theme.colors.text in ink(body)
    theme.apply(qapp, Mode.DARK)
    body.restyle()
    assert theme.colors.text in ink(body)


def lowest_ink(image: QImage, left: int, right: int) -> int:
    """The lowest row with something dark in these columns."""
    dark = (
        y for x in range(left, right) for y in range(image.height()) if image.pixelColor(x, y).value() < 150
    )
    return max(dark)


@pytest.mark.parametrize("text", ["H $\\mathrm{H}$ H", "H $\\mathrm{H}\\frac{a}{\\frac{b}{c}}$ H"])
def test_a_formula_stands_on_the_line_of_the_text(text: str, show: Callable[[str], MessageBody]) -> None:
    """Also where it reaches far below it."""
    body = show(text)
    view = only_view(body)
    view.clearFocus()
    image = body.grab().toImage()
    cursor = QTextCursor(view.document())
    cursor.setPosition(2)
    formula_left = view.cursorRect(cursor).left()
    letter, in_formula = (
        lowest_ink(image, 0, formula_left - 3),
        lowest_ink(image, formula_left, formula_left + 8),
    )
    assert abs(letter - in_formula) <= 1


def test_what_is_wider_than_the_text_is_made_smaller(show: Callable[[str], MessageBody]) -> None:
    body = show("$$" + "a + " * 100 + "b$$")
    view = only_view(body)
    assert view.document().size().width() <= 601
    assert view.html_source.count("<img") == 1


def test_many_formulas_are_drawn_in_few_steps(theme: Theme, qtbot: QtBot) -> None:
    """A part is not laid out anew for each of its formulas."""
    body = MessageBody(theme)
    qtbot.addWidget(body)
    body.fit(600)
    body.set_text(" ".join(f"$x_{{{n}}}$" for n in range(100)))
    qtbot.waitUntil(lambda: body.is_settled, timeout=20_000)
    view = only_view(body)
    assert view.html_source.count("<img") == 100
    assert view.render_count < 15


def test_a_formula_that_grows_moves_what_is_below(show: Callable[[str], MessageBody]) -> None:
    body = show("```\ncode\n```\n\n$$\\frac{a}{b}$$\n\n```\nmore\n```\n")
    places = [part.widget.geometry() for part in body.parts() if part.widget]
    assert all(above.bottom() < below.top() for above, below in pairwise(places))
    assert body.childAt(QPoint(5, places[1].center().y())) is not None
