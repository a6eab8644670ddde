"""When a download tries again, and when it gives up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clover_gui import errors
from clover_gui.download.control import Control
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.retries import Retries

POLICY = TransferPolicy(backoff_start_s=0.0, give_up_after_s=100, least_tries=3)
BROKEN = errors.HubUnreachable("hub", "broken")


def test_waits_grow_and_differ() -> None:
    policy = TransferPolicy(backoff_start_s=1, backoff_limit_s=8)
    for failures, full in ((1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (1000, 8)):
        waits = {policy.backoff_s(failures) for _ in range(20)}
        assert all(full / 2 <= wait <= full for wait in waits)
        assert len(waits) > 1


def test_given_up_after_a_long_silence() -> None:
    now = [0.0]
    waits: list[float] = []
    retries = Retries(POLICY, Control(), lambda error, wait_s: waits.append(wait_s), lambda: now[0])
    retries.failed(BROKEN)
    now[0] = 1000.0  # the machine slept: that alone is no reason
    retries.failed(BROKEN)
    with pytest.raises(errors.HubUnreachable):
        retries.failed(BROKEN)
    assert len(waits) == 2


def test_a_new_byte_forgives_all() -> None:
    now = [0.0]
    retries = Retries(POLICY, Control(), lambda error, wait_s: None, lambda: now[0])
    for _ in range(10):
        now[0] += 99
        retries.failed(BROKEN)
        retries.progressed()


def test_the_server_says_how_long() -> None:
    waits: list[float] = []
    control = Control()
    control.stop()  # so that nothing really waits
    retries = Retries(POLICY, control, lambda error, wait_s: waits.append(wait_s))
    retries.failed(errors.HubBusy("hub", 30.0))
    assert waits == [30.0]


@pytest.mark.parametrize(
    "error",
    [
        errors.HubFailed("hub", 404),
        errors.HubCertificateRefused("no", "hub"),
        errors.ProxyFailed("proxy", "login"),
        errors.WebPageReceived("hub"),
        errors.WrongSize("hub", 2, 1),
    ],
)
def test_what_waiting_cannot_cure(error: errors.DownloadError) -> None:
    retries = Retries(replace(POLICY), Control(), lambda error, wait_s: None)
    with pytest.raises(type(error)):
        retries.failed(error)
