"""CUDA's runtime is taken from where this machine has it already, and nothing else is."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from clover_gui.errors import FlavourRefused
from clover_gui.flavours.runtime import find_runtime, is_runtime, runtime_places
from clover_gui.flavours.trial import try_out


@pytest.mark.parametrize(
    ("name", "runtime"),
    [
        ("libcudart.so.12", True),
        ("libcublas.so.12", True),
        ("libcublasLt.so.13", True),
        ("cudart64_12.dll", True),
        ("cublasLt64_12.dll", True),
        ("libcuda.so.1", False),  # the driver's own
        ("libggml-cuda.so", False),
        ("libc.so.6", False),
        ("../libcudart.so.12", False),
    ],
)
def test_what_belongs_to_the_runtime(name: str, runtime: bool) -> None:
    assert is_runtime(name) is runtime


@pytest.mark.skipif(sys.platform != "linux", reason="places of Linux")
def test_the_places_of_linux(tmp_path: Path) -> None:
    for place in ("usr/local/cuda-12.4/lib64", "usr/local/cuda-12.6/lib64", "usr/local/lib/ollama/cuda_v12"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "usr/local/lib/ollama/cuda_v12/libcudart.so.12").write_bytes(b"")
    own = tmp_path / "own"
    places = runtime_places({"CUDA_HOME": str(own)}, tmp_path)
    assert [str(place.relative_to(tmp_path)) for place in places] == [
        "own/lib64",
        "usr/local/cuda-12.6/lib64",
        "usr/local/cuda-12.4/lib64",
        "usr/local/lib/ollama",
        "usr/local/lib/ollama/cuda_v12",
    ]
    assert find_runtime("libcudart.so.12", places) == places[-1]
    assert find_runtime("libcublas.so.12", places) is None


@pytest.fixture
def needing(tmp_path: Path, libraries: dict[str, bytes]) -> Path:
    """The real libraries, where libggml asks for "libcudart.so.12" in place of libggml-base."""
    folder = tmp_path / "engine"
    folder.mkdir()
    old, new = b"libggml-base.so.0\0", b"libcudart.so.12\0\0\0"
    for name, data in libraries.items():
        if "ggml-base" not in name:
            (folder / name).write_bytes(data.replace(old, new))
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="the changes are made to ELF files")
def test_a_trial_takes_the_runtime_from_elsewhere(
    needing: Path, tmp_path: Path, libraries: dict[str, bytes]
) -> None:
    with pytest.raises(FlavourRefused) as caught:
        asyncio.run(try_out(needing, "cpu"))
    assert (caught.value.kind, caught.value.what) == ("missing-library", "libcudart.so.12")
    toolkit = tmp_path / "cuda" / "lib64"
    toolkit.mkdir(parents=True)
    base = next(data for name, data in libraries.items() if name == "libggml-base.so.0")
    (toolkit / "libcudart.so.12").write_bytes(base.replace(b"libggml-base.so.0\0", b"libcudart.so.12\0\0\0"))
    trial = asyncio.run(try_out(needing, "cpu", places=[tmp_path / "nothing", toolkit]))
    assert trial.search == (str(toolkit),)
