"""What is read from whole files: sizes by part, shapes, labels, template."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gguf
import pytest

from clover_gui.errors import ModelFileError
from clover_gui.model_file.container import read_container
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.tensor_types import FILE_TYPES, TENSOR_TYPES
from tests.model_file import gguf_bytes as g

MIB = 1 << 20


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_full_size_twin(twin_gguf: Path) -> None:
    """The figures that the engine prints for this file (its model size, its recurrent buffer)."""
    model = read_model_file(twin_gguf)
    assert model.architecture == "qwen35moe"
    assert (model.layer_count, model.expert_count, model.expert_used_count) == (40, 256, 8)
    assert (model.vocabulary_size, model.trained_context, model.tensor_count) == (248320, 262144, 733)
    assert (model.parameter_count, model.weight_bytes) == (34_660_610_688, 21_155_768_832)
    assert model.quantization == "Q4_K_M"
    experts = [layer.experts / MIB for layer in model.layers]
    assert sorted(set(experts)) == [432.0, 498.0]
    assert experts.count(498.0) == 20
    assert sum(experts) == 18600
    assert round(sum(layer.delta_net for layer in model.layers) / MIB, 1) == pytest.approx(604.1, abs=5)
    assert round(sum(layer.attention for layer in model.layers) / MIB, 1) == pytest.approx(148.0, abs=2)
    assert model.output_bytes / MIB == pytest.approx(397.85, abs=0.01)
    assert model.token_embedding_bytes / MIB == pytest.approx(272.81, abs=0.01)
    attention = model.attention
    assert (attention.full_attention_layers, attention.recurrent_layers) == (10, 30)
    assert attention.kv_values_per_token * 2 == 20 * 1024, "20 KiB per token in f16"
    assert attention.recurrent_bytes / MIB == pytest.approx(62.81, abs=0.01)
    assert model.can_switch_thinking
    assert not model.tied_output


def test_demo_model(demo_gguf: Path) -> None:
    model = read_model_file(demo_gguf)
    assert (model.architecture, model.quantization) == ("llama", "Q4_1")
    assert (model.layer_count, model.embedding_length, model.trained_context) == (30, 576, 8192)
    assert model.tied_output
    assert model.attention.kv_values_per_token == 30 * 3 * 2 * 64
    assert model.has_template
    assert not model.can_switch_thinking
    assert not model.is_moe


def test_small_models(
    tiny_gguf: Path, tiny_dense_gguf: Path, unknown_gguf: Path, no_template_gguf: Path
) -> None:
    hybrid, dense = read_model_file(tiny_gguf), read_model_file(tiny_dense_gguf)
    assert (hybrid.attention.full_attention_layers, hybrid.attention.recurrent_layers) == (1, 3)
    assert (dense.attention.full_attention_layers, dense.attention.recurrent_bytes) == (4, 0)
    assert dense.layers[0].feed_forward > 0
    assert dense.layers[0].experts == 0
    unknown = read_model_file(unknown_gguf)
    assert (unknown.architecture, unknown.layer_count) == ("clover_moe", 1)
    assert read_model_file(no_template_gguf).chat_template is None


@pytest.mark.parametrize("name", ["tiny_gguf", "tiny_dense_gguf", "twin_gguf", "demo_gguf"])
def test_every_byte_of_the_data_belongs_to_one_part(name: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(name)
    container = read_container(path)
    assert read_model_file(path).weight_bytes == sum(tensor.size_bytes for tensor in container.tensors)


def test_huge_texts_are_capped(big_vocabulary_gguf: Path) -> None:
    model = read_model_file(big_vocabulary_gguf)
    assert model.vocabulary_size == 262144
    assert len(model.name) <= 120
    assert "\u202e" not in model.name
    kept = read_container(big_vocabulary_gguf).keys["general.description"]
    assert isinstance(kept, str)
    assert len(kept) <= 4096


def test_version_2_is_read_as_version_3(tmp_path: Path) -> None:
    data = g.build([g.ARCHITECTURE], [g.TENSOR], version=2, data=32)
    assert read_model_file(write(tmp_path / "v2.gguf", data)).gguf_version == 2


def test_a_path_with_all_kinds_of_letters(tmp_path: Path, tiny_gguf: Path) -> None:
    folder = tmp_path / "Größe 模型 😀"
    folder.mkdir()
    path = write(folder / "märchen 1.gguf", tiny_gguf.read_bytes())
    assert read_model_file(path).path == path


def test_the_file_name_stands_in_for_a_missing_name(tmp_path: Path) -> None:
    path = write(tmp_path / "My model-Q8_0.gguf", g.build([g.ARCHITECTURE], [g.TENSOR], data=32))
    assert read_model_file(path).name == "My model-Q8_0"


def shaped(tmp_path: Path, *keys: g.Key, tensors: tuple[str, ...] = ()) -> Path:
    """A model of architecture "arch" with these keys and a one-block tensor of each name."""
    infos = [(name, (8,), 0, 32 * number) for number, name in enumerate(("token_embd.weight", *tensors))]
    head = [g.string("general.architecture", "arch"), *keys]
    return write(tmp_path / "shaped.gguf", g.build(head, infos, data=32 * len(infos)))


def test_key_value_heads_per_layer(tmp_path: Path) -> None:
    """A list of heads with zeros: layers without attention keep nothing."""
    model = read_model_file(
        shaped(
            tmp_path,
            g.u32("arch.block_count", 4),
            g.u32("arch.attention.head_count", 8),
            g.numbers("arch.attention.head_count_kv", [0, 2, 0, 4]),
            g.u32("arch.attention.key_length", 64),
            g.u32("arch.attention.value_length", 32),
        )
    )
    assert model.attention.full_attention_layers == 2
    assert model.attention.kv_values_per_token == 6 * 96


def test_recurrent_layers_by_list_before_interval(tmp_path: Path) -> None:
    model = read_model_file(
        shaped(
            tmp_path,
            g.u32("arch.block_count", 4),
            g.u32("arch.embedding_length", 64),
            g.u32("arch.attention.head_count", 4),
            g.u32("arch.full_attention_interval", 2),
            g.flags("arch.attention.recurrent_layers", [True, True, True, False]),
            g.u32("arch.ssm.conv_kernel", 4),
            g.u32("arch.ssm.inner_size", 128),
            g.u32("arch.ssm.state_size", 32),
            g.u32("arch.ssm.group_count", 2),
        )
    )
    assert (model.attention.full_attention_layers, model.attention.recurrent_layers) == (1, 3)
    assert model.attention.recurrent_bytes == 3 * 4 * (3 * (128 + 2 * 2 * 32) + 32 * 128)


def test_pure_recurrent_model_has_no_key_value_cache(tmp_path: Path) -> None:
    model = read_model_file(
        shaped(
            tmp_path,
            g.u32("arch.embedding_length", 64),
            tensors=("blk.0.ssm_in.weight", "blk.1.ssm_in.weight"),
        )
    )
    assert model.layer_count == 2
    assert model.attention.kv_values_per_token == 0


def test_parts_by_tensor_name(tmp_path: Path) -> None:
    names = (
        "blk.0.ffn_gate_up_exps.weight",
        "blk.0.ffn_down_chexps.weight",
        "blk.0.ffn_down_shexp.weight",
        "blk.0.ffn_gate_inp.weight",
        "blk.0.attn_k.weight",
        "blk.0.attn_norm.weight",
        "blk.0.ffn_down.weight",
        "blk.1.attn_qkv.weight",
        "blk.1.ssm_out.weight",
        "output_norm.weight",
        "blk.99999.odd",
    )
    model = read_model_file(shaped(tmp_path, g.u32("arch.block_count", 2), tensors=names))
    first, second = model.layers
    assert (first.experts, first.shared_experts, first.attention, first.feed_forward) == (64, 32, 32, 32)
    assert (first.other, second.delta_net, model.other_bytes) == (64, 64, 64)


@pytest.mark.parametrize(
    ("file_type", "kind", "label"),
    [
        (15, 12, "Q4_K_M"),
        (7, 12, "Q4_K"),
        (30, 23, "IQ4_XS"),
        (None, 8, "Q8_0"),
        (999, 8, "Q8_0"),
        (1, 1, "F16"),
    ],
)
def test_quantization_label(tmp_path: Path, file_type: int | None, kind: int, label: str) -> None:
    keys = [g.ARCHITECTURE] + ([] if file_type is None else [g.u32("general.file_type", file_type)])
    data = g.build(keys, [("token_embd.weight", (256, 2), kind, 0)], data=2048)
    assert read_model_file(write(tmp_path / "q.gguf", data)).quantization == label


def test_type_tables_agree_with_the_reference() -> None:
    assert {number: (kind.block_values, kind.block_bytes) for number, kind in TENSOR_TYPES.items()} == {
        int(number): sizes for number, sizes in gguf.GGML_QUANT_SIZES.items()
    }
    assert all(
        TENSOR_TYPES[int(kind)].name == kind.name
        for kind in gguf.GGMLQuantizationType
        if int(kind) in TENSOR_TYPES
    )
    names = {int(kind): kind.name.split("_", 1)[1] for kind in gguf.LlamaFileType if kind.name != "GUESSED"}
    assert names == FILE_TYPES


def test_reading_needs_no_heavy_packages(tiny_gguf: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from clover_gui.model_file.header import read_model_file;"
        f"read_model_file(Path({str(tiny_gguf)!r})); print({{'numpy', 'gguf', 'PySide6'}} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_absurd_numbers_in_keys_are_refused(tmp_path: Path) -> None:
    for key in (g.u32("arch.block_count", 1 << 31), g.u32("arch.attention.key_length", 1 << 30)):
        with pytest.raises(ModelFileError):
            read_model_file(shaped(tmp_path, key))
