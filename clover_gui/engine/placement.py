"""Devices, expert placement and memory per buffer: the parts of ggml that the binding does not expose.

Takes the binding from llama.py. Symbols are looked up through libllama's handle, which also finds those of
the ggml libraries it was linked with; opening libggml by name would load a second copy with a registry of
its own. Nothing here may crash where a symbol is absent: the answer is then empty.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clover_gui.engine.llama import Binding, Context, Native
from clover_gui.engine.protocol import BufferBytes, EngineDevice

_DEVICE_TYPES = ("cpu", "gpu", "igpu", "accel", "meta")
# llama.cpp's own pattern for --n-cpu-moe (common.h).
_EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
_BREAKDOWN = "_Z26llama_get_memory_breakdownPK13llama_context"
_BUFFER_LINE = re.compile(r"(\S+)\s+(model|KV|RS|compute|output)\s+buffer size\s*=\s*([\d.]+) MiB")
_MIB = 1024 * 1024


class _Capabilities(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_bool)
        for name in ("async_", "host_buffer", "buffer_from_host_ptr", "events", "mmap_support")
    ]


class _Properties(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("description", ctypes.c_char_p),
        ("memory_free", ctypes.c_size_t),
        ("memory_total", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("device_id", ctypes.c_char_p),
        ("caps", _Capabilities),
    ]


class _Override(ctypes.Structure):
    """llama_model_tensor_buft_override."""

    _fields_ = [("pattern", ctypes.c_char_p), ("buffer_type", ctypes.c_void_p)]


class Ggml:
    """The few ggml functions that are needed, each None where the library lacks it."""

    def __init__(self, binding: Binding) -> None:
        self._lib = binding._lib
        self._folder = Path(getattr(self._lib, "_name", "") or "")
        pointer, text = ctypes.c_void_p, ctypes.c_char_p
        self.device_count = self._function("ggml_backend_dev_count", ctypes.c_size_t)
        self.device_get = self._function("ggml_backend_dev_get", pointer, ctypes.c_size_t)
        self.device_properties = self._function(
            "ggml_backend_dev_get_props", None, pointer, ctypes.POINTER(_Properties)
        )
        self.device_registry = self._function("ggml_backend_dev_backend_reg", pointer, pointer)
        self.registry_name = self._function("ggml_backend_reg_name", text, pointer)
        self.device_name = self._function("ggml_backend_dev_name", text, pointer)
        self.buffer_name = self._function("ggml_backend_buft_name", text, pointer)
        self.buffer_is_host = self._function("ggml_backend_buft_is_host", ctypes.c_bool, pointer)
        self.buffer_device = self._function("ggml_backend_buft_get_device", pointer, pointer)
        self.cpu_buffer_type = self._function("ggml_backend_cpu_buffer_type", pointer)
        self.set_abort_callback = self._function("ggml_set_abort_callback", pointer, pointer)

    @property
    def library_folder(self) -> str:
        return str(self._folder.parent)

    def _function(self, name: str, result: Native, *arguments: Native) -> Native | None:
        for library in self._libraries():
            try:
                function = library[name]
            except AttributeError:
                continue
            function.restype, function.argtypes = result, list(arguments)
            return function
        return None

    def _libraries(self) -> Iterable[Any]:
        yield self._lib
        if sys.platform == "win32":  # GetProcAddress does not search a library's dependencies
            for name in ("ggml.dll", "ggml-base.dll", "ggml-cpu.dll"):
                if (self._folder.parent / name).is_file():
                    yield ctypes.CDLL(str(self._folder.parent / name))

    def breakdown_function(self) -> Native | None:
        """llama_get_memory_breakdown, or None: known only in the form that GCC's library gives it."""
        return self._function(_BREAKDOWN, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def devices(ggml: Ggml) -> tuple[EngineDevice, ...]:
    """The engine's own list. On Linux the "cpu" device reports its total memory as free."""
    if ggml.device_count is None or ggml.device_get is None or ggml.device_properties is None:
        return ()
    found = []
    for index in range(ggml.device_count()):
        handle = ggml.device_get(index)
        facts = _Properties()
        ggml.device_properties(handle, ctypes.byref(facts))
        registry = ggml.device_registry(handle) if ggml.device_registry else None
        backend = ggml.registry_name(registry) if registry and ggml.registry_name else None
        kind = _DEVICE_TYPES[facts.type] if 0 <= facts.type < len(_DEVICE_TYPES) else "meta"
        found.append(
            EngineDevice(
                name=_text(facts.name),
                description=_text(facts.description),
                backend=_text(backend),
                type=kind,
                memory_free_bytes=facts.memory_free,
                memory_total_bytes=facts.memory_total,
            )
        )
    return tuple(found)


def experts_on_cpu(ggml: Ggml, layers: int) -> ctypes.Array[Any] | None:
    """Overrides that keep the experts of the first ``layers`` layers in main memory; None for none."""
    if layers <= 0 or ggml.cpu_buffer_type is None:
        return None
    overrides = (_Override * (layers + 1))()  # the last one stays zero and ends the list
    for layer in range(layers):
        overrides[layer].pattern = f"blk\\.{layer}{_EXPERTS}".encode()
        overrides[layer].buffer_type = ggml.cpu_buffer_type()
    return overrides


def device_list(ggml: Ggml, names: Sequence[str]) -> ctypes.Array[Any] | None:
    """The devices of these names for llama_model_params, ended by a null; none at all for no names.

    None where this library cannot be asked for its devices.

    Raises:
        LookupError: the engine has no graphics device of such a name; the text lists what it has.
    """
    if ggml.device_count is None or ggml.device_get is None:
        return None
    found = {
        device.name: ggml.device_get(index)
        for index, device in enumerate(devices(ggml))
        if device.type in ("gpu", "igpu")
    }
    missing = [name for name in names if name not in found]
    if missing:
        there = ", ".join(found) or "none"
        raise LookupError(f"no graphics device {', '.join(missing)}; this engine sees: {there}")
    array = (ctypes.c_void_p * (len(names) + 1))()
    for index, name in enumerate(names):
        array[index] = found[name]
    return array


def split_of(binding: Binding, shares: Sequence[float]) -> ctypes.Array[Any] | None:
    """Shares of the layers for llama_model_params; the library reads one for each device it could have."""
    if not shares:
        return None
    array = (ctypes.c_float * max(int(binding.llama_max_devices()), len(shares)))()
    for index, share in enumerate(shares):
        array[index] = share
    return array


def memory_by_buffer(ggml: Ggml, context: Context, log_lines: Iterable[str]) -> tuple[BufferBytes, ...]:
    """What the engine holds per buffer type: its own exact figures, else those of its log (in MiB)."""
    exact = _breakdown(ggml, context) if sys.platform == "linux" else ()
    return exact or from_log(log_lines)


def _breakdown(ggml: Ggml, context: Context) -> tuple[BufferBytes, ...]:
    # A C++ function that returns std::map by value: the hidden result pointer goes first (System V), and the
    # red-black tree of GCC's library is walked. The few nodes are never freed.
    function = ggml.breakdown_function()
    if function is None or ggml.buffer_name is None:
        return ()
    result = (ctypes.c_uint64 * 6)()  # comparator, colour, parent (root), left, right, count
    function(ctypes.addressof(result), context.handle)
    if result[2] < 4096 or not 0 < result[5] < 256:  # another library's map: the root is no pointer
        return ()
    found: list[BufferBytes] = []
    todo = [int(result[2])]
    while todo and len(found) < 256:
        # node: colour, parent, left, right, key, then bytes of model, context and compute
        node = (ctypes.c_uint64 * 8).from_address(todo.pop())
        todo += [int(child) for child in (node[2], node[3]) if child]
        device = ggml.buffer_device(node[4]) if ggml.buffer_device else None
        found.append(
            BufferBytes(
                buffer=_text(ggml.buffer_name(node[4])),
                device=_text(ggml.device_name(device)) if device and ggml.device_name else "",
                is_host=bool(ggml.buffer_is_host(node[4])) if ggml.buffer_is_host else True,
                model=int(node[5]),
                context=int(node[6]),
                compute=int(node[7]),
            )
        )
    return tuple(sorted(found, key=lambda b: b.buffer)) if len(found) == result[5] else ()


def from_log(lines: Iterable[str]) -> tuple[BufferBytes, ...]:
    """Buffer sizes from the engine's log lines of one load."""
    sums: dict[str, dict[str, int]] = {}
    for line in lines:
        found = _BUFFER_LINE.search(line)
        if found:
            part = {"model": "model", "compute": "compute"}.get(found[2], "context")
            parts = sums.setdefault(found[1], {})
            parts[part] = parts.get(part, 0) + int(float(found[3]) * _MIB)
    return tuple(
        BufferBytes(buffer=name, device="", is_host="CPU" in name or "Host" in name, **parts)
        for name, parts in sorted(sums.items())
    )


def _text(value: bytes | None) -> str:
    return value.decode("utf-8", "replace") if value else ""
