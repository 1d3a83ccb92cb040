"""Bytes of a checkpoint by its configuration against the files that the real `transformers` wrote of the same model."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.quantization import weight_format
from envcheck.sizing.rank import Rank
from envcheck.sizing.result import size
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.weights import checkpoint_bytes, weight_terms

SHAPES = sorted((Path(__file__).parent / "shapes").glob("*.json"))
BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "I32": 4, "I8": 1, "U8": 1, "F8_E4M3": 1}


NONSENSE = (None, "", -1, 0, True, 1.5, 10**30, float("nan"), [], [None], [10**9] * 3, {}, {"0": None, "1": {"head_dim": "no"}}, "x", [[1]])


def in_files(fixture):
    return sum(BYTES[kind] * math.prod(shape) for _, kind, shape in fixture["tensors"])


# bitsandbytes keeps a text beside each matrix of nested scales, with a number in it that takes more or fewer digits.
TEXTS_OF_ANY_LENGTH = {"llama-bnb-nf4-nested": 4 * 14}


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_a_checkpoint_is_known_to_the_byte(facts, path):
    fixture = json.loads(path.read_text(encoding="utf-8"))
    dims = Dimensions.from_config(fixture["config"], facts.families)
    assert dims.missing == ()
    computed = checkpoint_bytes(dims, weight_format(dims, None, "", 2.0, facts.quantization))
    assert abs(computed - in_files(fixture)) <= TEXTS_OF_ANY_LENGTH.get(path.stem, 0)


def loaded_bytes(facts, name, asked=None, **changes):
    """Bytes on one rank without the rotary table, and what the files hold."""
    fixture = json.loads((SHAPES[0].parent / f"{name}.json").read_text(encoding="utf-8"))
    stated = {**fixture["config"].get("quantization_config", {}), **changes}
    dims = Dimensions.from_config({**fixture["config"], "quantization_config": stated}, facts.families)
    form = weight_format(dims, asked, "", 2.0, facts.quantization)
    terms = weight_terms(dims, Rank(), form)
    return (terms.attention + terms.feed_forward) / dims.layer_count, fixture


def layer_bytes(fixture, *left_out):
    """Bytes of one layer's matrices in the files, without the tensors whose names end so."""
    kept = [tensor for tensor in fixture["tensors"] if ".layers.1." in tensor[0] and not tensor[0].endswith(left_out)]
    return sum(BYTES[kind] * math.prod(shape) for _, kind, shape in kept)


MATRICES, INPUTS = 7, 6 * 256 + 512  # of a layer of the fixtures, and the inputs of all its matrices


@pytest.mark.parametrize(
    ("name", "asked", "changes", "left_out", "more"),
    [
        # marlin.py of vLLM's mixed-precision kernels: empty zero points where weights are symmetric; the groups are sorted, and the order
        # is kept, where weights were taken in the order of activations, else both are empty.
        ("llama-gptq", None, {}, ("qzeros", "g_idx"), 0),
        ("llama-gptq-act", None, {}, ("qzeros",), 4 * INPUTS),
        ("llama-gptq", "gptq", {}, ("none",), 0),
        ("llama-gptq", None, {"sym": False}, ("none",), 0),
        ("llama-awq", None, {}, ("none",), 0),
        # bitsandbytes_loader.py: nested scales become single precision; texts are read, not kept.
        ("llama-bnb-nf4", None, {}, ("__nf4",), 0),
        ("llama-bnb-nf4-nested", None, {}, ("__nf4", "nested_absmax", "nested_quant_map"), 3 * (256 * 256 * 3 + 3 * 256 * 512) // 64),
    ],
)
def test_what_is_held_once_loaded(facts, name, asked, changes, left_out, more):
    loaded, fixture = loaded_bytes(facts, name, asked, **changes)
    rounding = 512 * 2 * (MATRICES + 2)  # the allocator's, for each tensor's values and scales
    assert layer_bytes(fixture, *left_out) + more <= loaded <= layer_bytes(fixture, *left_out) + more + rounding


def test_a_plain_checkpoint_quantized_as_it_is_loaded_is_held_as_one_quantized_before(facts):
    plain = json.loads((SHAPES[0].parent / "llama-bnb-nf4.json").read_text(encoding="utf-8"))["config"]
    del plain["quantization_config"]
    dims = Dimensions.from_config(plain, facts.families)
    form = weight_format(dims, "bitsandbytes", "", 2.0, facts.quantization)
    before, _ = loaded_bytes(facts, "llama-bnb-nf4")
    terms = weight_terms(dims, Rank(), form)
    assert (terms.attention + terms.feed_forward) / dims.layer_count == before
    assert terms.head == terms.embedding == 1024 * 256 * 2  # neither is quantized; 1,000 rows are padded to 1,024


def test_a_padded_expert_is_not_padded_in_the_file(facts):
    fixture = json.loads((SHAPES[0].parent / "gpt-oss-mxfp4.json").read_text(encoding="utf-8"))
    dims = Dimensions.from_config(fixture["config"], facts.families)
    form = weight_format(dims, None, "", 2.0, facts.quantization)
    # Whichever kernel: a width of 160 is held as 256; three matrices of four experts, 4.25 bits a weight.
    more = weight_terms(dims, Rank(), form).experts - weight_terms(dims, Rank(), form.stored()).experts
    assert more == pytest.approx(2 * 3 * 4 * 256 * (256 - 160) * 4.25 / 8, abs=2 * 2 * 2 * 512)


@pytest.mark.parametrize(
    ("listed", "skipped"),
    [
        (["model.layers.0.self_attn", "model.layers.1.self_attn*"], {"attention": 1.0}),
        (["model.layers.1.mlp"], {"dense": 0.5}),
        ([f"model.layers.0.mlp.{name}_proj" for name in ("gate", "up", "down")], {"dense": 0.5}),
        ([f"model.layers.{layer}.mlp.gate" for layer in (0, 1)], {}),
        (["model.layers.7.self_attn"] * 9, {"attention": 0.5}),
        ([None, 3, [], "model.layers.99999999999999999999.mlp.." + "x" * 999], {}),
    ],
)
def test_layers_left_as_they_were_by_number(facts, listed, skipped):
    _, fixture = loaded_bytes(facts, "llama-awq")
    config = {**fixture["config"], "quantization_config": {**fixture["config"]["quantization_config"], "modules_to_not_convert": listed}}
    form = weight_format(Dimensions.from_config(config, facts.families), None, "", 2.0, facts.quantization)
    shares = {part: (getattr(form, part) - form.quantized) / (2.0 - form.quantized) for part in ("attention", "dense")}
    assert {part: share for part, share in shares.items() if share} == pytest.approx(skipped)


def test_every_kind_of_model_is_among_them():
    kinds = {json.loads(path.read_text(encoding="utf-8"))["config"]["model_type"] for path in SHAPES}
    assert kinds >= {"llama", "qwen2", "qwen3", "mixtral", "qwen3_moe", "gemma3", "deepseek_v2", "deepseek_v3", "phi3", "gpt_oss"}
    assert kinds >= {"mamba2", "jamba", "t5", "whisper", "bert", "qwen2_5_vl"}


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_any_field_may_hold_nonsense(table, path):
    config = json.loads(path.read_text(encoding="utf-8"))["config"]
    card = Card(name="NVIDIA H100 80GB HBM3", total_bytes=79 * GIB)
    parts = [config, *(config[name] for name in ("text_config", "vision_config", "quantization_config") if name in config)]
    fields = [(part, name) for part in parts for name in part]
    for i, (part, name) in enumerate(fields):
        good, part[name] = part[name], NONSENSE[(i + len(fields)) % len(NONSENSE)]
        serve = {"tensor_parallel_size": 1 + i % 3, "pipeline_parallel_size": 1 + i % 5}
        answer = size(SizingInputs(config=config, card=card, release=Version("0.33.0"), serve_args=serve), table)
        part[name] = good
        assert answer.per_gpu_gib.weights is None or answer.per_gpu_gib.weights >= 0


def test_every_format_is_among_them():
    stated = [json.loads(path.read_text(encoding="utf-8"))["config"].get("quantization_config", {}) for path in SHAPES]
    assert {found["quant_method"] for found in stated if found} >= {
        "awq",
        "gptq",
        "bitsandbytes",
        "fp8",
        "compressed-tensors",
        "modelopt",
        "mxfp4",
    }


def test_a_gguf_file_s_size_does_not_follow_from_its_configuration(facts, table):
    said = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
    config = {"model_type": "llama", "vocab_size": 1000, "tie_word_embeddings": False, **said}
    mixed = {**config, "quantization_config": {"quant_method": "gguf"}}
    assert not weight_format(Dimensions.from_config(mixed, facts.families), None, "", 2.0, facts.quantization).known
    card = Card(name="NVIDIA H100 80GB HBM3", total_bytes=79 * GIB)
    alone = size(SizingInputs(config=mixed, card=card, release=Version("0.19.1")), table)
    assert alone.per_gpu_gib.weights is None
    assert "size.unknown.weights" in [text.key for text in alone.unknowns]
    with_headers = size(SizingInputs(config=mixed, card=card, release=Version("0.19.1"), weights_bytes=3 * GIB), table)
    assert with_headers.per_gpu_gib.weights == pytest.approx(3.0)


def test_an_unquantized_gguf_file_weighs_what_its_configuration_says(facts):
    sizes = json.loads((SHAPES[0].parents[2] / "readers" / "gguf" / "bytes.json").read_text(encoding="utf-8"))["llama-BF16.gguf"]
    config = {"model_type": "llama", "vocab_size": 1000, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4}
    config |= {"num_key_value_heads": 2, "num_hidden_layers": 2, "tie_word_embeddings": False}
    dims = Dimensions.from_config(config, facts.families)
    norms = sum(size for name, size in sizes.items() if "norm" in name)  # GGUF has these in single precision
    assert checkpoint_bytes(dims, weight_format(dims, None, "", 2.0, facts.quantization)) == sum(sizes.values()) - norms / 2


METHODS = st.sampled_from(["awq", "gptq", "bitsandbytes", "fp8", "compressed-tensors", "modelopt", "mxfp4", "gguf", "hqq", "", None])
SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 300) | st.floats() | st.sampled_from(["", "int", "float", "channel", "group", "block"])
)
PARTS = st.dictionaries(
    st.sampled_from(["num_bits", "type", "strategy", "group_size", "block_structure", "symmetric", "dynamic"]),
    SCALARS | st.lists(st.integers(-1, 300), max_size=3),
)
QUANTIZATIONS = st.fixed_dictionaries(
    {"quant_method": METHODS},
    optional={
        **dict.fromkeys(("bits", "w_bit", "group_size", "desc_act", "sym", "load_in_4bit", "load_in_8bit", "lm_head", "format"), SCALARS),
        "quant_algo": st.sampled_from(["NVFP4", "FP8", "MIXED_PRECISION", "W4A16", 3]),
        "bnb_4bit_use_double_quant": SCALARS,
        "activation_scheme": st.sampled_from(["static", "dynamic", 0]),
        "weight_block_size": st.lists(SCALARS, max_size=3),
        "config_groups": st.dictionaries(
            st.text(max_size=2), st.fixed_dictionaries({"weights": PARTS, "input_activations": PARTS}), max_size=2
        ),
        "ignore": st.lists(st.from_regex(r"model\.layers\.[0-9]\.(mlp|self_attn)(\.[a-z]_proj)?\*?", fullmatch=True) | SCALARS, max_size=5),
    },
)


@given(
    quantization=QUANTIZATIONS, name=st.sampled_from(["llama", "deepseek-v3", "mixtral", "gpt-oss"]), asked=st.sampled_from([None, "gptq"])
)
def test_any_quantization_has_a_size_or_is_not_known(facts, quantization, name, asked):
    config = json.loads((SHAPES[0].parent / f"{name}.json").read_text(encoding="utf-8"))["config"]
    dims = Dimensions.from_config({**config, "quantization_config": quantization}, facts.families)
    form = weight_format(dims, asked, "", 2.0, facts.quantization)
    stored = checkpoint_bytes(dims, form)
    whole, half = (weight_terms(dims, Rank(ranks=ranks), form).total for ranks in (1, 2))
    assert all(math.isfinite(size) and size >= 0 for size in (stored, whole, half))
    assert half <= whole
