"""One answer: read the prompt, write tokens, tell about it. Runs in the engine child.

Knows the loaded model and sends messages through a callable; knows nothing of pipes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from clover_gui.engine.budget import Budget
from clover_gui.engine.cancellation import Cancellation
from clover_gui.engine.continuing import continued_prompt
from clover_gui.engine.counting import LEAST_ROOM_TOKENS, count_prompt
from clover_gui.engine.loader import LoadedModel, RequestFailed
from clover_gui.engine.prompt import KnownText, KnownTexts, Prompt
from clover_gui.engine.protocol import (
    FAIL_CONTEXT_FULL,
    FAIL_DECODE,
    FAIL_OTHER,
    FAIL_TEMPLATE,
    STOP_CANCELLED,
    STOP_LENGTH,
    STOP_NOT_A_NUMBER,
    Count,
    Counted,
    Finished,
    Generate,
    Reading,
    Text,
)
from clover_gui.engine.sampling import Sampler
from clover_gui.engine.session import DecodeFailed
from clover_gui.engine.template import TemplateError
from clover_gui.engine.text_stream import TextStream
from clover_gui.engine.watch import AnswerWatch
from clover_gui.engine.writer import Writer, Written

Send = Callable[[Reading | Text | Finished], None]


@dataclass(frozen=True, slots=True)
class _Task:
    """One request with its prompt and its limits."""

    request: Generate
    prompt: Prompt
    budget: Budget


class Answerer:
    """Answers the requests of one loaded model, one after the other."""

    def __init__(self, loaded: LoadedModel, cancellation: Cancellation, send: Send) -> None:
        self._loaded = loaded
        self._cancellation = cancellation
        self._send = send
        self._known = KnownTexts()

    def count(self, request: Count) -> Counted:
        """How long the prompt would be.

        Raises:
            RequestFailed: the template refused.
        """
        try:
            return count_prompt(request, self._loaded.builder, self._known, self._loaded.session.size)
        except TemplateError as error:
            raise RequestFailed(FAIL_TEMPLATE, str(error)) from error

    def answer(self, request: Generate) -> None:
        """Send Reading, Text and at the end Finished.

        Raises:
            RequestFailed: the prompt does not fit, the template refused, the engine reported an error.
        """
        session = self._loaded.session
        prompt = self._prompt(request)
        room = session.size - len(prompt.tokens)
        if room < LEAST_ROOM_TOKENS:
            numbers = {"prompt_tokens": len(prompt.tokens), "context_tokens": session.size}
            raise RequestFailed(FAIL_CONTEXT_FULL, "the prompt does not fit into the context", numbers)
        task = _Task(request, prompt, Budget(request.limits, min(room, request.max_tokens or room)))
        reused = session.reuse(prompt.tokens)
        try:
            complete, read, read_seconds = self._read(task, reused)
            written = self._write(task) if complete else Written(reason=STOP_CANCELLED)
        except DecodeFailed as error:
            self._known.clear()
            raise RequestFailed(FAIL_DECODE, str(error)) from error
        if written.reason in (STOP_CANCELLED, STOP_LENGTH) and written.tokens:
            session.keep_end()
        if written.reason == STOP_NOT_A_NUMBER:
            # Nothing that was computed so far can be trusted.
            session.forget_all()
            self._known.clear()
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
                seed=written.seed,
                thinking_tokens=written.thinking_tokens,
                thinking_closed=written.thinking_closed,
                cause=written.cause,
            )
        )

    def _prompt(self, request: Generate) -> Prompt:
        builder = self._loaded.builder
        try:
            if request.begun is not None:
                return continued_prompt(
                    builder, request.messages, request.thinking, request.begun, self._known
                )
            return builder.build(request.messages, request.thinking, self._known)
        except TemplateError as error:
            raise RequestFailed(FAIL_TEMPLATE, str(error)) from error

    def _read(self, task: _Task, reused: int) -> tuple[bool, int, float]:
        """(complete?, tokens read, seconds)."""
        prompt, id = task.prompt, task.request.id
        budget = task.budget.thinking_budget if prompt.in_thinking else 0
        total = len(prompt.tokens) - reused
        self._send(Reading(id, 0, total, reused, 0.0, prompt.in_thinking, budget, prompt.begun))
        started = time.monotonic()
        done = [0]

        def progress(count: int) -> None:
            done[0] = count
            seconds = time.monotonic() - started
            self._send(Reading(id, count, total, reused, seconds, prompt.in_thinking, budget))

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

    def _write(self, task: _Task) -> Written:
        request, builder = task.request, self._loaded.builder
        try:
            sampler = Sampler(self._loaded.model, request.sampling)
        except ValueError as error:
            raise RequestFailed(FAIL_OTHER, str(error)) from error
        known = KnownText(task.prompt)
        self._known.add(known)
        writer = Writer(
            self._loaded,
            sampler,
            AnswerWatch(request.limits, task.budget, in_thinking=task.prompt.in_thinking),
            TextStream(
                (*builder.stop_strings, *request.limits.stop_strings),
                strip_start=bool(builder.stop_strings) and not task.prompt.begun.strip(),
            ),
            known,
            self._send,
        )
        if task.prompt.begun_tokens:
            writer.resume(task.prompt.tokens[-task.prompt.begun_tokens :], task.prompt.begun)
        try:
            return writer.write(request.id, request.max_tokens, self._cancellation)
        finally:
            sampler.close()
