"""Numbers, sizes and texts in both languages; strings from files made harmless."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from clover_gui import i18n
from clover_gui.paths import checkout_root


@pytest.fixture(autouse=True)
def english_after() -> Iterator[None]:
    i18n.set_language("en")
    yield
    i18n.set_language("en")


def test_numbers_are_written_as_the_language_has_them() -> None:
    assert i18n.number(1234.56, 1) == "1,234.6"
    assert i18n.size(19_600_000_000) == "18.3 GB"
    assert i18n.size(98_362_432) == "94 MB"
    i18n.set_language("de")
    assert i18n.number(1234.56, 1) == "1.234,6"
    assert i18n.size(19_600_000_000) == "18,3 GB"


def test_an_unknown_language_falls_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_AT.UTF-8")
    assert i18n.set_language("xx") == "de"
    assert i18n.current_language() == "de"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name", "plain name"),
        ("two\nlines\tand\x00more", "two lines and more"),
        ("left\u202eright", "left right"),
        ("x" * 100, "x" * 79 + "…"),
        ("y" * 1_000_000, "y" * 79 + "…"),
        ("", ""),
    ],
)
def test_strings_from_files_are_capped_and_cleaned(text: str, shown: str) -> None:
    assert i18n.capped(text) == shown


def test_every_text_has_german_with_the_same_places() -> None:
    translations = _translations()
    catalog = translations.read("de")
    translated = {message.id: message for message in catalog if message.id}
    problems = []
    for wanted in translations.extract():
        if not wanted.id:
            continue
        key = wanted.id if isinstance(wanted.id, str) else wanted.id[0]
        found = catalog.get(key)
        if (
            found is None
            or not found.string
            or not all([found.string] if isinstance(found.string, str) else found.string)
        ):
            problems.append(f"no German: {key!r}")
            continue
        sources = [wanted.id] if isinstance(wanted.id, str) else list(wanted.id)
        results = [found.string] if isinstance(found.string, str) else list(found.string)
        places = {place for text in sources for place in re.findall(r"\{(\w*)", text)}
        for text in results:
            if not set(re.findall(r"\{(\w*)", text)) <= places:
                problems.append(f"other places: {key!r} -> {text!r}")
    assert translated
    assert problems == []


def test_the_compiled_catalogue_is_up_to_date() -> None:
    translations = _translations()
    compiled = translations.po_file("de").with_suffix(".mo").read_bytes()
    assert compiled == translations.mo_bytes(translations.read("de"))


def _translations():
    root = checkout_root()
    assert root is not None
    sys.path.insert(0, str(root / "installers"))
    try:
        import translations
    finally:
        sys.path.pop(0)
    return translations
