"""The report for a problem: what is in it, and what never is."""

from __future__ import annotations

import json
from pathlib import Path

from clover_gui.engine.protocol import LoadSettings
from clover_gui.errors import EngineMissing
from clover_gui.hardware.machine import Disk, Machine, Memory, Processor
from clover_gui.pipeline.diagnostics import LOG_LINES, Findings, diagnostics_text
from clover_gui.settings import Settings

HOME = Path("/home/somebody")


def report(**changes: object) -> str:
    machine = Machine(
        "linux",
        Processor("CPU\x1b[31m", "x86_64", 4, 8, frozenset({"avx2", "avx"})),
        Memory(8 << 30, 4 << 30),
        Disk(str(HOME / "models"), 1, 1),
    )
    values: dict[str, object] = {
        "machine": machine,
        "engine": EngineMissing("not installed"),
        "ready": None,
        "loading": LoadSettings(str(HOME / "models" / "model.gguf"), context=4096),
        "settings": Settings(model_path=str(HOME / "x"), proxy="http://me:secret@proxy:8080"),
        "log": [f"line {number} {HOME}/file hf_abcdefghijklmnop" for number in range(300)],
    }
    return diagnostics_text(Findings(**(values | changes)), home=HOME)  # type: ignore[arg-type]


def test_home_folder_secrets_and_control_codes_are_left_out() -> None:
    text = report()
    assert "somebody" not in text
    assert "secret@" not in text
    assert "hf_abc" not in text
    assert "\x1b" not in text
    assert '"file": "model.gguf"' not in text  # no model is loaded
    assert '"path": "model.gguf"' in text
    assert '"path": "~/models"' in text
    assert "EngineMissing: not installed" in text
    assert '"avx",\n' in text


def test_only_the_last_lines_of_the_log_are_taken() -> None:
    text = report()
    assert "line 299 ~/file" in text
    assert f"line {300 - LOG_LINES - 1} " not in text


def test_nothing_known_is_a_report_too() -> None:
    text = report(machine=None, engine=None, loading=None, log=[])
    assert "not known yet" in text
    assert "not asked yet" in text


def test_windows_paths_are_masked_inside_json() -> None:
    home = Path("C:\\Users\\somebody")
    loading = LoadSettings("model.gguf")
    disk = Machine("windows", Processor("c", "x", 1, 1), Memory(1, 1), Disk("C:\\Users\\somebody\\m", 1, 1))
    findings = Findings(disk, None, None, loading, Settings())
    text = diagnostics_text(findings, home=home)
    assert "somebody" not in text
    assert json.dumps("~\\m") in text
