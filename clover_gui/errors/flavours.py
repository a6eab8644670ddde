"""Other builds of the engine."""

from __future__ import annotations

from clover_gui.errors.base import CloverError


class FlavourError(CloverError):
    """A build of the engine could not be installed, chosen or removed."""


class FlavourRefused(FlavourError):
    """A build of the engine is not taken; nothing of it is kept.

    ``kind``: "not-a-wheel", "damaged", "unsafe-names", "no-libraries", "other-version", "other-system",
    "other-processor" (its architecture), "system-too-old"; or how its trial ended: "missing-library",
    "missing-driver", "illegal-instruction", "does-not-start", "does-not-compute", "no-device".
    ``what`` is the file, library or version that it is about, ``needed`` what was expected in its place.
    """

    def __init__(
        self, kind: str, what: str = "", needed: str = "", log_lines: tuple[str, ...] = (), detail: str = ""
    ) -> None:
        super().__init__(" ".join(filter(None, (kind, what, needed, detail))))
        self.kind = kind
        self.what = what
        self.needed = needed
        self.log_lines = log_lines
        self.detail = detail


class FlavourNotPublished(FlavourError):
    """``host`` has no build ``name`` of the engine's ``version`` for this system; "" host: switched off."""

    def __init__(self, host: str, name: str, version: str) -> None:
        super().__init__(f"{host}: no {name} {version} for this system")
        self.host = host
        self.name = name
        self.version = version


class FlavourBusy(FlavourError):
    """Another process installs or removes an engine just now, or the engine is in use."""


class FlavourStopped(FlavourError):
    """The person stopped the installation."""
