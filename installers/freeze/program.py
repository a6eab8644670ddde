"""Where the frozen program starts: it puts the environment right, then does as ``python -m clover_gui``."""

from __future__ import annotations

import os
import sys

# The starter of the frozen program points these at its own libraries. A browser or a file manager that is
# opened from here must not load those instead of its own; the value from before is kept under this suffix.
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBPATH")


def give_back_library_paths(environ: os._Environ[str] | dict[str, str]) -> None:
    """Undo what the starter did to the environment, for the programs that we start.

    Libraries of this process are found as before: the loader read the variable when it began.
    """
    for name in _LIBRARY_PATHS:
        original = environ.pop(f"{name}_ORIG", None)
        if original:
            environ[name] = original
        else:
            environ.pop(name, None)


if __name__ == "__main__":
    give_back_library_paths(os.environ)
    from clover_gui.__main__ import main

    sys.exit(main())
