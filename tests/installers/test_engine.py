"""The order in which the engine's set-up tries its ways, and what it tells."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from installers import backend, child, engine, places, wheel
from installers.backend import Facts
from installers.engine import Installer, Record
from installers.events import Reporter, SetUpError
from installers.wheel import Trial

PLAIN = Facts(processor_features=frozenset(backend.PROCESSOR_FEATURES), has_compiler=True)
NVIDIA = replace(PLAIN, gpus=("nvidia",), nvidia_name="RTX", driver_cuda=(12, 4))
WHEEL = f"llama_cpp_python-{wheel.VERSION}-py3-none-any.whl"


class Bench:
    """The installer with its ways to the outside replaced; ``refused`` and ``published`` steer them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache = folder / "cache"
        self.prefix = folder / "prefix"
        self.prefix.mkdir()
        self.published: set[str] = set()
        self.refused: set[str] = set()
        self.build_fails = False
        self.installed: list[Path] = []
        self.stream = StringIO()
        monkeypatch.setattr(sys, "prefix", str(self.prefix))
        monkeypatch.setattr(engine, "installed_version", lambda: "")
        monkeypatch.setattr(
            wheel, "is_published", lambda address, facts: address.split("/")[-1] in self.published
        )
        monkeypatch.setattr(
            wheel, "download_published", lambda address, work, log: self._make(work, "published")
        )
        monkeypatch.setattr(wheel, "bring_source", lambda folder, work, log: work / "source.tar.gz")
        monkeypatch.setattr(wheel, "build", self._build)
        monkeypatch.setattr(wheel, "try_out", self._try_out)
        monkeypatch.setattr(Installer, "_install", lambda installer, found: self.installed.append(found))

    def run(self, facts: Facts, choice: str = "auto", *, rebuild: bool = False) -> list[dict[str, Any]]:
        self.stream = StringIO()
        Installer(facts, Reporter(as_json=True, stream=self.stream), self.cache).run(choice, rebuild=rebuild)
        return self.events

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def _make(self, work: Path, content: str) -> Path:
        path = work / WHEEL
        path.write_text(content)
        return path

    def _build(self, source: Path, options: tuple[str, ...], work: Path, *rest: Any, **more: Any) -> Path:
        if self.build_fails:
            raise child.ChildFailed(1, ("ninja: build stopped",))
        rest[1]("  [70/140] /usr/bin/g++ -c x.cpp\n")
        return self._make(work, "built with " + " ".join(options))

    def _try_out(self, path: Path, work: Path) -> Trial:
        content = path.read_text()
        failure = "no libcudart" if any(word in content for word in self.refused) else ""
        return Trial(failure, wheel.VERSION, gpu_offload="GGML_CUDA" in content)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.delenv("CLOVER_ENGINE_INDEX", raising=False)
    return Bench(tmp_path, monkeypatch)


def test_a_build_is_kept_and_taken_the_next_time(bench: Bench) -> None:
    events = bench.run(PLAIN)
    assert [event["step"] for event in events if event["event"] == "step"] == [
        "look",
        "download",
        "compile",
        "verify",
    ]
    assert {"event": "progress", "done": 70, "total": 140, "seconds_left": None} in events
    assert (events[-1]["event"], events[-1]["from"], events[-1]["backend"]) == ("done", "built", "cpu")
    Record.path(bench.prefix).unlink()
    assert bench.run(PLAIN)[-1]["from"] == "cache"


def test_a_published_wheel_is_preferred_to_a_build(bench: Bench) -> None:
    bench.published = {"cpu"}
    assert bench.run(PLAIN)[-1]["from"] == "published"


def test_a_published_wheel_that_does_not_run_here_is_not_kept(bench: Bench) -> None:
    bench.published, bench.refused = {"cpu"}, {"published"}
    assert bench.run(PLAIN)[-1]["from"] == "built"
    kept = wheel.find_cached(wheel.key_folder(bench.cache, PLAIN, "cpu"))
    assert kept is not None
    assert kept.read_text().startswith("built")


def test_a_kept_wheel_that_does_not_run_here_is_thrown_away(bench: Bench) -> None:
    folder = wheel.key_folder(bench.cache, PLAIN, "cpu")
    folder.mkdir(parents=True)
    (folder / WHEEL).write_text("from another machine")
    bench.refused = {"another machine"}
    assert bench.run(PLAIN)[-1]["from"] == "built"


def test_published_wheels_can_be_switched_off(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOVER_ENGINE_INDEX", "")
    bench.published = {"cpu"}
    assert bench.run(PLAIN)[-1]["from"] == "built"


def test_a_gpu_that_cannot_be_used_is_told_with_the_cure(bench: Bench) -> None:
    events = bench.run(NVIDIA)
    warning = next(event for event in events if event["event"] == "warning")
    assert "CUDA toolkit" in warning["text"]
    assert "--backend cuda" in warning["next_step"]
    record = Record.read(bench.prefix)
    assert record == Record(wheel.VERSION, "cpu", "cuda")


def test_a_gpu_that_is_used_needs_no_words(bench: Bench) -> None:
    events = bench.run(replace(NVIDIA, has_nvcc=True))
    assert not [event for event in events if event["event"] == "warning"]
    assert events[-1]["backend"] == "cuda"


def test_a_failed_build_ends_with_reason_next_step_and_log(bench: Bench) -> None:
    bench.build_fails = True
    with pytest.raises(SetUpError, match="build stopped") as caught:
        bench.run(PLAIN)
    assert caught.value.next_step
    assert Path(caught.value.log).is_file()
    assert Record.read(bench.prefix) is None


def test_without_a_compiler_the_cure_is_named(bench: Bench) -> None:
    with pytest.raises(SetUpError, match=r"C\+\+ compiler is missing"):
        bench.run(replace(PLAIN, has_compiler=False))


def test_remains_of_a_killed_build_are_removed(bench: Bench) -> None:
    remains = bench.cache / "engine" / "work-killed"
    remains.mkdir(parents=True)
    (remains / WHEEL).write_text("half")
    bench.run(PLAIN)
    assert not list((bench.cache / "engine").glob("work-*"))


def test_a_chosen_backend_replaces_the_installed_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(PLAIN)
    monkeypatch.setattr(wheel, "try_import", lambda: Trial(version=wheel.VERSION))
    assert bench.run(PLAIN)[-1]["from"] == "installed"
    toolkit = replace(NVIDIA, has_nvcc=True)
    assert bench.run(toolkit, "cuda")[-1]["backend"] == "cuda"
    assert bench.run(toolkit, "cpu", rebuild=True)[-1]["from"] == "built"


def test_a_record_stands_for_our_version_only(tmp_path: Path) -> None:
    assert not engine.is_recorded(tmp_path)
    Record("0.0.1", "cpu", "cpu").write(tmp_path)
    assert not engine.is_recorded(tmp_path)
    Record(wheel.VERSION, "cpu", "cpu").write(tmp_path)
    assert engine.is_recorded(tmp_path)
    Record.path(tmp_path).write_text("[]")
    assert not engine.is_recorded(tmp_path)


def test_check_answers_in_json_and_changes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(places.ROOT / "installers" / "engine.py"), "--check", "--json"],
        capture_output=True,
        text=True,
        env={"CLOVER_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"},
        timeout=60,
        check=False,
    )
    answer = json.loads(done.stdout)
    assert answer["event"] == "check"
    assert answer["wanted"] in backend.BACKENDS
    assert done.returncode == (0 if answer["installed"] else 1)
    assert not (tmp_path / "cache").exists()


def test_plain_output_is_one_line_for_each_event() -> None:
    stream = StringIO()
    reporter = Reporter(as_json=False, stream=stream)
    reporter.step("compile", "Building…")
    reporter.progress(1, 2, 3.0)  # nobody watches
    reporter.warning("It could be faster.", "Run this.")
    reporter.done("cpu", 241.0, "built")
    assert stream.getvalue().splitlines() == [
        "Building…",
        "Note: It could be faster.",
        "Run this.",
        "The engine is ready (cpu, 4 min).",
    ]
