"""When to try again, after how long, and when to give up."""

from __future__ import annotations

import time
from collections.abc import Callable

from clover_gui.download.answers import PASSING_STATUS
from clover_gui.download.control import Control
from clover_gui.download.policy import TransferPolicy
from clover_gui.errors import DownloadError, HubBusy, HubFailed, HubUnreachable

# One end without a new byte may be a server that restarts; four are a file that is too short.
_MOST_SHORT_ENDS = 4


class Retries:
    """Failures in a row without a new byte. ``tell`` hears of each wait before it begins."""

    def __init__(
        self,
        policy: TransferPolicy,
        control: Control,
        tell: Callable[[DownloadError, float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._control = control
        self._tell = tell
        self._failures = 0
        self._ends = 0
        self._clock = clock
        self._last_byte_at = clock()
        self.host = ""

    def progressed(self) -> None:
        """A new byte came, or a long rest ended: all is forgiven."""
        self._failures = self._ends = 0
        self._last_byte_at = self._clock()

    def ended_short(self) -> bool:
        """A body ended in good order before the file did. True when that is all that is to be had."""
        self._ends += 1
        return self._ends >= _MOST_SHORT_ENDS

    def failed(self, error: DownloadError) -> None:
        """Wait before the next try; a change of the person's wish ends the wait.

        Raises:
            DownloadError: the error itself, where waiting cannot cure it or has gone on for too long.
        """
        if not _passes(error):
            raise error
        self.host = error.host or self.host
        self._failures += 1
        wait_s = self._policy.backoff_s(self._failures)
        if isinstance(error, HubBusy) and error.retry_after_s is not None:
            wait_s = max(wait_s, error.retry_after_s)
        silent_s = self._clock() - self._last_byte_at
        too_long = silent_s + wait_s > self._policy.give_up_after_s
        if too_long and self._failures >= self._policy.least_tries:
            raise error
        since = self._control.changes
        self._tell(error, wait_s)
        self._control.wait(wait_s, since)


def _passes(error: DownloadError) -> bool:
    """Whether the same question may get another answer in a while."""
    if isinstance(error, HubFailed):
        return error.status in PASSING_STATUS
    return isinstance(error, HubBusy | HubUnreachable)
