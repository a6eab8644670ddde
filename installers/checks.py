"""The checks of the source that run before the tests: lint, format, types, direction of imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from installers.console import Console


def commands(python: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(name, command) of each check, in the order they run."""
    lint_imports = python.with_name("lint-imports.exe" if sys.platform == "win32" else "lint-imports")
    module = (str(python), "-m")
    return (
        ("lint", (*module, "ruff", "check")),
        ("format", (*module, "ruff", "format", "--check")),
        ("types", (*module, "mypy")),
        ("imports", (str(lint_imports),)),
    )


def run(python: Path, root: Path, pytest_arguments: Sequence[str], console: Console) -> int:
    """Run everything, or with arguments only pytest with these; 0 when all is well.

    A check that fails does not keep the tests from running: one run tells everything.
    """
    failed = []
    if not pytest_arguments:
        for name, command in commands(python):
            console.say(f"Check: {name}")
            if subprocess.run(command, cwd=root, check=False).returncode != 0:
                failed.append(name)
    if failed:
        console.say(f"These checks failed: {', '.join(failed)}. Now the tests.")
    tests = subprocess.run([str(python), "-m", "pytest", *pytest_arguments], cwd=root, check=False).returncode
    if failed:
        console.say(f"These checks failed: {', '.join(failed)}.")
    return tests or (1 if failed else 0)
