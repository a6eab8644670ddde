"""How fast memory can be read: cards by their published figures, the RAM by a short measurement.

Speeds in bytes per second. Nothing here raises.
"""

from __future__ import annotations

import ctypes
import re
import sys
import threading
import time

from clover_gui.hardware.machine import DeviceKind, Gpu, Processor

_GB = 10**9
# Makers' figures in GB/s. A name matches when all words of a key are among its words; the longest key wins.
_CARDS: dict[str, int] = {
    "rtx 5090": 1792,
    "rtx 5090 laptop": 896,
    "rtx 5080": 960,
    "rtx 5080 laptop": 896,
    "rtx 5070": 672,
    "rtx 5070 ti": 896,
    "rtx 5070 laptop": 384,
    "rtx 5060": 448,
    "rtx 5060 ti": 448,
    "rtx 5060 laptop": 384,
    "rtx 5050": 320,
    "rtx 4090": 1008,
    "rtx 4090 laptop": 576,
    "rtx 4080": 717,
    "rtx 4080 super": 736,
    "rtx 4080 laptop": 432,
    "rtx 4070": 504,
    "rtx 4070 super": 504,
    "rtx 4070 ti": 504,
    "rtx 4070 ti super": 672,
    "rtx 4070 laptop": 256,
    "rtx 4060": 272,
    "rtx 4060 ti": 288,
    "rtx 4060 laptop": 256,
    "rtx 4050 laptop": 192,
    "rtx 3090": 936,
    "rtx 3090 ti": 1008,
    "rtx 3080": 760,
    "rtx 3080 ti": 912,
    "rtx 3080 laptop": 448,
    "rtx 3070": 448,
    "rtx 3070 ti": 608,
    "rtx 3070 laptop": 384,
    "rtx 3060": 360,
    "rtx 3060 ti": 448,
    "rtx 3060 laptop": 336,
    "rtx 3050": 224,
    "rtx 2080": 448,
    "rtx 2080 ti": 616,
    "rtx 2070": 448,
    "rtx 2060": 336,
    "gtx 1080": 320,
    "gtx 1080 ti": 484,
    "gtx 1070": 256,
    "gtx 1660": 192,
    "a100": 1555,
    "h100": 3350,
    "h200": 4800,
    "b200": 8000,
    "l4": 300,
    "l40": 864,
    "l40s": 864,
    "t4": 320,
    "v100": 900,
    "a10": 600,
    "a40": 696,
    "rtx a2000": 288,
    "rtx a4000": 448,
    "rtx a5000": 768,
    "rtx a6000": 768,
    "rtx 6000 ada": 960,
    "gb10": 273,
    "rx 9070": 640,
    "rx 9070 xt": 640,
    "rx 9060 xt": 320,
    "rx 7900 xtx": 960,
    "rx 7900 xt": 800,
    "rx 7900 gre": 576,
    "rx 7800 xt": 624,
    "rx 7700 xt": 432,
    "rx 7600": 288,
    "rx 7600 xt": 288,
    "rx 6950 xt": 576,
    "rx 6900 xt": 512,
    "rx 6800": 512,
    "rx 6800 xt": 512,
    "rx 6750 xt": 432,
    "rx 6700 xt": 384,
    "rx 6600": 224,
    "rx 6600 xt": 256,
    "arc b580": 456,
    "arc b570": 380,
    "arc a770": 512,
    "arc a750": 512,
    "arc a580": 512,
    "m1": 68,
    "m1 pro": 200,
    "m1 max": 400,
    "m1 ultra": 800,
    "m2": 100,
    "m2 pro": 200,
    "m2 max": 400,
    "m2 ultra": 800,
    "m3": 100,
    "m3 pro": 150,
    "m3 max": 300,
    "m3 ultra": 800,
    "m4": 120,
    "m4 pro": 273,
    "m4 max": 410,
}
# A card that is not in the list: the slower half of what is sold.
_UNKNOWN_CARD = 250 * _GB
_MEASURED_BYTES_PER_THREAD = 32 << 20
_ROUNDS = 3


def gpu_bandwidth(gpu: Gpu, ram_bandwidth: int) -> int:
    """How fast this device reads its memory; one without memory of its own reads the RAM."""
    # "RTX4070Ti" as "rtx 4070 ti"; short names such as "m3" and "l40s" stay whole.
    name = re.sub(r"(?<=\d{3})(?=(ti|super|xtx|xt|gre)\b)", " ", gpu.name.lower())
    name = re.sub(r"\b(rtx|gtx|rx|arc)(?=[ab]?\d)", r"\1 ", name)
    words = re.findall(r"[a-z]+\d+[a-z]*|\d+|[a-z]+", name)
    found = [key for key in _CARDS if _all_in(key.split(), words)]
    if found:
        best = max(found, key=lambda key: (len(key.split()), len(key)))
        return _CARDS[best] * _GB
    return _UNKNOWN_CARD if gpu.kind is DeviceKind.DISCRETE else ram_bandwidth


def assumed_ram_bandwidth(processor: Processor) -> int:
    """Where nothing was measured: two channels of DDR4 or DDR5, as usual in desktops; less on small ones."""
    if processor.architecture.lower() in ("arm64", "aarch64"):
        return 60 * _GB
    return 45 * _GB if processor.physical_cores >= 6 else 25 * _GB


def measure_ram_bandwidth(threads: int) -> int:
    """Reads some memory with this many threads, about 50 ms; 0 where that cannot be done here."""
    try:
        library = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
        search = library.memchr
        search.restype, search.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
        buffers = [ctypes.create_string_buffer(_MEASURED_BYTES_PER_THREAD) for _ in range(max(1, threads))]
    except (AttributeError, OSError, MemoryError):
        return 0
    for buffer in buffers:  # memory that was never written is one shared page of zeros
        ctypes.memset(buffer, 1, len(buffer))
    best = 0.0
    for _ in range(_ROUNDS):
        # A byte that is nowhere: all of the buffer is read, and the interpreter's lock is free meanwhile.
        readers = [threading.Thread(target=search, args=(b, 0, len(b) - 1), daemon=True) for b in buffers]
        started = time.perf_counter()
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        best = max(best, len(buffers) * _MEASURED_BYTES_PER_THREAD / (time.perf_counter() - started))
    return int(best)


def _all_in(wanted: list[str], words: list[str]) -> bool:
    return all(word in words for word in wanted)
