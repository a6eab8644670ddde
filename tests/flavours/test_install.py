"""Installing real engines from a real server and from files, and everything that can go wrong meanwhile."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.download.policy import TransferPolicy
from clover_gui.engine.client import EngineClient
from clover_gui.engine.libraries import ENGINE_VERSION, LIBRARY_VARIABLE
from clover_gui.engine.protocol import Finished, LoadSettings, PromptMessage
from clover_gui.errors import (
    CloverError,
    FlavourBusy,
    FlavourRefused,
    NotEnoughSpace,
    WrongHash,
)
from clover_gui.flavours.flavour import Flavour
from clover_gui.flavours.install import Installer, Progress, Step
from clover_gui.flavours.platform_tags import this_platform
from clover_gui.flavours.store import FlavourStore
from tests.flavours.wheels import Index, make_wheel

QUICK = TransferPolicy(
    connect_timeout_s=5,
    stall_timeout_s=2,
    backoff_start_s=0.01,
    backoff_limit_s=0.05,
    give_up_after_s=0.5,
    least_tries=2,
    report_interval_s=0,
    space_margin_bytes=0,
)


def installer(
    store: FlavourStore, steps: list[Progress] | None = None, free: int = 1 << 40, tag_machine: str = ""
) -> Installer:
    here = this_platform()
    here = replace(here, machine=tag_machine) if tag_machine else here
    told: Callable[[Progress], None] = (lambda _step: None) if steps is None else steps.append
    return Installer(store, here, frozenset(), told, policy=QUICK, free=lambda _folder: free)


def from_file(store: FlavourStore, path: Path, **options: int) -> Flavour:
    return asyncio.run(installer(store, **options).from_file(path))


def from_index(store: FlavourStore, index: Index, steps: list[Progress] | None = None) -> Flavour:
    async def run() -> Flavour:
        made = installer(store, steps)
        found = await made.look_up("cpu", index.address)
        return await made.from_index(found.wheel)

    return asyncio.run(run())


def nothing_is_left(store: FlavourStore) -> bool:
    """No flavour, no folder in the making; only parts of downloads may be kept."""
    names = [path.name for path in store.folder.iterdir()] if store.folder.is_dir() else []
    return store.all() == () and all(name.startswith(".download-") for name in names)


def test_from_the_index_to_an_answer_and_away_again(
    store: FlavourStore, index: Index, good_wheel: Path, tiny_gguf: Path
) -> None:
    index.add("cpu", good_wheel)
    steps: list[Progress] = []
    flavour = from_index(store, index, steps)
    assert (flavour.key, flavour.backend, flavour.engine_version) == (
        f"cpu-{ENGINE_VERSION}",
        "cpu",
        ENGINE_VERSION,
    )
    assert store.all() == (flavour,)
    assert flavour.missing_files(store.library_folder(flavour.key)) == ()
    assert not [path for path in store.folder.iterdir() if path.name.startswith(".")]
    assert list(dict.fromkeys(step.step for step in steps)) == list(Step)
    folder = store.library_folder(flavour.key)

    async def answer() -> tuple[str, Finished]:
        client = EngineClient(environment={LIBRARY_VARIABLE: str(folder)})
        try:
            info = await client.describe()
            await client.load(LoadSettings(str(tiny_gguf), threads=1))
            question = (PromptMessage("user", "Hello"),)
            async for event in client.generate(question, max_tokens=4):
                if isinstance(event, Finished):
                    return info.library_folder, event
            raise AssertionError("no end")
        finally:
            await client.close()

    used, finished = asyncio.run(answer())
    assert Path(used) == folder
    assert finished.written
    store.remove(flavour.key)
    assert nothing_is_left(store)


def test_a_connection_that_breaks_is_continued(store: FlavourStore, index: Index, good_wheel: Path) -> None:
    index.add("cpu", good_wheel)
    index.cut_at = [1_000_000, 2_000_000]
    from_index(store, index)
    ranges = [wanted for path, wanted in index.asked if path.endswith(".whl")][1:]
    assert ranges == ["", "bytes=1000000-", "bytes=3000000-"]
    assert len(store.all()) == 1


def test_a_part_of_an_earlier_run_is_continued_only_while_the_file_is_the_same(
    store: FlavourStore, index: Index, good_wheel: Path
) -> None:
    index.add("cpu", good_wheel)
    index.cut_at = [1_000_000] * 2 + [0] * 200
    with pytest.raises(CloverError):
        from_index(store, index)
    parts = list(store.folder.glob(".download-*.whl"))
    assert [part.stat().st_size for part in parts] == [2_000_000]
    index.cut_at = []
    served = index.folder / "cpu" / good_wheel.name
    served.write_bytes(served.read_bytes() + b"x")  # another file: the part is of no use
    with pytest.raises(WrongHash):
        from_index(store, index)
    assert not list(store.folder.glob(".download-*"))
    served.write_bytes(good_wheel.read_bytes())
    from_index(store, index)
    assert len(store.all()) == 1


def test_other_bytes_than_the_page_promises(store: FlavourStore, index: Index, good_wheel: Path) -> None:
    index.add("cpu", good_wheel, sha256="0" * 64)
    with pytest.raises(WrongHash):
        from_index(store, index)
    assert nothing_is_left(store)
    assert not list(store.folder.glob(".download-*"))


def without(libraries: dict[str, bytes], piece: str) -> dict[str, bytes]:
    return {name: data for name, data in libraries.items() if piece not in name}


def for_arm(libraries: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data[:18] + b"\xb7\0" + data[20:] for name, data in libraries.items()}


def cut(libraries: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data[:60_000] if "ggml-base" in name else data for name, data in libraries.items()}


@pytest.mark.skipif(sys.platform != "linux", reason="the changes are made to ELF files")
@pytest.mark.parametrize(
    ("change", "options", "kind", "what"),
    [
        (lambda found: without(found, "ggml-cpu"), {}, "missing-library", "libggml-cpu.so.0"),
        (for_arm, {}, "other-processor", "arm64"),
        (cut, {}, "damaged", ""),
        (lambda found: found, {"version": "0.3.35"}, "other-version", "0.3.35"),
        (lambda found: found, {"tag": "win_amd64"}, "other-system", "win_amd64"),
        (lambda found: found, {"tag": "linux_riscv64"}, "other-processor", "riscv64"),
        (lambda found: found, {"tag": "manylinux_9_99_x86_64"}, "system-too-old", ""),
        (lambda found: found, {"extra": {"../evil": b"x"}}, "unsafe-names", "../evil"),
        (lambda found: found | {"libggml-cuda.so": found["libggml.so"]}, {}, "no-device", "cuda"),
    ],
)
def test_an_engine_that_is_of_no_use_here_is_refused_with_its_reason(
    change: Callable[[dict[str, bytes]], dict[str, bytes]],
    options: dict[str, object],
    kind: str,
    what: str,
    store: FlavourStore,
    libraries: dict[str, bytes],
    tmp_path: Path,
) -> None:
    path = make_wheel(tmp_path / "llama_cpp_python-x-py3-none-any.whl", change(libraries), **options)  # type: ignore[arg-type]
    with pytest.raises(FlavourRefused) as caught:
        from_file(store, path)
    assert caught.value.kind == kind
    assert what in caught.value.what
    assert nothing_is_left(store)


def test_a_truncated_file(store: FlavourStore, good_wheel: Path, tmp_path: Path) -> None:
    path = tmp_path / good_wheel.name
    path.write_bytes(good_wheel.read_bytes()[:5_000_000])
    with pytest.raises(FlavourRefused) as caught:
        from_file(store, path)
    assert caught.value.kind == "damaged"
    assert nothing_is_left(store)


def test_a_file_that_is_not_there(store: FlavourStore, tmp_path: Path) -> None:
    with pytest.raises(FlavourRefused) as caught:
        from_file(store, tmp_path / "gone.whl")
    assert caught.value.kind == "not-a-wheel"


def test_too_little_room_is_seen_before_anything_is_written(
    store: FlavourStore, index: Index, good_wheel: Path
) -> None:
    with pytest.raises(NotEnoughSpace):
        from_file(store, good_wheel, free=1_000_000)
    index.add("cpu", good_wheel)

    async def run() -> None:
        made = installer(store, free=1_000_000)
        await made.from_index((await made.look_up("cpu", index.address)).wheel)

    with pytest.raises(NotEnoughSpace):
        asyncio.run(run())
    assert nothing_is_left(store)


def test_a_disk_that_gets_full_while_it_is_unpacked(
    store: FlavourStore, good_wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("clover_gui.flavours.wheel_file.os.fsync", full)
    with pytest.raises(NotEnoughSpace):
        from_file(store, good_wheel)
    assert nothing_is_left(store)


def test_cancelling_stops_at_once_and_keeps_the_part(
    store: FlavourStore, index: Index, good_wheel: Path
) -> None:
    index.add("cpu", good_wheel)
    index.gate = threading.Event()  # the server stalls in the middle

    async def run() -> float:
        steps: list[Progress] = []
        made = installer(store, steps)
        wheel = (await made.look_up("cpu", index.address)).wheel
        task = asyncio.create_task(made.from_index(wheel))
        while not any(step.step is Step.DOWNLOADING for step in steps):
            await asyncio.sleep(0.01)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started

    assert asyncio.run(run()) < 1.5  # the server would keep us for 20 s
    assert nothing_is_left(store)
    with store.changing():  # the lock is free again
        pass


def test_one_at_a_time(store: FlavourStore, good_wheel: Path) -> None:
    with store.changing(), pytest.raises(FlavourBusy):
        from_file(store, good_wheel)


def test_installing_again_replaces_the_old_one_whole(store: FlavourStore, good_wheel: Path) -> None:
    first = from_file(store, good_wheel)
    (store.library_folder(first.key) / first.files[0][0]).unlink()
    assert from_file(store, good_wheel).key == first.key
    assert first.missing_files(store.library_folder(first.key)) == ()
    assert len(list(store.folder.iterdir())) == 1


def temporary(store: FlavourStore, name: str) -> Path:
    """A temporary folder as the store makes it, under a known name."""
    with store.making() as made:
        mark = next(path for path in made.parent.iterdir() if path.is_file())
        folder = store.folder / name
        folder.mkdir()
        (folder / mark.name).write_bytes(mark.read_bytes())
    return folder


def test_folders_of_other_people_stay(store: FlavourStore) -> None:
    """Whoever chose such a name, or such a mark alone, loses nothing at a start."""
    store.folder.mkdir(parents=True)
    names = (
        ".old-backup",
        ".old-2025-chats",
        ".new-ideas",
        ".gone-fishing",
        ".old-abcd1234",
        ".new-abcd1234",
    )
    for name in names:
        (store.folder / name).mkdir()
        (store.folder / name / "diary.txt").write_text("dear diary")
    marked = temporary(store, ".new-not our form")
    (marked / "diary.txt").write_text("dear diary")
    elsewhere = temporary(store, "elsewhere")
    (elsewhere / "diary.txt").write_text("dear diary")
    link = store.folder / ".new-link1234"
    link.symlink_to(elsewhere, target_is_directory=True)
    (store.folder / ".download-notes").write_text("mine")
    os.utime(store.folder / ".download-notes", (0, 0))
    before = sorted(str(path) for path in store.folder.rglob("*"))
    store.sweep()
    assert sorted(str(path) for path in store.folder.rglob("*")) == before


def test_old_downloads_are_swept(store: FlavourStore) -> None:
    store.folder.mkdir(parents=True)
    old, fresh = (store.folder / f".download-{letter * 16}.whl" for letter in "ab")
    for path in (old, fresh):
        path.write_bytes(b"part")
    os.utime(old, (0, 0))
    store.sweep()
    assert list(store.folder.iterdir()) == [fresh]


def test_what_killed_replacements_left_is_put_right(store: FlavourStore, good_wheel: Path) -> None:
    flavour = from_file(store, good_wheel)
    folder = store.library_folder(flavour.key)
    # A kill between the two renames: the old one is set aside, the new one still in the making.
    for name in (".old-abcd1234", ".new-abcd_234", ".gone-abcd1234"):
        temporary(store, name)
    folder.rename(store.folder / ".old-abcd1234" / flavour.key)
    (store.folder / ".new-abcd_234" / "made").mkdir()
    (store.folder / ".new-abcd_234" / "made" / "half.so").write_bytes(b"half")
    (store.folder / ".gone-unmarked").mkdir()  # killed between its making and its mark
    assert store.all() == ()
    store.sweep()
    assert [path.name for path in store.folder.iterdir()] == [flavour.key]
    assert store.all() == (flavour,)


def test_keys_cannot_lead_out_of_the_folder(store: FlavourStore, good_wheel: Path) -> None:
    from_file(store, good_wheel)
    (store.folder.parent / "precious").mkdir()
    for key in ("../precious", "..", ".", "/etc", "a/b", "", ".working.json"):
        assert store.get(key) is None
        store.remove(key)
    assert (store.folder.parent / "precious").is_dir()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_kill_at_any_moment_leaves_nothing_or_all(
    after_s: float, store: FlavourStore, good_wheel: Path
) -> None:
    """The process is killed some time after it began to write."""
    data = store.folder.parent
    command = [sys.executable, "-m", "clover_gui", "--data-dir", str(data), "engine", "--install"]
    process = subprocess.Popen(
        [*command, str(good_wheel)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not list(store.folder.glob(".new-*")):
        time.sleep(0.002)
    time.sleep(after_s)
    process.kill()
    process.wait()
    whole = [flavour for flavour in store.all() if not flavour.missing_files(store.folder / flavour.key)]
    assert len(whole) == len(store.all())
    store.sweep()
    left = {path.name for path in store.folder.iterdir()} - {flavour.key for flavour in whole}
    assert not left
    assert from_file(store, good_wheel).backend == "cpu"


def test_the_folder_cannot_be_written(store: FlavourStore, good_wheel: Path) -> None:
    store.folder.parent.mkdir(parents=True)
    store.folder.write_text("a file in its place")
    with pytest.raises(CloverError):
        from_file(store, good_wheel)
