"""Writes the tokens of one answer. Runs in the engine child.

What is done here per token, beside the engine's own work, must be little and must not grow with the length.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clover_gui.engine.cancellation import Cancellation
from clover_gui.engine.loader import LoadedModel
from clover_gui.engine.prompt import KnownText
from clover_gui.engine.protocol import (
    STOP_CANCELLED,
    STOP_CONTEXT,
    STOP_END,
    STOP_LENGTH,
    STOP_LOOP,
    STOP_NOT_A_NUMBER,
    STOP_STRING,
    Text,
)
from clover_gui.engine.sampling import Sampler
from clover_gui.engine.session import ABORTED, DecodeFailed
from clover_gui.engine.text_stream import TextStream
from clover_gui.engine.thinking import CLOSING_TAG
from clover_gui.engine.watch import AnswerWatch, Verdict, cause_of_broken_numbers

# As often as the window draws: more messages would only cost its time.
FLUSH_EVERY_S = 1 / 30
# What is written where thoughts are closed from outside.
CLOSING_TEXT = f"\n{CLOSING_TAG}\n\n"


@dataclass(slots=True)
class Written:
    """What came of an answer."""

    tokens: int = 0
    reason: str = STOP_END
    seconds: float = 0.0
    seed: int = 0
    thinking_tokens: int = 0
    thinking_closed: str = ""
    cause: str = ""


class Writer:
    """One answer. ``write`` may be called once."""

    def __init__(
        self,
        loaded: LoadedModel,
        sampler: Sampler,
        watch: AnswerWatch,
        stream: TextStream,
        known: KnownText,
        send: Callable[[Text], None],
    ) -> None:
        self._loaded = loaded
        self._sampler = sampler
        self._watch = watch
        self._stream = stream
        self._known = known
        self._send = send
        model = loaded.model
        closing = loaded.builder.tokens_of(CLOSING_TAG, first=False)
        # A tag of several tokens cannot be pressed for; it can still be forced.
        self._closing_tokens = closing if len(closing) == 1 else []
        self._ending_tokens = model.ending_tokens()
        self._probes = [i * (model.vocabulary_size - 1) // 3 for i in range(4)]
        self._forced: deque[int] = deque()
        self._pending: list[str] = []
        self._written = Written(seed=sampler.seed)
        self._id = 0
        self._started = self._flushed = 0.0

    def resume(self, tokens: Sequence[int], begun: str) -> None:
        """The answer begins with these, which were written before: whatever looks back on it knows them.

        ``begun``: their text.
        """
        for token in tokens:
            thought = self._watch.in_thinking
            text = self._stream.characters(self._loaded.model.piece(token))
            self._watch.resume(text)
            self._sampler.resume(token, free=thought or self._watch.in_thinking or not self._watch.has_answer)
        self._stream.resume(begun)

    def write(self, id: int, max_tokens: int, cancellation: Cancellation) -> Written:
        """Write until something ends the answer; text is sent at short intervals.

        However it is cut, its last token is left unread: an answer that is gone on with needs one to read.

        Raises:
            DecodeFailed: the engine refused a token; what was written before it is sent.
        """
        self._id = id
        self._started = time.monotonic()
        self._flushed = self._started - FLUSH_EVERY_S  # the first token is shown at once
        written, session = self._written, self._loaded.session
        if cancellation.requested:
            written.reason = STOP_CANCELLED
            return written
        try:
            while True:
                token = self._next()
                if token is None or not self._take(token):
                    break
                if cancellation.requested:
                    written.reason = STOP_CANCELLED
                    break
                if max_tokens and written.tokens >= max_tokens:
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
                        raise
        finally:
            self._pending.append(self._stream.finish())
            self._flush(time.monotonic())
        written.seconds = time.monotonic() - self._started
        written.thinking_tokens = self._watch.thinking_tokens
        written.thinking_closed = self._watch.closed
        return written

    def _next(self) -> int | None:
        """The next token, or None where the answer ends."""
        if self._forced:
            token = self._forced.popleft()
            self._sampler.accept(token)
            return token
        context, watch = self._loaded.context, self._watch
        values = context.logits_in_place()
        if any(values[i] != values[i] for i in self._probes):
            self._stop_broken()
            return None
        pressure = watch.pressure
        if pressure:
            for token in self._closing_tokens if watch.in_thinking else self._ending_tokens:
                values[token] += pressure
        token = self._sampler.next(context, free=watch.in_thinking)
        if values[token] != values[token]:
            self._stop_broken()
            return None
        return None if self._loaded.model.ends_answer(token) else token

    def _take(self, token: int) -> bool:
        """Count, keep and send a token; False if the answer ends with it."""
        written, watch, stream = self._written, self._watch, self._stream
        written.tokens += 1
        text = stream.characters(self._loaded.model.piece(token))
        self._known.add(token, text)
        thought = watch.in_thinking
        verdict = watch.take(token, text)
        self._pending.append(text if thought else stream.feed(text))
        now = time.monotonic()
        if now - self._flushed >= FLUSH_EVERY_S:
            self._flush(now)
        if stream.stopped:
            # The next turn of a transcript is its natural end.
            written.reason = (
                STOP_END if stream.stopped_by in self._loaded.builder.stop_strings else STOP_STRING
            )
            return False
        if verdict is Verdict.CLOSE_THINKING:
            self._close_thinking()
        elif verdict is Verdict.STOP:
            written.reason = STOP_LOOP
            written.cause = watch.cause_of_loop(
                len(self._loaded.session.tokens), self._loaded.model.trained_context
            )
            return False
        return True

    def _close_thinking(self) -> None:
        self._forced.extend(self._loaded.builder.tokens_of(CLOSING_TEXT, first=False))

    def _stop_broken(self) -> None:
        self._written.reason = STOP_NOT_A_NUMBER
        self._written.cause = cause_of_broken_numbers(
            len(self._loaded.session.tokens), self._loaded.model.trained_context
        )

    def _flush(self, now: float) -> None:
        self._flushed = now
        text = "".join(self._pending)
        self._pending.clear()
        if text:
            self._send(
                Text(
                    self._id,
                    text,
                    self._written.tokens,
                    now - self._started,
                    len(self._loaded.session.tokens),
                    self._watch.thinking_tokens,
                    self._watch.closed,
                )
            )
