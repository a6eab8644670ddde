"""HTML of messages: what is kept, what is made harmless, and when the parser is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from clover_gui.ui.widgets.markdown import is_openable, place_of, render


def test_usual_markdown() -> None:
    html = render("# A\n\n**b** ~~c~~ `d`\n\n3. x\n4. y\n\n- [ ] open\n- [x] done\n")
    for part in ("<h1>", "<strong>b</strong>", "<s>c</s>", "<code>d</code>", '<ol start="3"', "unchecked"):
        assert part in html
    assert "[ ]" not in html


def test_right_aligned_columns_are_kept() -> None:
    html = render("|a|b|\n|---|--:|\n|1|2|\n")
    assert '<th align="right">b</th>' in html
    assert '<td align="right">2</td>' in html


@pytest.mark.parametrize(
    "source",
    [
        "<img src='http://evil.example/a.png'>",
        "<svg><image href='http://evil.example'/></svg>",
        "<style>@import url(http://evil.example)</style>",
        "<script>alert(1)</script>",
        "a <b onclick='x()'>b</b>",
        "![a](http://evil.example/x.png)",
        "![a](//evil.example/x.png)",
        "![a](file:///etc/passwd)",
        "![a](data:image/png;base64,AAAA)",
        "![a][r]\n\n[r]: http://evil.example/x.png",
        "![<img src=x>](http://evil.example/<img>)",
        "`<img src='http://evil.example'>`",
        "| <img src='x'> |\n|---|\n| ![a](http://evil.example) |",
    ],
)
def test_nothing_that_loads_gets_through(source: str) -> None:
    html = render(source).lower()
    for tag in ("<img", "<svg", "<style", "<script", "<b ", "background="):
        assert tag not in html


def test_an_image_is_named_with_its_host() -> None:
    assert "[image: a chart — tracker.example]" in render("![a chart](https://tracker.example/x.png?id=1)")


def test_raw_html_is_shown_as_typed() -> None:
    assert "&lt;b&gt;x&lt;/b&gt;" in render("<b>x</b>")


@pytest.mark.parametrize(
    ("target", "openable"),
    [
        ("https://example.org/x", True),
        ("http://example.org", True),
        ("mailto:a@example.org", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("//host/share", False),
        ("relative/path", False),
        ("https://", False),
        ("ftp://example.org", False),
        ("http://[broken", False),
        ("clover:settings", False),
    ],
)
def test_only_web_and_mail_can_be_opened(target: str, openable: bool) -> None:
    assert is_openable(target) is openable
    assert ("<a href" in render(f"[text]({target})")) is openable


def test_bare_addresses_are_links_and_file_names_are_not() -> None:
    html = render("see https://example.org/a and setup.py or example.com")
    assert html.count("<a href") == 1


def test_place_of_names_host_or_scheme() -> None:
    assert place_of("https://user:secret@example.org:8080/x") == "example.org"
    assert place_of("data:image/png;base64,AAAA") == "data:"


def test_importing_the_widgets_does_not_import_the_parsers() -> None:
    """The first paint does not wait for them."""
    code = (
        "import sys; import clover_gui.ui.chat.message_list;"
        "print([m for m in ('markdown_it', 'pygments', 'linkify_it', 'ziamath') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
