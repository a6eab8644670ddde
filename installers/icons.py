"""The program's icon in the forms that systems want, all drawn from the one SVG file.

    python -m installers.icons FOLDER      # clover-gui.ico, clover-gui.icns, banner.bmp

Windows wants an ICO container, macOS an ICNS container; both are simple enough to be written here, so that a
package can be made on any system. Qt draws the pictures; nothing else of the program is used.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from installers import places

if TYPE_CHECKING:
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QImage

SVG = places.ROOT / "resources" / "icons" / "clover.svg"

ICO_SIZES = (16, 20, 24, 32, 40, 48, 64, 256)
"""Pixels: what Windows shows at 100, 125, 150 and 200 % in lists, on the desktop and as a large icon."""

_LARGEST_BITMAP = 64  # larger ones are PNG inside: smaller, and read by every Windows since Vista

ICNS_TYPES = (
    (b"icp4", 16),
    (b"icp5", 32),
    (b"ic11", 32),  # 16 points on a screen of double density
    (b"ic12", 64),
    (b"ic07", 128),
    (b"ic13", 256),
    (b"ic08", 256),
    (b"ic14", 512),
    (b"ic09", 512),
    (b"ic10", 1024),
)
"""Type codes of Apple's icon container with the pixels of each."""


BANNER_SIZE = (164, 314)
"""Pixels of the picture beside NSIS's last page."""

_BANNER_COLOUR = "#eef6f0"
_BANNER_ICON = 96


def render(size: int, svg: Path = SVG) -> tuple[bytes, bytes]:
    """The icon in ``size`` x ``size`` pixels: (PNG file, pixels as rows of BGRA from the top).

    Raises:
        ValueError: the file is not an SVG picture.
    """
    from PySide6.QtCore import QBuffer, QIODevice, QRectF
    from PySide6.QtGui import QImage

    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(0)
    _draw(svg, image, QRectF(0, 0, size, size))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # PySide6's stubs know only file names
    return bytes(buffer.data().data()), bytes(image.constBits())


def _draw(svg: Path, image: QImage, place: QRectF) -> None:
    from PySide6.QtGui import QPainter
    from PySide6.QtSvg import QSvgRenderer

    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise ValueError(f"{svg} is not an SVG picture")
    painter = QPainter(image)
    renderer.render(painter, place)
    painter.end()


def ico(pictures: Mapping[int, tuple[bytes, bytes]]) -> bytes:
    """An ICO file of ``render``'s results by size."""
    entries, bodies = b"", b""
    offset = 6 + 16 * len(pictures)
    for size, (png, pixels) in sorted(pictures.items()):
        body = _bitmap(size, pixels) if size <= _LARGEST_BITMAP else png
        # A size of 256 is written as 0: the field has one byte.
        entries += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(body), offset)
        bodies += body
        offset += len(body)
    return struct.pack("<HHH", 0, 1, len(pictures)) + entries + bodies


def _bitmap(size: int, pixels: bytes) -> bytes:
    """A device-independent bitmap with alpha; its height counts the mask below it, which stays empty."""
    header = struct.pack("<IiiHHIIiiII", 40, size, 2 * size, 1, 32, 0, len(pixels), 0, 0, 0, 0)
    rows = [pixels[4 * size * row : 4 * size * (row + 1)] for row in reversed(range(size))]
    mask_row = 4 * ((size + 31) // 32)
    return header + b"".join(rows) + bytes(mask_row * size)


def icns(pictures: Mapping[int, tuple[bytes, bytes]]) -> bytes:
    """An ICNS file; ``pictures`` has every size of ``ICNS_TYPES``."""
    body = b""
    for code, size in ICNS_TYPES:
        png = pictures[size][0]
        body += code + struct.pack(">I", 8 + len(png)) + png
    return b"icns" + struct.pack(">I", 8 + len(body)) + body


def write_ico(target: Path) -> Path:
    """Write the Windows icon; its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(ico({size: render(size) for size in ICO_SIZES}))
    return target


def write_icns(target: Path) -> Path:
    """Write the macOS icon; its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(icns({size: render(size) for size in {size for _, size in ICNS_TYPES}}))
    return target


def write_banner(target: Path) -> Path:
    """Write the picture of the Windows installer's last page, a plain bitmap; its path."""
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QColor, QImage

    width, height = BANNER_SIZE
    image = QImage(width, height, QImage.Format.Format_RGB888)
    image.fill(QColor(_BANNER_COLOUR))
    _draw(SVG, image, QRectF((width - _BANNER_ICON) / 2, height / 5, _BANNER_ICON, _BANNER_ICON))
    target.parent.mkdir(parents=True, exist_ok=True)
    if not image.save(str(target), "BMP"):  # type: ignore[call-overload]  # the stubs want bytes
        raise OSError(f"{target} cannot be written")
    return target


def main(words: list[str]) -> int:
    """Write all of them."""
    if len(words) != 1:
        print("python -m installers.icons FOLDER", file=sys.stderr)
        return 2
    folder = Path(words[0])
    print(write_ico(folder / "clover-gui.ico"))
    print(write_icns(folder / "clover-gui.icns"))
    print(write_banner(folder / "banner.bmp"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
