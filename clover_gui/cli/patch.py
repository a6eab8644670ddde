"""``clover-gui patch``: say whether a model file runs, make it run, or take that back.

With ``--check`` nothing is changed and the exit code tells: 0 runs as it is, 3 needs repair, 4 cannot be
repaired.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clover_gui.cli.engine_choice import engine_client
from clover_gui.cli.failure import error_facts, tell, write_json
from clover_gui.cli.screen import Screen
from clover_gui.errors import CloverError, ModelFileError, RepairError
from clover_gui.exit_codes import ExitCode
from clover_gui.explain.repair_hints import finding_text, verdict_text, way_text
from clover_gui.i18n import _, capped, file_size, number
from clover_gui.patching.diagnosis import AUTO, TARGETS, diagnose
from clover_gui.patching.findings import Diagnosis, Verdict
from clover_gui.patching.journal import journal_path
from clover_gui.patching.recovery import is_clean, state_of
from clover_gui.patching.repair import Repaired, repair, repaired_copy, undo
from clover_gui.paths import DataFolder

NEEDS_REPAIR, CANNOT = 3, 4
_EVIDENCE_LIMIT = 200


def add_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("file", metavar=_("FILE"), type=Path, help=_("the model file (GGUF)"))
    group.add_argument(
        "--check",
        action="store_true",
        help=_("change nothing; exit code 0: runs as it is, 3: needs repair, 4: cannot be repaired"),
    )
    group.add_argument("--undo", action="store_true", help=_("bring the original file back"))
    group.add_argument(
        "--force", action="store_true", help=_("repair even if the values contradict each other")
    )
    group.add_argument(
        "--target", choices=TARGETS, default=AUTO, help=_("the name to give this kind of model")
    )
    group.add_argument(
        "--copy",
        metavar=_("FOLDER"),
        type=Path,
        help=_("leave the file alone and repair a copy of it in this folder"),
    )
    group.add_argument("--json", action="store_true", help=_("write one JSON object instead of text"))


def main(arguments: Sequence[str], data: DataFolder) -> int:
    """Run the command with its own arguments (without the word "patch"); returns the exit code."""
    parser = argparse.ArgumentParser(prog="clover-gui patch", description=__doc__)
    add_options(parser.add_argument_group(_("Options")))
    try:
        options = parser.parse_args(arguments)
    except SystemExit as end:  # argparse has written help or the mistake
        return int(end.code or 0)
    return int(run(options, data, Screen()))


def run(options: argparse.Namespace, data: DataFolder, screen: Screen) -> int:
    """Check, repair or undo. Failures of the file or the repair are told here, with exit code 4.

    Raises:
        CloverError: any other failure, for example of the engine.
    """
    path = Path(options.file).absolute()
    try:
        if options.check:
            return _check(path, options, data, screen)
        if options.undo:
            _undo(path, options, screen)
        else:
            _repair(path, options, data, screen)
        return ExitCode.OK
    except (ModelFileError, RepairError) as error:
        _tell(error, path, options, screen)
        return CANNOT


def _check(path: Path, options: argparse.Namespace, data: DataFolder, screen: Screen) -> int:
    if path.is_file() and not is_clean(path) and journal_path(path).exists():
        report: dict[str, Any] = {"file": str(path), "verdict": "interrupted"}
        _report(report, [verdict_text("interrupted")], path, options, screen)
        return NEEDS_REPAIR
    diagnosis = diagnose(path, _known(data, screen), target=options.target)
    lines = [finding_text(f.kind.value, len(f.names)) + _evidence(f.evidence) for f in diagnosis.findings]
    lines.append(verdict_text(diagnosis.verdict.value, diagnosis.obstacle.value))
    _report(as_json(diagnosis), lines, path, options, screen)
    return {Verdict.RUNS: ExitCode.OK, Verdict.NEEDS_REPAIR: NEEDS_REPAIR}.get(diagnosis.verdict, CANNOT)


def _repair(path: Path, options: argparse.Namespace, data: DataFolder, screen: Screen) -> None:
    progress = _progress(screen)
    known = _known(data, screen)
    if options.copy:
        result = repaired_copy(
            path, options.copy.absolute() / path.name, known,
            wanted=options.target, force=options.force, progress=progress,
        )  # fmt: skip
    else:
        result = repair(path, known, target=options.target, force=options.force, progress=progress)
    lines = _result_lines(result, is_copy=bool(options.copy))
    _report(_result_json(result), lines, result.path, options, screen)


def _undo(path: Path, options: argparse.Namespace, screen: Screen) -> None:
    undo(path, progress=_progress(screen))
    report = {"file": str(path), "changed": True, "undone": True}
    _report(report, [_("The original file is back.")], path, options, screen)


def _progress(screen: Screen) -> Callable[[int, int], None]:
    def show(done: int, total: int) -> None:
        screen.progress(_("Copying: {done} of {total}").format(done=file_size(done), total=file_size(total)))

    return show


def _known(data: DataFolder, screen: Screen) -> Mapping[str, bool]:
    """Which architecture names the engine at hand knows: asked of the engine itself."""

    async def ask() -> Mapping[str, bool]:
        client = engine_client(data, screen)
        try:
            return (await client.describe()).architectures
        finally:
            await client.close()

    return asyncio.run(ask())


def as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis for programs; keys are only ever added."""
    return {
        "file": str(diagnosis.path),
        "verdict": diagnosis.verdict.value,
        "architecture": diagnosis.architecture,
        "target": diagnosis.target,
        "family": diagnosis.is_family,
        "can_be_forced": diagnosis.can_be_forced,
        "obstacle": diagnosis.obstacle.value,
        "detail": diagnosis.obstacle_detail,
        "findings": [
            {"kind": f.kind.value, "names": list(f.names), "evidence": f.evidence} for f in diagnosis.findings
        ],
        "repaired": _head_json(diagnosis.path),
    }


def _head_json(path: Path) -> dict[str, Any] | None:
    head = state_of(path)
    if head is None:
        return None
    return {
        "from": head.architecture,
        "target": head.target,
        "way": head.way.value,
        "created": head.created,
        "forced": head.forced,
        "findings": [noted.kind for noted in head.findings],
        "given_up": list(head.given_up),
    }


def _result_json(result: Repaired) -> dict[str, Any]:
    return {
        "file": str(result.path),
        "changed": result.changed,
        "target": result.target,
        "way": result.way.value if result.way else None,
        "findings": [{"kind": f.kind.value, "evidence": f.evidence} for f in result.findings],
        "written_bytes": result.written_bytes,
        "seconds": round(result.seconds, 3),
        "given_up": list(result.given_up),
    }


def _result_lines(result: Repaired, *, is_copy: bool) -> list[str]:
    if not result.changed:
        return [_("Nothing to do: it runs as it is.")]
    lines = [finding_text(f.kind.value, len(f.names)) + _evidence(f.evidence) for f in result.findings]
    lines.append(
        _("Repaired in {seconds} s, {size} written.").format(
            seconds=number(result.seconds, 2), size=file_size(result.written_bytes)
        )
    )
    if is_copy:
        folder = capped(str(result.path.parent), _EVIDENCE_LIMIT)
        lines.append(_("This is a copy in {folder}; the file itself was not changed.").format(folder=folder))
    elif result.way is not None:
        lines.append(way_text(result.way.value))
    if result.given_up:
        names = capped(", ".join(result.given_up), _EVIDENCE_LIMIT)
        lines.append(_("Left out for room, kept in the undo record: {names}").format(names=names))
    lines.append(_("To get the original back: clover-gui patch --undo FILE"))
    return lines


def _evidence(text: str) -> str:
    return f"\n    {capped(text, _EVIDENCE_LIMIT)}"


def _report(
    report: dict[str, Any], lines: list[str], path: Path, options: argparse.Namespace, screen: Screen
) -> None:
    if options.json:
        screen.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
    else:
        screen.write("\n".join([capped(path.name, _EVIDENCE_LIMIT), *(f"  {line}" for line in lines)]) + "\n")


def _tell(error: CloverError, path: Path, options: argparse.Namespace, screen: Screen) -> None:
    if options.json:
        write_json(screen, {"file": str(path), "verdict": "cannot", "error": error_facts(error)}, options)
    else:
        tell(screen, error, options)
