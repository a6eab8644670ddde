"""A plan for a model that is not here yet: from its known shape, or from its header at the hub.

Computed, not measured; nothing is written or loaded. The plan proper is made when the file is here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from clover_gui.catalog.entry import CatalogEntry
from clover_gui.download.hub_file import HubFile
from clover_gui.download.manager import DownloadManager
from clover_gui.engine.engine import Engine
from clover_gui.errors import DownloadError, ModelFileError
from clover_gui.model_file.header import read_beginning
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.placing import Placer
from clover_gui.pipeline.prepare import EngineDescribed, ModelRead, StageEvent, look_around
from clover_gui.pipeline.services import Services
from clover_gui.planning.clover_shape import CLOVER_ID, clover_shape
from clover_gui.planning.plan import Wishes

_FIRST_BYTES, _MOST_BYTES = 2 << 20, 32 << 20
"""Headers of models with 150,000 to 260,000 tokens have 6 to 16 MiB; small ones 2."""


def known_shape(entry: CatalogEntry) -> ModelFile | None:
    """The shape of a model that is known without its file."""
    return clover_shape() if entry.id == CLOVER_ID else None


async def shape_at_hub(manager: DownloadManager, source: HubFile) -> ModelFile | None:
    """The shape from the file's header at the hub, of which no more is fetched than needed; None where it
    cannot be had: the download will say why."""

    def ask() -> ModelFile | None:
        amount = _FIRST_BYTES
        try:
            while amount <= _MOST_BYTES:
                beginning = manager.beginning(source, amount)
                model = read_beginning(Path(source.file_name), source.size_bytes, beginning)
                if model is not None or len(beginning) >= source.size_bytes:
                    return model
                amount *= 4
        except (DownloadError, ModelFileError):
            pass
        return None

    return await asyncio.to_thread(ask)


async def plan_ahead(
    engine: Engine, model: ModelFile, disk_path: Path, wishes: Wishes, services: Services
) -> AsyncGenerator[StageEvent, None]:
    """Machine, engine and the plan, as ``prepare`` yields them for a file that is here.

    Raises:
        EngineError: there is no engine that works.
        DoesNotFitError: no placement is possible.
    """
    gpu = machine = None
    async with contextlib.aclosing(look_around(engine, disk_path, wishes.graphics)) as stages:
        async for stage in stages:
            yield stage
            if isinstance(stage, EngineDescribed):
                gpu = stage.gpu
            else:
                machine = stage.machine
    assert machine is not None
    assert gpu is not None
    yield ModelRead(model, ahead=True)
    yield await Placer(engine, machine, model, wishes, gpu, services).plan()
