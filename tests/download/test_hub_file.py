"""Which file of a repository is meant."""

from __future__ import annotations

import pytest

from clover_gui.download.hub_file import HubFile, choose_file
from clover_gui.errors import ModelChoiceFailed


def files(*names: str) -> list[HubFile]:
    return [HubFile("https://hub", "a/b", "main", name, 10, "00" * 32) for name in names]


MANY = files("README.md", "m-Q4_K_M.gguf", "m-Q8_0.gguf", "mmproj-m-f16.gguf", "sub/m-BF16.gguf")
SPLIT = files("m-BF16-00001-of-00002.gguf", "m-BF16-00002-of-00002.gguf")


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("*q4_k_m*", "m-Q4_K_M.gguf"),
        ("Q8_0", "m-Q8_0.gguf"),
        ("M-Q4*.GGUF", "m-Q4_K_M.gguf"),
        ("m-BF16.gguf", "sub/m-BF16.gguf"),
        ("sub/*", "sub/m-BF16.gguf"),
        ("mmproj-m-f16.gguf", "mmproj-m-f16.gguf"),
    ],
)
def test_one_is_found(pattern: str, name: str) -> None:
    assert choose_file("a/b", MANY, pattern).name == name


def test_of_several_the_preferred_one_is_taken() -> None:
    assert choose_file("a/b", MANY, "*.gguf", prefer="q4_k_m").name == "m-Q4_K_M.gguf"


@pytest.mark.parametrize(
    ("listed", "pattern", "kind", "count"),
    [
        (MANY, "*.gguf", "several", 3),
        (MANY, "Q2_K", "none", 4),
        (SPLIT, "*BF16*", "split", 2),
        (files("README.md"), "*", "none", 0),
    ],
)
def test_what_cannot_be_chosen_is_listed(listed: list[HubFile], pattern: str, kind: str, count: int) -> None:
    with pytest.raises(ModelChoiceFailed) as caught:
        choose_file("a/b", listed, pattern)
    assert caught.value.kind == kind
    assert len(caught.value.names) == count


def test_a_whole_file_wins_over_its_parts() -> None:
    assert choose_file("a/b", [*SPLIT, *files("m-BF16.gguf")], "BF16").name == "m-BF16.gguf"


def test_names_are_quoted_in_addresses() -> None:
    assert files("sub/ü #1.gguf")[0].url == "https://hub/a/b/resolve/main/sub/%C3%BC%20%231.gguf"
