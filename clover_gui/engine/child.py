"""A child process that speaks the protocol: start it, send messages, get messages, end it.

Plain ``subprocess.Popen`` with threads, so that it is the same on every system and under every asyncio loop.
Knows messages only as dataclasses, and nothing of models and answers. Contents are never logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clover_gui.engine.protocol import Event, Request, Shutdown, from_line, to_line

LOG_LINES_KEPT = 200
_LINE_LIMIT = 500
_log = logging.getLogger(__name__)


class Child:
    """One running child. Create it in the event loop's own thread: on Linux a child that watches its parent
    dies with the thread that started it."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        on_event: Callable[[Event], None],
        on_end: Callable[[int], None],
    ) -> None:
        """Both callables run in the event loop; ``on_end`` gets the exit code, after all events.

        Raises:
            OSError: the program cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self._on_event = on_event
        self._on_end = on_end
        self._errors: deque[str] = deque(maxlen=LOG_LINES_KEPT)
        self._outbox: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.ended = asyncio.Event()
        self._process = subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0) if sys.platform == "win32" else 0,
        )
        self._threads = [
            threading.Thread(target=target, name=f"engine-{name}", daemon=True)
            for name, target in (("write", self._write), ("errors", self._read_errors), ("read", self._read))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.returncode

    @property
    def log_lines(self) -> tuple[str, ...]:
        """What it wrote to stderr last."""
        return tuple(self._errors)

    def send(self, message: Request) -> None:
        """Queue a message; never blocks, and is silent if the child is gone (``on_end`` tells that)."""
        self._outbox.put(to_line(message))

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(OSError):
            self._process.kill()

    async def close(self, patience_s: float = 2.0) -> None:
        """Ask it to end, then make it end, and take the threads down. Never raises, never hangs."""
        self.send(Shutdown())
        self._outbox.put(None)
        for step in (self.ended.is_set, self._process.terminate, self._process.kill):
            with contextlib.suppress(OSError):
                step()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), patience_s)
                break
        for thread in self._threads:
            thread.join(0.5)

    # ------------------------------------------------------------------ threads

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while (line := self._outbox.get()) is not None:
                stdin.write(line.encode("ascii"))
                stdin.flush()
        with contextlib.suppress(OSError):
            stdin.close()

    def _read_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        with stderr:
            while line := stderr.readline(65536):
                text = line.decode("utf-8", "replace").rstrip()
                if text:
                    self._errors.append(text[:_LINE_LIMIT])

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with stdout:
            for line in stdout:
                try:
                    message = from_line(line.decode("utf-8"))
                except ValueError:
                    _log.warning("a message of the engine child cannot be read (%d bytes)", len(line))
                    continue
                self._post(self._on_event, message)
        code = self._process.wait()
        self._outbox.put(None)
        self._threads[1].join(1.0)  # the last words on stderr
        self._post(self._finish, code)

    def _finish(self, code: int) -> None:
        self.ended.set()
        self._on_end(code)

    def _post(self, function: Callable[[Any], None], value: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(function, value)
