"""Times the repair of a file with real bytes against a plain copy of the same file, in the same run.

    python -m tests.benchmarks.repair FOLDER [--layers N] [--keep]

The file has DiffuSpace's form and the true shapes of the 35B-A3B model; 40 layers make 19.6 GB, 10 layers
about 5.2 GB. Every block of it is written (no holes), flushed, and dropped from the cache before each
measurement where the system allows that. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from clover_gui.patching.header_map import read_map
from clover_gui.patching.journal import journal_path
from clover_gui.patching.repair import repair, undo
from tests.kit.diffuspace import make_raw_twin
from tests.patching.forms import KNOWS_QWEN

_PIECE = 8 << 20


def fill(path: Path) -> None:
    """Put random bytes into every big tensor, so that the file really occupies its size."""
    noise = os.urandom(_PIECE)
    with path.open("r+b") as file:
        header = read_map(file, path, path.stat().st_size)
        for tensor in header.tensors:
            if tensor.size_bytes >= 1 << 16:
                file.seek(header.data_offset + tensor.offset)
                left = tensor.size_bytes
                while left:
                    left -= file.write(noise[: min(left, _PIECE)])
        file.flush()
        os.fsync(file.fileno())


def forget(path: Path) -> None:
    """Let the system drop the file's pages from memory."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def copy(source: Path, target: Path) -> float:
    """Seconds for a copy that lasts, as the public patch makes it: read all, write all, flush."""
    forget(source)
    start = time.perf_counter()
    with source.open("rb") as reader, target.open("wb") as writer:
        shutil.copyfileobj(reader, writer, _PIECE)
        writer.flush()
        os.fsync(writer.fileno())
    return time.perf_counter() - start


def measure(folder: Path, layers: int, rounds: int) -> dict[str, Any]:
    path = make_raw_twin(folder / "twin.gguf", layers=layers)
    fill(path)
    size = path.stat().st_size
    held = path.stat().st_blocks * 512
    copies, repairs, undos = [], [], []
    written = 0
    for _ in range(rounds):
        copies.append(copy(path, folder / "copy.gguf"))
        (folder / "copy.gguf").unlink()
        forget(path)
        start = time.perf_counter()
        result = repair(path, KNOWS_QWEN)
        repairs.append(time.perf_counter() - start)
        written = result.written_bytes
        start = time.perf_counter()
        undo(path)
        undos.append(time.perf_counter() - start)
    result = repair(path, KNOWS_QWEN)
    extra = path.stat().st_blocks * 512 - held + journal_path(path).stat().st_size
    dry = subprocess.run(
        [sys.executable, "-m", "tests.patching.engine_probe", "--dry", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        "file_bytes": size,
        "copy_s": round(min(copies), 3),
        "repair_s": round(sorted(repairs)[len(repairs) // 2], 3),
        "repair_worst_s": round(max(repairs), 3),
        "undo_s": round(sorted(undos)[len(undos) // 2], 3),
        "ratio": round(min(copies) / sorted(repairs)[len(repairs) // 2], 1),
        "written_bytes": written,
        "extra_disk_bytes": extra,
        "way": result.way.value if result.way else None,
        "engine": dry.stdout.strip(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    try:
        print(json.dumps(measure(arguments.folder, arguments.layers, arguments.rounds), indent=2))
    finally:
        if not arguments.keep:
            shutil.rmtree(arguments.folder)


if __name__ == "__main__":
    main()
