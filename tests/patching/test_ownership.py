"""Files of others, and files in use, are not changed in place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clover_gui.errors import RepairFileInUse, RepairNotInPlace
from clover_gui.patching.filesystem import Busy, PatchFile
from clover_gui.patching.ownership import foreign_owner, users
from clover_gui.patching.repair import repair, undo
from tests.kit.diffuspace import DIFFUSPACE, make_form
from tests.patching.forms import KNOWS_QWEN, sha256

HOLDER = {
    "mapped": "import mmap; f = open(sys.argv[1], 'rb'); m = mmap.mmap(f.fileno(), 0, access=1)",
    "writing": "f = open(sys.argv[1], 'r+b')",
}


@pytest.mark.parametrize(
    ("folder", "owner"),
    [
        (".lmstudio/models/a/b", "LM Studio"),
        (".cache/lm-studio/models", "LM Studio"),
        ("jan/models", "Jan"),
        (".ollama/models/blobs", "Ollama"),
        (".cache/huggingface/hub/models--a--b/snapshots/1234", "hub-cache"),
        ("Downloads", ""),
        ("jane/models", ""),
    ],
)
def test_whose_folder_it_is(tmp_path: Path, folder: str, owner: str) -> None:
    place = tmp_path / folder
    place.mkdir(parents=True)
    file = place / "a.gguf"
    file.write_bytes(b"x")
    assert foreign_owner(file, home=tmp_path) == owner


def test_the_cache_may_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "hub" / "a.gguf"
    file.parent.mkdir()
    file.write_bytes(b"x")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    assert foreign_owner(file) == "hub-cache"


def test_links_are_not_followed_for_writing(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    before = sha256(file)
    (tmp_path / "link.gguf").symlink_to(file)
    with pytest.raises(RepairNotInPlace) as caught:
        repair(tmp_path / "link.gguf", KNOWS_QWEN)
    assert caught.value.owner == "link"
    (tmp_path / "second-name.gguf").hardlink_to(file)
    with pytest.raises(RepairNotInPlace) as caught:
        repair(file, KNOWS_QWEN)
    assert caught.value.owner == "hard-link"
    assert sha256(file) == before


@pytest.mark.skipif(sys.platform != "linux", reason="only there the system tells")
@pytest.mark.parametrize("how", HOLDER)
def test_a_file_in_use_is_refused(tmp_path: Path, how: str) -> None:
    file = make_form(tmp_path / "a model äöü.gguf", DIFFUSPACE)
    before = sha256(file)
    script = f"import sys; {HOLDER[how]}; print('holding', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"holding\n"
        assert [(user.pid, user.how) for user in users(file)] == [(holder.pid, how)]
        with pytest.raises(RepairFileInUse) as caught:
            repair(file, KNOWS_QWEN)
        assert str(holder.pid) in caught.value.users[0]
        assert sha256(file) == before
        holder.communicate()
    assert users(file) == ()
    assert repair(file, KNOWS_QWEN).changed
    assert not repair(file, KNOWS_QWEN).changed
    undo(file)
    assert sha256(file) == before


def test_reading_is_no_hindrance(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    with file.open("rb"):
        assert users(file) == ()
        assert repair(file, KNOWS_QWEN).changed


def test_a_loaded_file_that_needs_nothing_is_no_error(tmp_path: Path) -> None:
    """Asking again while the engine has the repaired file mapped changes nothing and says so."""
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    repair(file, KNOWS_QWEN)
    script = f"import sys; {HOLDER['mapped']}; print('holding', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert not repair(file, KNOWS_QWEN).changed
        if sys.platform == "linux":
            with pytest.raises(RepairFileInUse):
                undo(file)
        holder.communicate()


def test_two_repairs_at_once(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    with PatchFile(file):
        with pytest.raises(Busy):
            PatchFile(file)
        with pytest.raises(RepairFileInUse):
            repair(file, KNOWS_QWEN)
    assert repair(file, KNOWS_QWEN).changed


def test_users_never_raises(tmp_path: Path) -> None:
    assert users(tmp_path / "nothing") == ()
    assert isinstance(os.getpid(), int)
