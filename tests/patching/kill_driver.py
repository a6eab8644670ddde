"""Kills repairs, undos and copies in children of its own and looks at what is left.

    python -m tests.patching.kill_driver SCENARIO KIND TRIALS SEED FOLDER

SCENARIO: in-place, insert, copy, and each with "undo-" before; KIND: "random" (SIGKILL after a random time),
"event" (before, within or after the n-th write, flush or renaming), "power" (as "event", and a random part of
what was not flushed is lost). Prints one JSON object with the counts; ends with 1 at the first file that is
neither wholly original nor wholly repaired.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clover_gui.patching import copying, filesystem, journal, plan
from clover_gui.patching.recovery import is_clean, recover
from clover_gui.patching.repair import repair, undo
from tests.kit.diffuspace import DIFFUSPACE, Form, make_form
from tests.patching.forms import CRAMPED, KNOWS_QWEN, SURPLUS_INSIDE, sha256

FORMS_WAY = {way.value: way for way in plan.Way}
FORMS: dict[str, Form] = {"in-place": DIFFUSPACE, "insert": CRAMPED, "copy": SURPLUS_INSIDE}


def replace_in(owner: Any, name: str, value: object) -> None:
    """Put another function in place, for the rest of this process."""
    setattr(owner, name, value)


class Bomb:
    """Ends the process at the ``at``-th event; torn writes, and lost ones where ``power`` is cut."""

    def __init__(self, at: int, rng: random.Random, power: bool) -> None:
        self.left = at
        self.seen = 0
        self.rng = rng
        self.power = power
        self.unsynced: list[tuple[int, int, bytes]] = []

    def tick(self) -> bool:
        self.left -= 1
        self.seen += 1
        return self.left < 0

    def explode(self) -> None:
        if self.power:
            for fd, offset, old in reversed(self.unsynced):
                if self.rng.random() < 0.5:
                    start = self.rng.randrange(len(old)) if old else 0
                    os.pwrite(fd, old[start:], offset + start)
        os.kill(os.getpid(), signal.SIGKILL)

    def arm(self) -> None:
        """Put a fuse into everything that changes the disk."""
        write_at, sync_fd = filesystem.PatchFile.write_at, filesystem.sync_fd

        def torn_write(file: filesystem.PatchFile, offset: int, data: bytes) -> None:
            old = file.read_at(offset, len(data))
            self.unsynced.append((file.raw.fileno(), offset, old))
            if self.tick():
                write_at(file, offset, data[: self.rng.randrange(len(data) + 1)])
                self.explode()
            write_at(file, offset, data)

        def sync(fd: int) -> None:
            if self.tick():
                self.explode()
            sync_fd(fd)
            self.unsynced.clear()

        replace_in(filesystem.PatchFile, "write_at", torn_write)
        for module in (filesystem, journal, copying):
            if hasattr(module, "sync_fd"):
                replace_in(module, "sync_fd", sync)
        for owner, name in (
            (filesystem, "_fallocate"),
            (Path, "replace"),
            (Path, "unlink"),
            (os, "copy_file_range"),
        ):
            self._around(owner, name)

    def _around(self, owner: Any, name: str) -> None:
        real: Callable[..., Any] = getattr(owner, name)

        def fused(*arguments: Any, **options: Any) -> Any:
            if self.tick():
                if self.rng.random() < 0.5:
                    real(*arguments, **options)
                self.explode()
            return real(*arguments, **options)

        replace_in(owner, name, fused)


def count_events(action: Callable[[], object]) -> int:
    """How many events the action has, found out in a child."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        bomb = Bomb(1 << 30, random.Random(0), power=False)
        bomb.arm()
        action()
        os.write(writer, str(bomb.seen).encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    return int(os.read(reader, 20))


def in_child(
    action: Callable[[], object], kind: str, rng: random.Random, longest_s: float, events: int
) -> bool:
    """Run the action in a child that is killed; True if it came to its end before."""
    seed = rng.getrandbits(32)
    pid = os.fork()
    if pid == 0:
        try:
            if kind != "random":
                own = random.Random(seed)
                Bomb(own.randrange(events), own, kind == "power").arm()
            action()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(7)
        os._exit(0)
    if kind == "random":
        time.sleep(rng.uniform(0, longest_s))
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError("the child failed by itself")
    return os.WIFEXITED(status)


def main() -> None:
    scenario, kind, trials, seed, folder = sys.argv[1:]
    rng = random.Random(int(seed))
    undoing, name = scenario.startswith("undo-"), scenario.removeprefix("undo-")
    base = make_form(Path(folder) / "base.gguf", FORMS[name])
    if name == "insert" and not filesystem.block_bytes(base):
        print(json.dumps({"skipped": "this file system cannot insert"}))
        return
    if name != "insert":
        replace_in(plan, "block_bytes", lambda path: 0)
    filesystem._PIECE_BYTES = 100_000  # more moments to be killed at
    original = sha256(base)
    done = shutil.copyfile(base, Path(folder) / "done.gguf")
    started = time.monotonic()
    result = repair(done, KNOWS_QWEN)
    longest_s = 1.3 * (time.monotonic() - started)
    assert result.way is FORMS_WAY[name], result
    repaired = sha256(done)
    counts: Counter[str] = Counter()
    file = Path(folder) / "trial.gguf"
    record = journal.journal_path(file)

    def action() -> object:
        if not undoing:
            return repair(file, KNOWS_QWEN)
        undo(file)
        return None

    def prepare() -> None:
        record.unlink(missing_ok=True)
        shutil.copyfile(done if undoing else base, file)
        if undoing:
            shutil.copyfile(journal.journal_path(done), record)

    prepare()
    events = count_events(action)
    counts["events"] = events
    for trial in range(int(trials)):
        prepare()
        ended = in_child(action, kind, rng, longest_s, events)
        counts["ended" if ended else "killed"] += 1
        loadable = file.read_bytes()[:4] == b"GGUF"
        whole = sha256(file) in (original, repaired)
        # What is half done is never open to anybody: neither to us nor to other programs.
        assert whole or not loadable, f"trial {trial}: half repaired and loadable"
        assert whole or not is_clean(file), f"trial {trial}: half repaired and called clean"
        counts["half"] += not whole
        counts[recover(file).value] += 1
        now = sha256(file)
        assert now in (original, repaired), f"trial {trial}: neither original nor repaired"
        assert is_clean(file)
        counts["original" if now == original else "repaired"] += 1
        assert record.exists() is (now == repaired), f"trial {trial}: the record does not fit"
        # And it goes on from there.
        repair(file, KNOWS_QWEN)
        assert sha256(file) == repaired
        undo(file)
        assert sha256(file) == original
        left = sorted(path.name for path in Path(folder).glob("trial*"))
        assert left == ["trial.gguf"], left
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
