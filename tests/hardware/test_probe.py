"""The whole probe on the real machine, and with parts that fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clover_gui.hardware import processor, system
from clover_gui.hardware.probe import probe_machine


def test_this_machine(tmp_path: Path) -> None:
    machine = probe_machine(tmp_path)
    assert machine.system
    assert machine.memory.total_bytes > 1 << 28
    assert 0 < machine.memory.available_bytes <= machine.memory.total_bytes
    assert 1 <= machine.processor.physical_cores <= machine.processor.logical_cores
    assert machine.disk is not None
    assert machine.gpus or machine.notes, "no device without a reason"


def test_failing_parts_become_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_keywords: object) -> None:
        raise RuntimeError("broken\nhere")

    for module, name in ((processor, "read_processor"), (system, "read_memory"), (system, "read_disk")):
        monkeypatch.setattr(module, name, fail)
    machine = probe_machine(tmp_path, root=tmp_path)
    assert machine.disk is None
    assert machine.memory.total_bytes > 0
    assert machine.processor.physical_cores >= 1
    failed = {note.probe: note.reason for note in machine.notes if note.kind == "failed"}
    assert failed.keys() == {"processor", "memory", "disk"}
    assert failed["disk"] == "RuntimeError: broken here"


def test_no_driver_binding_is_imported_without_a_driver(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from clover_gui.hardware.probe import probe_machine;"
        f"probe_machine(Path({str(tmp_path)!r}), Path({str(tmp_path)!r})); print('pynvml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
