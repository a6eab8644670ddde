"""Loads a model in the engine child, step by step, with progress and cancel.

Knows llama.cpp through llama.py and placement.py, and nothing of pipes and messages on the wire.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import struct
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from clover_gui.engine.cancellation import Cancellation
from clover_gui.engine.engine_log import EngineLog
from clover_gui.engine.llama import KV_TYPES, Binding, Context, LlamaError, Model
from clover_gui.engine.placement import Ggml, device_list, experts_on_cpu, memory_by_buffer, split_of
from clover_gui.engine.prompt import PromptBuilder, guard_for
from clover_gui.engine.protocol import (
    FAIL_ARCHITECTURE,
    FAIL_CANCELLED,
    FAIL_DECODE,
    FAIL_DEVICE,
    FAIL_MISSING,
    FAIL_OTHER,
    FAIL_UNREADABLE,
    BufferBytes,
    LoadSettings,
)
from clover_gui.engine.read_ahead import read_ahead
from clover_gui.engine.session import Session
from clover_gui.engine.template import ChatTemplate, TemplateError
from clover_gui.planning.plan import LARGEST_BATCH

_REPORT_EVERY_S = 0.05

# (stage, fraction or None)
Report = Callable[[str, float | None], None]


class RequestFailed(Exception):
    """A request cannot be fulfilled; becomes a Failed message."""

    def __init__(self, kind: str, reason: str, numbers: dict[str, int] | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.numbers = numbers or {}


@dataclass(slots=True)
class LoadedModel:
    """A model that can answer."""

    model: Model
    context: Context
    session: Session
    builder: PromptBuilder
    template: ChatTemplate | None
    template_error: str
    buffers: tuple[BufferBytes, ...]
    threads: int

    def close(self) -> None:
        self.context.close()
        self.model.close()


def default_threads() -> int:
    """Physical cores minus one, at least one: a core that is busy elsewhere stalls all the others."""
    cores = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    with contextlib.suppress(AttributeError, OSError):
        cores = min(cores, len(os.sched_getaffinity(0)))
    return max(1, cores - 1)


class Loader:
    """Makes models. ``log`` must already be attached to the library."""

    def __init__(self, binding: Binding, ggml: Ggml, log: EngineLog, cancellation: Cancellation) -> None:
        self._binding = binding
        self._ggml = ggml
        self._log = log
        self._cancellation = cancellation

    def load(self, settings: LoadSettings, report: Report) -> LoadedModel:
        """Raises:
        RequestFailed: with the engine's own reason.
        """
        path = Path(settings.path)
        _check_readable(path)
        throttled = _throttled(report)
        if settings.use_mmap:
            # A mapped load tells no progress: the file is read into the system's cache first.
            read_ahead(path, lambda done: throttled("reading", done), lambda: self._cancellation.requested)
            self._stop_if_cancelled()
        with contextlib.ExitStack() as undo:
            model = self._model(settings, throttled)
            undo.callback(model.close)
            report("context", None)
            threads = settings.threads if settings.threads > 0 else default_threads()
            context = self._context(model, settings, threads)
            undo.callback(context.close)
            context.abort_on(self._cancellation.flag)
            buffers = memory_by_buffer(self._ggml, context, self._log.lines())
            report("warm-up", None)
            self._warm_up(model, context)
            template, error = _template(model)
            loaded = LoadedModel(
                model=model,
                context=context,
                session=Session(
                    context, recurrent=model.is_recurrent, checkpoint_bytes=settings.checkpoint_bytes
                ),
                builder=_builder(model, template),
                template=template,
                template_error=error,
                buffers=buffers,
                threads=threads,
            )
            undo.pop_all()
        return loaded

    def dry_run(self, settings: LoadSettings) -> tuple[BufferBytes, ...]:
        """The buffers that ``load`` would make. Needs the header and the vocabulary only.

        Raises:
            RequestFailed: with the engine's own reason.
        """
        _check_readable(Path(settings.path))
        with contextlib.ExitStack() as stack:
            model = self._model(settings, None)
            stack.callback(model.close)
            context = self._context(model, settings, settings.threads or default_threads())
            stack.callback(context.close)
            return memory_by_buffer(self._ggml, context, self._log.lines())

    def knows_architecture(self, name: str) -> bool:
        """Ask the engine itself: the header of a file of this architecture is loaded."""
        key, value = b"general.architecture", name.encode()
        header = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(key)) + key
        header += struct.pack("<IQ", 8, len(value)) + value
        self._log.clear()
        with tempfile.TemporaryDirectory(prefix="clover-") as folder:
            path = Path(folder) / "header.gguf"
            path.write_bytes(header + bytes(-len(header) % 32))
            try:
                Model(self._binding, path, vocabulary_only=True).close()
            except LlamaError:
                return self._log.failure()[0] != FAIL_ARCHITECTURE
        return True

    # ------------------------------------------------------------------ steps

    def _model(self, settings: LoadSettings, report: Report | None) -> Model:
        _check_values(settings)
        try:
            # Named devices, or none: left to itself, the engine takes GPU memory even for no layer at all.
            named = settings.devices or not settings.gpu_layers
            devices = device_list(self._ggml, settings.devices) if named else None
        except LookupError as error:
            raise RequestFailed(FAIL_DEVICE, str(error)) from error

        def progress(fraction: float) -> bool:
            if report:
                report("loading" if settings.use_mmap else "reading", fraction)
            return not self._cancellation.requested

        try:
            return Model(
                self._binding,
                Path(settings.path),
                gpu_layers=settings.gpu_layers,
                use_mmap=settings.use_mmap,
                dry=report is None,
                overrides=experts_on_cpu(self._ggml, settings.cpu_expert_layers),
                devices=devices,
                tensor_split=split_of(self._binding, settings.tensor_split),
                progress=progress,
            )
        except LlamaError as error:
            self._stop_if_cancelled()
            raise RequestFailed(*self._log.failure()) from error

    def _context(self, model: Model, settings: LoadSettings, threads: int) -> Context:
        self._stop_if_cancelled()
        try:
            return Context(
                model,
                tokens=max(settings.context, 1),
                batch=settings.batch,
                threads=threads,
                kv_type=settings.kv_type,
            )
        except LlamaError as error:
            raise RequestFailed(*self._log.failure()) from error

    def _warm_up(self, model: Model, context: Context) -> None:
        token = model.begin_token() or model.end_token()
        self._cancellation.arm(True)
        code = context.decode_one(token.id if token else 0)
        context.wait()
        self._cancellation.arm(False)
        self._stop_if_cancelled()
        if code:
            raise RequestFailed(FAIL_DECODE, f"the first token could not be computed ({code})")
        context.clear()

    def _stop_if_cancelled(self) -> None:
        if self._cancellation.requested:
            raise RequestFailed(FAIL_CANCELLED, "the load was cancelled")


def _check_values(settings: LoadSettings) -> None:
    """Raise RequestFailed for values that the engine would take badly or silently change."""
    if settings.kv_type not in KV_TYPES:
        raise RequestFailed(FAIL_OTHER, f"unknown KV type {settings.kv_type!r}")
    if not 1 <= settings.batch <= LARGEST_BATCH:
        raise RequestFailed(FAIL_OTHER, f"a batch of {settings.batch} is not within 1 and {LARGEST_BATCH}")
    shares = settings.tensor_split
    if any(not 0 <= share < math.inf for share in shares):
        raise RequestFailed(FAIL_OTHER, f"shares of layers must not be negative: {list(shares)}")
    if shares and len(shares) != len(settings.devices):
        raise RequestFailed(FAIL_OTHER, f"{len(shares)} shares of layers for {len(settings.devices)} devices")


def _check_readable(path: Path) -> None:
    try:
        if stat.S_ISREG(path.stat().st_mode) or path.is_dir():  # opening a pipe would wait for ever
            with path.open("rb"):
                return
        raise OSError("not a regular file")
    except FileNotFoundError as error:
        raise RequestFailed(FAIL_MISSING, f"{path.name}: no such file") from error
    except (OSError, ValueError) as error:
        raise RequestFailed(FAIL_UNREADABLE, f"{path.name}: {_os_reason(error)}") from error


def _os_reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def _template(model: Model) -> tuple[ChatTemplate | None, str]:
    source = model.chat_template
    if source is None:
        return None, ""
    if not source.strip():
        return None, "the template is empty"
    begin, end = model.begin_token(), model.end_token()
    try:
        template = ChatTemplate(source, begin=begin.text if begin else "", end=end.text if end else "")
        template.check()
        return template, ""
    except TemplateError as error:
        return None, str(error)


def _builder(model: Model, template: ChatTemplate | None) -> PromptBuilder:
    begin = model.begin_token() if model.adds_begin else None
    guard = guard_for(*model.special_texts(), template.source if template else "")
    return PromptBuilder(model.tokenize, template, guard, begin.id if begin else None)


def _throttled(report: Report) -> Report:
    last: list[float] = [0.0]

    def sometimes(stage: str, fraction: float | None) -> None:
        now = time.monotonic()
        if now - last[0] >= _REPORT_EVERY_S or fraction in (None, 1.0):
            last[0] = now
            report(stage, fraction)

    return sometimes
