"""Wheels of the real engine, made once, and a server for them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from clover_gui.engine.libraries import ENGINE_VERSION
from clover_gui.flavours.store import FlavourStore
from tests.flavours.wheels import Index, make_wheel, platform_tag, real_libraries


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's settings decides a test."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "LLAMA_CPP_LIB_PATH", "CLOVER_ENGINE_INDEX"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="session")
def libraries() -> dict[str, bytes]:
    if find_spec("llama_cpp") is None:
        pytest.skip("the engine is not installed")
    return real_libraries()


@pytest.fixture(scope="session")
def good_wheel(libraries: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine that is installed here, as a wheel."""
    name = f"llama_cpp_python-{ENGINE_VERSION}-py3-none-{platform_tag()}.whl"
    return make_wheel(tmp_path_factory.mktemp("wheels") / name, libraries)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    folder = tmp_path / "index"
    folder.mkdir()
    with Index(folder) as served:
        yield served


@pytest.fixture
def store(tmp_path: Path) -> FlavourStore:
    return FlavourStore(tmp_path / "data" / "engines")
