"""Makes the Windows installer of a frozen folder. NSIS works on Windows and on Linux alike.

python -m installers.windows.make_setup FOLDER [--out DIR] [--compression lzma|zlib] [--work DIR]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from installers import icons, places
from installers.freeze.version import version as program_version
from installers.windows.payload import PayloadError, install_script, read_payload, uninstall_script
from installers.windows.version_info import version_numbers

SCRIPT = places.ROOT / "installers" / "windows" / "clover.nsi"


def setup_name(version: str) -> str:
    """The installer's file name. Not "setup.exe": Windows asks for an administrator when it sees that."""
    return f"Clover-{version}-x64.exe"


def makensis() -> str | None:
    """NSIS's compiler, also where its installer on Windows puts it."""
    if found := shutil.which("makensis"):
        return found
    usual = Path("C:/Program Files (x86)/NSIS/makensis.exe")
    return str(usual) if usual.is_file() else None


def make_setup(folder: Path, target: Path, work: Path, compression: str = "lzma") -> None:
    """Write the installer of the frozen ``folder`` to ``target``; ``work`` takes what is made on the way.

    Raises:
        PayloadError: the folder is not what it should be.
        FileNotFoundError: NSIS is not installed.
        subprocess.CalledProcessError: NSIS refused, or warned; it has said why.
    """
    compiler = makensis()
    if compiler is None:
        raise FileNotFoundError("makensis is missing; install NSIS (Debian: apt-get install nsis)")
    payload = read_payload(folder.resolve())
    version = program_version()
    work, target = work.resolve(), target.resolve()
    work.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    (work / "install.nsh").write_text(install_script(payload), encoding="utf-8")
    (work / "uninstall.nsh").write_text(uninstall_script(payload), encoding="utf-8")
    definitions = {
        "VERSION": version,
        "VERSION_NUMBERS": ".".join(str(part) for part in version_numbers(version)),
        "FILES": str(work),
        "ICON": str(icons.write_ico(work / "clover-gui.ico")),
        "BANNER": str(icons.write_banner(work / "banner.bmp")),
        "OUT": str(target),
        "SIZE_KB": str(payload.size_bytes // 1024),
        "COMPRESSION": compression,
    }
    # -WX: a warning is an error.
    command = [compiler, "-V2", "-WX", "-INPUTCHARSET", "UTF8"]
    command += [f"-D{name}={value}" for name, value in definitions.items()]
    subprocess.run([*command, str(SCRIPT)], check=True)


def main(words: list[str]) -> int:
    """Command line of the above."""
    parser = argparse.ArgumentParser(prog="python -m installers.windows.make_setup")
    parser.add_argument("folder", type=Path, help="the frozen folder with clover-gui.exe")
    parser.add_argument("--out", type=Path, default=Path("dist"), metavar="DIR")
    parser.add_argument("--work", type=Path, default=Path("build/windows"), metavar="DIR")
    parser.add_argument("--compression", choices=("lzma", "zlib"), default="lzma", help="zlib is for trying")
    chosen = parser.parse_args(words)
    target = chosen.out / setup_name(program_version())
    try:
        make_setup(chosen.folder, target, chosen.work, chosen.compression)
    except (PayloadError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"makensis ended with {error.returncode}", file=sys.stderr)
        return 1
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
