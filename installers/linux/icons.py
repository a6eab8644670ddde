"""Draws the program's icon in the sizes that desktops of Linux ask for.

    python -m installers.linux.icons OUT_FOLDER SIZE...

Run by the interpreter of the build environment, which has Qt.
"""

from __future__ import annotations

import sys
from pathlib import Path

from installers.icons import render

SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
"""Pixels, as the hicolor theme has them."""


def main(arguments: list[str]) -> int:
    """Write ``OUT_FOLDER/SIZE.png`` for each size."""
    out = Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    for size in arguments[1:]:
        (out / f"{size}.png").write_bytes(render(int(size))[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
