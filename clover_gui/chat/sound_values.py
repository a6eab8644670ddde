"""Values that were read from a file, made into such as can be true. Never raises.

A file may be damaged or come from anywhere; what is wrong in it must not end the program later, where a time
is written as a date or a count is divided.
"""

from __future__ import annotations

import math
from typing import TypeGuard

_LAST_TIME = 253_370_764_800.0
"""The year 9999, in seconds since 1970 UTC: beyond it no calendar of the system goes."""
_LARGEST = 1 << 53
"""Beyond this a float does not hold every whole number; nothing is counted here that comes near it."""
_LARGEST_ID = 1 << 48


def sound_text(value: object) -> str:
    """A text; bytes as UTF-8 as far as they are, nothing as ""."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def is_sound_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number (no truth value) that can be counted and divided with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST if isinstance(value, int) else math.isfinite(value)


def sound_time(value: object) -> float:
    """Seconds since 1970 UTC between then and the year 9999; 0 for all else."""
    if is_sound_number(value) and 0 <= value <= _LAST_TIME:
        return float(value)
    return 0.0


def sound_count(value: object) -> int:
    """A whole number from 0 up; 0 for all else."""
    if is_sound_number(value):
        return max(0, int(min(value, _LARGEST)))
    return 0


def is_sound_id(value: object) -> bool:
    """Whether a row can have this number: numbers near the largest leave none for the rows after it."""
    return type(value) is int and 0 < value <= _LARGEST_ID
