"""The macOS bundle: property lists, icon, and the recipe of the disk image, as far as any system can tell."""

from __future__ import annotations

import plistlib
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from clover_gui.i18n import LANGUAGES
from installers import icons, places
from installers.freeze.version import version
from installers.macos import plists

DMG = (places.ROOT / "installers" / "macos" / "make_dmg.sh").read_text(encoding="utf-8")
SPECIFICATION = (places.ROOT / "installers" / "freeze" / "clover_gui.spec").read_text(encoding="utf-8")


def test_the_lists_are_sound(tmp_path: Path) -> None:
    assert plists.main([str(tmp_path)]) == 0
    for name in ("Info.plist", "entitlements.plist"):
        data = (tmp_path / name).read_bytes()
        assert data.startswith(b'<?xml version="1.0"')
        assert b"<!--" not in data  # codesign refuses comments
        assert plistlib.loads(data)
        if linter := shutil.which("plutil"):
            assert subprocess.run([linter, "-lint", tmp_path / name], check=False).returncode == 0


def test_the_bundle_has_what_finder_and_the_store_of_types_need() -> None:
    found = plists.info_plist("1.2.3rc1")
    for key in ("CFBundleIdentifier", "CFBundleName", "CFBundleShortVersionString", "CFBundleVersion"):
        assert isinstance(found[key], str)
        assert found[key]
    assert found["CFBundleVersion"] == "1.2.3"
    assert found["CFBundlePackageType"] == "APPL"
    assert re.fullmatch(r"[A-Za-z0-9.-]+", found["CFBundleIdentifier"])
    assert found["LSMinimumSystemVersion"] == "13.0"
    assert found["NSHighResolutionCapable"] is True
    assert found["NSRequiresAquaSystemAppearance"] is False  # dark windows on a dark desktop
    assert set(found["CFBundleLocalizations"]) == set(LANGUAGES)


def test_model_files_are_offered_and_not_taken() -> None:
    found = plists.info_plist("1")
    (document,) = found["CFBundleDocumentTypes"]
    (kind,) = found["UTImportedTypeDeclarations"]  # imported: the type is somebody else's
    assert document["LSItemContentTypes"] == [kind["UTTypeIdentifier"]]
    assert document["LSHandlerRank"] == "Alternate"
    assert document["CFBundleTypeRole"] == "Viewer"
    assert kind["UTTypeTagSpecification"] == {"public.filename-extension": ["gguf"]}


def test_only_what_the_engine_needs_is_allowed() -> None:
    assert set(plists.ENTITLEMENTS) == {
        "com.apple.security.cs.allow-unsigned-executable-memory",
        "com.apple.security.cs.disable-library-validation",
    }


@pytest.mark.parametrize("text", ["", "x1"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="version"):
        plists.bundle_version(text)


def test_the_programs_version_can_be_told() -> None:
    assert version().startswith(plists.bundle_version(version()))


def test_the_icon_has_every_size(qapp) -> None:
    data = icons.icns({size: icons.render(size) for size in {size for _code, size in icons.ICNS_TYPES}})
    assert data[:4] == b"icns"
    assert struct.unpack_from(">I", data, 4)[0] == len(data)
    offset, found = 8, []
    while offset < len(data):
        code, length = struct.unpack_from(">4sI", data, offset)
        assert data[offset + 8 : offset + 16] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack_from(">II", data, offset + 8 + 16)
        found.append((code, width))
        assert width == height
        offset += length
    assert tuple(found) == icons.ICNS_TYPES


def test_the_recipe_makes_the_bundle_of_the_same_folder() -> None:
    assert "BUNDLE(" in SPECIFICATION
    assert "plists.info_plist(version())" in SPECIFICATION
    assert 'name="Clover.app"' in SPECIFICATION


def test_the_image_is_signed_from_the_inside_out_and_checked() -> None:
    steps = ["find ", "sign --entitlements", "--verify", "hdiutil create", "hdiutil verify"]
    places_in_text = [DMG.index(step, DMG.index('rm -rf "$app')) for step in steps]
    assert places_in_text == sorted(places_in_text)
    assert "--deep" not in re.sub(r"^#.*$|^ +#.*$", "", DMG, flags=re.MULTILINE)
    assert "--options runtime" in DMG
