"""Which wheels fit which machine, by their tags."""

from __future__ import annotations

import pytest

from clover_gui.flavours.platform_tags import Platform, misfit

DEBIAN = Platform("linux", "x86_64", "glibc", (2, 36))
ALPINE = Platform("linux", "x86_64", "musl", (1, 2))
WINDOWS = Platform("windows", "x86_64")
MAC = Platform("macos", "arm64", version=(14, 5))


@pytest.mark.parametrize(
    ("tags", "here", "kind"),
    [
        (["linux_x86_64"], DEBIAN, ""),
        (["manylinux2014_x86_64"], DEBIAN, ""),
        (["manylinux_2_17_x86_64", "manylinux2014_x86_64"], DEBIAN, ""),
        (["manylinux_2_39_x86_64"], DEBIAN, "system-too-old"),
        (["linux_aarch64"], DEBIAN, "other-processor"),
        (["musllinux_1_2_x86_64"], DEBIAN, "other-system"),
        (["musllinux_1_2_x86_64"], ALPINE, ""),
        (["manylinux2014_x86_64"], ALPINE, "other-system"),
        (["win_amd64"], DEBIAN, "other-system"),
        (["win_amd64"], WINDOWS, ""),
        (["win_arm64"], WINDOWS, "other-processor"),
        (["win32"], WINDOWS, "other-processor"),
        (["macosx_11_0_arm64"], MAC, ""),
        (["macosx_11_0_universal2"], MAC, ""),
        (["macosx_15_0_arm64"], MAC, "system-too-old"),
        (["macosx_10_9_x86_64"], MAC, "other-processor"),
        (["any"], DEBIAN, "other-system"),
        ([], DEBIAN, "other-system"),
    ],
)
def test_fit(tags: list[str], here: Platform, kind: str) -> None:
    found = misfit(tags, here)
    assert (found.kind if found else "") == kind


def test_what_is_missing_is_told_in_figures() -> None:
    found = misfit(["manylinux_2_39_x86_64"], DEBIAN)
    assert found is not None
    assert (found.what, found.needed) == ("glibc 2.36", "glibc 2.39")
