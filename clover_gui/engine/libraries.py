"""Which native libraries the engine child loads: the question that the client asks at each start."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Protocol

from clover_gui.errors import EngineError

ENGINE_VERSION = "0.3.36"
"""Of llama-cpp-python: the only one whose structures this program fills, in whatever flavour."""

BINDING_MISSING = "llama-cpp-python is not installed"
"""The child's word where there is no binding that could load any libraries."""

LIBRARY_VARIABLE = "LLAMA_CPP_LIB_PATH"
"""The binding loads its libraries from this folder in place of its own."""


def with_libraries(environment: dict[str, str], folder: str, search: Sequence[str] = ()) -> dict[str, str]:
    """The environment of a child that takes its libraries from ``folder`` ("": the binding's own), and what
    those need from ``search`` as well."""
    if folder:
        environment = environment | {LIBRARY_VARIABLE: folder}
    if search:
        # Windows looks in PATH, in the mode in which the binding loads.
        name = {"win32": "PATH", "darwin": "DYLD_LIBRARY_PATH"}.get(sys.platform, "LD_LIBRARY_PATH")
        given = environment.get(name)
        environment = environment | {name: os.pathsep.join((*search, *([given] if given else ())))}
    return environment


class Libraries(Protocol):
    """Chooses a folder; hears how the start went. ``folder`` "" means the binding's own libraries."""

    def folder(self) -> str:
        """The folder for the next child."""

    def search_path(self, folder: str) -> Sequence[str]:
        """Folders in which the system's loader shall also look for what these libraries need."""

    def started(self, folder: str) -> None:
        """A child with the libraries of this folder is ready."""

    def failed(self, folder: str, error: EngineError) -> bool:
        """A child with these could not start, or died of them; True where others should be tried now."""
