"""Whether a file that the person named can be a model at all, before it is put among the choices."""

from __future__ import annotations

import asyncio
from pathlib import Path

from clover_gui.errors import (
    ModelFileError,
    ModelFileMissing,
    ModelFileUnreadable,
    NotAModelFile,
    RepairError,
)
from clover_gui.model_file.container import read_container
from clover_gui.pipeline.repairing import put_in_order


async def refusal_of(path: Path) -> ModelFileError | None:
    """Why there is no model at this path; None for every model file, also for a damaged one.

    What a repair that was interrupted left there is put in order first.
    """
    try:
        await put_in_order(path)
        await asyncio.to_thread(read_container, path)
    except (ModelFileMissing, ModelFileUnreadable, NotAModelFile) as error:
        return error
    except (ModelFileError, RepairError):
        pass  # it is one; what is wrong with it is said when it is chosen
    return None
