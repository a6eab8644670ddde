"""The state of one conversation in the engine: reads only what changed since the last turn.

Attention memory can be cut back to any token. The recurrent state of hybrid models can not: copies of it
(checkpoints) are kept at places that the next turn will share, above all just before the generation prompt,
since everything behind that is rendered differently later (thoughts are dropped, for example).

Invariant: ``tokens`` is exactly what the engine's memory holds, or the memory is empty.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from clover_gui.engine.llama import Context

DECODED, NO_ROOM, ABORTED = 0, 1, 2
# Prompts are read in pieces, larger ones as long as they take less than this, so that progress is seen on a
# slow machine and a fast one still has full batches.
_FIRST_PIECE, _PIECE_SECONDS = 64, 0.7


class DecodeFailed(Exception):
    """llama_decode reported ``code``; the session is still consistent."""

    def __init__(self, code: int) -> None:
        super().__init__(f"llama_decode returned {code}")
        self.code = code


@dataclass(frozen=True, slots=True, eq=False)
class _Checkpoint:
    length: int
    state: ctypes.Array[Any]
    rolling: bool  # only there for a stop while a long prompt is read; replaced by the next one


class Session:
    """Tokens and checkpoints of one context."""

    def __init__(
        self, context: Context, *, recurrent: bool, checkpoint_bytes: int, rolling_every_s: float = 0.5
    ) -> None:
        """``checkpoint_bytes`` bounds what checkpoints may take; at least two are kept.

        ``rolling_every_s``: while a prompt is read, at most that much work is lost by a stop.
        """
        self.tokens: list[int] = []
        self._context = context
        self._recurrent = recurrent
        self._budget_bytes = checkpoint_bytes
        self._rolling_every_s = rolling_every_s
        self._checkpoints: list[_Checkpoint] = []
        self._spare: ctypes.Array[Any] | None = None
        self._piece = _FIRST_PIECE

    @property
    def size(self) -> int:
        """Tokens that the context has room for."""
        return self._context.size

    def clear(self) -> None:
        """Forget everything."""
        self._drop(self._checkpoints)
        self._context.clear()
        self.tokens = []

    def reuse(self, wanted: Sequence[int]) -> int:
        """Cut back to what ``wanted`` shares with the present state; the number of tokens kept.

        At least the last token of ``wanted`` is left to be read, for its logits.
        """
        shared = 0
        for mine, theirs in zip(self.tokens, wanted[:-1], strict=False):
            if mine != theirs:
                break
            shared += 1
        if shared < len(self.tokens):
            self._rewind(shared)
        return len(self.tokens)

    def read(
        self,
        wanted: Sequence[int],
        *,
        history_length: int,
        stopped: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> bool:
        """Evaluate ``wanted`` from where ``reuse`` left off; False if it was stopped.

        A checkpoint is made where ``history_length`` tokens are read. ``progress`` gets the tokens read so
        far. After a stop the state is what was complete or what a checkpoint holds.

        Raises:
            DecodeFailed: the engine refused.
        """
        start = len(self.tokens)
        saved = time.monotonic()
        while len(self.tokens) < len(wanted):
            if stopped():
                return False
            done = len(self.tokens)
            end = min(done + min(self._piece, self._context.batch), len(wanted))
            if self._recurrent and done < history_length < end:
                end = history_length
            began = time.monotonic()
            code = self._context.decode(wanted[done:end])
            if code != DECODED:
                self._repair()
                if code == ABORTED and stopped():
                    return False
                raise DecodeFailed(code)
            self.tokens += wanted[done:end]
            if end - done == self._piece < self._context.batch:
                self._context.wait()
                if time.monotonic() - began < _PIECE_SECONDS:
                    self._piece *= 2
            if end == history_length:
                self._checkpoint()
            elif end < history_length and time.monotonic() - saved >= self._rolling_every_s:
                self._checkpoint(rolling=True)
                saved = time.monotonic()
            progress(end - start)
        return True

    def write(self, token: int) -> None:
        """Evaluate a token of the answer.

        Raises:
            DecodeFailed: the engine refused, or was stopped within the token (code ABORTED).
        """
        code = self._context.decode_one(token)
        if code != DECODED:
            self._repair()
            raise DecodeFailed(code)
        self.tokens.append(token)

    def _repair(self) -> None:
        # A decode that did not complete leaves the recurrent state broken without a sign of it.
        if self._recurrent:
            self._rewind(len(self.tokens))
        elif not self._context.cut(len(self.tokens)):
            self.clear()

    def _rewind(self, length: int) -> None:
        """Back to at most ``length`` tokens: any place, the newest checkpoint before it, or nothing."""
        if not self._recurrent:
            if length and self._context.cut(length):
                del self.tokens[length:]
            else:
                self.clear()
            return
        self._drop([point for point in self._checkpoints if point.length > length])
        if not self._checkpoints:
            self.clear()
            return
        point = self._checkpoints[-1]
        # The recurrent part first: cutting alone would be refused.
        if self._context.restore_recurrent(point.state) and self._context.cut(point.length):
            del self.tokens[point.length :]
        else:
            self.clear()

    def _checkpoint(self, rolling: bool = False) -> None:
        if not self._recurrent:
            return
        length = len(self.tokens)
        self._drop([point for point in self._checkpoints if point.rolling or point.length >= length])
        state = self._context.save_recurrent(self._spare)
        self._spare = None
        if state is None:
            return
        self._checkpoints.append(_Checkpoint(length, state, rolling))
        allowed = max(2, self._budget_bytes // max(len(state), 1))
        self._drop(self._checkpoints[:-allowed])

    def _drop(self, points: list[_Checkpoint]) -> None:
        for point in list(points):
            self._checkpoints.remove(point)
            self._spare = point.state  # making a new buffer takes longer than filling it
