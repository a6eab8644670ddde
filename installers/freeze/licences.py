"""Collects the licences of everything that is packed into ``licences`` of the frozen folder.

    python -m installers.freeze.licences BUILD_FOLDER FROZEN_FOLDER

Run by the interpreter of the build environment, whose packages carry their own texts. What is inside is read
from PyInstaller's own lists, so that nothing is named that is not there.
"""

from __future__ import annotations

import ast
import importlib.metadata
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

TEXTS = Path(__file__).resolve().parent / "licence_texts"
"""Texts of parts that come without one."""

_TEXT_NAMES = ("licen", "copying", "notice", "authors")
# What these packages name, or contain, but do not carry the text of.
_ADDED_TEXTS = {
    "PySide6_Essentials": ("Qt.txt", "LGPL-3.0.txt", "GPL-3.0.txt", "ICU.txt"),
    "shiboken6": ("Qt.txt", "LGPL-3.0.txt", "GPL-3.0.txt"),
    "latex2mathml": ("latex2mathml.txt",),
    "llama_cpp_python": ("llama.cpp.txt",),
    "nvidia-ml-py": ("nvidia-ml-py.txt",),
    "ziafont": ("fonts.txt",),
    "ziamath": ("fonts.txt",),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Somebody else's part of the program. ``licence`` is as its makers write it."""

    name: str
    version: str
    licence: str
    texts: tuple[Path, ...]


def packed_modules(build: Path) -> frozenset[str]:
    """The first names of all modules that PyInstaller packed, from its lists of contents."""
    names = set()
    for file in build.rglob("*.toc"):
        if file.name.startswith(("PYZ-", "COLLECT-")):
            for entry in _entries(ast.literal_eval(file.read_text(encoding="utf-8"))):
                names.add(Path(entry).parts[0].partition(".")[0])
    return frozenset(names)


def _entries(toc: object) -> list[str]:
    """The names in a list of contents, however deep its triples lie."""
    if isinstance(toc, tuple) and len(toc) == 3 and all(isinstance(item, str) for item in toc[:1]):
        return [toc[0]] if toc[0] else []
    if isinstance(toc, list | tuple):
        return [name for item in toc for name in _entries(item)]
    return []


def python_parts(modules: frozenset[str]) -> list[Part]:
    """The packages that brought the modules, and PyInstaller, whose starter is in the program."""
    owners = importlib.metadata.packages_distributions()
    names = {owner for module in modules for owner in owners.get(module, ())} | {"pyinstaller"}
    parts = []
    for name in sorted(names, key=str.lower):
        found = importlib.metadata.distribution(name)
        texts = tuple(
            Path(str(file.locate()))
            for file in found.files or ()
            if ".dist-info" in str(file) and file.name.lower().startswith(_TEXT_NAMES)
        )
        texts += tuple(TEXTS / text for text in _ADDED_TEXTS.get(name, ()))
        parts.append(Part(name, found.version, licence_of(found.metadata), texts))
    return parts


def licence_of(metadata: importlib.metadata.PackageMetadata) -> str:
    """What the package says of itself, the shortest form first; "" where it says nothing."""
    for field in ("License-Expression", "License"):
        for text in metadata.get_all(field) or []:
            if text and len(text) < 100 and "\n" not in text:
                return str(text)
    classifiers = metadata.get_all("Classifier") or []
    words = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: ")]
    return "; ".join(words)


def language_part() -> Part:
    """Python itself."""
    places = (Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix))
    texts = tuple(place / "LICENSE.txt" for place in places if (place / "LICENSE.txt").is_file())[:1]
    return Part("Python", sys.version.split()[0], "PSF-2.0", texts)


def system_parts(build: Path) -> list[Part]:
    """Libraries of the building system that were packed (where dpkg knows them), with their texts."""
    dpkg = shutil.which("dpkg-query")
    if dpkg is None:
        return []
    parts = {}
    for file in build.rglob("COLLECT-*.toc"):
        for source in _sources(ast.literal_eval(file.read_text(encoding="utf-8"))):
            if source.startswith(("/lib/", "/usr/lib/")):
                part = _debian_part(dpkg, Path(source))
                if part is not None:
                    parts[part.name] = part
    return [parts[name] for name in sorted(parts)]


def _sources(toc: object) -> list[str]:
    if isinstance(toc, tuple) and len(toc) == 3 and all(isinstance(item, str) for item in toc):
        return [toc[1]]
    if isinstance(toc, list | tuple):
        return [name for item in toc for name in _sources(item)]
    return []


def _debian_part(dpkg: str, file: Path) -> Part | None:
    for path in (str(file), str(file.resolve()), str(file.resolve()).removeprefix("/usr")):
        done = subprocess.run([dpkg, "-S", path], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            name = done.stdout.partition(":")[0].strip()
            asked = [dpkg, "-W", "-f", "${Version}\n", name]
            version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split("\n")[0]
            text = Path("/usr/share/doc") / name / "copyright"
            return Part(name, version, "", (text,) if text.is_file() else ())
    return None


def write(parts: list[Part], folder: Path) -> None:
    """One file per text, and ``README.txt`` as the table of them.

    Raises:
        ValueError: a part has no text.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = [
        "Clover is under the Apache License 2.0 (Clover.txt). It contains the following parts of others.",
        "Qt and Qt for Python are used under the LGPL 3: their libraries lie as single files in the folder",
        "of the program and may be replaced by others of the same interface.",
        "",
    ]
    for part in parts:
        if not part.texts:
            raise ValueError(f"{part.name} has no licence text; put one into {TEXTS.name} and name it here")
        files = []
        for number, text in enumerate(part.texts):
            shared = text.parent == TEXTS
            name = text.name if shared else f"{part.name}{'-' + str(number) if number else ''}.txt"
            shutil.copyfile(text, folder / name)
            (folder / name).chmod(0o644)
            files.append(name)
        lines.append(f"{part.name} {part.version}: {part.licence or 'see its text'} ({', '.join(files)})")
    shutil.copyfile(TEXTS.parents[2] / "LICENSE", folder / "Clover.txt")
    (folder / "README.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """See the module's text."""
    build, frozen = Path(arguments[0]), Path(arguments[1])
    parts = [*python_parts(packed_modules(build)), language_part(), *system_parts(build)]
    write(parts, frozen / "licences")
    print(f"{len(parts)} parts of others")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
