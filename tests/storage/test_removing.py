"""Removing everything: exactly what was shown, and never what is somebody else's."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from clover_gui import settings
from clover_gui.chat.side_files import SIDES, beside, free_name
from clover_gui.download.receipt import write_receipt
from clover_gui.flavours.store import FlavourStore
from clover_gui.patching import journal
from clover_gui.patching.repair import repair
from clover_gui.paths import DataFolder
from clover_gui.storage.carrying import carry
from clover_gui.storage.move_state import Step
from clover_gui.storage.moving import begin, finish
from clover_gui.storage.places import Locations, PlaceKind, find_places, size_of
from clover_gui.storage.removing import remove_places
from clover_gui.storage.verified_copy import copy_verified, growing_path
from tests.kit.diffuspace import DIFFUSPACE, make_form
from tests.patching.forms import KNOWS_QWEN
from tests.storage.model_folder import (
    BY_HAND,
    OURS,
    add_below,
    add_foreign,
    contents,
    make_models,
    receipt_for,
)

NO_MODEL = "picture.gguf"


def fill(data: DataFolder, cache: Path) -> None:
    make_models(data.models)
    settings.save(data.settings, settings.Settings())
    for name in ("measurements.json", "access-token.json", "instance.lock", "settings.broken.json"):
        (data.root / name).write_text("{}")
    sqlite3.connect(data.chats).close()
    data.chats.write_bytes(b"chats")
    data.chats.with_name(data.chats.name + "-wal").write_bytes(b"wal")
    data.logs.mkdir()
    (data.logs / "window.log").write_text("line")
    (data.logs / "window.log.1").write_text("line")
    engine = data.engines / "cu124-1"
    engine.mkdir(parents=True)
    (engine / "manifest.json").write_text('{"version": 1, "key": "cu124-1"}')
    (engine / "libllama.so").write_bytes(b"x" * 1000)
    wheels = cache / "engine" / "0.3-cpu"
    wheels.mkdir(parents=True)
    (wheels / "llama_cpp_python-0.3-py3-none-linux_x86_64.whl").write_bytes(b"x" * 2000)


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    data = DataFolder(tmp_path / "data")
    found = Locations(data, data.models, tmp_path / "cache")
    data.root.mkdir()
    fill(data, found.cache)
    return found


def test_every_place_has_its_size(locations: Locations) -> None:
    places = {place.kind: place for place in find_places(locations)}
    assert list(places) == list(PlaceKind)
    sizes = {kind: size_of(place.own) for kind, place in places.items()}
    assert sizes[PlaceKind.CHATS] == len(b"chats") + len(b"wal")
    assert sizes[PlaceKind.CACHES] == 2000
    assert sizes[PlaceKind.ENGINES] == 1000 + len('{"version": 1, "key": "cu124-1"}')
    assert sizes[PlaceKind.LOGS] == 8
    assert sizes[PlaceKind.MODELS] > 600_000
    assert places[PlaceKind.MODELS].others == 0


def test_everything_but_the_chats_goes_and_what_is_no_model_stays(locations: Locations) -> None:
    data = locations.data
    add_below(data.models)
    (data.models / NO_MODEL).write_text("precious")
    chosen = [place for place in find_places(locations) if place.kind is not PlaceKind.CHATS]
    assert remove_places(chosen, data.root) == ()
    assert sorted(path.name for path in data.root.iterdir()) == [
        "chats.sqlite3",
        "chats.sqlite3-wal",
        "models",
    ]
    assert list(contents(data.models, below=True)) == [NO_MODEL]
    assert [path.name for path in data.models.iterdir()] == [NO_MODEL]
    assert not locations.cache.exists()


def test_with_the_chats_nothing_is_left(locations: Locations) -> None:
    assert remove_places(find_places(locations), locations.data.root) == ()
    assert not locations.data.root.exists()


def test_the_home_folder_as_every_folder(tmp_path: Path) -> None:
    """A person who pointed everything at their home folder keeps it."""
    home = tmp_path / "home"
    data = DataFolder(home)
    home.mkdir()
    fill(data, home / "cache-of-clover")
    make_models(home)
    foreign = add_foreign(home)
    for folder in ("engines/mine", "logs", "engine", "models/sub"):
        (home / folder).mkdir(parents=True, exist_ok=True)
        (home / folder / "precious.gguf").write_text("precious")
    (home / "logs" / "other.log").write_text("other")
    (home / "package.json").write_text("{}")
    locations = Locations(data, home, home / "cache-of-clover")
    assert remove_places(find_places(locations), home) == ()
    assert contents(home).keys() == {*foreign, BY_HAND, "package.json"}
    assert (home / "link.gguf").is_symlink()
    for folder in ("engines/mine", "logs", "engine", "models/sub"):
        assert (home / folder / "precious.gguf").read_text() == "precious"
    assert (home / "logs" / "other.log").exists()


def test_links_are_not_followed(locations: Locations, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "window.log").write_text("precious")
    (elsewhere / "manifest.json").write_text('{"version": 1, "key": "evil"}')
    (elsewhere / "thesis.txt").write_text("precious")
    data = locations.data
    (data.engines / "evil").symlink_to(elsewhere)
    (data.engines / "cu124-1" / "away").symlink_to(elsewhere)
    (locations.cache / "engine" / "away").symlink_to(elsewhere)
    (data.root / "settings.json").unlink()
    (data.root / "settings.json").symlink_to(elsewhere / "thesis.txt")
    (data.models / "linked.gguf").symlink_to(elsewhere / "thesis.txt")
    (data.models / "linked.gguf.receipt.json").write_text("{}")
    remove_places(find_places(locations), data.root)
    assert {path.name for path in elsewhere.iterdir()} == {"window.log", "manifest.json", "thesis.txt"}
    assert (elsewhere / "thesis.txt").read_text() == "precious"


def test_folders_that_are_links_themselves_are_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "engine").mkdir(parents=True)
    (elsewhere / "engine" / "thesis.txt").write_text("precious")
    data = DataFolder(tmp_path / "data")
    data.root.mkdir()
    (data.root / "engines").symlink_to(elsewhere)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "engine").symlink_to(elsewhere / "engine")
    remove_places(find_places(Locations(data, data.models, cache)), data.root)
    assert (elsewhere / "engine" / "thesis.txt").read_text() == "precious"


def test_models_of_ours_in_the_folder_of_others_are_found(locations: Locations, tmp_path: Path) -> None:
    shared = tmp_path / "shared models"
    make_models(shared)
    add_foreign(shared)
    moved = Locations(locations.data, shared, locations.cache)
    remove_places(find_places(moved), locations.data.root)
    assert BY_HAND in contents(shared)
    assert not any(name in contents(shared) for name in OURS)


def test_what_was_moved_stays_ours_until_another_file_takes_its_place(
    locations: Locations, tmp_path: Path
) -> None:
    data, shared = locations.data, tmp_path / "shared models"
    add_below(data.models)
    shared.mkdir()
    (shared / "theirs.gguf").write_bytes(b"GGUF theirs")
    state = begin(data.root, data.models, shared, every_model=True)
    finish(carry(state, lambda _progress: None, lambda: False))
    (shared / "mine" / "deeper" / "y.gguf").write_bytes(b"GGUF another one")
    moved = Locations(data, shared, locations.cache)
    place = next(place for place in find_places(moved) if place.kind is PlaceKind.MODELS)
    assert {path.name for path in place.own} >= {BY_HAND, "x.gguf", *OURS}
    assert place.others == 2
    remove_places(find_places(moved), data.root)
    assert contents(shared, below=True) == {
        "theirs.gguf": b"GGUF theirs",
        "mine/deeper/y.gguf": b"GGUF another one",
    }


def test_a_usual_folder_below_the_home_folder_itself_is_not_wholly_ours(
    locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME" if os.name == "posix" else "USERPROFILE", str(locations.data.root))
    remove_places(find_places(locations), locations.data.root)
    assert list(contents(locations.data.models)) == [BY_HAND]


def test_copies_of_an_interrupted_move_go_too(locations: Locations, tmp_path: Path) -> None:
    data, target = locations.data, tmp_path / "other disk"
    state = begin(data.root, data.models, target, every_model=True).at(Step.COPYING, ())
    state.at(Step.COPYING, (OURS[0],))
    copy_verified(data.models / OURS[0], target / OURS[0], lambda _count: None, lambda: False)
    growing_path(target / OURS[1]).write_bytes(b"half")
    (target / "thesis.txt").write_text("precious")
    assert state.note.exists()
    assert remove_places(find_places(locations), data.root) == ()
    assert [path.name for path in target.iterdir()] == ["thesis.txt"]


def test_what_cannot_be_removed_is_told(locations: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    failed = remove_places(find_places(locations), locations.data.root)
    assert any(item.path == locations.data.settings for item in failed)
    assert {item.reason for item in failed} == {"Permission denied"}


# Names that look like ours at first sight.
LOOKALIKES = (
    "settings.json.bak",
    "settings.broken-heart.json",
    "measurements.json.new",
    "chats.sqlite3.damaged-by-me",
    "chats.sqlite3.again.txt",
    "engines/.lockfiles/keys.txt",
    "engines/.old-20190101/thesis.tex",
    "engines/.new-projects/main.c",
    "engines/.gone-fishing/photo.jpg",
    "engines/.download-list.txt",
    "logs/window.log.of-my-house",
    "logs/window.log.1.gz",
    "models/abcdef123456.part",
    "models/abcdef123456.lock",
    "models/cafebabe0123.part",
    "models/cafebabe0123.part.json",
    "cache/engine/motor.doc",
    "cache/engine/work-aaaaaaaa/thesis.tex",
    "cache/engine/0.3-cpu/notes.txt",
    "cache/engine/sources/novel.tar.gz",
    "cache/logs/diary.txt",
)


def test_names_that_only_look_like_ours_stay(locations: Locations) -> None:
    root = locations.data.root
    chosen = Locations(locations.data, locations.models, root / "cache")
    for name in LOOKALIKES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    assert remove_places(find_places(chosen), root) == ()
    assert set(contents(root, below=True)) == set(LOOKALIKES)


def test_what_chats_leave_beside_their_file_goes_too(locations: Locations) -> None:
    chats = locations.data.chats
    made = [beside(chats, word) for word in (".again", ".salvaging", ".salvaged")]
    for word in ("damaged", "damaged", "apart"):
        made.append(free_name(chats, word, 0.0))
        made[-1].write_bytes(b"chats")
    for path in made:
        for side in ("", *SIDES):
            beside(path, side).write_bytes(b"chats")
    place = next(place for place in find_places(locations) if place.kind is PlaceKind.CHATS)
    assert {beside(path, side) for path in made for side in ("", *SIDES)} < set(place.own)
    assert remove_places(find_places(locations), locations.data.root) == ()
    assert not locations.data.root.exists()


def test_what_an_interrupted_installation_left_goes_too(locations: Locations) -> None:
    """The forms of the names are those that engines and the set-up really use."""
    engines = locations.data.engines
    store = FlavourStore(engines)
    left = store._temporary(".old-")
    (left / "cu124-0").mkdir()
    (left / "cu124-0" / "lib.so").write_bytes(b"x")
    (engines / ".lock").touch()
    (engines / ".working.json").write_text("{}")
    (engines / ".download-0123456789abcdef.whl").write_bytes(b"x")
    (engines / ".download-0123456789abcdef.json").write_text("{}")
    engine = locations.cache / "engine"
    (engine / "work-ab12_x9z").mkdir()
    (engine / "work-ab12_x9z" / "built.o").write_bytes(b"x")
    (engine / "lock").touch()
    (engine / "sources").mkdir()
    (engine / "sources" / "llama_cpp_python-0.3.1.tar.gz").write_bytes(b"x")
    (locations.cache / "logs").mkdir()
    (locations.cache / "logs" / "engine.log").write_text("line")
    assert remove_places(find_places(locations), locations.data.root) == ()
    assert not locations.data.root.exists()
    assert not locations.cache.exists()


def test_a_mark_of_somebody_else_makes_nothing_ours(locations: Locations, tmp_path: Path) -> None:
    """A shop's receipt, a receipt of another file, and a record that is none."""
    shared = tmp_path / "shared models"
    shared.mkdir()
    for name in ("notes.txt", "mine.gguf", "changed.gguf"):
        (shared / name).write_bytes(b"GGUF precious")
    (shared / "notes.txt.receipt.json").write_text(json.dumps({"shop": "tax receipt", "version": 1}))
    (shared / "mine.gguf.clover-undo").write_bytes(b"not ours at all")
    write_receipt(shared / "changed.gguf", receipt_for(shared / "changed.gguf"))
    (shared / "changed.gguf").write_bytes(b"GGUF another model of that name")
    before = contents(shared)
    remove_places(find_places(Locations(locations.data, shared, locations.cache)), locations.data.root)
    assert contents(shared) == before


def test_a_model_of_the_person_that_was_repaired_loses_only_the_record(
    locations: Locations, tmp_path: Path
) -> None:
    shared = tmp_path / "shared models"
    shared.mkdir()
    mine, fetched = shared / "mine.gguf", shared / "from-the-hub.gguf"
    for path in (mine, fetched):
        make_form(path, DIFFUSPACE)
    write_receipt(fetched, receipt_for(fetched))
    for path in (mine, fetched):
        assert repair(path, KNOWS_QWEN).changed
        assert journal.journal_path(path).is_file()
    chosen = Locations(locations.data, shared, locations.cache)
    place = next(place for place in find_places(chosen) if place.kind is PlaceKind.MODELS)
    assert place.others == 1
    remove_places([place], locations.data.root)
    assert list(contents(shared)) == ["mine.gguf"]
