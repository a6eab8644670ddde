"""The property lists of the macOS bundle: what Clover.app says of itself, and what it may do when signed.

    python -m installers.macos.plists FOLDER     # Info.plist and entitlements.plist in that folder

PyInstaller's recipe takes the first as a mapping, ``codesign`` the second as a file. They are made here and
not kept as files, because the version stands in one place, and because a comment in an entitlements file
makes ``codesign`` refuse it.
"""

from __future__ import annotations

import plistlib
import re
import sys
from pathlib import Path
from typing import Any

from installers.freeze.version import version as program_version

IDENTIFIER = "io.github.clover-gui.CloverGui"
"""Letters, digits, hyphens and points only: Apple allows no underscore."""

MODEL_TYPE = "io.github.clover-gui.gguf"
OLDEST_SYSTEM = "13.0"
"""Qt's own limit for the version that the lock names."""

ENTITLEMENTS: dict[str, bool] = {
    # The engine calls back into Python (log lines, stop requests) through ctypes, whose closures are memory
    # that is written and then executed. Without this the hardened runtime ends the engine where the system's
    # libffi has no ready-made trampolines.
    "com.apple.security.cs.allow-unsigned-executable-memory": True,
    # An engine that was installed later lies in the data folder and carries another signature, or none.
    "com.apple.security.cs.disable-library-validation": True,
}
"""What the hardened runtime has to allow. Nothing else: no network server, no camera, no other program."""


def bundle_version(version: str) -> str:
    """At most three numbers, as Apple wants them: 1.2.3rc1 is 1.2.3.

    Raises:
        ValueError: it does not begin with a number.
    """
    found = re.match(r"\d+(?:\.\d+){0,2}", version)
    if not found:
        raise ValueError(f"{version} is no version")
    return found[0]


def info_plist(version: str) -> dict[str, Any]:
    """The entries of Info.plist beyond those that PyInstaller writes by itself (executable and icon)."""
    return {
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleName": "Clover",
        "CFBundleDisplayName": "Clover",
        "CFBundlePackageType": "APPL",
        "CFBundleVersion": bundle_version(version),
        "CFBundleShortVersionString": bundle_version(version),
        "CFBundleDevelopmentRegion": "en",
        "CFBundleLocalizations": ["en", "de"],
        "LSApplicationCategoryType": "public.app-category.productivity",
        "LSMinimumSystemVersion": OLDEST_SYSTEM,
        "NSHumanReadableCopyright": "Clover GUI developers, Apache-2.0",
        "NSHighResolutionCapable": True,
        "NSRequiresAquaSystemAppearance": False,  # follows the system into the dark
        "NSSupportsAutomaticGraphicsSwitching": True,  # the window alone needs no strong graphics card
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "Language model (GGUF)",
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Alternate",  # offered, without taking the files from another program
                "LSItemContentTypes": [MODEL_TYPE],
            }
        ],
        "UTImportedTypeDeclarations": [
            {
                "UTTypeIdentifier": MODEL_TYPE,
                "UTTypeDescription": "Language model (GGUF)",
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {"public.filename-extension": ["gguf"]},
            }
        ],
    }


def write_entitlements(target: Path) -> Path:
    """Write the file for ``codesign --entitlements``; its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(plistlib.dumps(ENTITLEMENTS))
    return target


def main(words: list[str]) -> int:
    """Write both, to look at them or to lint them."""
    if len(words) != 1:
        print("python -m installers.macos.plists FOLDER", file=sys.stderr)
        return 2
    folder = Path(words[0])
    print(write_entitlements(folder / "entitlements.plist"))
    (folder / "Info.plist").write_bytes(plistlib.dumps(info_plist(program_version())))
    print(folder / "Info.plist")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
