"""The Windows package: what is installed and deleted, what it says of itself, and that NSIS takes it.

The pure parts always run; NSIS, wine and a parser of PowerShell only where they are installed.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import time
from pathlib import Path, PureWindowsPath

import pytest

from clover_gui.paths import PORTABLE_NAME
from installers import icons, places
from installers.freeze.version import version
from installers.windows import make_setup
from installers.windows.payload import PROGRAMS, PayloadError, install_script, read_payload, uninstall_script
from installers.windows.version_info import is_prerelease, version_info, version_numbers

WINDOWS = places.ROOT / "installers" / "windows"
SCRIPT = (WINDOWS / "clover.nsi").read_text(encoding="utf-8")
TEXTS = (WINDOWS / "texts.nsh").read_text(encoding="utf-8")
SETUP_PS1 = (places.ROOT / "installers" / "setup.ps1").read_text(encoding="utf-8")


def _frozen(root: Path) -> Path:
    for name in (*PROGRAMS, "_internal/base.dll", "_internal/deep/er/q.dll", "_internal/data ü/x.txt"):
        path = root.joinpath(*name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return root


# ------------------------------------------------------------ list of files


def test_what_is_installed_is_what_is_deleted(tmp_path: Path) -> None:
    payload = read_payload(_frozen(tmp_path))
    written = re.findall(r'^File "/oname=(.+?)"', install_script(payload), re.MULTILINE)
    deleted = re.findall(r'^Delete "\$INSTDIR\\(.+)"$', uninstall_script(payload), re.MULTILINE)
    assert sorted(written) == sorted(PureWindowsPath(name).name for name in deleted)
    assert set(deleted) == {str(file) for file in payload.files}


def test_folders_are_removed_from_the_inside_out_and_never_with_what_is_in_them(tmp_path: Path) -> None:
    script = uninstall_script(read_payload(_frozen(tmp_path)))
    folders = re.findall(r'^RMDir "\$INSTDIR\\(.+)"$', script, re.MULTILINE)
    assert folders.index(r"_internal\deep\er") < folders.index(r"_internal\deep") < folders.index("_internal")
    assert "RMDir /r" not in script


def test_the_script_removes_no_folder_of_the_program_as_a_whole() -> None:
    whole = re.findall(r'RMDir /r "(.+?)"', SCRIPT)
    assert whole == [r"${DATA}\Cache", r"${DATA}\engines", r"${DATA}\logs", "${DATA}", "${PORTABLE_DATA}"]


@pytest.mark.parametrize("missing", PROGRAMS)
def test_a_folder_without_a_program_is_refused(missing: str, tmp_path: Path) -> None:
    (_frozen(tmp_path) / missing).unlink()
    with pytest.raises(PayloadError, match=re.escape(missing)):
        read_payload(tmp_path)


@pytest.mark.parametrize("name", ["a" * 181, "dollar$.txt", "back`tick"])
def test_names_that_windows_or_nsis_would_misread_are_refused(name: str, tmp_path: Path) -> None:
    (_frozen(tmp_path) / name).write_text("", encoding="utf-8")
    with pytest.raises(PayloadError):
        read_payload(tmp_path)


# ------------------------------------------------------------ version resource


@pytest.mark.parametrize(
    ("text", "numbers", "prerelease"),
    [("1.2.3", (1, 2, 3, 0), False), ("0.1.0rc2", (0, 1, 0, 0), True), ("2", (2, 0, 0, 0), False)],
)
def test_versions_as_windows_has_them(text: str, numbers: tuple[int, ...], prerelease: bool) -> None:
    assert version_numbers(text) == numbers
    assert is_prerelease(text) is prerelease


@pytest.mark.parametrize("text", ["", "v1", "70000.1", "1.0'); import os; ('"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="version"):
        version_info(text)


def test_the_resource_is_an_expression_with_the_programs_version() -> None:
    def call(_name: str):
        return lambda *values, **named: (values, named)

    names = ("VSVersionInfo", "FixedFileInfo", "StringFileInfo", "StringTable", "StringStruct", "VarFileInfo")
    scope = {name: call(name) for name in (*names, "VarStruct")}
    found = repr(eval(version_info(version()), {"__builtins__": {}}, scope))
    assert found.count(repr(version())) == 2


def test_the_program_is_one_folder_with_a_version_resource() -> None:
    """Virus scanners mistrust programs that unpack themselves, or that say nothing of themselves."""
    recipe = (places.ROOT / "installers" / "freeze" / "clover_gui.spec").read_text(encoding="utf-8")
    assert "exclude_binaries=True" in recipe
    assert "COLLECT(" in recipe
    assert "upx=True" not in recipe
    assert "version_info(version())" in recipe


# ------------------------------------------------------------ icon


def test_the_icon_has_every_size_with_alpha(qapp) -> None:
    data = icons.ico({size: icons.render(size) for size in icons.ICO_SIZES})
    reserved, kind, count = struct.unpack_from("<HHH", data)
    assert (reserved, kind, count) == (0, 1, len(icons.ICO_SIZES))
    for index, size in enumerate(icons.ICO_SIZES):
        width, _height, _colours, _r, _planes, bits, length, offset = struct.unpack_from(
            "<BBBBHHII", data, 6 + 16 * index
        )
        assert (width or 256, bits) == (size, 32)
        assert offset + length <= len(data)
        body = data[offset : offset + length]
        assert (
            body.startswith(b"\x89PNG")
            if size > 64
            else struct.unpack_from("<Iii", body) == (40, size, 2 * size)
        )


# ------------------------------------------------------------ NSIS script


def test_nothing_needs_an_administrator() -> None:
    assert "RequestExecutionLevel user" in SCRIPT
    assert not re.search(r"HKLM|HKEY_LOCAL_MACHINE|SetShellVarContext all|\$PROGRAMFILES", SCRIPT)


def test_the_default_for_gguf_is_never_taken() -> None:
    for line in re.findall(r"^\s*WriteRegStr .*\.gguf.*$", SCRIPT, re.MULTILINE):
        assert "OpenWithProgids" in line or "SupportedTypes" in line
    assert not re.search(r'WriteRegStr HKCU "Software\\Classes\\\.gguf" ""', SCRIPT)


def test_every_text_is_there_in_both_languages() -> None:
    used = set(re.findall(r"\$\(([A-Z_]+)\)", SCRIPT))
    told = re.findall(
        r'^!insertmacro TEXT (\w+)\s(?:\\\n)?\s*"(.+?)"\s(?:\\\n)?\s*"(.+?)"$', TEXTS, re.MULTILINE
    )
    assert used == {name for name, _english, _german in told}
    for name, english, german in told:
        assert english != german, name


def test_the_data_folder_is_the_programs() -> None:
    assert f'!define DATA "$LOCALAPPDATA\\{places.APP_NAME}"' in SCRIPT
    assert f'!define PORTABLE_DATA "$INSTDIR\\{PORTABLE_NAME}"' in SCRIPT


def test_no_version_stands_in_the_script() -> None:
    assert not re.search(r"\d+\.\d+\.\d+", SCRIPT + TEXTS)


def _notepad() -> Path | None:
    return next(Path("/usr/lib").glob("*/wine/x86_64-windows/notepad.exe"), None)


needs_nsis = pytest.mark.skipif(make_setup.makensis() is None, reason="NSIS is not installed")


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("setup")
    frozen = _frozen(folder / "frozen")
    # A program that starts under wine and stays: its own editor.
    if (notepad := _notepad()) is not None:
        for name in PROGRAMS:
            shutil.copyfile(notepad, frozen / name)
    target = folder / make_setup.setup_name(version())
    make_setup.make_setup(frozen, target, folder / "work", "zlib")
    return target


@needs_nsis
def test_nsis_makes_it_without_a_warning(setup: Path) -> None:
    head = setup.read_bytes()[:4096]
    assert head.startswith(b"MZ")
    header = struct.unpack_from("<I", head, 60)[0]
    assert head[header : header + 4] == b"PE\0\0"
    assert struct.unpack_from("<H", head, header + 4)[0] == 0x8664  # 64 bit


@needs_nsis
def test_the_installer_knows_long_paths_and_says_its_version(setup: Path) -> None:
    data = setup.read_bytes()
    assert b"longPathAware" in data
    assert version().encode("utf-16-le") in data
    assert b'level="asInvoker"' in data


# ------------------------------------------------------------ under wine


WINE = shutil.which("wine64") or shutil.which("wine")
XVFB = shutil.which("Xvfb")


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory):
    """Runs a command in a Windows of its own; its exit code."""
    if WINE is None or XVFB is None or _notepad() is None:
        pytest.skip("wine and Xvfb are not both installed")
    prefix = tmp_path_factory.mktemp("wine")
    screen = subprocess.Popen(
        [XVFB, "-displayfd", "1", "-screen", "0", "640x480x24"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert screen.stdout is not None
    display = f":{screen.stdout.readline().decode().strip()}"
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(prefix),
        "WINEPREFIX": str(prefix / "windows"),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree,mshtml=;winemenubuilder.exe=",
        "DISPLAY": display,
        "LC_ALL": "C.UTF-8",
    }

    def start(*words: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [WINE, *map(str, words)], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def is_running(program: Path) -> bool:
        """Whether it can no longer be opened for writing."""
        command = [WINE, "cmd", "/c", f"type nul >> Z:{str(program).replace('/', chr(92))}"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        return "violation" in done.stdout + done.stderr

    start.is_running = is_running  # type: ignore[attr-defined]
    start.home = prefix / "windows" / "drive_c" / "users"  # type: ignore[attr-defined]
    assert start("winecfg", "-v", "win10").wait(100) == 0
    yield start
    subprocess.run(["wineserver", "-k"], env=environ, check=False)
    screen.terminate()
    screen.wait()
    screen.stdout.close()


def _until(condition) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@needs_nsis
@pytest.mark.slow
def test_install_update_and_remove_under_wine(setup: Path, wine) -> None:
    def run(*words: object) -> int:
        return wine(*words).wait(60)

    assert run(setup, "/S") == 0
    local = next(wine.home.glob("*/AppData/Local/Programs/Clover")).parent.parent
    program = local / "Programs" / "Clover"
    in_windows = PureWindowsPath("C:/", *program.relative_to(wine.home.parent).parts)
    installed = sorted(path.name for path in program.rglob("*") if path.is_file())
    assert installed == sorted([*PROGRAMS, "base.dll", "q.dll", "x.txt", "uninstall.exe"])
    assert run("reg", "query", r"HKCU\Software\Classes\.gguf\OpenWithProgids", "/v", "Clover.Model") == 0
    key = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\Clover"
    assert run("reg", "query", key, "/v", "QuietUninstallString") == 0
    own = [local / "clover-gui" / "chats.sqlite3", local / "clover-gui" / "models" / "a.gguf"]
    beside = program / "clover-data" / "chats.sqlite3"
    rebuildable = local / "clover-gui" / "Cache" / "engine.whl"
    for path in (*own, beside, rebuildable):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine", encoding="utf-8")

    for name in PROGRAMS:  # the window, and the terminal front end
        running = wine(program / name)
        try:
            # Not only while it is being read: each look is a process of its own and takes its time.
            _until(lambda name=name: all(wine.is_running(program / name) for _ in range(4)))
            assert run(setup, "/S") == 3
            assert run(program / "uninstall.exe", "/S", f"_?={in_windows}") == 3
        finally:
            run("taskkill", "/f", "/im", name)
            running.wait(30)

    assert run(setup, "/S", "/NOASSOC", "/DESKTOP") == 0  # over itself
    assert run("reg", "query", r"HKCU\Software\Classes\.gguf") != 0
    desktop = wine.home / local.relative_to(wine.home).parts[0] / "Desktop" / "Clover.lnk"
    assert desktop.is_file()
    assert all(path.is_file() for path in (*own, beside, rebuildable))

    run(program / "uninstall.exe", "/S")
    _until(lambda: not (program / "clover-gui.exe").exists() and not rebuildable.exists())
    _until(lambda: not desktop.exists())
    assert all(path.is_file() for path in (*own, beside))
    assert sorted(path.name for path in program.iterdir()) == ["clover-data"]
    assert run("reg", "query", key) != 0

    assert run(setup, "/S") == 0
    run(program / "uninstall.exe", "/S", "/PURGE")
    _until(lambda: not (local / "clover-gui").exists() and not program.exists())


# ------------------------------------------------------------ set-up script


def test_the_powershell_script_has_no_syntax_error() -> None:
    pack = pytest.importorskip("tree_sitter_language_pack", reason="no parser of PowerShell is installed")
    tree = pack.get_parser("powershell").parse(SETUP_PS1.encode())
    assert not tree.root_node.has_error


def test_powershell_itself_reads_the_script() -> None:
    shell = shutil.which("pwsh")
    if shell is None:
        pytest.skip("PowerShell is not installed")
    parse = "[System.Management.Automation.Language.Parser]::ParseFile($args[0], [ref]$null, [ref]$e)"
    command = f"$e = $null; {parse} > $null; exit $e.Count"
    path = places.ROOT / "installers" / "setup.ps1"
    assert subprocess.run([shell, "-NoProfile", "-Command", command, path], check=False).returncode == 0


def test_the_scripts_agree_with_run_py_on_the_oldest_python() -> None:
    from installers.run import OLDEST

    assert f"$OldestMinor = {OLDEST[1]}" in SETUP_PS1
    assert f"< ({OLDEST[0]}, {OLDEST[1]})" in (places.ROOT / "installers" / "run.sh").read_text(
        encoding="utf-8"
    )


def test_the_double_click_file_has_the_line_ends_that_cmd_needs() -> None:
    data = (places.ROOT / "installers" / "run.cmd").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") > 0


@pytest.mark.parametrize("name", ["run.sh", "run.command", "macos/make_dmg.sh"])
def test_shell_scripts_are_clean(name: str) -> None:
    linter = shutil.which("shellcheck")
    if linter is None:
        pytest.skip("shellcheck is not installed")
    path = places.ROOT / "installers" / name
    done = subprocess.run([linter, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
