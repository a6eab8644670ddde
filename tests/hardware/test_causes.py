"""Where nothing is found: what may be the cause, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clover_gui.explain import likely_causes
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, ProbeNote, Processor

BARE = Machine("Linux 6.1", Processor("p", "x86_64", 4, 8), Memory(1 << 34, 1 << 33), None)


@pytest.mark.parametrize(
    ("machine", "word"),
    [
        (replace(BARE, notes=(ProbeNote("nvidia", "device-lost", "15"),)), "lost"),
        (replace(BARE, notes=(ProbeNote("nvidia", "driver-error", "18"),)), "updated"),
        (replace(BARE, notes=(ProbeNote("nvidia", "permission", "4"),)), "groups"),
        (replace(BARE, system="Linux 5.15 under WSL"), "Windows"),
        (replace(BARE, notes=(ProbeNote("nvidia", "no-driver", "none"),)), "not installed"),
    ],
)
def test_causes_follow_from_what_the_probes_said(machine: Machine, word: str) -> None:
    assert word in likely_causes(machine)[0]


def test_no_causes_where_something_was_found() -> None:
    assert likely_causes(replace(BARE, gpus=(Gpu("x", "AMD", DeviceKind.DISCRETE),))) == ()
