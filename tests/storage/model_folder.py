"""A folder with every kind of file that belongs to this program, and some that do not."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

from clover_gui.download.hub_file import HubFile
from clover_gui.download.part_state import PartState
from clover_gui.download.receipt import Receipt, now_utc, write_receipt

OURS = ("fetched.gguf", "repaired.gguf")
BY_HAND = "by-hand.gguf"
FOREIGN = ("thesis.txt", "receipts.json", "notes.part", "other.gguf.bak")


def make_models(folder: Path, size: int = 300_000, seed: int = 1) -> dict[str, bytes]:
    """Fill the folder; returns the content of all files of ours and of the model without a mark."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name in OURS:
        (folder / name).write_bytes(rng.randbytes(size))
    # A model is known by its first bytes where nothing beside it says that it is ours.
    (folder / BY_HAND).write_bytes(b"GGUF" + rng.randbytes(size - 4))
    for name in OURS:
        write_receipt(folder / name, receipt_for(folder / name))
    (folder / "repaired.gguf.clover-undo").write_bytes(rng.randbytes(5_000))
    digest = hashlib.sha256(b"part").hexdigest()
    (folder / f"{digest[:12]}.part").write_bytes(rng.randbytes(size // 2))
    source = HubFile("https://hub.example", "someone/model", "main", "coming.gguf", size, digest, "")
    PartState(source, 4096).save(folder / f"{digest[:12]}.part.json")
    return contents(folder, below=True)


def add_below(folder: Path, size: int = 100_000) -> dict[str, bytes]:
    """Models of the person in folders, and one of ours; returns the content of all files."""
    for name in ("mine/x.gguf", "mine/deeper/y.gguf"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"GGUF" + random.Random(name).randbytes(size))
    (folder / "mine" / "x.gguf.clover-undo").write_bytes(b"record")
    return contents(folder, below=True)


def add_foreign(folder: Path) -> dict[str, bytes]:
    """Files of other people, some with names that look like ours."""
    for name in FOREIGN:
        (folder / name).write_bytes(name.encode())
    (folder / "link.gguf").symlink_to(folder / FOREIGN[0])
    return {name: name.encode() for name in FOREIGN}


def receipt_for(path: Path) -> Receipt:
    facts = path.stat()
    return Receipt(
        repository="someone/model",
        revision="main",
        name=path.name,
        endpoint="https://hub.example",
        size_bytes=facts.st_size,
        sha256="0" * 64,
        verified_at=now_utc(),
        file_size_bytes=facts.st_size,
        file_time_ns=facts.st_mtime_ns,
    )


def contents(folder: Path, *, below: bool = False) -> dict[str, bytes]:
    """Regular files by name; with ``below`` also those in folders, by their paths."""
    if not folder.is_dir():
        return {}
    paths = folder.rglob("*") if below else folder.iterdir()
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
