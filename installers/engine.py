"""Installs the engine (llama-cpp-python) into the environment of the interpreter that runs this file, or into
the clone's ``.venv`` when that interpreter belongs to no environment.

    python installers/engine.py [--json] [--backend auto|cpu|cuda|vulkan|metal|hip] [--rebuild] [--check]

With ``--json`` every line of output is one event (see ``events.py``); the window runs it like that and shows
the progress. Exit codes: 0 the engine is there, 1 it is not (the reason has been told), 2 wrong arguments,
130 interrupted. Standard library only.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from installers import advice, backend, child, locks, places, wheel
from installers.backend import Facts, Plan, Way
from installers.events import Reporter, SetUpError

MINIMUM_FREE_BYTES = 1_500_000_000
"""What a build needs for a while: sources, objects, the wheel and its copy."""

_SOURCE_WORDS = {"cached": "cache", "published": "published", "built": "built"}


@dataclass(frozen=True, slots=True)
class Record:
    """What was installed, kept in the environment; written last, so it stands for a whole installation."""

    version: str
    backend: str
    wanted: str

    @staticmethod
    def path(prefix: Path) -> Path:
        return prefix / "clover-engine.json"

    @classmethod
    def read(cls, prefix: Path) -> Record | None:
        """The record of an environment; None when there is none or it cannot be read."""
        try:
            found = json.loads(cls.path(prefix).read_text(encoding="utf-8"))
            return cls(str(found["version"]), str(found["backend"]), str(found["wanted"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, prefix: Path) -> None:
        text = json.dumps({"version": self.version, "backend": self.backend, "wanted": self.wanted})
        self.path(prefix).write_text(text + "\n", encoding="utf-8")


def is_recorded(prefix: Path) -> bool:
    """Whether an environment holds a whole engine of our version."""
    record = Record.read(prefix)
    return record is not None and record.version == wheel.VERSION


class Installer:
    """One run: looks, tries the ways in order, installs what works."""

    def __init__(self, facts: Facts, reporter: Reporter, cache: Path, *, low_priority: bool = False) -> None:
        self._facts = facts
        self._reporter = reporter
        self._cache = cache / "engine"
        self._low_priority = low_priority
        self._log = cache / "logs" / "engine.log"
        self._prefix = Path(sys.prefix)
        self._failures: list[str] = []

    def run(self, choice: str, *, rebuild: bool) -> None:
        """Bring the engine.

        Raises:
            SetUpError: no way led to an engine that works here.
        """
        started_at = time.monotonic()
        try:
            with locks.exclusive(self._cache / "lock", self._say_waiting):
                self._log.parent.mkdir(parents=True, exist_ok=True)
                self._log.write_text("", encoding="utf-8")
                self._remove_leftovers()
                if not rebuild and (record := self._installed(choice)):
                    self._reporter.done(record.backend, time.monotonic() - started_at, "installed")
                    return
                plan = backend.plan(self._facts, choice, rebuild=rebuild)
                way = self._try_ways(plan)
                self._warn_of_second_best(plan, way)
                self._reporter.done(way.backend, time.monotonic() - started_at, _SOURCE_WORDS[way.source])
        except OSError as error:
            reason = f"The engine could not be set up: {error}."
            raise SetUpError(
                reason, "Make room or give the right to write there, then start again."
            ) from error

    def _say_waiting(self) -> None:
        self._reporter.step("wait", "Another set-up is at work on the engine. Waiting for it…")

    def _remove_leftovers(self) -> None:
        """Of a run that was killed: we hold the lock, so nobody works in these folders."""
        for folder in self._cache.glob("work-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _installed(self, choice: str) -> Record | None:
        record = Record.read(self._prefix)
        if record is None and installed_version() == wheel.VERSION:
            record = self._adopt()
        if record is None or record.version != wheel.VERSION or choice not in ("auto", record.backend):
            return None
        return None if wheel.objection(wheel.try_import(), self._facts, record.backend) else record

    def _adopt(self) -> Record | None:
        """The record of an engine that somebody installed by hand, as long as it makes use of the machine."""
        trial = wheel.try_import()
        wanted = backend.best_backend(self._facts)
        if trial.failure or (wanted != "cpu" and not trial.gpu_offload):
            return None
        record = Record(wheel.VERSION, wanted if trial.gpu_offload else "cpu", wanted)
        record.write(self._prefix)
        return record

    def _try_ways(self, plan: Plan) -> Way:
        for way in plan.ways:
            with tempfile.TemporaryDirectory(
                prefix="work-", dir=self._cache, ignore_cleanup_errors=True
            ) as work:
                found = self._bring(way, Path(work))
                if found is None:
                    continue
                if reason := self._reject(found, way, Path(work)):
                    self._failures.append(f"{way.backend}, {_SOURCE_WORDS[way.source]}: {reason}")
                    self._note(self._failures[-1])
                    if way.source == "cached":
                        found.unlink(missing_ok=True)
                    continue
                folder = wheel.key_folder(self._cache.parent, self._facts, way.backend)
                kept = found if way.source == "cached" else wheel.keep(found, folder)
                self._install(kept)
                Record(wheel.VERSION, way.backend, plan.wanted).write(self._prefix)
                return way
        raise self._nothing_worked(plan)

    def _bring(self, way: Way, work: Path) -> Path | None:
        """The wheel of a way, or None when this way is closed (the reason is noted)."""
        try:
            if way.source == "cached":
                found = wheel.find_cached(wheel.key_folder(self._cache.parent, self._facts, way.backend))
                if found is not None:
                    self._reporter.step("wheel", "Taking the engine that was built here before…")
                return found
            if way.source == "published":
                return self._bring_published(way, work)
            return self._build(way, work)
        except child.ChildFailed as error:
            reason = error.tail[-1] if error.tail else str(error)
            self._failures.append(f"{way.backend}, {_SOURCE_WORDS[way.source]}: {reason}")
            return None

    def _bring_published(self, way: Way, work: Path) -> Path | None:
        base = wheel.index_address(os.environ)
        if not base:
            return None
        address = f"{base}/{way.index}"
        self._reporter.step("look", f"Looking for a ready engine ({way.index})…")
        if not wheel.is_published(address, self._facts):
            self._note(f"{way.index}: not published for this system, or not reachable")
            return None
        self._reporter.step("download", f"Downloading a ready engine ({way.index})…")
        return wheel.download_published(address, work, self._log)

    def _build(self, way: Way, work: Path) -> Path | None:
        if not self._facts.has_compiler:
            self._failures.append(f"{way.backend}, built: there is no C++ compiler")
            return None
        free = shutil.disk_usage(self._cache).free
        if free < MINIMUM_FREE_BYTES:
            self._failures.append(
                f"{way.backend}, built: {free / 2**30:.1f} GB free, {self._cache} needs 1.5 GB"
            )
            return None
        self._reporter.step("download", "Bringing the engine's source (77 MB)…")
        source = wheel.bring_source(self._cache / "sources", work, self._log)
        minutes = wheel.build_minutes(self._facts, way.backend)
        self._reporter.step(
            "compile", f"Building the engine ({way.backend}), about {minutes} min on this machine…"
        )
        progress = wheel.CompileProgress()

        def report(line: str) -> None:
            if reading := progress.read(line):
                self._reporter.progress(*reading)

        options = backend.build_options(self._facts, way.backend)
        return wheel.build(source, options, work, self._log, report, low_priority=self._low_priority)

    def _reject(self, found: Path, way: Way, work: Path) -> str:
        self._reporter.step("verify", "Trying the engine out…")
        return wheel.objection(wheel.try_out(found, work), self._facts, way.backend)

    def _install(self, found: Path) -> None:
        self._reporter.step("install", "Installing the engine (about 60 MB on disk)…")
        Record.path(self._prefix).unlink(missing_ok=True)
        # By hand: pip refuses to replace what an interrupted installation left without its list of files.
        site = Path(sysconfig.get_path("platlib"))
        for old in (site / "llama_cpp", *site.glob("llama_cpp_python-*.dist-info")):
            shutil.rmtree(old, ignore_errors=True)
        try:
            child.run(wheel.pip("install", "--no-deps", "--no-index", str(found)), self._log)
        except child.ChildFailed as error:
            raise SetUpError(
                f"The engine could not be installed: {error.tail[-1] if error.tail else error}.",
                "Close all windows of the program and start again.",
                str(self._log),
            ) from error

    def _warn_of_second_best(self, plan: Plan, way: Way) -> None:
        second = advice.second_best(self._facts, plan.wanted, way.backend)
        if second is not None:
            self._reporter.warning(*second)

    def _nothing_worked(self, plan: Plan) -> SetUpError:
        for failure in self._failures:
            self._note(failure)
        reason, next_step = advice.nothing_worked(self._facts, plan, self._failures)
        return SetUpError(reason, next_step, str(self._log))

    def _note(self, text: str) -> None:
        with open(self._log, "a", encoding="utf-8") as file:
            file.write(f"# {text}\n")


def check(facts: Facts, reporter: Reporter, choice: str, cache: Path) -> bool:
    """Tell what is installed and what would be done, change nothing; True when an engine is there."""
    record = Record.read(Path(sys.prefix))
    trial = wheel.try_import()
    plan = backend.plan(facts, choice)
    installed = not wheel.objection(trial, facts, record.backend if record else "cpu")
    cached = [way.backend for way in plan.ways if way.source == "cached"]
    kept = [name for name in cached if wheel.find_cached(wheel.key_folder(cache, facts, name))]
    answer = {
        "installed": installed,
        "version": trial.version or installed_version(),
        "backend": record.backend if record else "",
        "gpu_offload": trial.gpu_offload,
        "failure": trial.failure,
        "wanted": plan.wanted,
        "cached": kept,
        "ways": [f"{way.backend} {_SOURCE_WORDS[way.source]}" for way in plan.ways],
        "gpus": list(facts.gpus),
        "has_compiler": facts.has_compiler,
    }
    state = f"installed ({answer['backend'] or 'by hand'})" if installed else "not installed"
    reporter.check(answer, f"Engine {wheel.VERSION}: {state}. Best backend for this machine: {plan.wanted}.")
    return installed


def installed_version() -> str:
    """The version that the environment lists, whether or not it works; empty when there is none."""
    try:
        return importlib.metadata.version("llama-cpp-python")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="installers/engine.py", description="Installs the engine.")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, for a program to read")
    parser.add_argument("--backend", choices=("auto", *backend.BACKENDS), default="auto")
    parser.add_argument("--rebuild", action="store_true", help="compile it anew, whatever is there")
    parser.add_argument("--check", action="store_true", help="only tell what is there and what would be done")
    return parser.parse_args(arguments)


def _end_on_terminate(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _run_in_environment(arguments: list[str]) -> int:
    """For whoever types ``python3 installers/engine.py``: the same with the Python of ``.venv``."""
    python = places.python_of(places.ENVIRONMENT)
    if not python.exists():
        print("Set the program up first: python3 installers/run.py --setup-only", file=sys.stderr)
        return 1
    command = [str(python), str(Path(__file__).resolve()), *arguments]
    if sys.platform != "win32":
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    """Run; see the module's text for the exit codes."""
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = _parse(arguments)
    if sys.prefix == sys.base_prefix:
        return _run_in_environment(arguments)
    signal.signal(signal.SIGTERM, _end_on_terminate)
    reporter = Reporter(as_json=chosen.json)
    cache = places.cache_folder()
    try:
        facts = backend.look()
        if chosen.check:
            return 0 if check(facts, reporter, chosen.backend, cache) else 1
        # Behind a window the processors belong to the window first.
        installer = Installer(facts, reporter, cache, low_priority=chosen.json)
        installer.run(chosen.backend, rebuild=chosen.rebuild)
    except SetUpError as error:
        reporter.failed(error)
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        # The window that read our lines is gone, or somebody pressed Ctrl-C: the children are ended by now.
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
