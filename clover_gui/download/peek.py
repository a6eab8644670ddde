"""What a model at the hub is, from its first bytes, before the rest is fetched."""

from __future__ import annotations

import io
import struct

from clover_gui.i18n import capped
from clover_gui.model_file.window import CutShort, Impossible, Window

# The architecture is the first key in practice; no more than this is fetched to find it.
PEEK_BYTES = 1 << 16
_KEY = "general.architecture"
_STRING = 8
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_MOST_KEYS = 64
_U32 = struct.Struct("<I")


def architecture_in(beginning: bytes) -> str:
    """The architecture named among the first keys of a GGUF file; "" where they do not tell."""
    window = Window(io.BytesIO(beginning), len(beginning))
    try:
        window.skip(16)
        keys = window.u64()
        for _ in range(min(keys, _MOST_KEYS)):
            name = window.text(256, 1024)
            kind = int(window.number(_U32))
            if kind == _STRING:
                text = window.text(256, len(beginning))
                if name == _KEY:
                    return capped(text, 64)
            elif kind in _SIZES:
                window.skip(_SIZES[kind])
            else:
                return ""  # an array: too long to walk for this
    except (CutShort, Impossible):
        pass  # not within the first bytes, or no GGUF: the transfer itself will say which
    return ""
