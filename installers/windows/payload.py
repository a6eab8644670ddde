"""What the Windows installer puts on the disk, file by file.

The uninstaller deletes exactly these files: a folder that is removed as a whole would take along what people
keep beside the program (a portable installation does just that). Pure text from a folder; knows no NSIS tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

LONGEST_RELATIVE_PATH = 180
"""Characters. Windows without long paths allows 259, and the usual place takes up to 80 of them."""

PROGRAMS = ("clover-gui.exe", "clover-gui-terminal.exe")
"""The window, and its twin with a console for the terminal commands."""


class PayloadError(ValueError):
    """The folder cannot be packed."""


@dataclass(frozen=True, slots=True)
class Payload:
    """``files`` are paths relative to ``root``, in a fixed order; ``size_bytes`` is their sum."""

    root: Path
    files: tuple[PureWindowsPath, ...]
    size_bytes: int


def read_payload(root: Path) -> Payload:
    """List a frozen folder.

    Raises:
        PayloadError: a program is not in it, a name cannot exist on Windows, or a path is too long.
    """
    found = sorted(path for path in root.rglob("*") if path.is_file())
    files = tuple(PureWindowsPath(path.relative_to(root).as_posix()) for path in found)
    for program in PROGRAMS:
        if PureWindowsPath(program) not in files:
            raise PayloadError(f"{program} is not in {root}: this is no frozen folder of Windows")
    for file in files:
        if len(str(file)) > LONGEST_RELATIVE_PATH:
            raise PayloadError(f"{file} is longer than {LONGEST_RELATIVE_PATH} characters")
        if forbidden := set(str(file)) & set('<>:"|?*$`'):
            raise PayloadError(f"{file} has {' '.join(sorted(forbidden))} in its name")
    return Payload(root, files, sum(path.stat().st_size for path in found))


def install_script(payload: Payload) -> str:
    """NSIS commands that write all files, folder by folder."""
    lines: list[str] = []
    folder: PureWindowsPath | None = None
    for file in sorted(payload.files, key=lambda file: (file.parent.parts, file.name)):
        if file.parent != folder:
            folder = file.parent
            lines.append(f'SetOutPath "{_in_place(folder)}"')
        source = payload.root.joinpath(*file.parts)
        lines.append(f'File "/oname={file.name}" "{source}"')
    return "\n".join(lines) + "\n"


def uninstall_script(payload: Payload) -> str:
    """NSIS commands that delete these files, and then the folders that are empty, from the inside out."""
    lines = [f'Delete "{_in_place(file)}"' for file in payload.files]
    folders = {parent for file in payload.files for parent in file.parents} - {PureWindowsPath(".")}
    for folder in sorted(folders, key=lambda folder: (-len(folder.parts), folder.parts)):
        lines.append(f'RMDir "{_in_place(folder)}"')
    return "\n".join(lines) + "\n"


def _in_place(path: PureWindowsPath) -> str:
    return "$INSTDIR" if path == PureWindowsPath(".") else f"$INSTDIR\\{path}"
