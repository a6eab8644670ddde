"""The environment is made once, and made anew when a set-up was ended in the middle."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from installers import child, environment, places
from installers.console import Console
from installers.environment import DEMO, PROGRAM, TESTS, Environment
from installers.events import SetUpError


class FakeChild:
    """Stands for python -m venv and pip: notes the commands, fails or is ended on demand."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.before_pip: Callable[[], None] = lambda: None

    def run(self, command: list[str], log: Path, *rest: Any, **options: Any) -> tuple[str, ...]:
        self.commands.append(command)
        if "venv" in command:
            python = places.python_of(Path(command[-1]))
            python.parent.mkdir(parents=True)
            python.symlink_to(shutil.which("python3") or "/usr/bin/python3")
        else:
            self.before_pip()
        return ()

    @property
    def names(self) -> list[str]:
        return ["venv" if "venv" in command else "pip" for command in self.commands]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "installers").mkdir()
    shutil.copy(places.ROOT / "pyproject.toml", tmp_path)
    for lock in (places.ROOT / "installers").glob("*.lock"):
        shutil.copy(lock, tmp_path / "installers")
    return tmp_path


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeChild:
    fake = FakeChild()
    monkeypatch.setattr(environment.child, "run", fake.run)
    monkeypatch.setattr(Environment, "_is_alive", lambda self: self.python.exists())
    return fake


@pytest.fixture
def subject(clone: Path, fake: FakeChild) -> Environment:
    return Environment(clone, Console(StringIO()), clone / "log")


def test_a_new_clone_is_set_up_once(subject: Environment, fake: FakeChild) -> None:
    assert subject.is_new
    assert not subject.is_ready(PROGRAM)
    subject.prepare(PROGRAM)
    assert fake.names == ["venv", "pip", "pip"]
    assert subject.is_ready(PROGRAM)
    assert not subject.is_ready(TESTS)
    assert not subject.is_new


def test_what_the_tests_need_holds_the_program_too(subject: Environment) -> None:
    subject.prepare(TESTS)
    assert subject.is_ready(PROGRAM)


def test_packages_are_checked_against_their_hashes(subject: Environment, fake: FakeChild) -> None:
    subject.prepare(PROGRAM)
    subject.bring_demo()
    lock, own, demo = fake.commands[1:]
    assert "--require-hashes" in lock
    assert "--no-index" in own
    assert {"--require-hashes", "--no-deps"} <= set(demo)


def test_an_interrupted_set_up_is_made_anew(subject: Environment, fake: FakeChild) -> None:
    def end() -> None:
        (subject.folder / "half-installed").touch()
        raise KeyboardInterrupt

    fake.before_pip = end
    with pytest.raises(KeyboardInterrupt):
        subject.prepare(PROGRAM)
    assert not subject.is_ready(PROGRAM)
    fake.before_pip = lambda: None
    subject.prepare(PROGRAM)
    assert not (subject.folder / "half-installed").exists()
    assert subject.is_ready(PROGRAM)


def test_an_interrupted_update_does_not_count_as_the_old_state(subject: Environment, fake: FakeChild) -> None:
    subject.prepare(PROGRAM)

    def end() -> None:
        raise KeyboardInterrupt

    fake.before_pip = end
    with pytest.raises(KeyboardInterrupt):
        subject.prepare(TESTS)
    assert not subject.is_ready(PROGRAM)


def test_a_broken_environment_is_made_anew(subject: Environment, fake: FakeChild) -> None:
    subject.prepare(PROGRAM)
    subject.python.unlink()
    assert not subject.is_ready(PROGRAM)
    subject.prepare(PROGRAM)
    assert fake.names.count("venv") == 2
    assert subject.is_ready(PROGRAM)


@pytest.mark.parametrize("name", ["pyproject.toml", "installers/requirements.lock"])
def test_a_change_of_what_is_needed_updates_in_place(
    subject: Environment, fake: FakeChild, clone: Path, name: str
) -> None:
    subject.prepare(PROGRAM)
    with open(clone / name, "a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    assert not subject.is_ready(PROGRAM)
    subject.prepare(PROGRAM)
    assert fake.names.count("venv") == 1
    assert subject.is_ready(PROGRAM)


def test_the_demo_model_is_not_worth_a_failure(subject: Environment, fake: FakeChild) -> None:
    subject.prepare(PROGRAM)

    def fail() -> None:
        raise child.ChildFailed(1, ("no connection",))

    fake.before_pip = fail
    assert not subject.bring_demo()
    assert not subject.is_ready(DEMO)
    assert subject.is_ready(PROGRAM)


def test_a_failure_shows_the_end_of_the_log_and_a_next_step(subject: Environment, fake: FakeChild) -> None:
    def fail() -> None:
        raise child.ChildFailed(1, ("ERROR: No space left on device",))

    fake.before_pip = fail
    with pytest.raises(SetUpError, match="No space left") as caught:
        subject.prepare(PROGRAM)
    assert "start again" in caught.value.next_step
    assert caught.value.log


def test_a_damaged_stamp_is_no_stamp(subject: Environment) -> None:
    subject.prepare(PROGRAM)
    (subject.folder / "clover-set-up.json").write_text("{half")
    assert not subject.is_ready(PROGRAM)


def test_pip_is_summed_up_in_one_line() -> None:
    shown: list[str] = []
    read = environment.pip_progress(shown.append, 3)
    for line in (
        "Collecting anyio==4.16.0 (from -r installers/requirements.lock (line 1))\n",
        "  Downloading anyio-4.16.0-py3-none-any.whl (100 kB)\n",
        "Ignoring colorama: markers 'sys_platform == \"win32\"' don't match your environment\n",
        "Installing collected packages: anyio\n",
    ):
        read(line)
    assert shown == [
        "1 of 3: anyio",
        "1 of 3: downloading anyio-4.16.0-py3-none-any.whl (100 kB)",
        "2 of 3: colorama",
        "unpacking…",
    ]


def test_packages_of_a_lock_are_counted() -> None:
    assert environment.count_packages("a==1 \\\n    --hash=sha256:00\nb-c==2 ; sys_platform == 'x' \\\n") == 2
