"""What a file is, decided from its header and values: one diagnosis for each kind of file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clover_gui.errors import ModelFileMissing, NotAModelFile, RepairContradictory, RepairImpossible
from clover_gui.patching.diagnosis import AUTO, choose_target, diagnose
from clover_gui.patching.findings import Diagnosis, FindingKind, Obstacle, Verdict
from clover_gui.patching.findings import Form as Stored
from clover_gui.patching.repair import repair, undo
from tests.kit.diffuspace import CLOVER, DIFFUSPACE, REFERENCE, Form, make_form
from tests.kit.gguf_maker import make_tiny, make_unknown
from tests.kit.gguf_parts import DENSE, HYBRID, TINY, Vocabulary
from tests.patching.forms import KNOWS_BOTH, KNOWS_NEITHER, KNOWS_QWEN, sha256

NO_KEY_ONLY = Form(CLOVER, shared_count=False)


def kinds(diagnosis: Diagnosis) -> set[FindingKind]:
    return {finding.kind for finding in diagnosis.findings}


@pytest.mark.parametrize(
    ("form", "known", "verdict", "found"),
    [
        (REFERENCE, KNOWS_QWEN, Verdict.RUNS, set()),
        (Form(CLOVER), KNOWS_BOTH, Verdict.RUNS, set()),
        (
            DIFFUSPACE,
            KNOWS_QWEN,
            Verdict.NEEDS_REPAIR,
            {
                FindingKind.ARCHITECTURE,
                FindingKind.SHARED_COUNT_MISSING,
                FindingKind.RAW_DECAY,
                FindingKind.RAW_NORMS,
            },
        ),
        (NO_KEY_ONLY, KNOWS_BOTH, Verdict.NEEDS_REPAIR, {FindingKind.SHARED_COUNT_MISSING}),
        (Form(sections="missing"), KNOWS_QWEN, Verdict.NEEDS_REPAIR, {FindingKind.ROPE_SECTIONS}),
        (Form(sections="three"), KNOWS_QWEN, Verdict.NEEDS_REPAIR, {FindingKind.ROPE_SECTIONS}),
        (Form(CLOVER, sections="missing"), KNOWS_BOTH, Verdict.RUNS, set()),
        (Form(surplus="tail"), KNOWS_QWEN, Verdict.NEEDS_REPAIR, {FindingKind.SURPLUS_TENSORS}),
        (Form(next_n="declared"), KNOWS_QWEN, Verdict.RUNS, set()),
        (Form(next_n="undeclared"), KNOWS_QWEN, Verdict.NEEDS_REPAIR, {FindingKind.NEXT_N_AS_BLOCK}),
        (Form(next_n="counted"), KNOWS_QWEN, Verdict.NEEDS_REPAIR, {FindingKind.NEXT_N_AS_BLOCK}),
        (
            Form(CLOVER, next_n="declared"),
            KNOWS_BOTH,
            Verdict.NEEDS_REPAIR,
            {FindingKind.NEXT_N_AS_BLOCK},
        ),
        (Form(CLOVER), KNOWS_NEITHER, Verdict.CANNOT, set()),
    ],
)
def test_one_diagnosis_each(
    tmp_path: Path, form: Form, known: dict[str, bool], verdict: Verdict, found: set[FindingKind]
) -> None:
    file = make_form(tmp_path / "named-like-nothing", form)
    before = sha256(file)
    diagnosis = diagnose(file, known)
    assert diagnosis.verdict is verdict
    assert kinds(diagnosis) == found
    assert diagnosis.is_family
    assert all(finding.evidence for finding in diagnosis.findings)
    assert sha256(file) == before


def test_evidence_names_tensors_and_values(tmp_path: Path) -> None:
    diagnosis = diagnose(make_form(tmp_path / "a.gguf", DIFFUSPACE), KNOWS_QWEN)
    decay = next(f for f in diagnosis.findings if f.kind is FindingKind.RAW_DECAY)
    norms = next(f for f in diagnosis.findings if f.kind is FindingKind.RAW_NORMS)
    assert decay.names == ("blk.0.ssm_a", "blk.1.ssm_a", "blk.2.ssm_a")
    assert "3 tensors, 12 values" in decay.evidence
    assert len(norms.names) == 11
    assert not any("ssm_norm" in name for name in norms.names)
    assert "% negative" in norms.evidence
    assert diagnosis.decay.maximum > 0
    assert abs(diagnosis.norms.mean) < 0.1


@pytest.mark.parametrize(("decay", "norms"), [(True, False), (False, True)])
def test_one_raw_group_alone_is_a_contradiction(tmp_path: Path, decay: bool, norms: bool) -> None:
    file = make_form(tmp_path / "a.gguf", Form(raw_decay=decay, raw_norms=norms))
    diagnosis = diagnose(file, KNOWS_QWEN)
    assert diagnosis.obstacle is Obstacle.CONTRADICTORY
    assert diagnosis.can_be_forced
    assert "raw" in diagnosis.obstacle_detail
    assert "transformed" in diagnosis.obstacle_detail
    assert len(diagnosis.findings) == 1


def rewrite(file: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change the values of one F32 tensor of a file."""
    import gguf

    reader = gguf.GGUFReader(file)
    tensor = next(t for t in reader.tensors if t.name == name)
    offset, values = int(tensor.data_offset), np.array(tensor.data, np.float32)
    del reader, tensor
    with file.open("r+b") as opened:
        opened.seek(offset)
        opened.write(change(values).astype(np.float32).tobytes())


def test_one_value_that_is_not_negative_shows_the_raw_form(tmp_path: Path) -> None:
    """-exp(x) is negative for every x, so a single zero or positive value decides its tensor."""
    file = make_form(tmp_path / "a.gguf", Form(raw_norms=True))
    for layer in (0, 1, 2):
        rewrite(file, f"blk.{layer}.ssm_a", lambda a: np.where(np.arange(len(a)) == 2, 0.0, -1.0))
    assert diagnose(file, KNOWS_QWEN).decay.form is Stored.RAW
    for layer in (0, 1, 2):
        rewrite(file, f"blk.{layer}.ssm_a", lambda a: np.where(np.arange(len(a)) == 2, -0.0, -1.0))
    assert diagnose(file, KNOWS_QWEN).decay.form is Stored.TRANSFORMED


def test_a_half_transformed_group_is_refused(tmp_path: Path) -> None:
    """Some tool stopped in the middle: neither form; forced, only what looks raw is changed."""
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    whole = make_form(tmp_path / "reference.gguf", REFERENCE)
    for layer in (0, 1):
        rewrite(file, f"blk.{layer}.ssm_a", lambda a: -np.exp(a.astype(np.float64)))
    diagnosis = diagnose(file, KNOWS_QWEN)
    assert diagnosis.decay.form is Stored.UNCLEAR
    assert diagnosis.obstacle is Obstacle.CONTRADICTORY
    with pytest.raises(RepairContradictory):
        repair(file, KNOWS_QWEN)
    repair(file, KNOWS_QWEN, force=True)
    assert diagnose(file, KNOWS_QWEN).verdict is Verdict.RUNS
    assert file.read_bytes()[-200_000:] == whole.read_bytes()[-200_000:]


def test_half_of_the_norms_transformed(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    for layer in (0, 1):
        for name in ("attn_norm", "post_attention_norm"):
            rewrite(file, f"blk.{layer}.{name}.weight", lambda a: a + np.float32(1))
    diagnosis = diagnose(file, KNOWS_QWEN)
    assert diagnosis.norms.form is Stored.UNCLEAR
    assert diagnosis.obstacle is Obstacle.CONTRADICTORY


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_decide_nothing(tmp_path: Path, value: float) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    rewrite(file, "blk.1.ssm_a", lambda a: np.full_like(a, value))
    assert diagnose(file, KNOWS_QWEN).obstacle is Obstacle.CONTRADICTORY


def test_another_family_is_left_alone(tmp_path: Path) -> None:
    dense = make_tiny(tmp_path / "dense.gguf", arch=DENSE)
    diagnosis = diagnose(dense, KNOWS_QWEN)
    assert not diagnosis.is_family
    assert diagnosis.verdict is Verdict.RUNS
    before = sha256(dense)
    assert not repair(dense, KNOWS_QWEN).changed
    assert sha256(dense) == before


def test_an_architecture_that_the_engine_does_not_know(tmp_path: Path) -> None:
    """Fault D2: the file's architecture against the engine's list, before anything is started."""
    future = make_unknown(tmp_path / "a.gguf", arch="qwen99moe")
    diagnosis = diagnose(future, {**KNOWS_QWEN, "qwen99moe": False})
    assert diagnosis.verdict is Verdict.CANNOT
    assert diagnosis.obstacle is Obstacle.NOT_FAMILY
    hollow = diagnose(make_unknown(tmp_path / "b.gguf"), KNOWS_QWEN)  # the name alone is not the network
    assert hollow.obstacle is Obstacle.NOT_FAMILY
    with pytest.raises(RepairImpossible) as caught:
        repair(tmp_path / "b.gguf", KNOWS_QWEN)
    assert caught.value.kind == "not-family"
    old = diagnose(make_form(tmp_path / "c.gguf", DIFFUSPACE), KNOWS_NEITHER)
    assert old.obstacle is Obstacle.ENGINE_TOO_OLD


@pytest.mark.parametrize(
    ("architecture", "known", "wanted", "target"),
    [
        (CLOVER, KNOWS_QWEN, AUTO, HYBRID),
        (CLOVER, KNOWS_BOTH, AUTO, CLOVER),
        (HYBRID, KNOWS_BOTH, AUTO, HYBRID),
        (HYBRID, {CLOVER: True, HYBRID: False}, AUTO, CLOVER),
        (CLOVER, KNOWS_NEITHER, AUTO, ""),
        (CLOVER, {}, AUTO, ""),
        (CLOVER, KNOWS_NEITHER, HYBRID, HYBRID),
        ("llama", KNOWS_QWEN, AUTO, "llama"),
    ],
)
def test_the_target_is_what_the_engine_can_load(
    architecture: str, known: dict[str, bool], wanted: str, target: str
) -> None:
    assert choose_target(architecture, known, wanted) == target


@pytest.mark.parametrize(
    "form", [Form(next_n="declared"), Form(next_n="undeclared"), replace(DIFFUSPACE, next_n="undeclared")]
)
@pytest.mark.parametrize("reads_next_n", [True, False])
def test_a_prediction_layer(tmp_path: Path, form: Form, reads_next_n: bool) -> None:
    """Fault D1: declared for an engine that reads it, dropped for one that does not; and back again."""
    file = make_form(tmp_path / "a.gguf", form)
    before = sha256(file)
    result = repair(file, KNOWS_QWEN, reads_next_n=reads_next_n)
    again = diagnose(file, KNOWS_QWEN, reads_next_n=reads_next_n)
    assert again.verdict is Verdict.RUNS
    after = sha256(file)
    assert not repair(file, KNOWS_QWEN, reads_next_n=reads_next_n).changed
    assert sha256(file) == after
    import gguf

    reader = gguf.GGUFReader(file)
    predicting = [t.name for t in reader.tensors if t.name.startswith("blk.4.")]
    count = reader.fields[f"{HYBRID}.block_count"].contents()
    declared = f"{HYBRID}.nextn_predict_layers" in reader.fields
    del reader
    assert bool(predicting) is declared is reads_next_n
    assert count == (5 if reads_next_n else 4)
    subprocess.run([sys.executable, "-m", "tests.patching.engine_probe", "--dry", str(file)], check=True)
    if result.changed:
        undo(file)
    assert sha256(file) == before


def test_missing_numbers_follow_from_the_shapes(tmp_path: Path) -> None:
    """A header without its ssm and expert sizes is completed with exactly the reference's values."""
    import gguf

    from tests.kit import diffuspace

    wanted = make_form(tmp_path / "reference.gguf", REFERENCE)
    keys = diffuspace._keys(REFERENCE, TINY, Vocabulary())
    gone = [name for name in keys if ".ssm." in name or "expert_feed" in name or "expert_shared" in name]
    gone += [f"{HYBRID}.embedding_length", f"{HYBRID}.attention.head_count_kv", f"{HYBRID}.expert_count"]
    gone += [f"{HYBRID}.attention.key_length", f"{HYBRID}.attention.value_length"]
    gone += [f"{HYBRID}.attention.layer_norm_rms_epsilon"]
    poor = {name: value for name, value in keys.items() if name not in gone}
    plans = list(diffuspace._tensors(REFERENCE, Vocabulary(), 1))
    diffuspace.write_gguf(tmp_path / "poor.gguf", poor, plans)
    diagnosis = diagnose(tmp_path / "poor.gguf", KNOWS_QWEN)
    assert kinds(diagnosis) == {FindingKind.KEY_MISSING}
    assert len(diagnosis.findings) == len(gone)
    repair(tmp_path / "poor.gguf", KNOWS_QWEN)
    right, made = gguf.GGUFReader(wanted), gguf.GGUFReader(tmp_path / "poor.gguf")
    for name in gone:
        assert made.fields[name].contents() == right.fields[name].contents()
        assert made.fields[name].types == right.fields[name].types


def test_what_nothing_can_be_derived_from(tmp_path: Path) -> None:
    from tests.kit import diffuspace

    keys = diffuspace._keys(REFERENCE, TINY, Vocabulary())
    del keys[f"{HYBRID}.context_length"]
    plans = list(diffuspace._tensors(REFERENCE, Vocabulary(), 1))
    diffuspace.write_gguf(tmp_path / "a.gguf", keys, plans)
    diagnosis = diagnose(tmp_path / "a.gguf", KNOWS_QWEN)
    assert diagnosis.obstacle is Obstacle.INCOMPLETE
    assert "context_length" in diagnosis.obstacle_detail


def test_what_is_no_model_file(tmp_path: Path, damaged_ggufs: dict[str, Path]) -> None:
    with pytest.raises(ModelFileMissing):
        diagnose(tmp_path / "nothing.gguf", KNOWS_QWEN)
    with pytest.raises(NotAModelFile):
        diagnose(damaged_ggufs["html"], KNOWS_QWEN)
    if os.name == "posix":
        with pytest.raises(NotAModelFile):
            diagnose(damaged_ggufs["empty"], KNOWS_QWEN)
