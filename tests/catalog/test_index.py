"""The shipped list of models, and finding them on a machine without opening or importing anything."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from clover_gui.catalog import index
from clover_gui.catalog.entry import CatalogEntry
from clover_gui.catalog.index import find_installed, find_models, load_catalog, resolve_model
from clover_gui.catalog.places import ModelPlace, model_places, package_file
from clover_gui.errors import ModelFileMissing

CATALOG = load_catalog()


def entry(model_id: str) -> CatalogEntry:
    found = CATALOG.entry(model_id)
    assert found is not None
    return found


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no package carries a model."""
    monkeypatch.setattr(index, "package_file", lambda *_arguments: None)


def put(path: Path, size: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_the_list_is_complete() -> None:
    assert [model.id for model in CATALOG.entries] == ["clover", "qwen3-0.6b", "demo"]
    for model in CATALOG.entries:
        assert model.licence == "Apache-2.0"
        assert model.repository.count("/") == 1
        assert model.file_pattern.endswith(".gguf")
        assert model.size_bytes > 0
        assert model.presets.keys() <= {"thinking", "precise", "direct"}
        assert ("thinking" in model.presets) == model.knows_thinking
        assert all(preset.source for preset in model.presets.values())
        assert all(figure.source for figure in model.figures)


def test_demo_entry_describes_the_packaged_file(demo_gguf: Path) -> None:
    demo = entry("demo")
    assert demo_gguf.stat().st_size == demo.size_bytes
    with demo_gguf.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == demo.sha256
    assert resolve_model("DEMO", Path("/nowhere"), ()) == demo_gguf
    assert demo.package not in sys.modules, "the package itself is not imported"


def test_presets_by_mode() -> None:
    clover = entry("clover")
    thinking, direct = CATALOG.preset(clover, True), CATALOG.preset(clover, False)
    assert (thinking.temperature, thinking.top_p, thinking.top_k, thinking.presence_penalty) == (
        1.0,
        0.95,
        20,
        1.5,
    )
    assert (direct.temperature, direct.top_p, direct.top_k, direct.presence_penalty) == (0.7, 0.8, 20, 1.5)
    assert CATALOG.preset(entry("demo"), True).temperature == 0.2
    assert CATALOG.preset(None, False) is CATALOG.default_preset


@pytest.mark.parametrize(
    ("file", "name", "architecture", "expected"),
    [
        ("Clover-35B-A3B-Preview-Q4_K_M.gguf", "", "", "clover"),
        ("clover_35b_a3b.gguf", "", "qwen35moe", "clover"),
        ("model.gguf", "Clover 35B A3B Preview", "qwen35moe", "clover"),
        ("model.gguf", "", "clover_moe", "clover"),
        ("Qwen3-0.6B-Q8_0.gguf", "", "qwen3", "qwen3-0.6b"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "", "llama", "demo"),
        ("Qwen3.6-35B-A3B-Q4_K_M.gguf", "Qwen3.6", "qwen35moe", None),
    ],
)
def test_recognising_files(file: str, name: str, architecture: str, expected: str | None) -> None:
    found = CATALOG.entry_for(Path(file), name, architecture)
    assert (found.id if found else None) == expected


@pytest.mark.usefixtures("no_packages")
def test_own_folder_first_then_other_programs(tmp_path: Path) -> None:
    models, hub = tmp_path / "models", ModelPlace(tmp_path / "hub", "hugging-face")
    studio = ModelPlace(tmp_path / "studio", "lm-studio")
    assert find_installed(entry("qwen3-0.6b"), models, (hub, studio)) is None
    in_studio = put(tmp_path / "studio/Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf")
    found = find_installed(entry("qwen3-0.6b"), models, (hub, studio))
    assert found is not None
    assert (found.path, found.origin) == (in_studio, "lm-studio")
    snapshot = "models--Qwen--Qwen3-0.6B-GGUF/snapshots/abc"
    in_hub = put(tmp_path / "hub" / snapshot / "Qwen3-0.6B-Q8_0.gguf")
    found = find_installed(entry("qwen3-0.6b"), models, (hub, studio))
    assert found is not None
    assert (found.path, found.origin) == (in_hub, "hugging-face")
    own = put(models / "qwen" / "Qwen3-0.6B-Q8_0.gguf")
    assert resolve_model("qwen3-0.6b", models, (hub, studio)) == own


@pytest.mark.usefixtures("no_packages")
def test_half_a_download_is_not_installed(tmp_path: Path) -> None:
    """A file of the right name and the wrong size, a part file, an empty file, a link to nothing."""
    models = tmp_path / "models"
    put(models / "SmolLM2-135M-Instruct.Q4_1.gguf", 50_000_000)
    put(models / "SmolLM2-135M-Instruct.Q4_1.gguf.part")
    put(models / "Qwen3-0.6B-Q8_0.gguf", 0)
    (models / "clover-35b-a3b-q4_k_m.gguf").symlink_to(tmp_path / "gone")
    for model in CATALOG.entries:
        assert find_installed(model, models, ()) is None
    put(models / "SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432)
    assert find_installed(entry("demo"), models, ()) is not None


def test_listing_known_and_stray_files(tmp_path: Path) -> None:
    stray = put(tmp_path / "b.gguf")
    other = put(tmp_path / "Clover-35B-A3B-Preview-Q8_0.gguf")
    put(tmp_path / "mmproj-b.gguf")
    put(tmp_path / "c-00001-of-00003.gguf")
    put(tmp_path / "notes.txt")
    found = [model for model in find_models(tmp_path, ()) if model.origin == "models"]
    assert [model.path for model in found] == [stray, other]
    assert [model.entry.id if model.entry else None for model in found] == [None, "clover"]


@pytest.mark.usefixtures("no_packages")
def test_resolving_paths_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = tmp_path / "models"
    own = put(models / "mine.gguf")
    elsewhere = put(tmp_path / "Ordner ä" / "x.gguf")
    assert resolve_model(str(elsewhere), models, ()) == elsewhere
    assert resolve_model("mine.gguf", models, ()) == own
    assert resolve_model("mine", models, ()) == own
    monkeypatch.chdir(elsewhere.parent)
    assert resolve_model("x.gguf", models, ()).is_absolute()


@pytest.mark.usefixtures("no_packages")
@pytest.mark.parametrize(
    ("text", "detail"),
    [("clover", "not-installed"), ("nothing.gguf", ""), ("nonsense", "unknown-name"), ("a/nonsense", "")],
)
def test_what_cannot_be_found_is_named(tmp_path: Path, text: str, detail: str) -> None:
    with pytest.raises(ModelFileMissing) as caught:
        resolve_model(text, tmp_path, ())
    assert caught.value.detail == detail
    assert caught.value.path.is_absolute()


def test_places_of_other_programs(tmp_path: Path) -> None:
    def folders(platform: str, **environment: str) -> dict[str, Path]:
        return {
            place.origin: place.folder for place in reversed(model_places(tmp_path, environment, platform))
        }

    linux = folders("linux")
    assert linux["hugging-face"] == tmp_path / ".cache/huggingface/hub"
    assert linux["lm-studio"] == tmp_path / ".lmstudio/models"
    assert linux["jan"] == tmp_path / ".config/Jan/data/llamacpp/models"
    assert folders("linux", HF_HOME="/x")["hugging-face"] == Path("/x/hub")
    assert folders("linux", HF_HUB_CACHE="/y", HF_HOME="/x")["hugging-face"] == Path("/y")
    assert folders("win32", APPDATA="/roaming")["jan"] == Path("/roaming/Jan/data/llamacpp/models")
    assert "Application Support" in str(folders("darwin")["jan"])


def test_odd_folders_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    put(tmp_path / "a/b/c/d/e/too-deep.gguf")
    inside = put(tmp_path / "a/fine.gguf")
    files = list(ModelPlace(tmp_path, "models").files("*"))
    assert inside in files
    assert all("too-deep" not in path.name for path in files)
    assert list(ModelPlace(inside, "models").files("*")) == []


def test_package_file_of_a_missing_package() -> None:
    assert package_file("no_such_package_here", "x.gguf") is None
    assert package_file("clover_gui", "no such file") is None


@pytest.mark.parametrize("text", ["~nobody-of-this-name/x.gguf", "/" + "ä" * 60_000, "a\0b.gguf", "\ud800x"])
def test_what_no_file_can_be_called_is_a_missing_file(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissing):
        resolve_model(text, tmp_path / "models", ())
