"""One answer as it comes: its events into the message and the gauges. Must not know: the store, sending."""

from __future__ import annotations

from clover_gui.chat.continuing import can_continue
from clover_gui.chat.events import (
    AnswerEnded,
    AnswerText,
    RateSample,
    ReadingPrompt,
    ThinkingEnded,
    ThinkingText,
)
from clover_gui.engine.engine import Engine
from clover_gui.i18n import _, number
from clover_gui.ui.announce import announce
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.words import answer_action, details_text, notice_text
from clover_gui.ui.gauges.readings import ContextReading, SpeedReading

AnswerEvent = ReadingPrompt | ThinkingText | ThinkingEnded | AnswerText | RateSample | AnswerEnded


class AnswerDisplay:
    """``show`` takes every event of an answer in order."""

    def __init__(self, page: ChatPage, engine: Engine) -> None:
        self._page = page
        self._engine = engine
        self._reading_speed: float | None = None

    def show(self, event: AnswerEvent, view: MessageView) -> None:
        match event:
            case ReadingPrompt():
                self._show_reading(event, view)
            case ThinkingText():
                view.append_thinking(event.text)
            case ThinkingEnded():
                view.end_thinking(event.seconds, event.tokens)
            case AnswerText():
                view.append_answer(event.text)
            case RateSample():
                self._show_rate(event, view)
            case AnswerEnded():
                self._show_end(event, view)

    def show_context(self, used: int) -> None:
        loaded = self._engine.loaded
        self._page.gauges.show_context(ContextReading(used, loaded.context if loaded else 0))

    def _show_reading(self, event: ReadingPrompt, view: MessageView) -> None:
        if event.done < event.total:
            view.set_details(
                _("Reading {done} of {total} tokens…").format(
                    done=number(event.done), total=number(event.total)
                )
            )
        else:
            view.set_details("")
        if (speed := event.tokens_per_second) is not None:
            self._reading_speed = speed
            self._page.gauges.show_speed(SpeedReading(reading=speed))
        self.show_context(event.reused + event.done)

    def _show_rate(self, event: RateSample, view: MessageView) -> None:
        now, average = event.tokens_per_second_now, event.tokens_per_second_average
        self._page.gauges.show_speed(SpeedReading(now, average, self._reading_speed))
        self.show_context(event.context_used)
        if event.thinking_tokens and view.thinking is not None and view.thinking.is_live:
            view.set_thinking_progress(None, event.thinking_tokens, event.thinking_budget)

    def _show_end(self, event: AnswerEnded, view: MessageView) -> None:
        message, stats = event.message, event.message.stats
        if stats is not None and stats.thinking_tokens:
            view.end_thinking(stats.thinking_seconds, stats.thinking_tokens)
        view.finish()
        view.set_details(details_text(stats))
        loaded = self._engine.loaded
        can_grow = loaded is not None and loaded.trained_context > loaded.context
        notice = notice_text(message, unasked_thinking=event.unasked_thinking, can_grow=can_grow)
        view.set_notice(notice, answer_action(message))
        view.set_can_continue(can_continue(message))
        if stats is not None:
            self._page.gauges.show_speed(
                SpeedReading(None, stats.write_tokens_per_second, stats.read_tokens_per_second)
            )
        announce(view, notice or _("The answer is complete."))
