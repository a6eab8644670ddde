"""What is slow to import waits until it is needed; for the direction see installers/test_import_contracts."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("clover_gui.pipeline.prepare", ("PySide6", "llama_cpp", "huggingface_hub", "pynvml", "numpy")),
        ("clover_gui.cli.main", ("PySide6", "llama_cpp", "huggingface_hub", "pynvml", "numpy")),
        (
            "clover_gui.ui.application",
            ("llama_cpp", "huggingface_hub", "pynvml", "numpy", "markdown_it", "pygments", "jinja2"),
        ),
    ],
)
def test_heavy_libraries_wait_until_they_are_needed(module: str, absent: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print([n for n in {absent!r} if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
