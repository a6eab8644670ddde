"""Shows one answer in the terminal while it comes: thoughts faint on a screen, the answer plain."""

from __future__ import annotations

from typing import Any

from clover_gui.chat.events import (
    AnswerEnded,
    AnswerText,
    ChatEvent,
    ContextDropped,
    NotSaved,
    RateSample,
    ReadingPrompt,
    ThinkingEnded,
    ThinkingText,
)
from clover_gui.chat.message import AnswerStats
from clover_gui.cli.screen import Screen
from clover_gui.cli.terminal_text import TerminalText
from clover_gui.engine.protocol import STOP_CANCELLED
from clover_gui.explain import explain
from clover_gui.explain.answers import (
    dropped_text,
    empty_answer_text,
    ending_text,
    thinking_closed_text,
    unasked_thinking_text,
)
from clover_gui.i18n import _, duration, number


class AnswerPrinter:
    """Takes the events of one answer. In a file or pipe only the answer's text is written, unchanged."""

    def __init__(self, screen: Screen, context: int) -> None:
        self._screen = screen
        self._context = context
        self._safe = TerminalText()
        self._thinking = False
        self._at_line_start = True

    def show(self, event: ChatEvent) -> None:
        if isinstance(event, AnswerText):
            self._leave_thinking()
            self._write(event.text)
        elif isinstance(event, ThinkingText):
            self._show_thought(event.text)
        elif isinstance(event, ThinkingEnded):
            self._leave_thinking()
        elif isinstance(event, ReadingPrompt):
            self._show_reading(event)
        elif isinstance(event, NotSaved):
            self._screen.note(explain(event.error).sentence)
        elif isinstance(event, AnswerEnded):
            self._end(event)
        elif isinstance(event, ContextDropped):
            self._screen.note(dropped_text(event.turns))
        elif isinstance(event, RateSample):
            pass  # told once, at the end

    def close(self) -> None:
        """Leave the terminal in order, also after an error."""
        self._leave_thinking()
        if not self._at_line_start:
            self._write("\n")

    def _show_thought(self, text: str) -> None:
        if not self._screen.is_terminal:
            return
        if not self._thinking:
            self._screen.dim(True)
            self._thinking = True
        self._write(text)

    def _leave_thinking(self) -> None:
        if self._thinking:
            self._thinking = False
            self._screen.dim(False)
            self._write("\n" if self._at_line_start else "\n\n")

    def _write(self, text: str) -> None:
        shown = self._safe.feed(text) if self._screen.is_terminal else text
        if shown:
            self._screen.write(shown)
            self._at_line_start = shown.endswith("\n")

    def _show_reading(self, event: ReadingPrompt) -> None:
        if event.done < event.total:
            self._screen.progress(
                _("reading {done} of {total} tokens").format(
                    done=number(event.done), total=number(event.total)
                )
            )

    def _end(self, event: AnswerEnded) -> None:
        rest = self._safe.finish() if self._screen.is_terminal else ""
        if rest:
            self._screen.write(rest)
            self._at_line_start = rest.endswith("\n")
        self.close()
        stats = event.message.stats
        notes = [
            thinking_closed_text(stats.thinking_closed, stats.thinking_tokens) if stats else "",
            ending_text(event.stop_reason, stats.cause if stats else ""),
            empty_answer_text(stats) if event.empty and event.stop_reason != STOP_CANCELLED else "",
            unasked_thinking_text() if event.unasked_thinking else "",
            rates_line(stats, self._context) if stats else "",
        ]
        for note in notes:
            if note:
                self._screen.note(note)


def rates_line(stats: AnswerStats, context: int) -> str:
    """What an answer cost, in one line."""
    parts = [_speed(_("read {count} tokens"), stats.tokens_read, stats.read_tokens_per_second)]
    if stats.tokens_reused:
        parts.append(_("{count} were known already").format(count=number(stats.tokens_reused)))
    parts.append(_speed(_("wrote {count} tokens"), stats.tokens_written, stats.write_tokens_per_second))
    if stats.thinking_tokens:
        parts.append(_("thought for {time}").format(time=duration(stats.thinking_seconds)))
    parts.append(
        _("context {used} of {total}").format(used=number(stats.context_used), total=number(context))
    )
    return "[" + ", ".join(parts) + "]"


def _speed(text: str, count: int, per_second: float | None) -> str:
    text = text.format(count=number(count))
    if per_second is None:
        return text
    speed = _("{rate} per second").format(rate=number(per_second, 1 if per_second < 100 else 0))
    return f"{text} ({speed})"


def turn_as_json(turn: int, event: AnswerEnded) -> dict[str, Any]:
    """One turn for programs; keys are only ever added."""
    message = event.message
    stats = message.stats or AnswerStats()
    return {
        "turn": turn,
        "thinking": message.thinking,
        "answer": message.text,
        "stop_reason": event.stop_reason or message.state.value,
        "tokens_read": stats.tokens_read,
        "tokens_reused": stats.tokens_reused,
        "tokens_written": stats.tokens_written,
        "read_tokens_per_second": stats.read_tokens_per_second,
        "write_tokens_per_second": stats.write_tokens_per_second,
        "thinking_tokens": stats.thinking_tokens,
        "thinking_seconds": stats.thinking_seconds,
        "thinking_closed": stats.thinking_closed,
        "cause": stats.cause,
        "context_used": stats.context_used,
        "seed": stats.seed,
        "empty": event.empty,
    }
