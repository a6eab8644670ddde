"""The page of a set: which wheel is taken, and what is said when there is none. Against a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_gui.engine.libraries import ENGINE_VERSION
from clover_gui.errors import FlavourNotPublished, HubFailed, HubUnreachable
from clover_gui.flavours.platform_tags import Platform, this_platform
from clover_gui.flavours.published import (
    PUBLISHED_CUDA,
    PUBLISHED_INDEX,
    PublishedWheel,
    find_wheel,
    index_address,
    size_of,
)
from installers import backend, wheel
from tests.flavours.wheels import Index

DEBIAN = Platform("linux", "x86_64", "glibc", (2, 36))
SUM = "a" * 64


def page(index: Index, set_name: str, *links: str) -> None:
    folder = index.folder / set_name / "llama-cpp-python"
    folder.mkdir(parents=True)
    (folder / "index.html").write_text("".join(f'<a href="{link}">x</a>' for link in links))


def test_the_set_up_of_a_checkout_knows_the_same_sets() -> None:
    assert PUBLISHED_CUDA == backend.PUBLISHED_CUDA
    assert PUBLISHED_INDEX == wheel.PUBLISHED_INDEX
    assert ENGINE_VERSION == wheel.VERSION


def test_the_wheel_for_this_version_and_machine_is_taken(index: Index) -> None:
    name = f"llama_cpp_python-{ENGINE_VERSION}-cp311-cp311-manylinux2014_x86_64.whl"
    page(
        index,
        "cu124",
        "llama_cpp_python-0.3.35-cp311-cp311-manylinux2014_x86_64.whl",
        f"llama_cpp_python-{ENGINE_VERSION}-cp311-cp311-win_amd64.whl",
        f"llama_cpp_python-{ENGINE_VERSION}-cp311-cp311-manylinux2014_aarch64.whl",
        "file:///etc/passwd",
        f"/files/{name}#sha256={SUM}",
    )
    found = find_wheel("cu124", ENGINE_VERSION, DEBIAN, address=index.address)
    assert found == PublishedWheel("cu124", f"{index.address}/files/{name}", name, SUM)


@pytest.mark.parametrize("set_name", ["cu124", "vulkan", "nonsense", "../etc"])
def test_no_set_or_none_that_fits(set_name: str, index: Index) -> None:
    page(index, "vulkan", f"llama_cpp_python-{ENGINE_VERSION}-py3-none-win_amd64.whl")
    with pytest.raises(FlavourNotPublished) as caught:
        find_wheel(set_name, ENGINE_VERSION, DEBIAN, address=index.address)
    assert caught.value.host
    assert not [path for path, _range in index.asked if ".." in path]


def test_the_address_can_be_replaced_or_switched_off() -> None:
    assert index_address({"CLOVER_ENGINE_INDEX": "http://127.0.0.1:1/whl/"}) == "http://127.0.0.1:1/whl"
    assert index_address({}) == PUBLISHED_INDEX
    with pytest.raises(FlavourNotPublished):
        find_wheel("cpu", ENGINE_VERSION, DEBIAN, address=index_address({"CLOVER_ENGINE_INDEX": ""}))


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with Index(tmp_path) as gone:
        address = gone.address
    with pytest.raises((HubUnreachable, HubFailed)):
        find_wheel("cpu", ENGINE_VERSION, DEBIAN, address=address)


def test_the_size_is_asked_for_without_the_file(index: Index, good_wheel: Path) -> None:
    index.add("cpu", good_wheel)
    found = find_wheel("cpu", ENGINE_VERSION, this_platform(), address=index.address)
    assert size_of(found) == good_wheel.stat().st_size
    assert index.asked[-1][1] == "bytes=0-0"
