"""The engine child: missing, dead, silent, or it refuses a file or a message."""

from __future__ import annotations

from pathlib import Path

from clover_gui.errors.base import CloverError


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
