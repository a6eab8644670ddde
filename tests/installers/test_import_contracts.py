"""The direction of imports is enforced: a planted import is found."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from installers import places


def lint_imports(root: Path) -> tuple[int, str]:
    """Run the linter on a copy of the package."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "--no-cache"],
        cwd=root,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONUTF8": "1"},
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


QT = "Qt only in app and ui"
STAGES = "Stages import only what stands below them"
NO_WINDOW = "The terminal front end never needs the window"


@pytest.mark.parametrize(
    ("file", "planted", "contracts"),
    [
        ("chat/message.py", "from PySide6.QtCore import QObject", {QT}),
        ("cli/__init__.py", "from clover_gui.ui import theme", {STAGES, QT, NO_WINDOW}),
        ("errors/base.py", "from clover_gui import paths", {STAGES}),
        ("ui/theme.py", "import qasync", {"qasync only in ui.loop"}),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, file: str, planted: str, contracts: set[str]) -> None:
    shutil.copytree(places.ROOT / "clover_gui", tmp_path / "clover_gui")
    shutil.copy(places.ROOT / "pyproject.toml", tmp_path)
    with open(tmp_path / "clover_gui" / file, "a", encoding="utf-8") as source:
        source.write(f"\n{planted}\n")
    code, said = lint_imports(tmp_path)
    assert code == 1, said
    broken = {line.partition(" BROKEN")[0] for line in said.splitlines() if " BROKEN" in line}
    assert broken == contracts, said
