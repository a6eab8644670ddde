"""One answer: read the prompt, write tokens, tell about it. Runs in the engine child.

Knows the loaded model and sends messages through a callable; knows nothing of pipes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from clover_gui.engine.cancellation import Cancellation
from clover_gui.engine.loader import LoadedModel, RequestFailed
from clover_gui.engine.prompt import KnownText, KnownTexts, Prompt
from clover_gui.engine.protocol import (
    FAIL_CONTEXT_FULL,
    FAIL_DECODE,
    FAIL_TEMPLATE,
    STOP_CANCELLED,
    STOP_CONTEXT,
    STOP_END,
    STOP_LENGTH,
    Finished,
    Generate,
    Reading,
    Text,
)
from clover_gui.engine.sampling import Sampler
from clover_gui.engine.session import ABORTED, DecodeFailed
from clover_gui.engine.template import TemplateError
from clover_gui.engine.text_stream import TextStream

# A prompt that leaves less room than this is refused: the answer would be cut at once.
LEAST_ROOM_TOKENS = 16
FLUSH_EVERY_S = 0.02

Send = Callable[[Reading | Text | Finished], None]


@dataclass(slots=True)
class _Written:
    tokens: int = 0
    reason: str = STOP_END
    seconds: float = 0.0


class Answerer:
    """Answers the requests of one loaded model, one after the other."""

    def __init__(self, loaded: LoadedModel, cancellation: Cancellation, send: Send) -> None:
        self._loaded = loaded
        self._cancellation = cancellation
        self._send = send
        self._known = KnownTexts()

    def answer(self, request: Generate) -> None:
        """Send Reading, Text and at the end Finished.

        Raises:
            RequestFailed: the prompt does not fit, the template refused, the engine reported an error.
        """
        session = self._loaded.session
        prompt = self._prompt(request)
        if len(prompt.tokens) > session.size - LEAST_ROOM_TOKENS:
            numbers = {"prompt_tokens": len(prompt.tokens), "context_tokens": session.size}
            raise RequestFailed(FAIL_CONTEXT_FULL, "the prompt does not fit into the context", numbers)
        reused = session.reuse(prompt.tokens)
        try:
            complete, read, read_seconds = self._read(request.id, prompt, reused)
            written, seed = _Written(reason=STOP_CANCELLED), 0
            if complete:
                written, seed = self._write(request, prompt)
        except DecodeFailed as error:
            self._known.clear()
            raise RequestFailed(FAIL_DECODE, str(error)) from error
        self._send(
            Finished(
                id=request.id,
                reason=written.reason,
                read=read,
                reused=reused,
                written=written.tokens,
                read_seconds=read_seconds,
                write_seconds=written.seconds,
                context_used=len(session.tokens),
                seed=seed,
            )
        )

    def _prompt(self, request: Generate) -> Prompt:
        try:
            return self._loaded.builder.build(request.messages, request.thinking, self._known)
        except TemplateError as error:
            raise RequestFailed(FAIL_TEMPLATE, str(error)) from error

    def _read(self, id: int, prompt: Prompt, reused: int) -> tuple[bool, int, float]:
        """(complete?, tokens read, seconds)."""
        total = len(prompt.tokens) - reused
        self._send(Reading(id, 0, total, reused, 0.0, prompt.in_thinking))
        started = time.monotonic()
        done = [0]

        def progress(count: int) -> None:
            done[0] = count
            seconds = time.monotonic() - started
            self._send(Reading(id, count, total, reused, seconds, prompt.in_thinking))

        self._cancellation.arm(True)
        try:
            complete = self._loaded.session.read(
                prompt.tokens,
                marks=prompt.marks,
                stopped=lambda: self._cancellation.requested,
                progress=progress,
            )
            self._loaded.context.wait()
        finally:
            self._cancellation.arm(False)
        return complete, done[0], time.monotonic() - started

    def _write(self, request: Generate, prompt: Prompt) -> tuple[_Written, int]:
        sampler = Sampler(self._loaded.model, request.sampling)
        known = KnownText(prompt)
        self._known.add(known)
        try:
            return self._write_tokens(request, sampler, known), sampler.seed
        finally:
            sampler.close()

    def _write_tokens(self, request: Generate, sampler: Sampler, known: KnownText) -> _Written:
        loaded, session, cancellation = self._loaded, self._loaded.session, self._cancellation
        model, context = loaded.model, loaded.context
        stops = loaded.builder.stop_strings
        stream = TextStream(stops, strip_start=bool(stops))
        limit = request.max_tokens if request.max_tokens > 0 else session.size
        written = _Written()
        started = flushed = time.monotonic()
        pending: list[str] = []

        def flush(now: float) -> None:
            text = "".join(pending)
            pending.clear()
            if text:
                self._send(Text(request.id, text, written.tokens, now - started, len(session.tokens)))

        while True:
            if cancellation.requested:
                written.reason = STOP_CANCELLED
                break
            token = sampler.next(context)
            if model.ends_answer(token):
                break
            written.tokens += 1
            text = stream.characters(model.piece(token))
            known.add(token, text)
            pending.append(stream.feed(text))
            now = time.monotonic()
            if now - flushed >= FLUSH_EVERY_S:
                flush(now)
                flushed = now
            if stream.stopped:
                break
            if written.tokens >= limit:
                written.reason = STOP_LENGTH
                break
            if len(session.tokens) >= session.size:
                written.reason = STOP_CONTEXT
                break
            try:
                session.write(token)
            except DecodeFailed as error:
                # A cancel that came in the last moment of reading may strike here.
                if error.code != ABORTED or not cancellation.requested:
                    pending.append(stream.finish())
                    flush(time.monotonic())
                    raise
        pending.append(stream.finish())
        written.seconds = time.monotonic() - started
        flush(time.monotonic())
        return written
