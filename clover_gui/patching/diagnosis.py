"""What is this file, for this engine? Findings with evidence, from header and small tensors only.

Never decided by the file's name and nothing is changed. Also here: which architecture name a file should
have, chosen from what the engine at hand says it can load.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from clover_gui.errors import RepairImpossible
from clover_gui.i18n import capped
from clover_gui.model_file.container import read_container
from clover_gui.patching import requirements, values
from clover_gui.patching.findings import (
    CLOVER,
    FAMILY,
    QWEN,
    Diagnosis,
    Finding,
    FindingKind,
    Form,
    Group,
    Obstacle,
)
from clover_gui.patching.header_map import HeaderMap, NotUnderstood, read_map
from clover_gui.patching.ownership import require_regular_file
from clover_gui.patching.requirements import Facts, NextN

AUTO = "auto"
TARGETS = (AUTO, *FAMILY)
_SHOWN_NAMES = 3


def choose_target(architecture: str, known: Mapping[str, bool], wanted: str = AUTO) -> str:
    """The architecture name that this file should have; "" if the engine knows none that fits.

    A file keeps its own name where the engine knows it.
    """
    if wanted != AUTO:
        return wanted
    order = (architecture, CLOVER, QWEN) if architecture in FAMILY else (architecture,)
    return next((name for name in order if known.get(name)), "")


def diagnose(
    path: Path, known: Mapping[str, bool], *, target: str = AUTO, reads_next_n: bool = True
) -> Diagnosis:
    """Diagnose a file. About 0.2 s for one of 733 tensors and 250,000 tokens.

    ``known`` is what the engine says of architecture names, ``reads_next_n`` whether it reads prediction
    layers. Nothing is written.

    Raises:
        ModelFileError: it is no whole GGUF file; with what is wrong.
        RepairImpossible: sound for reading, but of a form that is not understood well enough to change it.
    """
    require_regular_file(path)
    try:
        with path.open("rb", buffering=0) as file:
            header = read_map(file, path, path.stat().st_size)
            return diagnose_open(file, header, known, target=target, reads_next_n=reads_next_n)
    except (NotUnderstood, OSError) as error:
        return diagnose_odd(path, known, str(error))


def diagnose_odd(path: Path, known: Mapping[str, bool], reason: str) -> Diagnosis:
    """A file whose header cannot be mapped: of another family it need not be.

    Raises:
        ModelFileError: it is simply broken or missing.
        RepairImpossible: of this family, but not understood.
    """
    architecture = read_container(path).keys.get("general.architecture")
    if architecture in FAMILY:
        raise RepairImpossible(path, "not-understood", capped(reason, 200))
    return _stranger(path, architecture if isinstance(architecture, str) else "", known)


def diagnose_open(
    file: BinaryIO,
    header: HeaderMap,
    known: Mapping[str, bool],
    *,
    target: str = AUTO,
    reads_next_n: bool = True,
) -> Diagnosis:
    """As ``diagnose`` for an open file whose header has been mapped.

    Raises:
        NotUnderstood: a tensor that would have to be changed has an unexpected form.
    """
    facts = Facts(header)
    if facts.architecture not in FAMILY or not facts.is_hybrid_moe:
        return _stranger(header.path, facts.architecture, known)
    decay = values.judge_decay(
        [(tensor, values.read_raw(file, header, tensor)) for tensor in values.decay_tensors(header)]
    )
    norms = values.judge_norms(
        [(tensor, values.read_raw(file, header, tensor)) for tensor in values.norm_tensors(header)]
    )
    chosen = choose_target(facts.architecture, known, target)
    obstacle, detail = _obstacle(decay, norms, chosen)
    findings = list(_value_findings(decay, norms))
    if chosen:
        if facts.architecture != chosen:
            evidence = f"the file says {facts.architecture}, this engine needs {chosen}"
            findings.append(Finding(FindingKind.ARCHITECTURE, ("general.architecture",), evidence))
        keys, unknown = _key_findings(facts, chosen)
        findings += keys
        findings += _block_findings(facts, chosen, reads_next_n)
        if unknown and obstacle is Obstacle.NONE:
            obstacle, detail = Obstacle.INCOMPLETE, "missing: " + ", ".join(unknown)
    return Diagnosis(
        header.path,
        facts.architecture,
        True,
        chosen,
        decay,
        norms,
        tuple(findings),
        obstacle,
        capped(detail, 300),
    )


def _stranger(path: Path, architecture: str, known: Mapping[str, bool]) -> Diagnosis:
    """A file of another family is left alone; whether it runs is the engine's word."""
    unknown = known.get(architecture) is False or architecture in (*FAMILY, "")
    obstacle = Obstacle.NOT_FAMILY if unknown else Obstacle.NONE
    name = capped(architecture, 64)
    detail = f"architecture {name or 'not given'}" if unknown else ""
    absent = Group(Form.ABSENT)
    return Diagnosis(path, name, False, "", absent, absent, (), obstacle, detail)


def _obstacle(decay: Group, norms: Group, target: str) -> tuple[Obstacle, str]:
    if not target:
        return Obstacle.ENGINE_TOO_OLD, f"the engine knows neither {CLOVER} nor {QWEN}"
    for name, group in (("ssm_a", decay), ("norm weights", norms)):
        if group.form is Form.UNCLEAR:
            return Obstacle.CONTRADICTORY, f"{name}: {len(group.raw_tensors)} of {_describe(group)} look raw"
    if (decay.form is Form.RAW) != (norms.form is Form.RAW):
        return Obstacle.CONTRADICTORY, f"ssm_a is {decay.form.value}, norm weights are {norms.form.value}"
    return Obstacle.NONE, ""


def _value_findings(decay: Group, norms: Group) -> list[Finding]:
    """Findings on values; of an unclear group those tensors that speak for the raw form."""
    groups = ((FindingKind.RAW_DECAY, decay), (FindingKind.RAW_NORMS, norms))
    return [
        Finding(kind, group.tensors if group.form is Form.RAW else group.raw_tensors, _describe(group))
        for kind, group in groups
        if group.form in (Form.RAW, Form.UNCLEAR) and group.raw_tensors
    ]


def _describe(group: Group) -> str:
    return (
        f"{len(group.tensors)} tensors, {group.value_count} values from {group.minimum:.4g} to "
        f"{group.maximum:.4g}, mean {group.mean:.4g}, {100 * group.negative_share:.1f} % negative"
    )


def _key_findings(facts: Facts, target: str) -> tuple[list[Finding], list[str]]:
    missing, unknown = requirements.missing_keys(facts, target)
    kinds = {
        requirements.SHARED_COUNT: FindingKind.SHARED_COUNT_MISSING,
        requirements.SECTIONS: FindingKind.ROPE_SECTIONS,
    }
    findings = []
    for name, value in missing.items():
        seen = facts.own(name)
        evidence = f"{'absent' if seen is None else f'is {seen}'}, {value.text} needed"
        kind = kinds.get(name, FindingKind.KEY_MISSING)
        findings.append(Finding(kind, (f"{target}.{name}",), evidence))
    own = f"{facts.architecture}.{requirements.SHARED_COUNT}"
    if facts.architecture == CLOVER != target and not facts.has(requirements.SHARED_COUNT):
        evidence = f"absent; {target} does not need it"
        findings.append(Finding(FindingKind.SHARED_COUNT_MISSING, (own,), evidence))
    return findings, unknown


def _block_findings(facts: Facts, target: str, reads_next_n: bool) -> list[Finding]:
    blocks = requirements.block_state(facts, target, reads_next_n)
    findings = []
    if blocks.action is not NextN.RIGHT:
        evidence = f"block_count is {blocks.count}, blocks with weights {max(facts.blocks, default=-1) + 1}"
        if blocks.next_n:
            evidence += f", prediction layers {list(blocks.next_n)}"
        findings.append(
            Finding(FindingKind.NEXT_N_AS_BLOCK, tuple(f"blk.{n}" for n in blocks.next_n), evidence)
        )
    surplus = requirements.surplus_tensors(facts, blocks)
    dropped_layers = set(blocks.next_n) if blocks.action is NextN.DROP else set()
    others = [t for t in surplus if not any(t.name.startswith(f"blk.{n}.") for n in dropped_layers)]
    if others:
        names = tuple(tensor.name for tensor in others)
        shown = ", ".join(names[:_SHOWN_NAMES]) + (" …" if len(names) > _SHOWN_NAMES else "")
        evidence = f"{len(names)} tensors that a loader refuses: {shown}"
        findings.append(Finding(FindingKind.SURPLUS_TENSORS, names, evidence))
    return findings
