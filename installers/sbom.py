"""Writes the software bill of materials of a release: a CycloneDX file made from the locks.

    python -m installers.sbom OUT.cdx.json [BUILD_FOLDER]

Run by the interpreter of the build environment (``installers/package.py`` makes it), since the licences stand
in the packages' own metadata. Listed is what the locks name and this environment has, each with the checksums
that it was installed by, and the parts that come inside others: llama.cpp, Qt, Python. With PyInstaller's
build folder, packages of which nothing was packed are marked as excluded.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from installers import places
from installers.freeze.licences import Part, licence_of, packed_modules, python_parts, system_parts
from installers.freeze.version import version as program_version

LOCKS = tuple(places.ROOT / "installers" / name for name in ("requirements-package.lock", "engine.lock"))
SPECIFICATION = "1.6"

# Older ways of writing a licence in a package's metadata, as SPDX has them.
_SPDX = {
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd-2-clause": "BSD-2-Clause",
    "mit": "MIT",
    "mit license": "MIT",
}


class LockError(ValueError):
    """Lock and environment do not belong together."""


@dataclass(frozen=True, slots=True)
class Locked:
    """One entry of a lock. ``marker`` is "" where it is wanted everywhere; ``sha256`` has all its files."""

    name: str
    version: str
    marker: str
    sha256: tuple[str, ...]


def read_lock(text: str) -> tuple[Locked, ...]:
    """The packages of a lock file."""
    joined = text.replace("\\\n", " ")
    found = []
    for line in joined.splitlines():
        match = re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)\s*(?:;\s*(.*?))?\s*(?=--hash|$)", line)
        if match:
            hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
            found.append(Locked(match[1], match[2], (match[3] or "").strip(), hashes))
    return tuple(found)


def licences(text: str) -> list[dict[str, Any]]:
    """CycloneDX's form: an SPDX expression where it is one, else the maker's own words."""
    known = _SPDX.get(text.lower(), text)
    if not known:
        return []
    if re.fullmatch(r"\(?[A-Za-z0-9.+-]+(?:\)?\s+(?:AND|OR|WITH)\s+\(?[A-Za-z0-9.+-]+)*\)?", known):
        return [{"expression": known}]
    return [{"license": {"name": known}}]


def component(locked: Locked, licence: str, *, is_packed: bool = True) -> dict[str, Any]:
    """A package from a lock."""
    name = normal(locked.name)
    reference = f"pkg:pypi/{name}@{locked.version}"
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference,
        "name": locked.name,
        "version": locked.version,
        "scope": "required" if is_packed else "excluded",
        "purl": reference,
        "properties": [{"name": "clover:lock-sha256", "value": digest} for digest in locked.sha256],
    }
    if entries := licences(licence):
        found["licenses"] = entries
    return found


def normal(name: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(locked: tuple[Locked, ...], packed: frozenset[str] | None = None) -> list[dict[str, Any]]:
    """The components of this environment; ``packed`` are the (normal) names of packages that were packed.

    Raises:
        LockError: a package is there in another version than the lock's, or is missing although it is wanted
            on every system.
    """
    choices: dict[str, list[Locked]] = {}
    for package in locked:
        choices.setdefault(package.name, []).append(package)
    found = []
    for name, packages in choices.items():
        try:
            metadata = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError as error:
            if not packages[0].marker:
                raise LockError(f"{name} is in the lock and not in this environment") from error
            continue
        version = metadata["Version"].partition("+")[0]
        fitting = [package for package in packages if package.version == version]
        if not fitting:
            raise LockError(f"{name} is {version}, and {packages[0].version} in the lock")
        is_packed = packed is None or normal(name) in packed
        found.append(component(fitting[0], licence_of(metadata), is_packed=is_packed))
    return found


def packed_packages(build: Path) -> frozenset[str]:
    """The normal names of the packages of which PyInstaller packed something."""
    return frozenset(normal(part.name) for part in python_parts(packed_modules(build)))


def inner_parts(engine: str, qt: str) -> list[dict[str, Any]]:
    """What comes inside packages and has no line in a lock."""
    python = sys.version.split()[0]
    parts = (
        ("llama.cpp", f"in llama-cpp-python {engine}", "MIT", "pkg:github/ggml-org/llama.cpp"),
        ("Qt", qt, "LGPL-3.0-only", f"pkg:generic/qt@{qt}"),
        ("Python", python, "PSF-2.0", f"pkg:generic/python@{python}"),
    )
    return [
        {
            "type": "library",
            "bom-ref": reference,
            "name": name,
            "version": version,
            "scope": "required",
            "purl": reference,
            "licenses": licences(licence),
        }
        for name, version, licence, reference in parts
    ]


def system_components(parts: list[Part]) -> list[dict[str, Any]]:
    """Libraries of the building Debian that were packed."""
    found = []
    for part in parts:
        reference = f"pkg:deb/debian/{part.name}@{part.version}"
        found.append(
            {
                "type": "library",
                "bom-ref": reference,
                "name": part.name,
                "version": part.version,
                "scope": "required",
                "purl": reference,
                "licenses": licences(part.licence),
            }
        )
    return found


def document(version: str, components: list[dict[str, Any]], epoch_s: int) -> dict[str, Any]:
    """The whole file. The same parts at the same time give the same file, its number included."""
    program = f"pkg:generic/clover-gui@{version}"
    references = sorted(str(part["bom-ref"]) for part in components)
    number = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join([program, str(epoch_s), *references]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch_s)),
            "component": {
                "type": "application",
                "bom-ref": program,
                "name": "clover-gui",
                "version": version,
                "licenses": licences("Apache-2.0"),
                "purl": program,
            },
        },
        "components": sorted(components, key=lambda part: str(part["bom-ref"])),
        "dependencies": [{"ref": program, "dependsOn": references}],
    }


def main(words: list[str]) -> int:
    """Write the file."""
    if len(words) not in (1, 2):
        print("python -m installers.sbom OUT.cdx.json [BUILD_FOLDER]", file=sys.stderr)
        return 2
    locked = tuple(package for lock in LOCKS for package in read_lock(lock.read_text(encoding="utf-8")))
    versions = {package.name.lower(): package.version for package in locked}
    build = Path(words[1]) if words[1:] else None
    try:
        components = installed(locked, packed_packages(build) if build else None)
    except LockError as error:
        print(error, file=sys.stderr)
        return 1
    components += inner_parts(versions["llama-cpp-python"], versions["pyside6-essentials"])
    if build:
        components += system_components(system_parts(build))
    epoch_s = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    text = json.dumps(document(program_version(), components, epoch_s), indent=2, ensure_ascii=False)
    target = Path(words[0])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text + "\n", encoding="utf-8")
    print(f"{target}: {len(components)} components")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
