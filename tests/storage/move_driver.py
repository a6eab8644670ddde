"""Kills a move at every event of it, in children of its own, and looks at what is left.

    python -m tests.storage.move_driver WAY FOLDER OTHER

WAY: "copy" or "rename"; OTHER is where the models go. Events: everything that Python does to files, and
every piece that was copied. After each kill every file must be whole in one of the folders; then the move is
gone on with (killed once more in between), or taken back. Prints one JSON object with the counts.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from clover_gui.patching.filesystem import write_new
from clover_gui.storage.carrying import carry
from clover_gui.storage.move_state import MoveState, Step, pending_move
from clover_gui.storage.moved_files import MovedFiles
from clover_gui.storage.moving import begin, finish, take_back
from tests.storage.model_folder import add_below, contents, make_models

EVENTS = ("open", "os.rename", "os.remove", "os.utime", "os.chmod", "os.mkdir", "os.rmdir", "fcntl.flock")
PIECE_BYTES = 64 << 10


class Scene:
    def __init__(self, way: str, folder: Path, other: Path) -> None:
        self.way = way
        self.data = folder / "data"
        self.source = self.data / "models"
        self.target = other / "moved"
        self.setting = self.data / "folder.txt"

    def set_up(self) -> dict[str, bytes]:
        for folder in (self.data, self.target):
            shutil.rmtree(folder, ignore_errors=True)
        make_models(self.source)
        return add_below(self.source)

    def move(self, tick: Callable[[], None]) -> None:
        state = pending_move(self.data)
        if state is None:
            if self.setting.exists():
                return
            state = self._begun()
        if state.step in (Step.COPYING, Step.RENAMING):
            state = carry(state, lambda progress: tick(), lambda: False, PIECE_BYTES)
        if state.step is Step.SWITCHING:
            write_new(self.setting, str(state.target).encode())
        assert finish(state) == ()

    def _begun(self) -> MoveState:
        state = begin(self.data, self.source, self.target, every_model=True)
        # The folders of a test may be on one disk or on two.
        return state.at(Step.COPYING, ()) if self.way == "copy" and state.step is Step.RENAMING else state

    def check_nothing_lost(self, models: dict[str, bytes]) -> None:
        here, there = contents(self.source, below=True), contents(self.target, below=True)
        state = pending_move(self.data)
        for name, content in models.items():
            places = [place for place in (here, there) if place.get(name) == content]
            assert places, f"{name} is lost at {state}"
            assert state is not None or len(places) == 1, f"{name} is in two places and nothing says so"
        in_use = there if self.setting.exists() else here
        if state is None or state.step is not Step.RENAMING:
            settled = state is None or state.step in (Step.COPYING, Step.REMOVING)
            place = in_use if settled else there
            assert all(place.get(name) == content for name, content in models.items()), state

    def check_moved(self, models: dict[str, bytes]) -> None:
        assert contents(self.target, below=True) == models
        assert contents(self.source, below=True) == {}
        assert pending_move(self.data) is None
        assert list(self.source.iterdir()) == []
        moved = MovedFiles(self.data)
        assert all(moved.knows(self.target / name) for name in models)
        assert sorted(p.name for p in self.data.iterdir()) == ["folder.txt", "models", "moved-models.json"]

    def check_taken_back(self, models: dict[str, bytes]) -> None:
        left = contents(self.source, below=True)
        # The lock of an unfinished download: whoever takes it next removes it.
        assert {name: left[name] for name in left if not name.endswith(".lock")} == models
        assert contents(self.target, below=True) == {}
        assert pending_move(self.data) is None


def in_child(work: Callable[[Callable[[], None]], None], kill_at: int) -> bool:
    """Run it in a child that is killed at the event of this number; whether it was."""
    child = os.fork()
    if child == 0:
        seen = 0

        def tick() -> None:
            nonlocal seen
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        def hook(event: str, _arguments: object) -> None:
            if event in EVENTS:
                tick()

        sys.addaudithook(hook)
        try:
            work(tick)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    _pid, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, "the move failed"
    return False


def run(way: str, folder: Path, other: Path) -> Counter[str]:
    scene = Scene(way, folder, other)
    rng = random.Random(7)
    counts: Counter[str] = Counter()
    number = 0
    while True:
        number += 1
        models = scene.set_up()
        if not in_child(scene.move, number):
            scene.check_moved(models)
            counts["events"] = number - 1
            return counts
        scene.check_nothing_lost(models)
        state = pending_move(scene.data)
        counts[state.step.value if state else "no note"] += 1
        if state is not None and state.step in (Step.COPYING, Step.RENAMING) and number % 3 == 0:
            if in_child(lambda tick, state=state: take_back(state), rng.randrange(1, 12)):
                counts["killed while it was taken back"] += 1
                scene.check_nothing_lost(models)
                left = pending_move(scene.data)
                if left is not None:
                    take_back(left)
            scene.check_taken_back(models)
            continue
        if in_child(scene.move, rng.randrange(1, 40)):
            counts["killed again"] += 1
            scene.check_nothing_lost(models)
            in_child(scene.move, -1)
        scene.check_moved(models)


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
