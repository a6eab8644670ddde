"""How patient a download is, and in what portions it works. All tests of behaviour set their own values."""

from __future__ import annotations

import random
from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class TransferPolicy:
    """Times in seconds, sizes in bytes.

    connect_timeout_s: for name, connection and TLS, each.
    stall_timeout_s, stall_bytes: fewer bytes than this in that time count as a dead connection.
    backoff_start_s, backoff_limit_s: waits between tries double from the first to the second, with jitter.
    give_up_after_s, least_tries: without one new byte for this long, and after that many tries, the download
        ends with an error; the part is kept. A machine that slept through the time still tries again.
    chunk_bytes: after each the state is saved; the unit in which wrong data is fetched again.
    sync_bytes: so often the part is forced to the disk, beside the transfer.
    report_interval_s: progress is reported no more often.
    space_poll_s: how often a full disk is looked at again.
    """

    connect_timeout_s: float = 15.0
    stall_timeout_s: float = 20.0
    stall_bytes: int = 4096
    backoff_start_s: float = 0.5
    backoff_limit_s: float = 30.0
    give_up_after_s: float = 600.0
    least_tries: int = 5
    chunk_bytes: int = 64 * MB
    sync_bytes: int = 256 * MB
    report_interval_s: float = 0.1
    space_poll_s: float = 2.0
    space_margin_bytes: int = 64 * MB

    def margin_bytes(self, size_bytes: int) -> int:
        """Room that stays free beside a file of this size: 2 %, at most 512 MB, at least the margin."""
        return max(self.space_margin_bytes, min(512 * MB, size_bytes // 50))

    def backoff_s(self, failures: int) -> float:
        """The wait after the n-th failure in a row (from 1): doubled each time, then between half and all."""
        full = min(self.backoff_limit_s, self.backoff_start_s * 2.0 ** min(failures - 1, 16))
        return full * random.uniform(0.5, 1.0)
