"""The engine child: takes requests on stdin, answers on the real stdout, one JSON line per message.

The real stdout is duplicated first and descriptor 1 then points at stderr, so that a stray print of any
library cannot corrupt the protocol. The child says Ready when the engine's library is loaded and checked,
that is when the next request will be served. It ends when stdin closes, and on Linux with its parent.

Two threads: the main one works on requests in their order; the reader takes messages at any time, so that a
cancel acts at once. Exit codes: 0, and EXIT_* of protocol.py. Contents of chats are never logged.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import queue
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from clover_gui.engine.protocol import (
    EXIT_ENGINE_MISSING,
    EXIT_ENGINE_UNSUPPORTED,
    FAIL_MEMORY,
    FAIL_NOT_LOADED,
    FAIL_OTHER,
    VERSION,
    Cancel,
    Count,
    Describe,
    DryRun,
    DryRunResult,
    EngineInfo,
    Event,
    Failed,
    Fatal,
    Generate,
    Load,
    Loaded,
    LoadProgress,
    Ready,
    Shutdown,
    Unload,
    Unloaded,
    from_line,
    to_line,
)

if TYPE_CHECKING:
    from clover_gui.engine.answer import Answerer
    from clover_gui.engine.llama import Binding
    from clover_gui.engine.loader import LoadedModel, Loader

# What the main thread works on, in order.
Work = Count | Describe | DryRun | Generate | Load | Unload
# The parent's process number, so that a parent that died before we could watch it is noticed.
PARENT_VARIABLE = "CLOVER_PARENT_PID"
ARCHITECTURES = ("qwen35moe", "clover_moe")
_PR_SET_PDEATHSIG = 1


class Channel:
    """The protocol's two ends. Sending is safe from any thread."""

    def __init__(self) -> None:
        self._out = os.dup(1)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def send(self, message: Event) -> None:
        data = to_line(message).encode("ascii")
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._out, data) :]
            except OSError:  # nobody listens any more
                os._exit(0)


def run() -> int:
    """Serve until stdin closes. Returns an exit code only when the engine cannot be used."""
    channel = Channel()
    _prepare_process()
    # Only now: what it prints at import must not reach the protocol.
    from clover_gui.engine import llama

    try:
        binding = llama.import_binding()
    except llama.LibraryMissing as error:
        channel.send(Fatal(str(error)))
        return EXIT_ENGINE_MISSING
    except llama.LibraryUnsupported as error:
        channel.send(Fatal(str(error)))
        return EXIT_ENGINE_UNSUPPORTED
    worker = Worker(channel, binding, llama.binding_version())
    channel.send(Ready(VERSION, os.getpid(), worker.version))
    worker.serve()
    return 0


def _prepare_process() -> None:
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl+C in the terminal is the parent's to handle
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        faulthandler.enable(2)
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # When memory runs out, the system shall end this process and not the window.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("500")
        parent = os.environ.get(PARENT_VARIABLE, "")
        if parent.isdigit() and os.getppid() != int(parent):
            os._exit(0)


class Worker:
    """Works on requests. The binding is that of llama.import_binding."""

    def __init__(self, channel: Channel, binding: Binding, version: str) -> None:
        from clover_gui.engine.cancellation import Cancellation
        from clover_gui.engine.engine_log import EngineLog
        from clover_gui.engine.placement import Ggml

        self.version = version
        self._channel = channel
        self._binding = binding
        self._log = EngineLog(binding, _to_stderr)
        self._ggml = Ggml(binding)
        self._report_assertions()
        binding.llama_backend_init()
        self._cancellation = Cancellation()
        self._requests: queue.SimpleQueue[Work] = queue.SimpleQueue()
        self._loaded: LoadedModel | None = None
        self._answerer: Answerer | None = None

    def serve(self) -> None:
        """Never returns: the reader ends the process when stdin closes."""
        threading.Thread(target=self._read_requests, name="requests", daemon=True).start()
        while True:
            self._handle(self._requests.get())

    def _read_requests(self) -> None:
        with open(0, "rb", closefd=False) as stdin:
            for line in stdin:
                try:
                    message = from_line(line.decode("utf-8"))
                except ValueError:
                    _to_stderr("W a request that cannot be read was left out")
                    continue
                if isinstance(message, Cancel):
                    self._cancellation.cancel(message.target)
                elif isinstance(message, Shutdown):
                    break
                elif isinstance(message, Work):
                    self._requests.put(message)
        os._exit(0)

    def _report_assertions(self) -> None:
        """GGML_ASSERT and GGML_ABORT tell their text just before they end the process."""

        def report(text: bytes | None) -> None:
            self._channel.send(Fatal((text or b"").decode("utf-8", "replace")[:500].strip()))

        self._on_abort = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(report)
        if self._ggml.set_abort_callback is not None:
            self._ggml.set_abort_callback(ctypes.cast(self._on_abort, ctypes.c_void_p))

    def _handle(self, request: Work) -> None:
        from clover_gui.engine.loader import RequestFailed

        self._cancellation.begin(request.id)
        if not isinstance(request, Count | Generate):
            self._log.clear()
        try:
            self._dispatch(request)
        except RequestFailed as error:
            self._fail(request.id, error.kind, error.reason, error.numbers)
        except MemoryError:
            self._fail(request.id, FAIL_MEMORY, "out of memory", {})
        except Exception as error:  # a fault of ours must not end the child
            self._fail(request.id, FAIL_OTHER, f"{type(error).__name__}: {error}"[:500], {})

    def _fail(self, id: int, kind: str, reason: str, numbers: dict[str, int]) -> None:
        self._channel.send(Failed(id, kind, reason, self._log.last(), numbers))

    def _dispatch(self, request: Work) -> None:
        if isinstance(request, Generate):
            self._ready_answerer().answer(request)
        elif isinstance(request, Count):
            self._channel.send(self._ready_answerer().count(request))
        elif isinstance(request, Load):
            self._load(request)
        elif isinstance(request, Describe):
            self._channel.send(self._describe(request.id))
        elif isinstance(request, DryRun):
            self._channel.send(DryRunResult(request.id, self._loader().dry_run(request.settings)))
        elif isinstance(request, Unload):
            self._unload()
            self._channel.send(Unloaded(request.id))

    def _loader(self) -> Loader:
        # Imported at the first use: Ready comes a good part sooner.
        from clover_gui.engine.loader import Loader

        return Loader(self._binding, self._ggml, self._log, self._cancellation)

    def _describe(self, id: int) -> EngineInfo:
        from clover_gui.engine.placement import devices

        loader = self._loader()
        known = {name: loader.knows_architecture(name) for name in ARCHITECTURES}
        return EngineInfo(
            id=id,
            engine_version=self.version,
            gpu_offload=bool(self._binding.llama_supports_gpu_offload()),
            devices=devices(self._ggml),
            architectures=known,
            system_info=self._binding.llama_print_system_info().decode("utf-8", "replace").strip(),
            library_folder=self._ggml.library_folder,
        )

    def _load(self, request: Load) -> None:
        from clover_gui.engine.answer import Answerer

        started = time.monotonic()
        self._unload()

        def report(stage: str, fraction: float | None) -> None:
            self._channel.send(LoadProgress(request.id, fraction, stage))

        loaded = self._loader().load(request.settings, report)
        self._loaded = loaded
        self._answerer = Answerer(loaded, self._cancellation, self._channel.send)
        self._channel.send(
            Loaded(
                id=request.id,
                description=loaded.model.description,
                context=loaded.context.size,
                vocabulary_size=loaded.model.vocabulary_size,
                template="file" if loaded.template else "plain",
                can_switch_thinking=bool(loaded.template and loaded.template.can_switch_thinking()),
                seconds=time.monotonic() - started,
                buffers=loaded.buffers,
                threads=loaded.threads,
                chat_bos=loaded.model.adds_begin,
                template_error=loaded.template_error,
                trained_context=loaded.model.trained_context,
            )
        )

    def _ready_answerer(self) -> Answerer:
        from clover_gui.engine.loader import RequestFailed

        if self._answerer is None:
            raise RequestFailed(FAIL_NOT_LOADED, "no model is loaded")
        return self._answerer

    def _unload(self) -> None:
        if self._loaded is not None:
            self._loaded.close()
        self._loaded = self._answerer = None


def _to_stderr(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, line.encode("utf-8", "replace") + b"\n")
