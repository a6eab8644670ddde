"""Every failure that a person can meet: one class each, with the facts as fields.

The sentences (in the person's language, with a next step) are made from these fields in
``explain.py``; nothing else turns an error into text for people.

    CloverError
    ├── DataFolderError             the folder for chats and settings cannot be used
    ├── ModelFileError              something is wrong with a GGUF file
    │   ├── ModelFileMissing
    │   ├── ModelFileUnreadable     no rights, a folder, an input/output error
    │   ├── NotAModelFile           empty, an HTML page, another format
    │   ├── ModelFileTruncated      shorter than its own header says
    │   ├── ModelFileUnsupported    sound as far as one sees, but of a form that is not read here
    │   └── ModelFileCorrupt        counts, lengths or types that cannot be true
    ├── DoesNotFitError             no plan is possible on this machine
    ├── EngineError                 the engine child
    │   ├── EngineMissing           the engine is not installed
    │   ├── EngineStartFailed       it ended or fell silent before it was ready
    │   ├── EngineDied              it ended while it worked
    │   ├── EngineUnresponsive      it did not answer and was ended
    │   ├── ModelLoadFailed         the engine refused the file; its own reason is kept
    │   ├── ModelNotLoaded
    │   ├── ContextFull             the chat does not fit into the context
    │   ├── TemplateFailed          the file's chat template raised an error
    │   └── GenerationFailed        llama_decode or sampling reported an error
    └── ChatStoreError              chats cannot be read or written
"""

from __future__ import annotations

from pathlib import Path


class CloverError(Exception):
    """Base of all failures that are shown to people."""


class DataFolderError(CloverError):
    """The data folder cannot be created or written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder}: {reason}")
        self.folder = folder
        self.reason = reason


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
        super().__init__(path, f"cut in {where}: {present_bytes} of {expected_bytes} bytes")
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
    """No placement of this model is possible here. Sizes in bytes."""

    def __init__(self, needed_bytes: int, available_bytes: int) -> None:
        super().__init__(f"needs {needed_bytes} bytes, {available_bytes} available")
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes


class EngineError(CloverError):
    """A failure of the engine child. ``reason`` is the engine's own word, ``log_lines`` its last lines."""

    def __init__(self, reason: str = "", log_lines: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log_lines = log_lines


class EngineMissing(EngineError):
    """llama-cpp-python is not installed or its libraries cannot be loaded."""


class EngineStartFailed(EngineError):
    """The child ended, or did not say that it is ready in time."""


class EngineDied(EngineError):
    """The child ended while it worked. ``exit_code`` as in subprocess (negative: signal number)."""

    def __init__(self, exit_code: int | None, reason: str = "", log_lines: tuple[str, ...] = ()) -> None:
        super().__init__(reason, log_lines)
        self.exit_code = exit_code


class EngineUnresponsive(EngineError):
    """The child did not react to a request in time and was ended."""


class ModelLoadFailed(EngineError):
    """The engine could not load the file. ``kind`` is one of the LOAD_* words in engine/protocol.py."""

    def __init__(self, path: Path, kind: str, reason: str, log_lines: tuple[str, ...] = ()) -> None:
        super().__init__(reason, log_lines)
        self.path = path
        self.kind = kind


class ModelNotLoaded(EngineError):
    """Something was asked of the engine that needs a loaded model."""


class ContextFull(EngineError):
    """The prompt (or the chat so far) does not fit. Counts in tokens."""

    def __init__(self, prompt_tokens: int, context_tokens: int) -> None:
        super().__init__(f"{prompt_tokens} tokens, context {context_tokens}")
        self.prompt_tokens = prompt_tokens
        self.context_tokens = context_tokens


class TemplateFailed(EngineError):
    """The chat template of the file cannot be read or raised an error."""


class GenerationFailed(EngineError):
    """The engine could not go on with this answer."""


class ChatStoreError(CloverError):
    """The chat database cannot be opened, read or written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
