"""The version resource of the frozen program for Windows, made from the program's one version.

PyInstaller evaluates such a text (its ``version=`` argument); Windows shows it under "Properties".
"""

from __future__ import annotations

import re

_TEMPLATE = """\
VSVersionInfo(
  ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}, mask=0x3F, flags={flags}, OS=0x40004,
                    fileType=0x1, subtype=0x0, date=(0, 0)),
  kids=[
    StringFileInfo([StringTable('040904B0', [
      StringStruct('CompanyName', 'Clover GUI developers'),
      StringStruct('FileDescription', 'Clover'),
      StringStruct('FileVersion', '{version}'),
      StringStruct('InternalName', 'clover-gui'),
      StringStruct('LegalCopyright', 'Clover GUI developers, Apache-2.0'),
      StringStruct('OriginalFilename', 'clover-gui.exe'),
      StringStruct('ProductName', 'Clover'),
      StringStruct('ProductVersion', '{version}')])]),
    VarFileInfo([VarStruct('Translation', [0x0409, 0x04B0])])
  ])
"""

_PRERELEASE = 0x2  # VS_FF_PRERELEASE


def version_numbers(version: str) -> tuple[int, int, int, int]:
    """Windows' four numbers of a version such as 1.2.3 or 1.2.3rc1 (the part after the numbers is not told).

    Raises:
        ValueError: it does not begin with numbers, or one does not fit into 16 bits.
    """
    found = re.match(r"\d+(?:\.\d+){0,3}", version)
    if not found:
        raise ValueError(f"{version} is no version")
    numbers = [int(part) for part in found[0].split(".")]
    if max(numbers) > 0xFFFF:
        raise ValueError(f"{version} does not fit into Windows' version numbers")
    first, second, third, fourth = (*numbers, 0, 0, 0)[:4]
    return first, second, third, fourth


def is_prerelease(version: str) -> bool:
    """Whether anything but numbers stands in it."""
    return re.fullmatch(r"[\d.]+", version) is None


def version_info(version: str) -> str:
    """The text for PyInstaller.

    Raises:
        ValueError: as ``version_numbers``.
    """
    if not re.fullmatch(r"[0-9A-Za-z.+-]+", version):
        raise ValueError(f"{version!r} is no version")
    flags = hex(_PRERELEASE if is_prerelease(version) else 0)
    return _TEMPLATE.format(numbers=version_numbers(version), flags=flags, version=version)
