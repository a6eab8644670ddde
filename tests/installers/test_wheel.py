"""Progress of a build, published wheels, and what is refused after the trial."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path

import pytest

from installers import places, wheel
from installers.backend import Facts
from installers.wheel import CompileProgress, Trial

# Lines of a real build, in the form in which pip passes them on; the compiler's options are shortened.
BUILD_LOG = """\
Collecting llama-cpp-python==0.3.36
  Downloading llama_cpp_python-0.3.36.tar.gz (76.6 MB)
  *** scikit-build-core 1.1.2 using CMake 3.25.1 (wheel)
  *** Configuring CMake...
  -- x86 detected
  -- Adding CPU backend variant ggml-cpu: -msse4.2;-mf16c;-mfma;-mbmi2;-mavx;-mavx2 GGML_SSE42;GGML_F16C
  *** Building project with Ninja...
  [1/140] /usr/bin/g++ -DGGML_BUILD -DGGML_SCHED_MAX_COPIES=4 -O3 -DNDEBUG -fPIC -c ggml.cpp
  [13/140] : && /usr/bin/g++ -fPIC -O3 -DNDEBUG   -shared -Wl,-soname,libggml-base.so.0
  [14/140] /usr/bin/cmake -E cmake_symlink_library bin/libggml-base.so.0.25.3  bin/libggml-base.so.0
  [71/140] /usr/bin/g++ -DGGML_AVX -O3 -DNDEBUG -o x.o -c x[3/4].cpp
  [140/140] : && /usr/bin/cmake -E cmake_symlink_library bin/libllama.so.0.5.0
  *** Installing project into wheel...
  Building wheel for llama-cpp-python (pyproject.toml): finished with status 'done'
"""


def test_progress_is_read_from_a_build() -> None:
    seconds = iter([100.0, 112.0, 113.0, 170.0, 240.0])
    progress = CompileProgress(clock=lambda: next(seconds))
    readings = [reading for line in BUILD_LOG.splitlines() if (reading := progress.read(line))]
    assert [(done, total) for done, total, _ in readings] == [
        (1, 140),
        (13, 140),
        (14, 140),
        (71, 140),
        (140, 140),
    ]
    assert readings[0][2] is None
    assert readings[3][2] == pytest.approx(69.0)  # 70 files in 70 s, 69 to go
    assert readings[-1][2] == 0


@pytest.mark.parametrize("line", ["", "[1/0] x", "[9/8] x", "text [1/2] x", "  [ 12%] Building", "[1/2]x"])
def test_other_lines_are_no_progress(line: str) -> None:
    assert CompileProgress().read(line) is None


PAGE = """
<a href="x/llama_cpp_python-0.3.36-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl#sha256=0">one</a>
<a href="x/llama_cpp_python-0.3.36-py3-none-win_amd64.whl">two</a>
<a href="x/llama_cpp_python-0.3.35-py3-none-macosx_11_0_arm64.whl">older</a>
"""


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Facts(), True),
        (Facts(system="win32"), True),
        (Facts(machine="arm64"), False),
        (Facts(system="darwin", machine="arm64"), False),  # only an older version
        (Facts(system="win32", machine="arm64"), False),
    ],
)
def test_published_wheels_are_matched_to_the_system(facts: Facts, expected: bool) -> None:
    assert wheel.lists_wheel(PAGE, facts) is expected


def test_an_index_that_cannot_be_reached_has_nothing() -> None:
    assert not wheel.is_published("http://127.0.0.1:9", Facts())
    assert not wheel.is_published("not an address", Facts())


def test_the_index_can_be_replaced_and_switched_off() -> None:
    assert wheel.index_address({}) == wheel.PUBLISHED_INDEX
    assert wheel.index_address({"CLOVER_ENGINE_INDEX": "http://127.0.0.1/x/"}) == "http://127.0.0.1/x"
    assert wheel.index_address({"CLOVER_ENGINE_INDEX": ""}) == ""


GOOD = Trial(version=wheel.VERSION, gpu_offload=False, system_info="CPU : SSE3 = 1 | AVX = 1 | AVX2 = 1 | ")


@pytest.mark.parametrize(
    ("trial", "facts", "backend", "expected"),
    [
        (GOOD, Facts(processor_features=frozenset({"avx", "avx2"})), "cpu", ""),
        (GOOD, Facts(), "cpu", ""),  # features unknown: nothing can be held against it
        (GOOD, Facts(processor_features=frozenset({"avx"})), "cpu", "another processor (with avx2)"),
        (Trial(failure="libcudart.so.12: not found"), Facts(), "cuda", "libcudart"),
        (Trial(version="0.3.1"), Facts(), "cpu", "version 0.3.1"),
        (GOOD, Facts(gpus=("nvidia",)), "cuda", "no GPU"),
        (GOOD, Facts(gpus=("nvidia",)), "cpu", ""),
        (GOOD, Facts(), "cuda", ""),  # built for another machine, on purpose
    ],
)
def test_what_does_not_run_here_is_refused(trial: Trial, facts: Facts, backend: str, expected: str) -> None:
    found = wheel.objection(trial, facts, backend)
    assert (expected in found) if expected else found == ""


def test_a_wheel_that_dies_of_an_unknown_instruction_is_recognised(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert wheel.try_out(path, tmp_path / "work").failure == "it was built for another processor"


def test_a_wheel_that_cannot_be_imported_gives_its_reason(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "raise ImportError('libcudart.so.12: cannot open shared object file')")
    assert "libcudart.so.12" in wheel.try_out(path, tmp_path / "work").failure


def test_a_broken_archive_gives_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "llama_cpp_python-0.3.36-py3-none-any.whl"
    path.write_bytes(b"half a wheel")
    assert "cannot be unpacked" in wheel.try_out(path, tmp_path / "work").failure


def test_a_kept_wheel_is_found_and_half_a_copy_is_not(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "")
    folder = tmp_path / "cache" / "key"
    assert wheel.find_cached(folder) is None
    folder.mkdir(parents=True)
    (folder / (path.name + ".part")).write_bytes(b"half")
    assert wheel.find_cached(folder) is None
    kept = wheel.keep(path, folder)
    assert wheel.find_cached(folder) == kept
    assert kept.read_bytes() == path.read_bytes()


def test_the_environment_of_a_build_has_no_epoch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    environ = wheel._build_environ(tmp_path, ("-DA=1", "-DB=86;90"))
    assert "SOURCE_DATE_EPOCH" not in environ
    assert environ["CMAKE_ARGS"] == "-DA=1 -DB=86;90"


def test_one_version_everywhere() -> None:
    project = tomllib.loads((places.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"llama-cpp-python=={wheel.VERSION}" in project["dependencies"]
    assert wheel.LOCK.read_text(encoding="utf-8").startswith(f"llama-cpp-python=={wheel.VERSION} ")
    assert project["optional-dependencies"]["demo"][0] in (wheel.LOCK.parent / "demo.lock").read_text()


def make_wheel(folder: Path, code: str) -> Path:
    """A wheel whose package does as told when it is imported."""
    path = folder / f"llama_cpp_python-{wheel.VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("llama_cpp/__init__.py", code)
    return path
