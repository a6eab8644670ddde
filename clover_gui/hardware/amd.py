"""Graphics devices that Linux itself knows (sysfs): AMD and Intel with their memory, others by name.

AMD integrated parts keep a carve-out of the RAM ("VRAM") and may borrow more (GTT). The two stay apart
here; whoever plans may use carve-out plus what of the borrowed part the RAM really has free.
NVIDIA cards are listed only so that a card without a working driver is not overlooked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from clover_gui.hardware.machine import DeviceKind, Gpu
from clover_gui.i18n import capped

AMD, INTEL, NVIDIA = 0x1002, 0x8086, 0x10DE
_VENDORS = {AMD: "AMD", INTEL: "Intel", NVIDIA: "NVIDIA"}
_PCI_NAMES = (Path("usr/share/misc/pci.ids"), Path("usr/share/hwdata/pci.ids"))
_GIB = 1 << 30
# ioport.h: memory resource, prefetchable.
_IORESOURCE_MEM, _IORESOURCE_PREFETCH = 0x200, 0x2000


@dataclass(frozen=True, slots=True)
class PciCard:
    """A display device on the PCI bus. ``folder`` is its sysfs folder."""

    folder: Path
    bus_id: str
    vendor: int
    device: int
    driver: str


def pci_cards(root: Path = Path("/")) -> tuple[PciCard, ...]:
    """All display devices (PCI class 03) of AMD, Intel and NVIDIA, in bus order. Never raises."""
    folder = root / "sys/bus/pci/devices"
    try:
        places = sorted(folder.iterdir())
    except OSError:
        return ()
    cards = []
    for place in places:
        vendor = _number(place / "vendor")
        display = (_number(place / "class") or 0) >> 16 == 0x03
        if display and vendor in _VENDORS:
            cards.append(
                PciCard(
                    place, place.name, vendor, _number(place / "device") or 0, _link_name(place / "driver")
                )
            )
    return tuple(cards)


def is_suspended(bus_id: str, root: Path = Path("/")) -> bool:
    """Whether the device sleeps; asking sysfs does not wake it."""
    place = root / "sys/bus/pci/devices" / bus_id / "power/runtime_status"
    return bool(bus_id) and _text(place) in ("suspended", "suspending")


def drives_display(bus_id: str, root: Path = Path("/")) -> bool | None:
    """Whether a screen is connected to the device; None where Linux does not list its outputs."""
    outputs = list((root / "sys/bus/pci/devices" / bus_id / "drm").glob("card*/card*-*/status"))
    if not bus_id or not outputs:
        return None
    return any(_text(output) == "connected" for output in outputs)


def read_amd_vram(bus_id: str, root: Path = Path("/")) -> tuple[int, int] | None:
    """Total and used VRAM of an AMD device in bytes, or None."""
    folder = root / "sys/bus/pci/devices" / bus_id
    total, used = _number(folder / "mem_info_vram_total"), _number(folder / "mem_info_vram_used")
    return None if not bus_id or total is None or used is None else (total, min(used, total))


def describe(card: PciCard, index: int, root: Path = Path("/")) -> Gpu:
    """The facts of one card. A card without a driver has no sizes and the source "pci"."""
    vendor = _VENDORS[card.vendor]
    name = _name(card, root)
    if card.vendor == AMD and card.driver:
        return _amd(card, index, name)
    if card.vendor == INTEL and card.driver:
        return _intel(card, index, name)
    kind = DeviceKind.INTEGRATED if card.vendor == INTEL and _on_root_bus(card) else DeviceKind.DISCRETE
    return Gpu(name, vendor, kind, driver=card.driver, source="pci", index=index, bus_id=card.bus_id)


def _amd(card: PciCard, index: int, name: str) -> Gpu:
    total, used = _number(card.folder / "mem_info_vram_total"), _number(card.folder / "mem_info_vram_used")
    shared, shared_used = (
        _number(card.folder / "mem_info_gtt_total"),
        _number(card.folder / "mem_info_gtt_used"),
    )
    integrated = _is_apu(card.folder, total, shared)
    return Gpu(
        name=name,
        vendor="AMD",
        kind=DeviceKind.INTEGRATED if integrated else DeviceKind.DISCRETE,
        vram_total_bytes=total,
        vram_free_bytes=None if total is None or used is None else max(0, total - used),
        driver=card.driver,
        source="sysfs",
        index=index,
        bus_id=card.bus_id,
        shared_total_bytes=shared if integrated else None,
        shared_free_bytes=max(0, shared - (shared_used or 0)) if integrated and shared is not None else None,
    )


def _is_apu(folder: Path, vram: int | None, gtt: int | None) -> bool:
    """amdgpu writes metrics of format 1 for cards and 2 or 3 for processors with graphics."""
    try:
        header = (folder / "gpu_metrics").read_bytes()[:4]
    except OSError:
        header = b""
    if len(header) == 4 and header[2] in (1, 2, 3):
        return header[2] != 1
    if (folder / "unique_id").exists():
        return False
    return vram is not None and vram < 4 * _GIB and (gtt or 0) > vram


def _intel(card: PciCard, index: int, name: str) -> Gpu:
    if _on_root_bus(card):
        kind, total = DeviceKind.INTEGRATED, None
    else:
        # The driver tells no size; the memory window shows all of it where the BIOS allows a large one.
        window = _largest_window(card.folder)
        kind, total = DeviceKind.DISCRETE, window if window >= 2 * _GIB else None
    return Gpu(
        name,
        "Intel",
        kind,
        vram_total_bytes=total,
        driver=card.driver,
        source="sysfs",
        index=index,
        bus_id=card.bus_id,
        vram_is_minimum=total is not None,
    )


def _on_root_bus(card: PciCard) -> bool:
    """Graphics inside the processor sit on bus 0; a card sits behind a bridge."""
    return card.bus_id.split(":")[1:2] == ["00"]


def _largest_window(folder: Path) -> int:
    largest = 0
    for line in _text(folder / "resource").splitlines():
        parts = line.split()
        try:
            start, end, flags = (int(part, 16) for part in parts)
        except ValueError:
            continue
        if flags & _IORESOURCE_MEM and flags & _IORESOURCE_PREFETCH and end > start:
            largest = max(largest, end - start + 1)
    return largest


def _name(card: PciCard, root: Path) -> str:
    vendor = _VENDORS[card.vendor]
    known = _text(card.folder / "product_name") or _pci_name(card, root)
    return capped(f"{vendor} {known}") if known else f"{vendor} graphics {card.device:04x}"


def _pci_name(card: PciCard, root: Path) -> str:
    """The name in the list that distributions ship; of "Navi 31 [Radeon RX 7900 XTX]" the part inside."""
    for place in _PCI_NAMES:
        try:
            data = (root / place).read_bytes()
        except OSError:
            continue
        start = data.find(f"\n{card.vendor:04x}  ".encode())
        if start < 0:
            continue
        next_vendor = re.compile(rb"\n[0-9a-f]{4}  ").search(data, start + 1)
        end = next_vendor.start() if next_vendor else len(data)
        found = re.search(rf"\n\t{card.device:04x}  ([^\n]+)".encode(), data[start:end])
        if found:
            text = found[1].decode("utf-8", "replace")
            inner = re.search(r"\[(.+?)\]", text)
            return inner[1] if inner else text
    return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    try:
        return int(text, 0)
    except ValueError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _link_name(path: Path) -> str:
    try:
        return path.readlink().name
    except OSError:
        return ""
