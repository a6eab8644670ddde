"""The question "what is this machine?", answered in one call that never raises.

Each probe stands alone: what one of them cannot tell becomes a note, and the others go on.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import psutil

from clover_gui.hardware import amd, nvidia, processor, system, windows
from clover_gui.hardware.apple import apple_gpu
from clover_gui.hardware.cgroup import Limits, read_limits
from clover_gui.hardware.machine import Disk, Gpu, Machine, Memory, ProbeNote, Processor
from clover_gui.i18n import capped

_T = TypeVar("_T")


def probe_machine(disk_path: Path, root: Path = Path("/")) -> Machine:
    """Everything about this machine that planning and the setup page need.

    Takes some ten milliseconds (more with a graphics driver, which has to be started): not for the
    window's thread. ``disk_path`` is where models will be kept; ``root`` moves the graphics probes to a
    recorded file tree.
    """
    notes: list[ProbeNote] = []
    limits = _tried("limits", notes, lambda: read_limits(root), Limits())
    memory = _tried("memory", notes, lambda: system.read_memory(limits), _no_memory())
    nothing: tuple[tuple[Gpu, ...], tuple[ProbeNote, ...]] = ((), ())
    gpus, gpu_notes = _tried("graphics", notes, lambda: probe_gpus(memory, root), nothing)
    return Machine(
        system=_tried("system", notes, system.system_name, platform.system()),
        processor=_tried("processor", notes, lambda: processor.read_processor(limits), _some_processor()),
        memory=memory,
        disk=_tried("disk", notes, lambda: _disk(disk_path), None),
        gpus=gpus,
        notes=(*notes, *gpu_notes),
    )


def probe_gpus(
    memory: Memory, root: Path = Path("/"), system_platform: str = sys.platform
) -> tuple[tuple[Gpu, ...], tuple[ProbeNote, ...]]:
    """All graphics devices: NVIDIA by its driver, the rest by what the system lists."""
    linux = system_platform.startswith("linux")
    # Asking a driver wakes its device: what slept before is seen only now.
    asleep = {c.bus_id for c in amd.pci_cards(root) if amd.is_suspended(c.bus_id, root)} if linux else set()
    found, found_notes = nvidia.probe_nvidia(memory, root, system_platform)
    gpus, notes = list(found), list(found_notes)
    if system_platform == "darwin":
        metal = apple_gpu(processor.sysctl_by_name, platform.machine(), memory)
        gpus += [metal] if metal else []
    elif system_platform == "win32":
        no_records: tuple[windows.AdapterRecord, ...] = ()
        records = _tried("registry", notes, windows.read_adapters, no_records)
        gpus += [gpu for gpu in windows.gpus_from_adapters(records) if not (found and gpu.vendor == "NVIDIA")]
    else:
        known = {gpu.bus_id for gpu in found}
        for card in amd.pci_cards(root):
            if card.bus_id in known:
                continue
            gpu = amd.describe(card, len(gpus), root)
            gpus.append(gpu)
            if gpu.source == "pci":
                driver = f"its driver is {card.driver}" if card.driver else "no driver is loaded for it"
                notes.append(ProbeNote("graphics", "no-driver", f"{gpu.name} at {card.bus_id}: {driver}"))
        gpus = [_with_state(gpu, gpu.bus_id in asleep, root) for gpu in gpus]
    return tuple(gpus), tuple(notes)


def _with_state(gpu: Gpu, asleep: bool, root: Path) -> Gpu:
    shows = amd.drives_display(gpu.bus_id, root) if gpu.drives_display is None else gpu.drives_display
    return replace(gpu, was_asleep=asleep, drives_display=shows)


def _tried(probe: str, notes: list[ProbeNote], read: Callable[[], _T], otherwise: _T) -> _T:
    try:
        return read()
    except Exception as error:  # a probe must never end the program, whatever a driver or system does
        notes.append(ProbeNote(probe, "failed", capped(f"{type(error).__name__}: {error}", 200)))
        return otherwise


def _disk(path: Path) -> Disk | None:
    return system.read_disk(path)


def _some_processor() -> Processor:
    logical = os.cpu_count() or 1
    return Processor(platform.machine() or "processor", platform.machine(), max(1, logical // 2), logical)


def _no_memory() -> Memory:
    """Where even the system's own figures are missing, plan with nothing rather than with a guess."""
    try:
        ram = psutil.virtual_memory()
    except Exception:  # see _tried
        return Memory(0, 0)
    return Memory(int(ram.total), int(ram.available))
