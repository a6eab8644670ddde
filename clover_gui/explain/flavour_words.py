"""Installed engines, suggestions, steps of an installation and a fall-back, in the person's language."""

from __future__ import annotations

from clover_gui.errors import CloverError, DownloadError, NotEnoughSpace
from clover_gui.explain.download_words import status_text
from clover_gui.explain.explanation import explain
from clover_gui.explain.flavour_failures import refusal_words
from clover_gui.flavours.flavour import Flavour
from clover_gui.flavours.install import Progress, Step
from clover_gui.flavours.selection import FlavourFailure
from clover_gui.flavours.suitable import Obstacle, Suggestion, Why
from clover_gui.i18n import _, capped, file_size, number


def backend_title(backend: str) -> str:
    """What an engine computes on, as a name: "NVIDIA graphics cards (CUDA)"."""
    return {
        "cpu": _("Processor"),
        "cuda": _("NVIDIA graphics cards (CUDA)"),
        "vulkan": _("Graphics cards (Vulkan)"),
        "hip": _("AMD graphics cards (HIP)"),
        "metal": _("Apple graphics (Metal)"),
    }.get(backend, capped(backend, 20))


def flavour_title(flavour: Flavour | None, key: str = "") -> str:
    """None: the program's own engine, or with a ``key`` one that is not there any more."""
    if flavour is None:
        return capped(key) if key else _("The program's own engine")
    title = backend_title(flavour.backend)
    return f"{title}, {flavour.name}" if flavour.name not in (flavour.backend, "metal") else title


def flavour_facts(flavour: Flavour) -> str:
    """One line below the title: version, size, origin, day."""
    return _("Version {version}, {size} on disk, from {origin}, {day}").format(
        version=capped(flavour.engine_version, 20),
        size=file_size(flavour.size_bytes),
        origin=capped(flavour.origin, 60),
        day=capped(flavour.installed_at[:10], 10),
    )


def flavour_devices(backend: str, devices: tuple[str, ...]) -> str:
    """What its trial saw."""
    if devices:
        return _("Computes on {devices}").format(devices=", ".join(capped(name, 60) for name in devices))
    if backend == "cpu":
        return _("Computes on the processor")
    return _("Found no graphics card that it can use: computes on the processor")


def suitable_text(suggestion: Suggestion) -> str:
    """Why this engine would fit this machine."""
    device, driver = capped(suggestion.device, 60), capped(suggestion.driver, 30)
    if suggestion.why is Why.NVIDIA:
        text = _(
            "{device} with driver {driver}, which serves CUDA {cuda}: the model is computed on the card."
        )
        return text.format(device=device, driver=driver, cuda=suggestion.cuda)
    if suggestion.why is Why.VULKAN:
        return _("{device} and Vulkan are there: the model is computed on the card.").format(device=device)
    if suggestion.why is Why.METAL:
        return _("{device}: the model is computed by Apple's graphics.").format(device=device or "Apple")
    return _(
        "Needs no graphics card and runs on every usual processor (with AVX2): the one to use when another"
        " engine fails."
    )


def obstacle_text(obstacle: Obstacle) -> str:
    """Why a card of this machine is not served, and what to do."""
    device, driver = capped(obstacle.device, 60), capped(obstacle.driver, 30)
    return {
        Why.NVIDIA_NO_DRIVER: _(
            "{device}: its driver does not answer. Install NVIDIA's driver, then look again."
        ),
        Why.NVIDIA_DRIVER_OLD: _(
            "{device}: its driver {driver} is too old for CUDA. Update it, then look again."
        ),
        Why.VULKAN_NO_LOADER: _(
            "{device}: Vulkan is not installed. It comes with the driver (Debian, Ubuntu: libvulkan1 and"
            " mesa-vulkan-drivers); then look again."
        ),
    }.get(obstacle.why, "{device}").format(device=device, driver=driver)


def progress_text(progress: Progress) -> str:
    """The line below the bar."""
    if progress.step is Step.DOWNLOADING and progress.status is not None:
        return status_text(progress.status)
    if progress.step is Step.UNPACKING:
        if not progress.total_bytes:
            return _("Checking the file…")
        percent = number(100 * progress.done_bytes // progress.total_bytes)
        return _("Unpacking: {percent} %").format(percent=percent)
    if progress.step is Step.TRYING:
        return _("Trying the engine: it starts and computes something…")
    return _("Looking for the engine…")


def install_failure_text(error: CloverError) -> str:
    """Why an installation failed, with the next step for this page."""
    words = explain(error)
    if isinstance(error, NotEnoughSpace):
        return _("Too little room on the disk: {missing} more must be free. Nothing was changed.").format(
            missing=file_size(error.missing_bytes)
        )
    if isinstance(error, DownloadError):
        step = _("Try again, or download the file with a browser and install it from there.")
        return f"{words.sentence} {step}"
    return words.text


def failure_text(failure: FlavourFailure, title: str, taken_title: str) -> str:
    """Why the chosen engine is not used, and which one is."""
    sentence, next_step = refusal_words(failure.fault.kind.value, failure.fault.what)
    if failure.taken == failure.key:
        return f"{sentence} {next_step}"
    used = _("The chosen engine ({title}) could not be used, so this one was taken: {taken}.").format(
        title=capped(title), taken=capped(taken_title)
    )
    return f"{used} {sentence} {next_step}"
