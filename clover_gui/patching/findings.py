"""What a diagnosis says: findings with their evidence, the two groups of values, the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

CLOVER, QWEN = "clover_moe", "qwen35moe"
FAMILY = (CLOVER, QWEN)


class FindingKind(Enum):
    """What is not as the target needs it."""

    ARCHITECTURE = "architecture"  # the engine does not know the file's name for this network
    SHARED_COUNT_MISSING = "shared-count-missing"
    RAW_DECAY = "raw-decay"  # ssm_a holds A_log
    RAW_NORMS = "raw-norms"  # norm weights centred on zero
    ROPE_SECTIONS = "rope-sections"  # absent, or not of length 4
    KEY_MISSING = "key-missing"  # another key that the target needs; follows from the shapes
    SURPLUS_TENSORS = "surplus-tensors"
    NEXT_N_AS_BLOCK = "next-n-as-block"


class Form(Enum):
    """How the values of a group are stored."""

    RAW = "raw"
    TRANSFORMED = "transformed"
    UNCLEAR = "unclear"
    ABSENT = "absent"


class Verdict(Enum):
    RUNS = "runs"
    NEEDS_REPAIR = "needs-repair"
    CANNOT = "cannot"


class Obstacle(Enum):
    """Why a file cannot be repaired."""

    NONE = "none"
    NOT_FAMILY = "not-family"  # and the engine does not know its architecture
    ENGINE_TOO_OLD = "engine-too-old"  # no name for this network that the engine knows
    CONTRADICTORY = "contradictory"  # the two groups of values disagree, or one with itself
    INCOMPLETE = "incomplete"  # tensors or keys are missing that nothing can be derived from


@dataclass(frozen=True, slots=True)
class Group:
    """Values of one kind of small tensors, all together.

    ``raw_tensors`` are those whose own values speak for the raw form. ``negative_share`` is 0..1.
    """

    form: Form
    tensors: tuple[str, ...] = ()
    raw_tensors: tuple[str, ...] = ()
    value_count: int = 0
    negative_share: float = 0.0
    minimum: float = 0.0
    maximum: float = 0.0
    mean: float = 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: the tensors or keys it concerns and what was seen (technical, English, capped)."""

    kind: FindingKind
    names: tuple[str, ...]
    evidence: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a file is, for one engine. ``target`` is the architecture it should have ("" if none fits)."""

    path: Path
    architecture: str
    is_family: bool
    target: str
    decay: Group
    norms: Group
    findings: tuple[Finding, ...]
    obstacle: Obstacle
    obstacle_detail: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.obstacle is not Obstacle.NONE:
            return Verdict.CANNOT
        return Verdict.NEEDS_REPAIR if self.findings else Verdict.RUNS

    @property
    def can_be_forced(self) -> bool:
        """Only the values disagree; each finding can be applied by itself and undone."""
        return self.obstacle is Obstacle.CONTRADICTORY
