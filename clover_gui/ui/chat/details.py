"""Everything that is known of one answer, in words: tokens, speeds, thinking, settings, model."""

from __future__ import annotations

from clover_gui.chat.message import AnswerStats, Message
from clover_gui.explain.answers import thinking_closed_text
from clover_gui.explain.sampling_words import named_settings
from clover_gui.i18n import _, capped, duration, number
from clover_gui.ui.chat.chat_groups import date_text
from clover_gui.ui.chat.words import notice_text

Pairs = list[tuple[str, str]]


def detail_groups(message: Message) -> list[tuple[str, Pairs]]:
    """Groups with their title; what is not known is left out."""
    stats = message.stats
    groups: list[tuple[str, Pairs]] = []
    if stats is not None:
        groups.append((_("Writing"), _writing(stats)))
        groups.append((_("Reading"), _reading(stats)))
        if stats.thinking_tokens or stats.thinking_seconds:
            groups.append((_("Thinking"), _thinking(stats)))
    groups.append((_("Answer"), _answer(message)))
    return groups


def _writing(stats: AnswerStats) -> Pairs:
    pairs = [(_("Tokens"), number(stats.tokens_written)), (_("Time"), duration(stats.write_seconds))]
    if stats.parts > 1:
        pairs.append((_("Parts"), number(stats.parts)))
    if (speed := stats.write_tokens_per_second) is not None:
        pairs.append((_("Speed"), _("{rate} tok/s").format(rate=number(speed, 1))))
    return pairs


def _reading(stats: AnswerStats) -> Pairs:
    pairs = [(_("Tokens read"), number(stats.tokens_read)), (_("Time"), duration(stats.read_seconds))]
    if (speed := stats.read_tokens_per_second) is not None:
        pairs.append((_("Speed"), _("{rate} tok/s").format(rate=number(speed, 1))))
    pairs.append((_("Known from before"), number(stats.tokens_reused)))
    pairs.append((_("Context in use"), number(stats.context_used)))
    return pairs


def _thinking(stats: AnswerStats) -> Pairs:
    pairs = [(_("Tokens"), number(stats.thinking_tokens)), (_("Time"), duration(stats.thinking_seconds))]
    if text := thinking_closed_text(stats.thinking_closed, stats.thinking_tokens):
        pairs.append((_("End"), text))
    return pairs


def _answer(message: Message) -> Pairs:
    pairs: Pairs = []
    stats = message.stats
    if stats is not None and stats.model:
        pairs.append((_("Model"), capped(stats.model, 120)))
    if stats is not None and stats.model_file:
        pairs.append((_("Model file"), capped(stats.model_file, 200)))
    if stats is not None and stats.settings:
        pairs.append((_("Settings"), capped(named_settings(stats.settings), 600)))
    if stats is not None and stats.seed:
        pairs.append((_("Seed"), str(stats.seed)))
    if message.created:
        pairs.append((_("Begun"), date_text(message.created)))
    if notice := notice_text(message):
        pairs.append((_("End"), notice))
    pairs.append((_("Characters"), number(len(message.text))))
    return pairs
