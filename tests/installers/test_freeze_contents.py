"""What goes into the frozen program: rules over names, and the figures that packing checks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clover_gui
from clover_gui import i18n
from clover_gui.pipeline import diagnostics
from installers import places
from installers.freeze import build_environment, contents, inspection
from installers.freeze.budget import BUDGET_MB, complaint, size_bytes
from installers.freeze.licences import TEXTS, Part, packed_modules, write
from installers.freeze.program import give_back_library_paths
from installers.freeze.version import version

QT = "PySide6/Qt"


@pytest.mark.parametrize(
    "name",
    [
        f"{QT}/plugins/platforms/libqxcb.so",
        f"{QT}/plugins/platforms/libqwayland.so",
        f"{QT}/plugins/platforms/libqoffscreen.so",
        f"{QT}/plugins/imageformats/libqsvg.so",
        f"{QT}/plugins/iconengines/libqsvgicon.so",
        f"{QT}/plugins/platformthemes/libqgtk3.so",
        f"{QT}/plugins/platforminputcontexts/libibusplatforminputcontextplugin.so",
        f"{QT}/plugins/wayland-shell-integration/libxdg-shell.so",
        f"{QT}/translations/qtbase_de.qm",
        f"{QT}/lib/libQt6XcbQpa.so.6",
        f"{QT}/lib/libicudata.so.73",
        "PySide6/QtNetwork.abi3.so",
        "PySide6\\plugins\\platforms\\qwindows.dll",
        "PySide6\\plugins\\styles\\qmodernwindowsstyle.dll",
        f"{QT}/plugins/platforms/libqcocoa.dylib",
        "clover_gui/_resources/catalog.toml",
        "ziamath/fonts/STIXTwoMath-Regular.ttf",
        "libssl.so.3",
        "libsqlite3.so.0",
        "libreadline.so.8",
    ],
)
def test_what_the_window_needs_stays(name: str) -> None:
    assert contents.is_kept(name)


@pytest.mark.parametrize(
    "name",
    [
        f"{QT}/plugins/platforms/libqeglfs.so",
        f"{QT}/plugins/tls/libqopensslbackend.so",
        f"{QT}/plugins/sqldrivers/libqsqlite.so",
        f"{QT}/plugins/imageformats/libqpdf.so",
        f"{QT}/plugins/xcbglintegrations/libqxcb-glx-integration.so",
        f"{QT}/translations/qtbase_fr.qm",
        f"{QT}/qml/QtQuick/qmldir",
        f"{QT}/lib/libQt6Quick.so.6",
        "libQt6Qml.so.6",
        "PySide6\\opengl32sw.dll",
        "PySide6\\Qt6Pdf.dll",
        "libxcb-cursor.so.0",
        "libxkbcommon-x11.so.0",
        "libstdc++.so.6",
        "libgomp.so.1",
        "libX11-xcb.so.1",
        "llama_cpp/lib/libllama.so.0.5.0",
        "numpy-2.0.0.dist-info/RECORD",
        "llama_cpp_python-0.3.36.dist-info/direct_url.json",
    ],
)
def test_what_is_never_used_or_belongs_to_the_system_stays_out(name: str) -> None:
    assert not contents.is_kept(name)


def test_no_declared_library_of_the_system_is_packed() -> None:
    """What the packages depend on must be the system's own, else two copies would meet in one process."""
    declared = {part.name for parts in inspection.LIBRARIES.values() for part in parts}
    assert [name for name in sorted(declared) if contents.is_kept(name)] == []


def test_each_engine_library_once() -> None:
    linux = [
        f"lib{name}{ending}"
        for name in ("ggml", "ggml-base", "ggml-cpu", "llama")
        for ending in (".so", ".so.0", ".so.0.25.3")
    ]
    assert contents.engine_libraries(linux) == (
        "libggml-base.so.0",
        "libggml-cpu.so.0",
        "libggml.so.0",
        "libllama.so",
    )
    plugins = ["libggml-cpu-haswell.so", "libggml.so.0", "libggml.so", "libllama.so", "libllama.so.0"]
    assert contents.engine_libraries(plugins) == ("libggml-cpu-haswell.so", "libggml.so.0", "libllama.so")
    mac = ["libggml.dylib", "libggml.0.dylib", "libggml.0.25.3.dylib", "libllama.dylib", "libllama.0.dylib"]
    assert contents.engine_libraries(mac) == ("libggml.0.dylib", "libllama.dylib")
    assert contents.engine_libraries(["llama.dll", "ggml.dll", "llama.lib"]) == ("ggml.dll", "llama.dll")


def test_no_module_that_the_program_imports_is_left_out() -> None:
    imported = set()
    for file in (places.ROOT / "clover_gui").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        imported |= {found[1] for found in re.finditer(r"^\s*(?:from|import) ([\w.]+)", text, re.MULTILINE)}
    # An excluded package takes everything below it along.
    lost = {
        name
        for name in imported
        for excluded in contents.EXCLUDED_MODULES
        if name == excluded or name.startswith(excluded + ".")
    }
    assert lost == set()


def test_languages_and_metadata_that_the_program_asks_for() -> None:
    for language in i18n.LANGUAGES:
        assert re.fullmatch(contents.QT_TRANSLATIONS, f"qtbase_{language}.qm")
    # gguf is for making files in tests; the frozen program says that it is not installed.
    assert set(diagnostics._PACKAGES) - {"gguf"} == set(contents.PACKAGES_WITH_METADATA)


def test_one_version() -> None:
    assert version() == clover_gui.__version__


def test_lock_holds_what_the_program_and_the_packer_need() -> None:
    lock = build_environment.LOCK.read_text(encoding="utf-8")
    ours = (places.ROOT / "installers" / "requirements.lock").read_text(encoding="utf-8")
    versions = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", ours, re.MULTILINE))
    packed = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock, re.MULTILINE))
    assert "pyinstaller" in packed
    assert {name: packed[name] for name in packed if name in versions} == {
        name: versions[name] for name in packed if name in versions
    }


def test_the_starter_leaves_no_library_path_to_other_programs() -> None:
    environ = {"LD_LIBRARY_PATH": "/app/_internal", "LD_LIBRARY_PATH_ORIG": "/opt/lib", "HOME": "/h"}
    give_back_library_paths(environ)
    assert environ == {"LD_LIBRARY_PATH": "/opt/lib", "HOME": "/h"}
    environ = {"LD_LIBRARY_PATH": "/app/_internal"}
    give_back_library_paths(environ)
    assert environ == {}


def test_budget_is_kept_and_said(tmp_path: Path) -> None:
    file = tmp_path / "x.deb"
    file.write_bytes(b"x" * 1000)
    (tmp_path / "link").symlink_to(file)
    assert size_bytes(tmp_path) == 1000
    assert complaint("deb", file) == ""
    assert complaint("unknown", file) == ""
    with open(file, "r+b") as large:
        large.truncate(BUDGET_MB["deb"] * 1_000_000 + 1)
    assert "more than" in complaint("deb", file)


def test_every_part_of_others_needs_a_text(tmp_path: Path) -> None:
    write([Part("llama.cpp", "1", "MIT", (TEXTS / "llama.cpp.txt",))], tmp_path / "licences")
    table = (tmp_path / "licences" / "README.txt").read_text(encoding="utf-8")
    assert "llama.cpp 1: MIT (llama.cpp.txt)" in table
    assert (tmp_path / "licences" / "Clover.txt").is_file()
    with pytest.raises(ValueError, match="no licence text"):
        write([Part("nobody", "1", "", ())], tmp_path / "licences")


def test_packed_modules_are_read_from_the_lists(tmp_path: Path) -> None:
    (tmp_path / "PYZ-00.toc").write_text("('x.pyz', [('pygments.lexers', '/a', 'PYMODULE')])")
    (tmp_path / "COLLECT-00.toc").write_text("([('psutil/_psutil.so', '/b', 'EXTENSION')], 'n')")
    assert {"pygments", "psutil"} <= packed_modules(tmp_path)


@pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("readelf") is None, reason="no compiler")
@pytest.mark.skipif(sys.platform != "linux", reason="reads files of Linux")
def test_a_library_that_nobody_declares_is_found(tmp_path: Path) -> None:
    """Two real libraries: one asks for the other, which is then taken away."""
    for name, more in (("libother", []), ("libmain", ["-L.", "-lother"])):
        (tmp_path / f"{name}.c").write_text("int main_or_other(void) { return 1; }\n")
        command = ["gcc", "-shared", "-fPIC", "-Wl,--no-as-needed", f"-Wl,-soname,{name}.so"]
        command += ["-o", f"{name}.so", f"{name}.c", *more]
        subprocess.run(command, cwd=tmp_path, check=True)
        (tmp_path / f"{name}.c").unlink()
    assert inspection.complaints(tmp_path, ()) == []
    (tmp_path / "libother.so").unlink()
    found = inspection.complaints(tmp_path, ())
    assert len(found) == 1
    assert found[0].startswith("libother.so is neither packed nor declared")


def test_a_trace_of_the_building_machine_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0/home/anna/clover/x.py\0")
    (tmp_path / "b").write_bytes(b"\0/opt/home/anna/clover\0 /home/annabel/x\0")
    assert inspection.traces(tmp_path, [Path("/home/anna")]) == [f"a: {os.sep}home{os.sep}anna"]
