"""From a diagnosis to the changes: which keys, which tensor entries, which values. Pure; writes nothing."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from clover_gui.patching import requirements, values
from clover_gui.patching.findings import Diagnosis, FindingKind
from clover_gui.patching.header_map import ARRAY, HeaderMap, KeyEntry
from clover_gui.patching.requirements import BLOCK_COUNT, NEXT_N, Facts, NewValue, NextN, text, u32

Transform = Callable[[bytes], bytes]
_ARCHITECTURE = "general.architecture"


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be changed, by name.

    ``renamed`` maps old key names to new ones, ``values`` new key names to values (changed or added),
    ``removed`` are old key names; ``dropped`` are tensors that leave the header; ``transforms`` maps
    tensors to the function for their bytes.
    """

    renamed: dict[str, str] = field(default_factory=dict)
    values: dict[str, NewValue] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    transforms: dict[str, Transform] = field(default_factory=dict)


def make_changes(header: HeaderMap, diagnosis: Diagnosis, *, reads_next_n: bool = True) -> Changes:
    """All changes that the findings of this diagnosis ask for, the forced ones included."""
    facts = Facts(header)
    own, target = facts.architecture, diagnosis.target
    renamed = (
        {
            key.name: f"{target}.{key.name[len(own) + 1 :]}"
            for key in header.keys
            if key.name.startswith(f"{own}.")
        }
        if own != target
        else {}
    )
    new_values: dict[str, NewValue] = {_ARCHITECTURE: text(target)} if own != target else {}
    missing, _ = requirements.missing_keys(facts, target)
    new_values |= {f"{target}.{name}": value for name, value in missing.items()}
    blocks = requirements.block_state(facts, target, reads_next_n)
    removed: set[str] = set()
    if blocks.action is NextN.DECLARE:
        new_values[f"{target}.{NEXT_N}"] = u32(len(blocks.next_n))
    elif blocks.action in (NextN.DROP, NextN.CORRECT):
        removed.add(f"{own}.{NEXT_N}")
        if blocks.new_count != blocks.count:
            new_values[f"{target}.{BLOCK_COUNT}"] = u32(blocks.new_count)
            new_values |= _shortened(header, own, target, blocks.count, blocks.new_count)
    dropped = frozenset(tensor.name for tensor in requirements.surplus_tensors(facts, blocks))
    return Changes(
        renamed,
        new_values,
        frozenset(removed),
        dropped,
        _transforms(diagnosis, dropped),
    )


def _transforms(diagnosis: Diagnosis, dropped: frozenset[str]) -> dict[str, Transform]:
    functions: dict[FindingKind, Transform] = {
        FindingKind.RAW_DECAY: values.decayed,
        FindingKind.RAW_NORMS: values.plus_one,
    }
    return {
        name: functions[finding.kind]
        for finding in diagnosis.findings
        if finding.kind in functions
        for name in finding.names
        if name not in dropped
    }


def _shortened(header: HeaderMap, own: str, target: str, old: int, new: int) -> dict[str, NewValue]:
    """Lists with one element per block, cut to the new number of blocks."""
    result = {}
    for key in header.keys:
        if key.name.startswith(f"{own}.") and key.type == ARRAY and key.count == old and new < old:
            cut = _cut(header, key, new)
            if cut is not None:
                result[f"{target}.{key.name[len(own) + 1 :]}"] = cut
    return result


def _cut(header: HeaderMap, key: KeyEntry, count: int) -> NewValue | None:
    data = header.header[key.value_start + 12 : key.end]
    width, rest = divmod(len(data), key.count)
    if rest:  # texts; no list per block is one
        return None
    return NewValue(
        ARRAY, struct.pack("<IQ", key.element_type, count) + data[: count * width], f"{count} elements"
    )
