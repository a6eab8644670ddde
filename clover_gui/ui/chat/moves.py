"""Moving from one chat to another: one move after the other, and of those that wait only the newest is made.

Must not know: chats, or how they are shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Moves:
    """``leave`` is awaited before every move, ``stay`` called after it, also after one that failed."""

    def __init__(self, leave: Callable[[], Awaitable[None]], stay: Callable[[], None]) -> None:
        self._leave = leave
        self._stay = stay
        self._wish = 0
        self._made = 0
        self.lock = asyncio.Lock()
        """Held while a move is made; whoever changes what is shown in another way holds it too."""

    @property
    def are_over(self) -> bool:
        """Whether no other move is on its way."""
        return self._wish == self._made

    async def go(self, show: Callable[[], Awaitable[None]]) -> bool:
        """Leave what is shown and show something else. False: a newer wish came."""
        self._wish += 1
        wish = self._wish
        async with self.lock:
            if wish != self._wish:
                return False
            self._made = wish
            try:
                await self._leave()
                await show()
            finally:
                self._stay()
        return True
