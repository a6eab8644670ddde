"""The workflows of the public forge, the wheels of engines and the bill of materials of a release."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import yaml

from clover_gui.flavours.wheel_file import EngineWheel
from installers import backend, engine_wheel, package, places, sbom
from installers.freeze.version import version

WORKFLOWS = places.ROOT / ".github" / "workflows"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(WORKFLOWS.glob("*.yml"))}
RELEASE: dict[str, Any] = yaml.safe_load(TEXTS["release.yml"])

# Their commits are not known here for sure, so they are named by version.
BY_TAG = {"Jimver/cuda-toolkit"}


def _steps(workflow: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, step) for name, job in workflow["jobs"].items() for step in job["steps"]]


# ------------------------------------------------------------ workflows


@pytest.mark.parametrize("name", TEXTS)
def test_actions_are_pinned(name: str) -> None:
    for used in re.findall(r"uses: (.+)", TEXTS[name]):
        action, _at, rest = used.partition("@")
        if action in BY_TAG:
            assert re.fullmatch(r"v\d+\.\d+\.\d+", rest), used
        else:
            assert re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", rest), used


@pytest.mark.parametrize("name", TEXTS)
def test_nobody_may_write_but_who_publishes(name: str) -> None:
    workflow = yaml.safe_load(TEXTS[name])
    assert workflow["permissions"] == {"contents": "read"}
    writers = {job for job, found in workflow["jobs"].items() if "permissions" in found}
    assert writers == ({"publish"} if name == "release.yml" else set())
    for _job, step in _steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", TEXTS)
def test_what_runs_is_a_sound_script(name: str, tmp_path: Path) -> None:
    linter = shutil.which("shellcheck")
    if linter is None:
        pytest.skip("shellcheck is not installed")
    for job, step in _steps(yaml.safe_load(TEXTS[name])):
        if "run" not in step or step.get("shell") == "pwsh":
            continue
        assert "${{ github.ref" not in step["run"], "a name that others choose must come in by a variable"
        script = tmp_path / "step.sh"
        script.write_text(
            "#!/bin/bash\nset -e\n" + re.sub(r"\$\{\{.+?\}\}", "x", step["run"]), encoding="utf-8"
        )
        done = subprocess.run(
            [linter, "--exclude=SC2035,SC2012", script], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{job}: {done.stdout}"


def test_a_linter_of_workflows_agrees() -> None:
    linter = shutil.which("actionlint")
    if linter is None:
        pytest.skip("actionlint is not installed")
    done = subprocess.run(
        [linter, *map(str, WORKFLOWS.glob("*.yml"))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_everything_is_built_tried_and_summed_up() -> None:
    jobs = RELEASE["jobs"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"tests", "publish"}
    for name in ("linux", "windows", "macos"):
        text = json.dumps(jobs[name])
        assert "--smoke-test" in text
        assert "installers.engine_wheel --backend" in text
        assert ".cdx.json" in text
    assert "sha256sum" in json.dumps(jobs["publish"])
    assert "--draft" in json.dumps(jobs["publish"])


def test_what_is_called_exists() -> None:
    for text in TEXTS.values():
        for module in re.findall(r"-m (installers[\w.]*)", text):
            path = places.ROOT / Path(*module.split("."))
            assert path.with_suffix(".py").is_file(), module
        for name in re.findall(r"(?<![\w/])(?:installers|\.ci)/[\w./-]+", text):
            assert (places.ROOT / name).exists(), name
        known = {"folder", *package.LINUX_KINDS, "setup", "dmg", "sbom"}
        assert set(re.findall(r"--only (\w+)", text)) <= known


def test_checks_do_what_the_readme_says() -> None:
    assert "bash .ci/run" in TEXTS["ci.yml"]
    assert "bash .ci/run" in TEXTS["release.yml"]


# ------------------------------------------------------------ one version


def test_the_version_stands_in_one_place() -> None:
    """Its number may be told where history is told; the translations' head is written by their tool."""
    number = re.compile(rf"(?<![\d.]){re.escape(version())}(?![\d.])")
    folders = ("clover_gui", "installers", "resources", "docs", ".github", ".ci")
    files = [path for folder in folders for path in (places.ROOT / folder).rglob("*")]
    files += [path for path in places.ROOT.iterdir() if path.suffix in (".md", ".toml")]
    stated = set()
    for path in files:
        if not path.is_file() or path.suffix in (".lock", ".po", ".mo", ".png", ".pyc"):
            continue
        if number.search(path.read_text(encoding="utf-8", errors="replace")):
            stated.add(path.relative_to(places.ROOT).as_posix())
    assert stated <= {"clover_gui/__init__.py", "CHANGELOG.md"}


# ------------------------------------------------------------ wheels of engines


@pytest.mark.parametrize("name", backend.BACKENDS)
def test_an_engine_for_others_needs_avx2_and_nothing_newer(name: str) -> None:
    found = engine_wheel.options(name, engine_wheel.portable_facts("linux", "AMD64"), Path("/work"))
    assert "-DGGML_NATIVE=OFF" in found
    assert "-DGGML_AVX2=ON" in found
    assert not any("512" in option or "ARCHITECTURES" in option for option in found)
    assert "-DCMAKE_CXX_FLAGS=-ffile-prefix-map=/work=." in found  # nobody's folders in what others run


def test_an_engine_for_arm_names_no_instructions_of_intel() -> None:
    found = engine_wheel.options("metal", engine_wheel.portable_facts("darwin", "arm64"), Path("/work"))
    assert not any("AVX" in option or "SSE" in option for option in found)
    assert "-DGGML_METAL=ON" in found


def test_the_kind_stands_in_the_name() -> None:
    name = "llama_cpp_python-1.2.3-py3-none-win_amd64.whl"
    assert engine_wheel.published_name(name, "cuda") == "llama_cpp_python-1.2.3-1cuda-py3-none-win_amd64.whl"
    with pytest.raises(ValueError, match="wheel"):
        engine_wheel.published_name(engine_wheel.published_name(name, "cuda"), "cuda")


def test_libraries_are_added_so_that_the_program_takes_them(tmp_path: Path) -> None:
    wheel = tmp_path / "llama_cpp_python-1.2.3-py3-none-linux_x86_64.whl"
    info = "llama_cpp_python-1.2.3.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: llama-cpp-python\nVersion: 1.2.3\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-linux_x86_64\n")
        archive.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    library = tmp_path / "libcudart.so.12"
    library.write_bytes(b"run-time library" * 1000)
    engine_wheel.add_libraries(wheel, [library])
    with EngineWheel(wheel) as found:
        assert found.facts.libraries == ("libcudart.so.12",)
        (tmp_path / "out").mkdir()
        found.unpack(tmp_path / "out", lambda _done, _total: None)
    assert (tmp_path / "out" / "libcudart.so.12").read_bytes() == library.read_bytes()
    with pytest.raises(ValueError, match="already"):
        engine_wheel.add_libraries(wheel, [library])
    with zipfile.ZipFile(wheel) as archive:  # a refusal has changed nothing
        assert archive.testzip() is None


# ------------------------------------------------------------ bill of materials

LOCK = """\
anyio==4.1 ; sys_platform != 'emscripten' \\
    --hash=sha256:{0} \\
    --hash=sha256:{1}
numpy==2.4 ; python_full_version < '3.12' \\
    --hash=sha256:{0}
numpy==2.5 ; python_full_version >= '3.12' \\
    --hash=sha256:{1}
plain==1.0 \\
    --hash=sha256:{0}
""".format("0" * 64, "1" * 64)


def test_a_lock_is_read_whole() -> None:
    found = sbom.read_lock(LOCK)
    assert [(one.name, one.version, bool(one.marker), len(one.sha256)) for one in found] == [
        ("anyio", "4.1", True, 2),
        ("numpy", "2.4", True, 1),
        ("numpy", "2.5", True, 1),
        ("plain", "1.0", False, 1),
    ]


def test_our_own_locks_are_read_whole() -> None:
    for path in sbom.LOCKS:
        text = path.read_text(encoding="utf-8")
        found = sbom.read_lock(text)
        assert len(found) == len(re.findall(r"^[A-Za-z0-9]", text, re.MULTILINE)) > 0
        assert sum(len(one.sha256) for one in found) == text.count("--hash=")


class _Metadata(dict[str, str]):
    def get_all(self, name: str) -> list[str] | None:
        return [self[name]] if name in self else None


def test_each_package_is_listed_with_the_version_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"anyio": "4.1", "numpy": "2.5", "plain": "1.0+local"}

    def metadata(name: str) -> _Metadata:
        if name not in there:
            raise PackageNotFoundError(name)
        return _Metadata({"Version": there[name], "License": "MIT"})

    monkeypatch.setattr(sbom.importlib.metadata, "metadata", metadata)
    found = sbom.installed(sbom.read_lock(LOCK), frozenset({"numpy"}))
    told = [(one["name"], one["version"], one["scope"]) for one in found]
    assert told == [("anyio", "4.1", "excluded"), ("numpy", "2.5", "required"), ("plain", "1.0", "excluded")]
    assert found[1]["licenses"] == [{"expression": "MIT"}]
    assert found[1]["properties"] == [{"name": "clover:lock-sha256", "value": "1" * 64}]
    there["numpy"] = "9"
    with pytest.raises(sbom.LockError, match="numpy"):
        sbom.installed(sbom.read_lock(LOCK))
    del there["numpy"], there["plain"]
    with pytest.raises(sbom.LockError, match="plain"):
        sbom.installed(sbom.read_lock(LOCK))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("MIT", [{"expression": "MIT"}]),
        ("Apache-2.0 OR BSD-2-Clause", [{"expression": "Apache-2.0 OR BSD-2-Clause"}]),
        ("MIT License", [{"expression": "MIT"}]),
        ("some words of their own", [{"license": {"name": "some words of their own"}}]),
        ("", []),
    ],
)
def test_licences_are_told_as_the_form_wants_them(text: str, form: list[dict[str, Any]]) -> None:
    assert sbom.licences(text) == form


def test_the_same_parts_make_the_same_bill() -> None:
    parts = sbom.inner_parts("1.2.3", "6.5.4")
    one, two = sbom.document("1.0", parts, 1_700_000_000), sbom.document("1.0", parts[::-1], 1_700_000_000)
    assert one == two
    assert one["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert one["serialNumber"] != sbom.document("1.1", parts, 1_700_000_000)["serialNumber"]
    references = {part["bom-ref"] for part in one["components"]}
    assert set(one["dependencies"][0]["dependsOn"]) == references
