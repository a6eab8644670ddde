"""What the page "Engine" shows, as plain facts and texts. Made by ``engine_presenter.py``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One installed engine. ``note`` is quiet, ``warning`` says why it is not used."""

    key: str
    title: str
    lines: tuple[str, ...]
    state: str
    warning: str = ""
    can_use: bool = False
    can_remove: bool = False


@dataclass(frozen=True, slots=True)
class SuggestionRow:
    """A published engine that would fit. ``installed``: it is there already; ``is_fallback``: nothing is
    gained by it as long as the others work."""

    set_name: str
    title: str
    reason: str
    installed: bool
    is_fallback: bool = False


@dataclass(frozen=True, slots=True)
class EngineView:
    """``question`` asks before a download begins; ``message`` tells how the last step ended (and whether
    that was a failure); ``busy`` while something is installed; ``can_reload``: a model is loaded with
    another engine than the chosen one."""

    rows: tuple[EngineRow, ...] = ()
    suggestions: tuple[SuggestionRow, ...] = ()
    obstacles: tuple[str, ...] = ()
    question: str = ""
    message: str = ""
    failed: bool = False
    busy: bool = False
    can_reload: bool = False
