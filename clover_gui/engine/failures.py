"""What the child said about a failure, as the errors of the program. Texts for people are made elsewhere."""

from __future__ import annotations

from pathlib import Path

from clover_gui.engine.protocol import (
    FAIL_CONTEXT_FULL,
    FAIL_NOT_LOADED,
    FAIL_TEMPLATE,
    Failed,
    LoadSettings,
)
from clover_gui.errors import (
    ContextFull,
    EngineError,
    GenerationFailed,
    ModelLoadFailed,
    ModelNotLoaded,
    TemplateFailed,
)


def load_error(settings: LoadSettings, failed: Failed) -> ModelLoadFailed:
    return ModelLoadFailed(Path(settings.path), failed.kind, failed.reason, tuple(failed.log_lines))


def generation_error(failed: Failed) -> EngineError:
    lines = tuple(failed.log_lines)
    if failed.kind == FAIL_CONTEXT_FULL:
        return ContextFull(failed.numbers.get("prompt_tokens", 0), failed.numbers.get("context_tokens", 0))
    if failed.kind == FAIL_TEMPLATE:
        return TemplateFailed(failed.reason, lines)
    if failed.kind == FAIL_NOT_LOADED:
        return ModelNotLoaded(failed.reason, lines)
    return GenerationFailed(failed.reason, lines)


def exit_hint(code: int) -> str:
    """What an exit code tells when the child had no last words."""
    return {
        -4: "illegal instruction: this engine build needs another processor",
        -7: "bus error: the model file was changed or shortened while it was in use",
        -9: "it was ended from outside, for example because memory ran out",
        -11: "segmentation fault",
    }.get(code, "")
