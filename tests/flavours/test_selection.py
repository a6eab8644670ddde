"""Which engine is taken, and the way back when the chosen one fails. With real children."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.engine.client import EngineClient
from clover_gui.engine.launch import engine_command
from clover_gui.engine.libraries import BINDING_MISSING, LIBRARY_VARIABLE
from clover_gui.engine.start_fault import FaultKind
from clover_gui.errors import EngineMissing
from clover_gui.explain.flavour_words import failure_text
from clover_gui.flavours.flavour import BUILT_IN, Flavour, write_manifest
from clover_gui.flavours.selection import FlavourFailure, FlavourSelection, SideChild
from clover_gui.flavours.store import FlavourStore

Add = Callable[[str], Path]


@pytest.fixture
def add(store: FlavourStore, libraries: dict[str, bytes]) -> Add:
    """``add(key)``: an installed flavour with the real libraries; its folder."""

    def make(key: str) -> Path:
        folder = store.library_folder(key)
        folder.mkdir(parents=True)
        for name, data in libraries.items():
            (folder / name).write_bytes(data)
        files = tuple((name, len(data)) for name, data in libraries.items())
        write_manifest(folder, Flavour(key, "cpu", "cpu", "0.3.36", "a test", "0" * 64, "2026", (), files))
        return folder

    return make


class Choice:
    """The setting, and what was told."""

    def __init__(self, store: FlavourStore, key: str) -> None:
        self.key = key
        self.told: list[FlavourFailure] = []
        self.selection = FlavourSelection(store, lambda: self.key)
        self.selection.fell_back.append(self.told.append)


def describe(selection: FlavourSelection, command: list[str] | None = None) -> str:
    """The folder whose libraries a child really loaded."""

    async def run() -> str:
        client = EngineClient(command, libraries=selection)
        try:
            return (await client.describe()).library_folder
        finally:
            await client.close()

    return asyncio.run(run())


def test_the_chosen_one_is_taken_and_remembered(store: FlavourStore, add: Add) -> None:
    folder = add("cpu-a")
    choice = Choice(store, "cpu-a")
    assert Path(describe(choice.selection)) == folder
    assert choice.selection.in_use == "cpu-a"
    assert choice.selection.failure is None
    again = Choice(store, "gone-b")  # the next run of the program, with another choice
    assert again.selection.current == "cpu-a"


def test_a_broken_choice_falls_back_to_the_last_that_worked_and_says_why(
    store: FlavourStore, add: Add
) -> None:
    good = add("cpu-good")
    describe(Choice(store, "cpu-good").selection)
    broken = add("cpu-broken")
    for path in broken.glob("libggml-base*"):
        path.write_bytes(b"\x7fELF" + bytes(path.stat().st_size - 4))  # as large as before, and no library
    choice = Choice(store, "cpu-broken")
    assert Path(describe(choice.selection)) == good
    assert [(failure.key, failure.taken) for failure in choice.told] == [("cpu-broken", "cpu-good")]
    assert choice.selection.failure is choice.told[0]
    assert choice.selection.chosen == "cpu-broken"  # the choice stays as the person made it
    text = failure_text(choice.told[0], "Broken", "Good")
    assert "Broken" in text
    assert "Good" in text
    assert Path(describe(choice.selection)) == good
    assert len(choice.told) == 1  # it is not tried, nor told, again and again
    choice.selection.choose_again()
    describe(choice.selection)
    assert len(choice.told) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="names of Linux libraries")
def test_a_library_that_somebody_deleted_is_named(store: FlavourStore, add: Add) -> None:
    folder = add("cpu-a")
    (folder / "libggml-cpu.so.0").unlink()
    choice = Choice(store, "cpu-a")
    assert Path(describe(choice.selection)) != folder
    assert (choice.told[0].fault.kind, choice.told[0].fault.what) == (
        FaultKind.MISSING_LIBRARY,
        "libggml-cpu.so.0",
    )
    assert choice.told[0].taken == BUILT_IN


def test_a_choice_that_is_gone_as_a_whole(store: FlavourStore, add: Add) -> None:
    shutil.rmtree(add("cpu-a"))
    choice = Choice(store, "cpu-a")
    assert describe(choice.selection)
    assert choice.told[0].key == "cpu-a"


def stub(tmp_path: Path, body: str) -> list[str]:
    """A child that does ``body`` where libraries are chosen, and else is the real one."""
    script = tmp_path / "stub.py"
    script.write_text(
        f"import os, signal, sys\nif os.environ.get({LIBRARY_VARIABLE!r}):\n    {body}\n"
        f"os.execv({engine_command()[0]!r}, {engine_command()!r})\n"
    )
    return [sys.executable, str(script)]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_engine_for_another_processor_dies_once(store: FlavourStore, add: Add, tmp_path: Path) -> None:
    add("cpu-avx")
    choice = Choice(store, "cpu-avx")
    describe(choice.selection, stub(tmp_path, "os.kill(os.getpid(), signal.SIGILL)"))
    assert choice.told[0].fault.kind is FaultKind.ILLEGAL_INSTRUCTION


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_engine_that_dies_of_its_first_work_is_left_at_the_next_start(
    store: FlavourStore, add: Add
) -> None:
    """It starts, and meets an instruction that the processor lacks only when it computes."""
    folder = add("cpu-avx")
    choice = Choice(store, "cpu-avx")

    async def run() -> str:
        client = EngineClient(libraries=choice.selection)
        try:
            assert Path((await client.describe()).library_folder) == folder
            assert client.pid is not None
            os.kill(client.pid, signal.SIGILL)
            while client.pid is not None:
                await asyncio.sleep(0.01)
            return (await client.describe()).library_folder
        finally:
            await client.close()

    assert Path(asyncio.run(run())) != folder
    assert choice.told[0].fault.kind is FaultKind.ILLEGAL_INSTRUCTION


@pytest.mark.skipif(sys.platform == "win32", reason="a stub child")
def test_there_is_never_a_loop(store: FlavourStore, add: Add, tmp_path: Path) -> None:
    """Chosen, last working and built-in all fail: three starts, then the error."""
    add("cpu-a")
    add("cpu-b")
    Choice(store, "cpu-b").selection.started(str(store.library_folder("cpu-b")))
    marks = tmp_path / "marks"
    script = tmp_path / "fails.py"
    script.write_text(f"import sys\nopen({str(marks)!r}, 'a').write('x')\nsys.exit(3)\n")
    choice = Choice(store, "cpu-a")
    with pytest.raises(Exception, match="code 3"):
        describe(choice.selection, [sys.executable, str(script)])
    assert marks.read_text() == "xxx"
    assert [failure.key for failure in choice.told] == ["cpu-a", "cpu-b"]
    with pytest.raises(Exception, match="code 3"):
        describe(choice.selection, [sys.executable, str(script)])
    assert marks.read_text() == "xxxx"


def test_a_missing_binding_is_no_fault_of_the_libraries(store: FlavourStore, add: Add) -> None:
    folder = add("cpu-a")
    choice = Choice(store, "cpu-a")
    assert not choice.selection.failed(str(folder), EngineMissing(BINDING_MISSING))
    assert choice.selection.current == "cpu-a"
    assert choice.told == []


def test_several_who_wait_fall_back_together(store: FlavourStore, add: Add) -> None:
    folder = add("cpu-a")
    for path in folder.glob("libllama*"):
        path.write_bytes(bytes(path.stat().st_size))
    choice = Choice(store, "cpu-a")

    async def run() -> set[str]:
        client = EngineClient(libraries=choice.selection)
        try:
            answers = await asyncio.gather(*(client.describe() for _ in range(4)))
            return {answer.library_folder for answer in answers}
        finally:
            await client.close()

    assert len(asyncio.run(run())) == 1
    assert len(choice.told) == 1


def test_a_child_beside_says_nothing_of_the_main_one(store: FlavourStore, add: Add) -> None:
    folder = add("cpu-a")
    choice = Choice(store, BUILT_IN)
    describe(choice.selection)
    choice.key = "cpu-a"
    side = SideChild(choice.selection)
    assert side.folder() == str(folder)
    side.started(str(folder))
    assert choice.selection.in_use == BUILT_IN


@pytest.mark.skipif(sys.platform != "linux", reason="names and search path of Linux")
def test_what_an_engine_needs_from_elsewhere_is_found_again_at_every_start(
    store: FlavourStore, add: Add, tmp_path: Path
) -> None:
    folder, elsewhere = add("cpu-a"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    for path in folder.glob("libggml-base*"):
        path.rename(elsewhere / path.name)
    flavour = store.get("cpu-a")
    assert flavour is not None
    here = tuple((name, size) for name, size in flavour.files if "ggml-base" not in name)
    write_manifest(folder, replace(flavour, files=here, search=(str(elsewhere),)))
    choice = Choice(store, "cpu-a")
    assert Path(describe(choice.selection)) == folder
    assert choice.told == []


def test_libraries_named_from_outside_are_nobodys_flavour(
    store: FlavourStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(LIBRARY_VARIABLE, str(tmp_path / "mine"))
    choice = Choice(store, BUILT_IN)
    with pytest.raises(EngineMissing):
        describe(choice.selection)
    assert choice.told == []
