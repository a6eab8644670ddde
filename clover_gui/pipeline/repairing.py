"""From a file as it was published to one that this engine runs: examine, repair, and ask it a question.

The engine is unloaded before a file is changed; files of other programs are copied first and never touched.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clover_gui.download.receipt import read_receipt, write_receipt
from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import (
    ROLE_USER,
    STOP_END,
    Finished,
    PromptMessage,
    Sampling,
    Text,
)
from clover_gui.errors import ModelNotLoaded, RepairImpossible
from clover_gui.model_file.summary import ModelFile
from clover_gui.patching.check import MAX_TOKENS, QUESTION, SpeechCheck, judge
from clover_gui.patching.diagnosis import diagnose
from clover_gui.patching.findings import FAMILY, Diagnosis, Verdict
from clover_gui.patching.ownership import foreign_owner
from clover_gui.patching.recovery import recover, recover_folder, state_of
from clover_gui.patching.repair import Repaired, repair, repaired_copy, undo


@dataclass(frozen=True, slots=True)
class Examination:
    """What the file is for this engine. ``owner`` is not "" where it must be copied before a repair."""

    diagnosis: Diagnosis
    owner: str = ""

    @property
    def needs_repair(self) -> bool:
        return self.diagnosis.verdict is Verdict.NEEDS_REPAIR

    @property
    def can_run(self) -> bool:
        """As it is, or after a repair."""
        return self.diagnosis.verdict is not Verdict.CANNOT


@dataclass(frozen=True, slots=True)
class Repairing:
    """Bytes copied so far; a repair in place is over before it could be shown."""

    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class RepairDone:
    """``path`` is the file to load: the same one, or the repaired copy."""

    path: Path
    result: Repaired


async def examine(model: ModelFile, known: Mapping[str, bool]) -> Examination | None:
    """Diagnose a file of Clover's family; None for any other, which is the engine's own matter.

    Raises:
        ModelFileError, RepairError: it cannot be read, or an interrupted repair cannot be put in order.
    """
    if model.architecture not in FAMILY:
        return None

    def look() -> Examination:
        owner = foreign_owner(model.path)
        return Examination(diagnose(model.path, known), owner)

    return await asyncio.to_thread(look)


async def put_in_order(path: Path) -> None:
    """Finish or take back a repair that was interrupted. Cheap where there is none.

    Raises:
        RepairError: it cannot be put in order now.
    """
    await asyncio.to_thread(recover, path)


async def put_folder_in_order(folder: Path) -> None:
    """At the start of the program: the same for every file of the models folder. Never raises."""
    await asyncio.to_thread(recover_folder, folder)


async def make_runnable(
    engine: Engine,
    examination: Examination,
    known: Mapping[str, bool],
    models_folder: Path,
    *,
    force: bool = False,
) -> AsyncGenerator[Repairing | RepairDone, None]:
    """Repair the file (or a copy of it). Closing the iterator cancels a copy; a file is never half repaired.

    Raises:
        RepairError, ModelFileError: the file is as it was.
    """
    diagnosis = examination.diagnosis
    if not examination.can_run and not (force and diagnosis.can_be_forced):
        raise RepairImpossible(diagnosis.path, diagnosis.obstacle.value, diagnosis.obstacle_detail)
    if engine.loaded is not None:
        await engine.unload()
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Repairing | None] = asyncio.Queue()
    stopped = threading.Event()

    def progress(done: int, total: int) -> None:
        loop.call_soon_threadsafe(events.put_nowait, Repairing(done, total))

    def work() -> RepairDone:
        receipt = read_receipt(diagnosis.path)
        if examination.owner:
            target = models_folder / diagnosis.path.name
            models_folder.mkdir(parents=True, exist_ok=True)
            result = repaired_copy(
                diagnosis.path, target, known, force=force, progress=progress, cancelled=stopped.is_set
            )
        else:
            result = repair(
                diagnosis.path,
                known,
                force=force,
                file_sha256=receipt.sha256 if receipt else "",
                progress=progress,
                cancelled=stopped.is_set,
            )
        note_in_receipt(result.path, {"target": result.target, "way": result.way.value if result.way else ""})
        return RepairDone(result.path, result)

    task = asyncio.ensure_future(asyncio.to_thread(work))
    task.add_done_callback(lambda _task: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        yield await task
    finally:
        stopped.set()
        await asyncio.wait([task])
        with contextlib.suppress(asyncio.CancelledError):
            task.exception()


async def was_repaired(path: Path) -> bool:
    """Whether the original form of this file can be brought back."""
    return await asyncio.to_thread(state_of, path) is not None


async def undo_repair(engine: Engine, path: Path) -> None:
    """Bring back the file bit by bit as it was published; the engine is unloaded first.

    Raises:
        RepairError: it cannot be brought back now; the file is as it was.
    """
    if engine.loaded is not None:
        await engine.unload()

    def work() -> None:
        undo(path)
        receipt = read_receipt(path)
        if receipt is not None:
            with contextlib.suppress(OSError):
                write_receipt(path, replace(receipt, repair=None).with_stamp(path))

    await asyncio.to_thread(work)


async def ask_whether_it_speaks(engine: Engine) -> SpeechCheck:
    """Ask the loaded model a question whose answer is known, greedily and without thinking.

    Raises:
        EngineError: it could not be asked.
    """
    loaded = engine.loaded
    if loaded is None:
        raise ModelNotLoaded("no model is loaded")
    parts: list[str] = []
    ended, written = False, 0
    answer = engine.generate(
        (PromptMessage(ROLE_USER, QUESTION),),
        thinking=False if loaded.can_switch_thinking else None,
        sampling=Sampling(temperature=0.0),
        max_tokens=MAX_TOKENS,
    )
    async for event in answer:
        if isinstance(event, Text):
            parts.append(event.text)
        elif isinstance(event, Finished):
            ended, written = event.reason == STOP_END, event.written
    return judge("".join(parts), ended=ended, token_count=written)


async def note_speech(path: Path, check: SpeechCheck) -> None:
    """Keep the verdict in the file's receipt, if it has one."""
    await asyncio.to_thread(note_in_receipt, path, {"speaks": check.verdict.value})


def note_in_receipt(path: Path, facts: dict[str, Any]) -> None:
    """Add facts to the repair part of a receipt and stamp it for the file as it is now."""
    receipt = read_receipt(path)
    if receipt is None:
        return
    with contextlib.suppress(OSError):
        known = dict(receipt.repair or {})
        write_receipt(path, replace(receipt, repair={**known, **facts}).with_stamp(path))
