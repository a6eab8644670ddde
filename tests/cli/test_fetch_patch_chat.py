"""The whole way in a terminal: fetch a model as it was published, see what is wrong, repair, chat, undo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.diffuspace import DIFFUSPACE, make_form
from tests.kit.fake_hub import FakeHub

REPOSITORY = "Diffuspace/Clover-35B-A3B-Preview-GGUF"
NAME = "Clover-35B-A3B-Preview-Q4_K_M.gguf"


@pytest.fixture
def served(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    make_form(folder / NAME, DIFFUSPACE)
    return folder


def test_fetch_check_repair_chat_undo(tmp_path: Path, served: Path) -> None:
    with FakeHub(served, repository=REPOSITORY) as hub:
        environment = {
            **{name: value for name, value in os.environ.items() if "PROXY" not in name.upper()},
            "HF_ENDPOINT": hub.endpoint,
            "CLOVER_LANGUAGE": "en",
        }

        def clover(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "clover_gui", "--data-dir", str(tmp_path / "data"), *words]
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=60, check=False
            )

        fetched = clover("fetch", "clover")
        assert fetched.returncode == 0, fetched.stderr
        path = Path(fetched.stdout.strip())
        original = path.read_bytes()
        assert original == (served / NAME).read_bytes()

        checked = clover("patch", str(path), "--check", "--json")
        assert checked.returncode == 3, checked.stderr
        kinds = {finding["kind"] for finding in json.loads(checked.stdout)["findings"]}
        assert {"raw-decay", "raw-norms"} <= kinds

        refused = clover("chat", "--model", "clover", "--prompt", "Hello")
        assert refused.returncode != 0
        assert "clover-gui patch" in refused.stderr

        assert clover("patch", str(path)).returncode == 0
        assert clover("patch", str(path), "--check").returncode == 0
        chat = clover("chat", "--model", "clover", "--prompt", "Hello", "--max-tokens", "8", "--json")
        assert chat.returncode == 0, chat.stderr
        assert json.loads(chat.stdout)["tokens_written"] == 8

        assert clover("patch", str(path), "--undo").returncode == 0
        assert path.read_bytes() == original
