"""Dates of chats as a person says them: today, yesterday, this week, this month, then month by month."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from PySide6.QtCore import QDate, QLocale

from clover_gui.chat.message import Chat
from clover_gui.i18n import _, current_language


def group_name(chat: Chat, now: float) -> str:
    """The heading under which the chat stands; times are seconds since 1970, days are those of this place."""
    if chat.pinned:
        return _("Pinned")
    day, today = _day_of(chat.updated), _day_of(now)
    if day >= today:
        return _("Today")
    if day == today - timedelta(days=1):
        return _("Yesterday")
    if day > today - timedelta(days=today.weekday() + 1):
        return _("This week")
    if (day.year, day.month) == (today.year, today.month):
        return _("This month")
    return _locale().toString(QDate(day.year, day.month, 1), "MMMM yyyy")


def date_text(seconds: float) -> str:
    """Day and time in full, as people of the language in force write it."""
    at = datetime.fromtimestamp(seconds)
    day = _locale().toString(QDate(at.year, at.month, at.day), QLocale.FormatType.LongFormat)
    return _("{day}, {time}").format(day=day, time=f"{at.hour:02}:{at.minute:02}")


def _day_of(seconds: float) -> date:
    return datetime.fromtimestamp(seconds).date()


def _locale() -> QLocale:
    return QLocale(current_language())
