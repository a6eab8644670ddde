"""The state of the conversations in the engine: reads only what changed since the last turn.

Attention memory can be cut back to any token. The recurrent state of hybrid models can not: copies of it
(checkpoints) are kept at places that a later turn will share: before the newest message, so that it can be
edited, and before the generation prompt, since everything behind that is rendered differently later
(thoughts are dropped, for example). When another chat takes over, the whole state is put aside and brought
back when the first one goes on. What copies may take is bounded (see copies.py).

Invariant: ``tokens`` is exactly what the engine's memory holds, or the memory is empty.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence

from clover_gui.engine.copies import Checkpoint, Copies, Parked, shared_length
from clover_gui.engine.llama import Context

DECODED, NO_ROOM, ABORTED = 0, 1, 2
# Prompts are read in pieces, larger ones as long as they take less than this, so that progress is seen on a
# slow machine and a fast one still has full batches.
_FIRST_PIECE, _PIECE_SECONDS = 64, 0.7
# Reading so few tokens again costs less than a copy.
LEAST_GAIN = 16
# A state is put aside when at least this part of it would have to be read again.
_PARKED_SHARE = 1 / 8


class DecodeFailed(Exception):
    """llama_decode reported ``code``; the session is still consistent."""

    def __init__(self, code: int) -> None:
        super().__init__(f"llama_decode returned {code}")
        self.code = code


class Session:
    """Tokens and copies of one context."""

    def __init__(
        self, context: Context, *, recurrent: bool, checkpoint_bytes: int, rolling_every_s: float = 0.5
    ) -> None:
        """``checkpoint_bytes`` bounds what all copies may take; at least two checkpoints are kept.

        ``rolling_every_s``: while a prompt is read, at most that much work is lost by a stop.
        """
        self.tokens: list[int] = []
        self._context = context
        self._recurrent = recurrent
        self._rolling_every_s = rolling_every_s
        self._copies = Copies(checkpoint_bytes)
        self._piece = _FIRST_PIECE
        # Where the last prompt's own text ended: what follows is the answer, which is no loss.
        self._settled = 0

    @property
    def size(self) -> int:
        """Tokens that the context has room for."""
        return self._context.size

    @property
    def copied_bytes(self) -> int:
        """What the copies take now."""
        return self._copies.size_bytes

    def clear(self) -> None:
        """Forget the present conversation; others that were put aside stay."""
        self._copies.drop(self._copies.checkpoints)
        self._context.clear()
        self.tokens = []
        self._settled = 0

    def forget_all(self) -> None:
        """As ``clear``, and without any copy."""
        self.clear()
        self._copies.clear()

    def reuse(self, wanted: Sequence[int]) -> int:
        """Go to the known state that shares most with ``wanted``; the number of its tokens that are kept.

        At least the last token of ``wanted`` is left to be read, for its logits. The present state is put
        aside if much of it would be lost.
        """
        before_last = array("i", wanted[:-1])
        shared = shared_length(array("i", self.tokens), before_last)
        usable = self._usable(shared, len(self.tokens), self._copies.checkpoints)
        best, best_usable = self._best_parked(before_last)
        returns = best is not None and best_usable >= usable + LEAST_GAIN
        if returns and best is not None:
            self._copies.unpark(best)  # before room is made for the present one
        if self._lost(usable) >= max(LEAST_GAIN, int(self._settled * _PARKED_SHARE)):
            self._park()
        if returns and best is not None:
            self._return_to(best)
        shared = shared_length(array("i", self.tokens), before_last)
        if shared < len(self.tokens):
            self._rewind(shared)
        return len(self.tokens)

    def read(
        self,
        wanted: Sequence[int],
        *,
        marks: Sequence[int],
        stopped: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> bool:
        """Evaluate ``wanted`` from where ``reuse`` left off; False if it was stopped.

        Checkpoints are made at ``marks``, rising counts of tokens that a later turn may go on from: at the
        last one always, at the others where they spare more than a few tokens.
        ``progress`` gets the tokens read so far. After a stop the state is what was complete or what a
        checkpoint holds.

        Raises:
            DecodeFailed: the engine refused.
        """
        start = len(self.tokens)
        places, last_mark = self._places(marks, start), marks[-1] if marks else 0
        saved = time.monotonic()
        while len(self.tokens) < len(wanted):
            if stopped():
                return False
            done = len(self.tokens)
            end = min(done + min(self._piece, self._context.batch), len(wanted))
            if places and places[0] < end:
                end = places[0]
            began = time.monotonic()
            code = self._context.decode(wanted[done:end])
            if code != DECODED:
                self._repair()
                if code == ABORTED and stopped():
                    return False
                raise DecodeFailed(code)
            self.tokens += wanted[done:end]
            self._settled = min(end, last_mark) if last_mark else end
            if end - done == self._piece < self._context.batch:
                self._context.wait()
                if time.monotonic() - began < _PIECE_SECONDS:
                    self._piece *= 2
            if places and end == places[0]:
                places.pop(0)
                self._checkpoint()
            elif self._recurrent and end < last_mark and time.monotonic() - saved >= self._rolling_every_s:
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

    def keep_end(self) -> None:
        """The answer was cut and may be gone on with, also after another conversation: if there is room, copy
        the state here. The copy goes when the conversation goes on otherwise."""
        newest = self._copies.checkpoints[-1] if self._copies.checkpoints else None
        if newest is None or newest.length >= len(self.tokens):
            return
        if self._copies.has_room(len(newest.state)):
            self._checkpoint(rolling=True)

    # ------------------------------------------------------------------ other conversations

    def _usable(self, shared: int, length: int, checkpoints: Sequence[Checkpoint]) -> int:
        """How many tokens of a state of ``length`` are kept if the first ``shared`` are wanted."""
        if not self._recurrent or shared == length:
            return shared
        return max((point.length for point in checkpoints if point.length <= shared), default=0)

    def _lost(self, usable: int) -> int:
        """Tokens that would have to be read again to get back to the present conversation."""
        kept = self._settled
        if self._recurrent:
            # That of a cut answer is no loss either: most are not gone on with.
            points = (p.length for p in self._copies.checkpoints if not p.rolling or p.length <= kept)
            kept = max(points, default=0)
        return kept - usable

    def _best_parked(self, wanted: array[int]) -> tuple[Parked | None, int]:
        best, best_usable = None, 0
        for parked in self._copies.parked:
            length = len(parked.tokens)
            usable = self._usable(shared_length(parked.tokens, wanted), length, parked.checkpoints)
            if usable > best_usable:
                best, best_usable = parked, usable
        return best, best_usable

    def _park(self) -> None:
        """Put the present state aside if there is room; its tokens stay in the memory."""
        checkpoints: list[Checkpoint] = []
        if self._recurrent:
            # What follows the newest checkpoint will be rendered differently when this chat goes on.
            self._rewind(self._copies.checkpoints[-1].length)
            checkpoints = self._copies.checkpoints[:-1]
        if not self.tokens or not self._copies.room_for(self._context.state_bytes()):
            return
        state = self._context.save()
        if state is not None:
            kept = [point for point in checkpoints if point in self._copies.checkpoints]
            self._copies.park(Parked(array("i", self.tokens), state, kept))

    def _return_to(self, parked: Parked) -> None:
        self.clear()
        if not self._context.restore(parked.state):
            self._context.clear()
            return
        self.tokens = list(parked.tokens)
        self._settled = len(self.tokens)
        self._copies.checkpoints.extend(parked.checkpoints)
        if self._recurrent:
            self._checkpoint()

    # ------------------------------------------------------------------ going back

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
                self._shorten(length)
            else:
                self.clear()
            return
        self._copies.drop([point for point in self._copies.checkpoints if point.length > length])
        if not self._copies.checkpoints:
            self.clear()
            return
        point = self._copies.checkpoints[-1]
        # The recurrent part first: cutting alone would be refused.
        if self._context.restore_recurrent(point.state) and self._context.cut(point.length):
            self._shorten(point.length)
        else:
            self.clear()

    def _shorten(self, length: int) -> None:
        del self.tokens[length:]
        self._settled = min(self._settled, length)

    def _places(self, marks: Sequence[int], start: int) -> list[int]:
        """Those of ``marks`` that lie ahead and deserve a checkpoint."""
        if not self._recurrent:
            return []
        places: list[int] = []
        previous = max((point.length for point in self._copies.checkpoints if not point.rolling), default=0)
        for mark in marks:
            if mark > start and (mark == marks[-1] or mark - previous >= LEAST_GAIN):
                places.append(mark)
                previous = mark
        return places

    def _checkpoint(self, rolling: bool = False) -> None:
        state = self._context.save_recurrent(self._copies.take_spare())
        if state is not None:
            self._copies.add(Checkpoint(len(self.tokens), state, rolling))
