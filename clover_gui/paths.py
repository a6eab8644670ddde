"""One function per place on disk. ``--data-dir`` moves everything at once.

Nothing here creates a folder or knows what is in the files; ``ensure_writable`` is the one check.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from clover_gui.errors import DataFolderError

APP_NAME = "clover-gui"

PORTABLE_NAME = "clover-data"
"""A folder of this name beside the program becomes the data folder."""


def expanded(path: str | os.PathLike[str]) -> Path:
    """The path with ``~`` resolved; as it is where nobody has that name."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def default_data_folder() -> Path:
    """The usual folder for program data of this person on this system."""
    import platformdirs

    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False))


@dataclass(frozen=True, slots=True)
class DataFolder:
    """All places below one folder. ``root`` need not exist yet."""

    root: Path

    @property
    def chats(self) -> Path:
        return self.root / "chats.sqlite3"

    @property
    def settings(self) -> Path:
        return self.root / "settings.json"

    @property
    def presets(self) -> Path:
        return self.root / "presets.json"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def engines(self) -> Path:
        return self.root / "engines"

    @property
    def access_token(self) -> Path:
        return self.root / "access-token.json"

    @property
    def new_version(self) -> Path:
        return self.root / "new-version.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def instance_lock(self) -> Path:
        return self.root / "instance.lock"

    @property
    def instance_socket(self) -> Path:
        return self.root / "instance.sock"

    def ensure_writable(self) -> None:
        """Create the folder and prove that a file can be written.

        Raises:
            DataFolderError: with the system's reason; nothing is left behind.
        """
        try:
            # What is said in chats is nobody else's business.
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise DataFolderError(self.root, error.strerror or str(error)) from error


def data_folder(override: str | os.PathLike[str] | None = None) -> DataFolder:
    """The data folder: ``override`` (from --data-dir), else CLOVER_DATA_DIR, else the portable one where
    there is one, else the usual place."""
    chosen = override or os.environ.get("CLOVER_DATA_DIR")
    root = expanded(chosen) if chosen else portable_folder() or default_data_folder()
    return DataFolder(root.absolute())


def is_package() -> bool:
    """Whether this program is one of the ready packages, with everything in it."""
    return bool(getattr(sys, "frozen", False))


def program_folder() -> Path | None:
    """Where the program lies for the person who sees its icon: the folder of the executable, of the app
    bundle, of the AppImage, or the source checkout. None where it is installed among Python's packages."""
    if not getattr(sys, "frozen", False):
        return checkout_root()
    if image := os.environ.get("APPIMAGE"):
        return Path(image).absolute().parent
    folder = Path(sys.executable).resolve().parent
    inside_bundle = sys.platform == "darwin" and folder.parts[-2:] == ("Contents", "MacOS")
    return folder.parents[2] if inside_bundle else folder


def portable_folder() -> Path | None:
    """The folder ``clover-data`` beside the program, if somebody made one."""
    program = program_folder()
    if program is None:
        return None
    folder = program / PORTABLE_NAME
    return folder if folder.is_dir() else None


def cache_folder() -> Path:
    """Things that can be made again: built engine wheels."""
    if override := os.environ.get("CLOVER_CACHE_DIR"):
        return Path(override)
    import platformdirs

    return Path(platformdirs.user_cache_dir(APP_NAME, appauthor=False))


def checkout_root() -> Path | None:
    """The folder of the source checkout that this package runs from, or None when installed or frozen."""
    if getattr(sys, "frozen", False):
        return None
    root = Path(__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").is_file() and (root / "installers").is_dir() else None
