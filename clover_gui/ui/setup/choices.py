"""The list of models on the set-up page: what is here, what can be brought here, files of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clover_gui.catalog.entry import CatalogEntry, FoundModel
from clover_gui.catalog.index import Catalog
from clover_gui.download.receipt import Standing, standing
from clover_gui.i18n import _, capped, file_size
from clover_gui.ui.setup.model_card import ModelChoice

FETCH = "fetch:"
"""Beginning of the key of a model that is not here: then follows its id."""


def model_choices(
    catalog: Catalog, found: Sequence[FoundModel], own_files: Sequence[Path]
) -> list[ModelChoice]:
    """Models that are here first, then those that can be brought here. Looks at the files' receipts."""
    by_entry = {model.entry.id: model for model in found if model.entry is not None}
    here: list[ModelChoice] = []
    away: list[ModelChoice] = []
    for entry in catalog.entries:
        model = by_entry.get(entry.id)
        if model is not None:
            here.append(_here(entry, model))
        elif entry.repository:
            away.append(_away(entry))
    known = {choice.key for choice in here}
    for path in dict.fromkeys([*(model.path for model in found), *own_files]):
        if str(path) not in known:
            here.append(ModelChoice(str(path), capped(path.name), capped(str(path.parent), 120)))
    return here + away


def _here(entry: CatalogEntry, model: FoundModel) -> ModelChoice:
    note = _("{size}, on this machine.").format(size=file_size(model.size_bytes))
    if standing(model.path) is Standing.CHANGED:
        note += " " + _("The file has changed since it was checked.")
    return ModelChoice(str(model.path), entry.title, _(entry.summary), note, entry.page_url)


def _away(entry: CatalogEntry) -> ModelChoice:
    note = _("A download of about {size}.").format(size=file_size(entry.size_bytes))
    if entry.needs:
        note += " " + _("Needs {needs}.").format(needs=_(entry.needs))
    return ModelChoice(FETCH + entry.id, entry.title, _(entry.summary), note, entry.page_url)
