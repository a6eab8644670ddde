"""Before anything is sent: does it fit? If not, the person decides what is left out.

Knows the chat that is open, the bar that asks, and how the engine is brought back; knows nothing of answers.
"""

from __future__ import annotations

import asyncio
import logging

from clover_gui.chat.context import ContextCheck
from clover_gui.errors import EngineDied, EngineUnresponsive
from clover_gui.explain.answers import overflow_text
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.engine_recovery import EngineRecovery
from clover_gui.ui.chat.open_chat import OpenChat
from clover_gui.ui.chat.overflow_bar import OverflowChoice
from clover_gui.ui.chat.question import Question

log = logging.getLogger(__name__)


class FitQuestion:
    """One question is looked at at a time."""

    def __init__(self, page: ChatPage, open_chat: OpenChat, recovery: EngineRecovery) -> None:
        self._page = page
        self._open = open_chat
        self._recovery = recovery
        self._choice: asyncio.Future[OverflowChoice] | None = None
        self.is_checking = False
        """The engine is asked; what waits for it may be cancelled."""
        page.overflow.chosen.connect(self._chosen)

    @property
    def is_asking(self) -> bool:
        """The person is asked."""
        return self._choice is not None

    def cancel(self) -> None:
        """The person does not want it any more."""
        self._page.overflow.choose(OverflowChoice.CANCEL)

    async def turns_to_drop(self, question: Question) -> int | OverflowChoice:
        """How many of the oldest turns the person agrees to leave out; or that it shall not be sent (CANCEL),
        not now (LARGER) or not here (NEW_CHAT). An engine that dies meanwhile is brought back once.

        Raises:
            CloverError: it cannot be counted.
        """
        self.is_checking = True
        try:
            if not await self._recovery.finished():
                return OverflowChoice.CANCEL
            try:
                return await self._fitting(question)
            except (EngineDied, EngineUnresponsive) as error:
                log.info("the engine died before the message was sent: %s", error)
            if not await self._recovery.finished():
                return OverflowChoice.CANCEL
            return await self._fitting(question)
        finally:
            self.is_checking = False

    async def _fitting(self, question: Question) -> int | OverflowChoice:
        self.is_checking = True
        check = await self._open.check(
            question.text,
            question.files,
            replacing=question.replacing,
            go_on=question.go_on,
            thinking=self._page.composer.thinking,
        )
        self.is_checking = False
        if check.fits:
            return 0
        choice = await self._ask_person(check, question.text or "")
        return len(check.droppable) if choice is OverflowChoice.DROP else choice

    async def _ask_person(self, check: ContextCheck, question: str) -> OverflowChoice:
        self._choice = asyncio.get_running_loop().create_future()
        self._page.composer.set_asking(True)
        can_grow = self._recovery.trained_context > check.context_tokens
        self._page.overflow.ask(
            overflow_text(check, can_grow=can_grow),
            len(check.droppable),
            has_history=bool(self._open.messages),
            question=question,
            can_grow=can_grow,
        )
        try:
            return await self._choice
        finally:
            self._choice = None
            self._page.overflow.hide()
            self._page.composer.set_asking(False)

    def _chosen(self, choice: OverflowChoice) -> None:
        if self._choice is not None and not self._choice.done():
            self._choice.set_result(choice)
