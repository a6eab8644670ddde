#!/usr/bin/env python3
"""Sets up what is missing and starts the program; see README.md beside this file.

    python3 installers/run.py [arguments of the program]
    python3 installers/run.py test [arguments of pytest]

Every Python since 3.6 must be able to read this file, so that an old one gets a sentence instead of a syntax
error; everything else is in start.py.
"""

import sys

OLDEST = (3, 11)
EXIT_SET_UP = 20


def python_complaint(version: "tuple[int, ...]", executable: str) -> str:
    """What is wrong with this Python, or an empty string."""
    if tuple(version[:2]) >= OLDEST:
        return ""
    found = ".".join(str(part) for part in version[:3])
    return (
        f"Python 3.11 or newer is needed; {executable} is {found}. Install a newer one (python.org, your "
        "package manager, on Windows: winget install Python.Python.3.13), then start this file with it."
    )


def main() -> int:
    """Check the version, then hand over."""
    complaint = python_complaint(tuple(sys.version_info[:3]), sys.executable)
    if complaint:
        sys.stderr.write(complaint + "\n")
        return EXIT_SET_UP
    import os.path

    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    from installers import start

    return start.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
