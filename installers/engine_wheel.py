"""Builds a wheel of the engine for other people's machines: one kind, with the vector instructions of AVX2.

    python -m installers.engine_wheel --backend cpu|cuda|vulkan|metal [--add LIBRARY]... [--out DIR] [--show]

Unlike ``engine.py``, which fits the engine to the machine that it runs on, nothing of this machine's
processor or graphics card is asked here, and the wheel is not tried out: a builder of CUDA wheels need not
have a card. ``--add`` puts libraries of the backend's makers beside the engine's own (CUDA's run-time
libraries, which few people have); the engine finds them there first. ``--show`` prints what would be done.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import platform
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from installers import backend, child, wheel
from installers.backend import Facts

_LIBRARIES = "llama_cpp/lib/"


def portable_facts(system: str = sys.platform, machine: str | None = None) -> Facts:
    """A machine with what every processor since 2013 to 2015 has (AVX2), and with no graphics card."""
    kind = backend.normal_machine(machine or platform.machine())
    features = frozenset(backend.PROCESSOR_FEATURES) if kind == "x86_64" else frozenset()
    return Facts(system=system, machine=kind, processor_features=features)


def options(name: str, facts: Facts, work: Path) -> tuple[str, ...]:
    """CMake options; for CUDA the engine's own list of card generations, as none is named.

    Messages of the engine name its source files; ``work``, the folder of this machine where they lie, is
    taken out of them.
    """
    chosen = backend.build_options(facts, name)
    if facts.system == "win32":
        return chosen
    without = f"-ffile-prefix-map={work}=."
    return (*chosen, f"-DCMAKE_C_FLAGS={without}", f"-DCMAKE_CXX_FLAGS={without}")


def published_name(built: str, name: str) -> str:
    """The file name with the kind as build tag: wheels of several kinds lie in one folder of a release.

    Raises:
        ValueError: not the name of a wheel without a build tag.
    """
    parts = built.split("-")
    if len(parts) != 5 or not built.endswith(".whl"):
        raise ValueError(f"{built} is no plain wheel name")
    return "-".join((*parts[:2], f"1{name}", *parts[2:]))


def add_libraries(path: Path, libraries: Sequence[Path]) -> None:
    """Put libraries beside the engine's own, and into the wheel's list of contents with their checksums.

    Raises:
        ValueError: one of that name is there already, or the list is missing.
    """
    part = path.with_name(path.name + ".part")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as new:
        names = set(old.namelist())
        record = next((name for name in names if name.endswith(".dist-info/RECORD")), "")
        if not record:
            raise ValueError(f"{path.name} has no RECORD")
        lines = old.read(record).decode("utf-8").rstrip("\n").split("\n")
        for entry in old.infolist():
            if entry.filename != record:
                with old.open(entry) as source, new.open(entry, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        for library in libraries:
            name = _LIBRARIES + library.name
            if name in names:
                raise ValueError(f"{library.name} is in the wheel already")
            new.write(library, name)
            lines.insert(-1, f"{name},sha256={_digest(library)},{library.stat().st_size}")
        new.writestr(record, "\n".join(lines) + "\n")
    part.replace(path)


def _digest(path: Path) -> str:
    """As a wheel's list has it: URL-safe base64 without padding."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def make(name: str, libraries: Sequence[Path], out: Path, work: Path) -> Path:
    """Build the wheel; its path.

    Raises:
        child.ChildFailed: the source could not be had, or the build failed; the log is in ``work``.
    """
    out.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    log = work / f"engine-{name}.log"
    source = wheel.bring_source(work / "sources", work, log)
    chosen = options(name, portable_facts(), work)
    built = wheel.build(source, chosen, work, log, lambda line: print(line, end=""), low_priority=False)
    if libraries:
        add_libraries(built, libraries)
    return built.replace(out / published_name(built.name, name))


def main(words: list[str]) -> int:
    """Command line of the above."""
    parser = argparse.ArgumentParser(prog="python -m installers.engine_wheel")
    parser.add_argument("--backend", choices=backend.BACKENDS, default="cpu")
    parser.add_argument("--add", type=Path, action="append", default=[], metavar="LIBRARY")
    parser.add_argument("--out", type=Path, default=Path("dist"), metavar="DIR")
    parser.add_argument("--work", type=Path, default=Path("build/engine"), metavar="DIR")
    parser.add_argument("--show", action="store_true", help="print the options and build nothing")
    chosen = parser.parse_args(words)
    if chosen.show:
        print(" ".join(options(chosen.backend, portable_facts(), chosen.work.absolute())))
        return 0
    missing = [str(path) for path in chosen.add if not path.is_file()]
    if missing:
        print(f"not there: {', '.join(missing)}", file=sys.stderr)
        return 1
    try:
        print(make(chosen.backend, chosen.add, chosen.out.absolute(), chosen.work.absolute()))
    except child.ChildFailed as error:
        print("\n".join(error.tail), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
