"""The pictures of the guides, in ``docs/pictures``: made again with one command.

    python -m tests.benchmarks.guide_pictures [--languages en de] [--docs FOLDER]

Takes them from ``gpu_scenes.py``, ``panel_scenes.py`` and ``window_scenes.py``, and saves colours where
a file would become large. ``docs/chat.png`` is taken by hand, with the model to try.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication, QImage

MOST_BYTES = 150_000
DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Picture:
    """``made`` by ``module`` with ``options`` as a file of this name, cut to ``part``, kept as ``kept``."""

    kept: str
    module: str
    made: str
    options: tuple[str, ...] = ()
    part: QRect | None = None


def pictures(language: str) -> tuple[Picture, ...]:
    """What the guide in this language shows."""
    look = f"100-{language}-large.png"

    def window(name: str, theme: str, part: QRect | None = None) -> Picture:
        options = ("--only", name, "--themes", theme, "--languages", language)
        kept = f"pictures/{name}-{language}.png"
        return Picture(kept, "window_scenes", f"{name}-{theme}-{look}", options, part)

    panel = ("--language", language, "--width", "1200", "--height", "820")
    plan = ("--language", language, "--width", "760", "--height", "1060", "--only", "not-here-yet")
    return (
        Picture(f"pictures/plan-{language}.png", "gpu_scenes", "not-here-yet.png", plan),
        Picture(f"pictures/memory-{language}.png", "panel_scenes", "panel-tried.png", panel),
        window("formula", "dark"),
        window("code", "light"),
        window("thinking-open", "light"),
        window("search", "light", QRect(0, 0, 239, 230)),
    )


def with_few_colours(image: QImage) -> QImage:
    """The same with the 256 colours that most of it has; the others are shades of letters' edges."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    counts = Counter(memoryview(image.constBits()).cast("I"))
    table = [color for color, _count in counts.most_common(256)]
    flags = Qt.ImageConversionFlag.ThresholdDither | Qt.ImageConversionFlag.AvoidDither
    return image.convertToFormat(QImage.Format.Format_Indexed8, table, flags)


def make(picture: Picture, docs: Path) -> None:
    """Take one picture and keep it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", f"tests.benchmarks.{picture.module}", folder, *picture.options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        image = QImage(str(Path(folder) / picture.made))
    if picture.part is not None:
        image = image.copy(picture.part)
    target = docs / picture.kept
    target.parent.mkdir(parents=True, exist_ok=True)
    # Quality 0 is the strongest compression; it loses nothing.
    image.convertToFormat(QImage.Format.Format_RGB888).save(str(target), quality=0)
    if target.stat().st_size > MOST_BYTES:
        with_few_colours(image).save(str(target), quality=0)
    print(target.name, target.stat().st_size)


def main() -> int:
    parser = argparse.ArgumentParser(description="The pictures of the guides.")
    parser.add_argument("--languages", nargs="*", default=["en", "de"], choices=("en", "de"))
    parser.add_argument("--docs", type=Path, default=DOCS)
    arguments = parser.parse_args()
    application = QGuiApplication([])
    for language in arguments.languages:
        for picture in pictures(language):
            make(picture, arguments.docs)
    del application
    return 0


if __name__ == "__main__":
    sys.exit(main())
