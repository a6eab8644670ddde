"""One answer while it comes: turns the engine's events into the chat's, and keeps text and cost."""

from __future__ import annotations

import time
from collections.abc import Callable

from clover_gui.chat.continuing import joined_stats
from clover_gui.chat.events import (
    AnswerText,
    ChatEvent,
    RateSample,
    ReadingPrompt,
    ThinkingEnded,
    ThinkingText,
)
from clover_gui.chat.message import AnswerStats, Message, MessageState
from clover_gui.chat.rate import RateMeter
from clover_gui.engine.engine import GenerationEvent
from clover_gui.engine.protocol import (
    STOP_CANCELLED,
    STOP_CONTEXT,
    STOP_END,
    STOP_LENGTH,
    STOP_LOOP,
    STOP_NOT_A_NUMBER,
    STOP_STRING,
    Finished,
    Reading,
    Text,
)
from clover_gui.engine.thinking import Piece, PieceKind, ThinkingSplitter

RATE_INTERVAL_S = 0.1

_STATE_OF_REASON = {
    STOP_END: MessageState.COMPLETE,
    STOP_LENGTH: MessageState.CUT_LENGTH,
    STOP_CONTEXT: MessageState.CUT_CONTEXT,
    STOP_CANCELLED: MessageState.STOPPED,
    STOP_STRING: MessageState.COMPLETE,
    STOP_LOOP: MessageState.LOOPED,
    STOP_NOT_A_NUMBER: MessageState.BROKEN,
}


class AnswerRecord:
    """Collects one answer. ``take`` every engine event in order; ``close`` when no more will come."""

    def __init__(
        self,
        *,
        model: str = "",
        model_file: str = "",
        settings: str = "",
        begun: Message | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``begun``: the answer that is gone on with; text and cost are those of both parts."""
        self._before = (begun.stats or AnswerStats()) if begun is not None else None
        self._model = model
        self._model_file = model_file
        self._settings = settings
        self._clock = clock
        self._splitter = ThinkingSplitter(in_thinking=False)
        self._meter = RateMeter(clock=clock)
        self._next_sample = 0.0
        self._answer: list[str] = [begun.text] if begun is not None else []
        self._thoughts: list[str] = [begun.thinking] if begun is not None else []
        self._begun_in_answer = begun is not None and begun.text != ""
        self._known = ""
        """The end of what was begun, as long as it may become a tag: the record has it already."""
        self._reading: Reading | None = None
        self._last_text = Text(id=0, text="", tokens=0, seconds=0.0)
        self._thinking_seconds = 0.0
        self._thinking_tokens = 0
        self._finished: Finished | None = None

    @property
    def text(self) -> str:
        self._answer = ["".join(self._answer)]
        return self._answer[0]

    @property
    def thinking(self) -> str:
        self._thoughts = ["".join(self._thoughts)]
        return self._thoughts[0]

    @property
    def in_thinking(self) -> bool:
        return self._splitter.in_thinking

    @property
    def writing(self) -> bool:
        """Whether reading is over: the first piece of text came."""
        return self._last_text.tokens > 0

    @property
    def stop_reason(self) -> str:
        """One of the STOP_* words, or "" while the engine has not finished."""
        return self._finished.reason if self._finished else ""

    @property
    def state(self) -> MessageState:
        """How the answer ended by the engine's own word; INTERRUPTED as long as it gave none."""
        return _STATE_OF_REASON.get(self.stop_reason, MessageState.INTERRUPTED)

    @property
    def stats(self) -> AnswerStats:
        """The cost so far; exact once the engine has finished."""
        end, reading = self._finished, self._reading
        if end is not None:
            counts = (
                end.read,
                end.reused,
                end.written,
                end.read_seconds,
                end.write_seconds,
                end.context_used,
            )
        else:
            text = self._last_text
            counts = (
                reading.done if reading else 0,
                reading.reused if reading else 0,
                text.tokens,
                reading.seconds if reading else 0.0,
                text.seconds,
                text.context_used,
            )
        part = AnswerStats(
            *counts[:5],
            thinking_seconds=self._thinking_seconds,
            thinking_tokens=self._thinking_tokens,
            context_used=counts[5],
            seed=end.seed if end else 0,
            model=self._model,
            thinking_closed=end.thinking_closed if end else self._last_text.thinking_closed,
            cause=end.cause if end else "",
            model_file=self._model_file,
            settings=self._settings,
        )
        return joined_stats(self._before, part)

    def take(self, event: GenerationEvent) -> list[ChatEvent]:
        """What this engine event means for the chat."""
        if isinstance(event, Text):
            return self._take_text(event)
        if isinstance(event, Reading):
            if self._reading is None:
                self._splitter = ThinkingSplitter(event.in_thinking, in_answer=self._begun_in_answer)
                self._splitter.feed(event.begun)
                self._known = self._splitter.held
            self._reading = event
            return [ReadingPrompt(event.done, event.total, event.reused, event.seconds)]
        events = self.close()
        self._finished = event
        self._thinking_tokens = event.thinking_tokens or self._thinking_tokens
        self._meter.add(event.written)
        events.append(self._sample(event.written, event.write_seconds, event.context_used))
        return events

    def close(self) -> list[ChatEvent]:
        """Give out what was held back because it might have become a tag."""
        return self._events_of(self._splitter.finish())

    def _take_text(self, event: Text) -> list[ChatEvent]:
        was_thinking = self._splitter.in_thinking
        pieces = self._splitter.feed(event.text)
        thought = was_thinking or any(piece.kind is PieceKind.THINKING for piece in pieces)
        if thought:
            # An event may hold the end of the thoughts and the first words of the answer.
            answer_length = sum(len(piece.text) for piece in pieces if piece.kind is PieceKind.ANSWER)
            share = 1 - answer_length / len(event.text) if answer_length < len(event.text) else 1.0
            self._thinking_seconds += share * (event.seconds - self._last_text.seconds)
            self._thinking_tokens += round(share * (event.tokens - self._last_text.tokens))
        self._thinking_tokens = event.thinking_tokens or self._thinking_tokens
        self._last_text = event
        self._meter.add(event.tokens)
        events = self._events_of(pieces)
        if thought and not self._splitter.in_thinking and self.thinking.strip():
            # The end of the block belongs before the first text of the answer.
            at = next((i for i, e in enumerate(events) if isinstance(e, AnswerText)), len(events))
            whole = self.stats
            ended = ThinkingEnded(whole.thinking_seconds, whole.thinking_tokens, event.thinking_closed)
            events.insert(at, ended)
        if self._clock() >= self._next_sample:
            events.append(self._sample(event.tokens, event.seconds, event.context_used))
        return events

    def _events_of(self, pieces: list[Piece]) -> list[ChatEvent]:
        events: list[ChatEvent] = []
        for piece in map(self._without_known, pieces):
            if not piece.text:
                continue
            if piece.kind is PieceKind.THINKING:
                self._thoughts.append(piece.text)
                events.append(ThinkingText(piece.text))
            elif piece.kind is PieceKind.ANSWER:
                self._answer.append(piece.text)
                events.append(AnswerText(piece.text))
        return events

    def _without_known(self, piece: Piece) -> Piece:
        """The piece without what stood at the end of the part that was begun."""
        known, self._known = self._known[: len(piece.text)], self._known[len(piece.text) :]
        if known and piece.kind is PieceKind.MARKUP and self.thinking.endswith(known):
            # It was taken for thoughts when the answer was cut, and is the beginning of the tag.
            self._thoughts = [self.thinking.removesuffix(known)]
        return Piece(piece.kind, piece.text[len(known) :])

    def _sample(self, tokens: int, seconds: float, context_used: int) -> RateSample:
        self._next_sample = self._clock() + RATE_INTERVAL_S
        average = tokens / seconds if tokens and seconds > 0 else None
        return RateSample(
            tokens,
            seconds,
            context_used,
            self._meter.now,
            average,
            self._thinking_tokens + (self._before.thinking_tokens if self._before else 0),
            self._reading.thinking_budget if self._reading else 0,
        )
