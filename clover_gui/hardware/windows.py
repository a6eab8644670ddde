"""Display adapters as the Windows registry lists them, for cards whose driver library is not NVML.

The 32-bit memory field of an adapter stops at 4 GiB, so the 64-bit one decides; where only the short
one is there and reads close to 4 GiB, the size is a minimum.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from clover_gui.hardware.machine import DeviceKind, Gpu
from clover_gui.i18n import capped

_ADAPTERS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
_NEARLY_4_GIB = 4_000_000_000
_VENDORS = {"VEN_1002": "AMD", "VEN_8086": "Intel", "VEN_10DE": "NVIDIA", "VEN_5143": "Qualcomm"}


@dataclass(frozen=True, slots=True)
class AdapterRecord:
    """One adapter's values: description, PCI id text, driver version, memory by either field (0: absent)."""

    description: str
    device_id: str
    driver_version: str = ""
    memory_64_bytes: int = 0
    memory_32_bytes: int = 0


def gpus_from_adapters(records: Iterable[AdapterRecord]) -> tuple[Gpu, ...]:
    """Real graphics devices among the records; virtual and remote displays have no known vendor."""
    gpus: list[Gpu] = []
    for record in records:
        device_id = record.device_id.upper()
        vendor = next((name for key, name in _VENDORS.items() if key in device_id), "")
        if not vendor:
            continue
        total = record.memory_64_bytes or record.memory_32_bytes
        integrated = vendor in ("Intel", "Qualcomm") and "ARC" not in record.description.upper().split()
        gpus.append(
            Gpu(
                name=capped(record.description) or vendor,
                vendor=vendor,
                kind=DeviceKind.INTEGRATED if integrated else DeviceKind.DISCRETE,
                vram_total_bytes=total or None,
                driver=capped(record.driver_version),
                source="registry",
                index=len(gpus),
                vram_is_minimum=not record.memory_64_bytes and total >= _NEARLY_4_GIB,
            )
        )
    return tuple(gpus)


def read_adapters() -> tuple[AdapterRecord, ...]:
    """The records of this Windows; empty on other systems.

    Raises:
        OSError: the registry refuses.
    """
    records: list[AdapterRecord] = []
    if sys.platform == "win32":
        import winreg

        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _ADAPTERS) as adapters:
            for index in range(winreg.QueryInfoKey(adapters)[0]):
                name = winreg.EnumKey(adapters, index)
                if not name.isdigit():
                    continue
                with winreg.OpenKey(adapters, name) as key:
                    values = {}
                    for position in range(winreg.QueryInfoKey(key)[1]):
                        value_name, value, _kind = winreg.EnumValue(key, position)
                        values[value_name] = value
                records.append(record_from_values(values))
    return tuple(records)


def record_from_values(values: dict[str, object]) -> AdapterRecord:
    """From the registry values of one adapter; sizes may be numbers or little-endian bytes."""
    return AdapterRecord(
        description=str(values.get("DriverDesc", "")),
        device_id=str(values.get("MatchingDeviceId", "")),
        driver_version=str(values.get("DriverVersion", "")),
        memory_64_bytes=_size(values.get("HardwareInformation.qwMemorySize")),
        memory_32_bytes=_size(values.get("HardwareInformation.MemorySize")),
    )


def _size(value: object) -> int:
    if isinstance(value, bytes):
        return int.from_bytes(value[:8], "little")
    return value if isinstance(value, int) else 0
