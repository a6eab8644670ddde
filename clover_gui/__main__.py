"""Start: decide the role first, import after.

Roles: the engine child (``--role engine``), the terminal front end (its commands), the window.
Nothing heavy is imported before the role is known, so that each process carries only what it needs.
"""

from __future__ import annotations

import os
import sys

from clover_gui.commands import TERMINAL_COMMANDS


def main(arguments: list[str] | None = None) -> int:
    """Run the program; the exit code (see ``exit_codes.py``)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:2] == ["--role", "engine"]:
        from clover_gui.engine.worker import run

        return run()
    from clover_gui import i18n, paths, settings

    try:
        override, rest = split_data_dir(arguments)
    except ValueError as error:
        print(f"clover-gui: {error}", file=sys.stderr)
        return 2
    data = paths.data_folder(override)
    chosen = os.environ.get("CLOVER_LANGUAGE") or settings.load(data.settings).settings.language
    i18n.set_language(chosen)
    if rest[:1] and rest[0] in TERMINAL_COMMANDS:
        from clover_gui.cli import main as terminal

        return terminal.main(rest, data)
    from clover_gui import app

    return app.main(rest, data)


def split_data_dir(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Take ``--data-dir DIR`` (or ``--data-dir=DIR``) out, wherever it stands before a command's own words.

    Raises:
        ValueError: the folder's name is missing.
    """
    rest = list(arguments)
    for index, word in enumerate(rest):
        if word == "--data-dir":
            if index + 1 >= len(rest):
                raise ValueError("--data-dir needs the name of a folder")
            return rest[index + 1], rest[:index] + rest[index + 2 :]
        if word.startswith("--data-dir="):
            value = word.partition("=")[2]
            if not value:
                raise ValueError("--data-dir needs the name of a folder")
            return value, rest[:index] + rest[index + 1 :]
        if word in TERMINAL_COMMANDS:
            break
    return None, rest


if __name__ == "__main__":
    sys.exit(main())
