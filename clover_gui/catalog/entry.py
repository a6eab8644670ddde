"""One model that the program knows by name: where it comes from, what it needs, what was published."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SamplingPreset:
    """Sampling values of the model's makers; ``source`` says where they stand."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float = 0.0
    presence_penalty: float = 0.0
    repeat_penalty: float = 1.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A speed that somebody measured and published. Not measured by this program."""

    machine: str
    tokens_per_second: float
    source: str


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A known model. ``size_bytes`` is exact when ``sha256`` is set, else published or approximate.

    ``file_pattern`` chooses the file in the repository; ``name_patterns`` and ``architectures`` recognise
    any file of this model. ``presets`` has the keys "thinking", "precise" and "direct" as far as they are
    known.
    """

    id: str
    title: str
    summary: str
    repository: str
    file_pattern: str
    licence: str
    size_bytes: int
    knows_thinking: bool
    sha256: str = ""
    package: str = ""
    package_file: str = ""
    page_url: str = ""
    needs: str = ""
    presets: dict[str, SamplingPreset] = field(default_factory=dict)
    name_patterns: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    figures: tuple[PublishedFigure, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A catalogue entry (or None for a stray file) with the file that was found for it.

    ``origin`` is "models" (the own folder), "package", "hugging-face", "lm-studio" or "jan".
    """

    entry: CatalogEntry | None
    path: Path
    size_bytes: int
    origin: str
