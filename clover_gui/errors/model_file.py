"""A model file cannot be used, or fits nowhere on this machine."""

from __future__ import annotations

from pathlib import Path

from clover_gui.errors.base import CloverError


class ModelFileError(CloverError):
    """Something is wrong with a model file; ``path`` names it, ``detail`` is technical."""

    def __init__(self, path: Path, detail: str = "") -> None:
        super().__init__(f"{path}: {detail}" if detail else str(path))
        self.path = path
        self.detail = detail


class ModelFileMissing(ModelFileError):
    """There is no file at this path (any more)."""


class ModelFileUnreadable(ModelFileError):
    """The file exists but cannot be read: rights, a folder, a device error."""


class NotAModelFile(ModelFileError):
    """The file is not GGUF. ``looks_like`` is "empty", "html", "other" or an older "ggml" format."""

    def __init__(self, path: Path, looks_like: str, detail: str = "") -> None:
        super().__init__(path, detail)
        self.looks_like = looks_like


class ModelFileTruncated(ModelFileError):
    """The file ends before its own header says it should.

    ``present_bytes`` is the size on disk; ``expected_bytes`` the size that the header asks for,
    or None when the cut lies inside the header itself. ``where`` is "header", "keys", "tensors" or "data".
    """

    def __init__(self, path: Path, where: str, present_bytes: int, expected_bytes: int | None) -> None:
        sizes = f"{present_bytes}" if expected_bytes is None else f"{present_bytes} of {expected_bytes}"
        super().__init__(path, f"cut in {where}: {sizes} bytes")
        self.where = where
        self.present_bytes = present_bytes
        self.expected_bytes = expected_bytes


class ModelFileUnsupported(ModelFileError):
    """A GGUF file of a form that this program does not read.

    ``kind`` is "split" (one of several part files), "big-endian", "version" (of the format), "tensor-type"
    (a newer quantization) or "no-weights" (a vocabulary only).
    """

    def __init__(self, path: Path, kind: str, detail: str = "") -> None:
        super().__init__(path, detail)
        self.kind = kind


class ModelFileCorrupt(ModelFileError):
    """A count, length, type or offset in the header cannot be true."""


class DoesNotFitError(CloverError):
    """No placement of this model is possible here. Sizes in bytes.

    ``where`` is "gpu" or "ram"; ``suggestions`` are the words of planning/plan.py for what would help, and
    ``fitting_context`` and ``fitting_file_bytes`` what would fit (0: not known).
    """

    def __init__(
        self,
        needed_bytes: int,
        available_bytes: int,
        where: str = "ram",
        suggestions: tuple[str, ...] = (),
        fitting_context: int = 0,
        fitting_file_bytes: int = 0,
    ) -> None:
        super().__init__(f"needs {needed_bytes} bytes, {available_bytes} available ({where})")
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes
        self.where = where
        self.suggestions = suggestions
        self.fitting_context = fitting_context
        self.fitting_file_bytes = fitting_file_bytes
