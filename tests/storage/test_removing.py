"""Removing everything: exactly what was shown, and never what is somebody else's."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from clover_gui import settings
from clover_gui.paths import DataFolder
from clover_gui.storage.move_state import Step
from clover_gui.storage.moving import begin
from clover_gui.storage.places import Locations, PlaceKind, find_places, size_of
from clover_gui.storage.removing import remove_places
from clover_gui.storage.verified_copy import copy_verified, growing_path
from tests.storage.model_folder import BY_HAND, OURS, add_foreign, contents, make_models


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
    (wheels / "engine.whl").write_bytes(b"x" * 2000)


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
    assert places[PlaceKind.MODELS].others == 1


def test_everything_but_the_chats_goes_and_the_model_put_there_by_hand_stays(locations: Locations) -> None:
    data = locations.data
    chosen = [place for place in find_places(locations) if place.kind is not PlaceKind.CHATS]
    assert remove_places(chosen, data.root) == ()
    assert sorted(path.name for path in data.root.iterdir()) == [
        "chats.sqlite3",
        "chats.sqlite3-wal",
        "models",
    ]
    assert list(contents(data.models)) == [BY_HAND]
    assert not locations.cache.exists()


def test_with_the_chats_nothing_is_left(locations: Locations) -> None:
    (locations.data.models / BY_HAND).unlink()
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


def test_copies_of_an_interrupted_move_go_too(locations: Locations, tmp_path: Path) -> None:
    data, target = locations.data, tmp_path / "other disk"
    state = begin(data.root, data.models, target, every_model=True).at(Step.COPYING, ())
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
