"""Tells why a command did not do what was asked: sentences for people, or with ``--json`` an object.

The object is the same for all commands: ``{"error": {"kind", "text", "next_step", "detail"}}``, that of
``fetch`` an event like its others. ``kind`` is the name of the error's class, or "Usage" where the command
itself was wrong. Keys are only ever added.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from clover_gui.cli.screen import Screen
from clover_gui.exit_codes import ExitCode
from clover_gui.explain import explain

USAGE = "Usage"
# Those that write one object on a line for each event.
_LINES = ("chat", "fetch")


def error_facts(error: BaseException) -> dict[str, str]:
    """An error for programs."""
    text = explain(error)
    return {
        "kind": type(error).__name__,
        "text": text.sentence,
        "next_step": text.next_step,
        "detail": text.detail,
    }


def tell(screen: Screen, error: BaseException, options: argparse.Namespace) -> None:
    """An error: what happened, what to do, the technical words below."""
    if getattr(options, "json", False):
        write_json(screen, _report(error_facts(error), options), options)
        return
    text = explain(error)
    screen.note(f"{text.title}. {text.sentence}")
    screen.note(text.next_step)
    for line in text.detail.splitlines():
        screen.note(f"    {line}")


def refuse(screen: Screen, text: str, options: argparse.Namespace, next_step: str = "") -> ExitCode:
    """The command was wrong; returns USAGE."""
    if getattr(options, "json", False):
        facts = {"kind": USAGE, "text": text, "next_step": next_step, "detail": ""}
        write_json(screen, _report(facts, options), options)
    else:
        screen.note(f"{text} {next_step}".strip())
    return ExitCode.USAGE


def _report(facts: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    event = {"event": "failed"} if getattr(options, "command", "") == "fetch" else {}
    return {**event, "error": facts}


def write_json(screen: Screen, report: dict[str, Any], options: argparse.Namespace) -> None:
    """One object: on one line where the command writes lines, else for reading."""
    indent = None if getattr(options, "command", "") in _LINES else 2
    screen.write(json.dumps(report, ensure_ascii=False, indent=indent) + "\n")
