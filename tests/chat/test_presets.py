"""A person's own presets: kept whole, read whatever is in the file, and never lost."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from clover_gui.catalog.index import load_catalog
from clover_gui.chat.options import ChatOptions
from clover_gui.chat.presets import (
    NAME_LIMIT,
    Preset,
    PresetBook,
    Presets,
    clean_name,
    load_presets,
    save_presets,
)
from clover_gui.errors import DataFolderError
from clover_gui.explain.sampling_words import source_text

BRIEF = Preset("Brief", "Answer in one sentence.", ChatOptions(temperature=0.2, seed=7), thinking=False)
ODD = Preset("Ünïcödé & co", "a\r\n\0\u202e\ud800 😀" * 3, ChatOptions(json_only=True, precise=True))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "presets.json"


def test_what_is_saved_is_read_again(path: Path) -> None:
    presets = Presets().with_entry(ODD).with_entry(BRIEF).with_default("Brief")
    save_presets(path, presets)
    assert load_presets(path) == (presets, None)
    assert [preset.name for preset in presets.entries] == ["Brief", ODD.name]
    assert presets.for_new_chats == BRIEF
    assert [p.name for p in path.parent.iterdir()] == ["presets.json"]


def test_no_file_is_no_problem(path: Path) -> None:
    assert load_presets(path) == (Presets(), None)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b'{"version": 2, "presets": []}', b'{"version": 1}', b"[" * 100_000],
)
def test_a_file_that_cannot_be_read_is_set_aside_each_time(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    kept = []
    for _attempt in range(2):
        path.write_bytes(content)
        presets, aside = load_presets(path)
        assert presets == Presets()
        assert aside is not None
        assert aside.read_bytes() == content
        assert not path.exists()
        kept.append(aside)
    assert kept[0] != kept[1]


def test_what_can_be_read_of_a_damaged_file_is_kept_and_the_whole_set_aside(path: Path) -> None:
    save_presets(path, Presets((BRIEF,), "Brief"))
    data = json.loads(path.read_text())
    data["presets"] += [{"name": ""}, 7, {"name": "x", "instructions": 1}]
    path.write_text(json.dumps(data))
    presets, aside = load_presets(path)
    assert presets == Presets((BRIEF,), "Brief")
    assert aside is not None
    assert len(json.loads(aside.read_text())["presets"]) == 4
    # And the next start finds them in their place.
    assert load_presets(path) == (Presets((BRIEF,), "Brief"), None)


def test_names_from_a_file_are_made_safe_to_show(path: Path) -> None:
    path.parent.mkdir()
    entry = {"name": "\u202eevil\n" + "x" * 500, "options": {"temperature": 1e9, "top_k": "a"}}
    path.write_text(json.dumps({"version": 1, "presets": [entry], "default": "gone"}))
    presets, _aside = load_presets(path)
    assert presets.entries[0].name == clean_name(entry["name"])  # type: ignore[arg-type]
    assert len(presets.entries[0].name) <= NAME_LIMIT
    assert presets.entries[0].options.is_default
    assert presets.default == ""


def test_a_name_stands_for_one_preset_whatever_its_case() -> None:
    presets = Presets().with_entry(BRIEF).with_default("Brief")
    other = Preset("BRIEF", "Other words")
    assert presets.with_entry(other).entries == (other,)
    renamed = presets.renamed("Brief", "Short")
    assert renamed.default == "Short"
    assert renamed.named("short") is not None
    assert renamed.without("Short") == Presets()


def test_a_folder_that_cannot_be_written_leaves_the_old_file(path: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises(DataFolderError):
        save_presets(blocked / "presets.json", Presets())

    async def script() -> None:
        book = await PresetBook.open(path)
        await book.change(Presets((BRIEF,)))
        await asyncio.gather(book.change(Presets()), book.change(Presets((ODD,))))
        assert (await PresetBook.open(path)).presets == Presets((ODD,))

    asyncio.run(script())


def test_every_source_of_the_list_can_be_said_in_the_language_of_the_person() -> None:
    catalog = load_catalog()
    presets = [catalog.default_preset, *(p for entry in catalog.entries for p in entry.presets.values())]
    for preset in presets:
        assert source_text(preset.source) != preset.source


def test_names_that_differ_in_case_only_are_both_kept(path: Path) -> None:
    path.parent.mkdir()
    names = ["A", "a", "a", "A 2", "x" * NAME_LIMIT, "X" * NAME_LIMIT]
    entries = [{"name": name, "instructions": str(number)} for number, name in enumerate(names)]
    path.write_text(json.dumps({"version": 1, "presets": entries}))
    presets, aside = load_presets(path)
    assert aside is None
    assert sorted(preset.instructions for preset in presets.entries) == list("012345")
    assert len({preset.name.casefold() for preset in presets.entries}) == len(names)
    assert all(len(preset.name) <= NAME_LIMIT for preset in presets.entries)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_its_place_is_not_waited_for(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    presets, aside = load_presets(path)
    assert presets == Presets()
    assert aside is not None
    assert not path.exists()
