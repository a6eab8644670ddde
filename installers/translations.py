"""Keep the translations: ``update`` collects the texts of the source, ``compile`` makes the .mo files.

For developers (needs Babel from the development set-up). Both .po and .mo are kept in the repository, so that
the program runs from a fresh clone.
"""

from __future__ import annotations

import io
import sys
import tomllib
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "resources" / "locale"
DOMAIN = "clover_gui"


def extract() -> Catalog:
    """All texts of the source."""
    catalog = Catalog(project="clover-gui", fuzzy=False)
    found = extract_from_dir(str(ROOT / "clover_gui"), keywords={"_": None, "ngettext": (1, 2)})
    for name, _line, message, comments, context in found:
        catalog.add(message, locations=[(f"clover_gui/{name}", 0)], auto_comments=comments, context=context)
    models = tomllib.loads((ROOT / "resources" / "catalog.toml").read_text(encoding="utf-8"))["model"]
    for text in (model[key] for model in models for key in ("summary", "needs") if model.get(key)):
        catalog.add(text, locations=[("resources/catalog.toml", 0)])
    return catalog


def po_file(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def languages() -> list[str]:
    return sorted(path.parent.parent.name for path in LOCALE.glob(f"*/LC_MESSAGES/{DOMAIN}.po"))


def read(language: str) -> Catalog:
    with po_file(language).open("rb") as file:
        return read_po(file, locale=language)


def po_bytes(catalog: Catalog) -> bytes:
    """The catalogue as text without line numbers, sorted, so that changes are easy to read."""
    buffer = io.BytesIO()
    write_po(
        buffer,
        catalog,
        no_location=True,
        omit_header=False,
        sort_output=True,
        width=110,
        ignore_obsolete=True,
    )
    return buffer.getvalue()


def mo_bytes(catalog: Catalog) -> bytes:
    buffer = io.BytesIO()
    write_mo(buffer, catalog)
    return buffer.getvalue()


def translated(message: Message) -> bool:
    """Whether every form of the text has its translation."""
    if isinstance(message.string, str):
        return bool(message.string)
    return bool(message.string and all(message.string))


def update() -> None:
    template = extract()
    for language in languages():
        catalog = read(language)
        catalog.update(
            template, no_fuzzy_matching=True, update_header_comment=False, update_creation_date=False
        )
        po_file(language).write_bytes(po_bytes(catalog))
        missing = [message.id for message in catalog if message.id and not translated(message)]
        print(f"{language}: {len(catalog)} texts, {len(missing)} without a translation")


def compile_all() -> None:
    for language in languages():
        po_file(language).with_suffix(".mo").write_bytes(mo_bytes(read(language)))


if __name__ == "__main__":
    {"update": update, "compile": compile_all}[sys.argv[1]]()
