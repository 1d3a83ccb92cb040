"""Drafts against arithmetic by hand and against sizes that their publishers state."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.sizing.kv_cache import bytes_per_token, cache_layers
from envcheck.sizing.question import ask
from envcheck.sizing.rank import Rank
from envcheck.sizing.result import size
from envcheck.sizing.speculative import draft_terms, named_bytes

quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MIB = 1 << 20
LLAMA_1B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
}
HEAD = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 1,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def drafting(made, draft=None, size_bytes=None):
    return msgspec.structs.replace(made, draft_config=draft or {}, draft_bytes=size_bytes)


def terms(question, stage=-1):
    return draft_terms(question.settings.draft, question.dims, question.stages[stage], question.form, question.rules.drafts)


def per_token(question):
    return bytes_per_token(cache_layers(question.dims, question.settings, question.rules.kv_layout, question.rules.facts.kv_formats))


def test_a_draft_model_is_loaded_as_if_it_were_served(inputs, table):
    asked = {"model": "meta-llama/Llama-3.2-1B-Instruct", "method": "draft_model", "num_speculative_tokens": 5}
    question = ask(drafting(inputs("llama-3.1-8b", speculative_config=asked), LLAMA_1B), table)
    alone = ask(msgspec.structs.replace(inputs("llama-3.1-8b"), config=LLAMA_1B), table)
    assert terms(question).total == alone.weights(alone.stages[0])
    assert terms(question).total == pytest.approx(1_235_814_400 * 2, rel=0.01)  # the parameters its model card counts
    assert per_token(question) == 2 * 32 * 8 * 128 * 2 + 2 * 16 * 8 * 64 * 2
    assert question.settings.draft_tokens == 5


def test_a_draft_has_ranks_of_its_own(inputs, table):
    asked = {"model": "small", "num_speculative_tokens": 5, "draft_tensor_parallel_size": 1}
    question = ask(drafting(inputs("llama-3.1-8b", speculative_config=asked, tensor_parallel_size=4), LLAMA_1B), table)
    assert per_token(question) == 2 * 32 * 2 * 128 * 2 + 2 * 16 * 8 * 64 * 2
    whole = ask(drafting(inputs("llama-3.1-8b", speculative_config=asked), LLAMA_1B), table)
    assert terms(question).total == terms(whole).total


@pytest.mark.parametrize(
    "serve",
    [
        {"speculative_config": json.dumps({"model": "small", "num_speculative_tokens": 4})},
        {"speculative_config.model": "small", "speculative_config.num_speculative_tokens": 4},
        {"speculative_model": "small", "num_speculative_tokens": 4},
        {"spec_model": "small", "spec_tokens": "4"},
    ],
)
def test_every_spelling_means_the_same(inputs, table, serve):
    draft = ask(drafting(inputs("llama-3.1-8b", **serve), LLAMA_1B), table).settings.draft
    assert (draft.kind, draft.name, draft.tokens) == ("model", "small", 4)


def test_an_eagle_head_by_hand(inputs, table):
    # Projections of 48 and 32 MiB, 224 and 112 MiB of feed-forward, 64 MiB that join embedding and state, one norm; the rest is borrowed.
    asked = {"model": "yuhuili/EAGLE-LLaMA3.1-Instruct-8B", "method": "eagle", "num_speculative_tokens": 2}
    head = {**HEAD, "rope_scaling": inputs("llama-3.1-8b").config["rope_scaling"]}
    question = ask(drafting(inputs("llama-3.1-8b", "0.9.2", speculative_config=asked), head), table)
    assert terms(question).total == (48 + 32 + 224 + 112 + 64) * MIB + 4096 * 2
    assert per_token(question) == 33 * 2 * 8 * 128 * 2  # a log of such a server counts 33 layers


def test_an_eagle_3_head_by_hand(inputs, table):
    # Projections take twice the inputs (96 MiB), three states are joined (96 MiB), the head has 32,000 tokens of its own (250 MiB).
    asked = {"model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "num_speculative_tokens": 2}
    head = {**HEAD, "architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 32000}
    question = ask(drafting(inputs("llama-3.1-8b", speculative_config=asked), head), table)
    found = terms(question)
    assert question.settings.draft.kind == "eagle3"
    assert found.total == (96 + 32 + 224 + 112 + 96 + 250) * MIB + 4 * 4096 * 2 + 32000 * 8
    assert found.total == pytest.approx(850e6, rel=0.01)  # the published file, which holds no embedding
    assert found.rotary == 0


def test_the_prediction_layer_of_deepseek_v3(inputs, table):
    # Its publisher: 11.5 billion parameters of its own, besides 0.9 billion of embedding and as many of the head, both shared.
    asked = {"method": "deepseek_mtp", "num_speculative_tokens": 1}
    made = inputs("deepseek-v3", "0.11.0", speculative_config=asked)
    plain = {key: value for key, value in made.config.items() if key != "quantization_config"}
    old = ask(msgspec.structs.replace(made, config=plain), table)
    folded = 2 * 128 * 256 * 512  # the up-projection once more, in 16 bit
    found = terms(old)
    experts = (256 + 1) * 3 * 7168 * 2048 + 256 * 7168
    attention = 7168 * (1536 + 576) + 1536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 * 7168
    assert (found.layers + found.fusion - folded) / 2 == pytest.approx(experts + attention + 2 * 7168**2, rel=1e-4)
    assert (found.layers + found.fusion - folded) / 2 == pytest.approx(11.5e9, rel=0.01)
    assert found.head == 129280 * 7168 * 2
    new = ask(inputs("deepseek-v3", "0.19.0", speculative_config=asked), table)
    assert terms(new).head == 0
    assert per_token(new) == 62 * 576 * 2


def test_prediction_layers_of_a_hybrid_model_attend(inputs, table):
    alone, drafts = (ask(inputs("qwen3.5-27b", **serve), table) for serve in ({}, {"speculative_config": {"method": "qwen3_5_mtp"}}))
    assert per_token(alone) == 16 * 2 * 4 * 256 * 2
    assert per_token(drafts) - per_token(alone) == 2 * 4 * 256 * 2  # one layer of full attention


def test_prediction_layers_that_a_checkpoint_leaves_unquantized(inputs, table):
    asked = {"method": "mtp", "num_speculative_tokens": 1}
    made = inputs("qwen3.5-27b", "0.20.0", speculative_config=asked)

    def drafted(*left):
        quantized = {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}}
        config = {**made.config, "quantization_config": {**quantized, "ignore": ["lm_head", *left]}}
        return terms(ask(msgspec.structs.replace(made, config=config), table)).total

    assert drafted("mtp*") == terms(ask(made, table)).total
    assert drafted() < 0.75 * drafted("mtp*")


def test_prediction_layers_with_a_pattern_of_their_own(inputs, table):
    # Attention, then experts: 4 heads of 8 values, 1 of them for keys; 4 experts of 16 values with two matrices, a shared one of 32.
    config = {
        "model_type": "nemotron_h",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "hybrid_override_pattern": "*-",
        "num_hidden_layers": 2,
        "intermediate_size": 128,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
        "moe_shared_expert_intermediate_size": 32,
        "n_shared_experts": 1,
        "num_nextn_predict_layers": 1,
        "mtp_hybrid_override_pattern": "*E",
        "vocab_size": 1024,
        "torch_dtype": "bfloat16",
    }
    asked = {"method": "mtp", "num_speculative_tokens": 1}
    question = ask(msgspec.structs.replace(inputs("llama-3.1-8b", "0.17.0", speculative_config=asked), config=config), table)
    matrices = 64 * (32 + 8 + 8) + 32 * 64 + 4 * 2 * 64 * 16 + 2 * 64 * 32 + 64 * 4 + 2 * 64 * 64
    found = terms(question)
    assert 2 * matrices < found.total < 2 * matrices + 16 * 512  # norms and the steps of the allocator
    assert found.head == 0
    assert per_token(question) == 2 * (2 * 8 * 2)  # one layer of attention of the model, one of the draft


def test_lookup_loads_nothing(inputs, table):
    asked = {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}
    question = ask(inputs("llama-3.1-8b", speculative_config=asked), table)
    assert terms(question).total == 0
    assert per_token(question) == 2 * 32 * 8 * 128 * 2
    assert question.settings.draft_tokens == 5


def test_medusa_and_mlp_speculators_by_hand(inputs, table):
    medusa = {"model_type": "medusa", "hidden_size": 4096, "num_heads": 4, "num_hidden_layers": 1, "vocab_size": 128256}
    question = ask(drafting(inputs("llama-3.1-8b", speculative_config={"model": "m"}), medusa), table)
    assert question.settings.draft.tokens == 4
    assert terms(question).total == 4 * (4096**2 + 128256 * 4096) * 2
    tiny = {"model_type": "mlp_speculator", "emb_dim": 4096, "inner_dim": 3072, "n_predict": 4, "vocab_size": 128256, "tie_weights": True}
    question = ask(drafting(inputs("llama-3.1-8b", "0.6.6", speculative_model="m"), tiny), table)
    # Tied: one embedding, one head, the projection of the state and that of every later step, one norm with scale and shift.
    assert terms(question).total == (2 * 128256 * 3072 + 4096 * 3072 + 3072**2 + 2 * 3072) * 2
    assert per_token(question) == 2 * 32 * 8 * 128 * 2


def test_drafting_happens_on_the_last_stage(inputs, table):
    asked = {"method": "eagle", "model": "head", "num_speculative_tokens": 2}
    question = ask(drafting(inputs("llama-3.1-8b", speculative_config=asked, pipeline_parallel_size=2), HEAD), table)
    assert terms(question, 0).total == 0
    assert terms(question).embedding == 128256 * 4096 * 2  # the model's own is on another stage


@pytest.mark.parametrize(("name", "expected"), [("Qwen/Qwen3-0.6B", 1.2e9), ("llama-68m", 136e6), ("org/thing", None), ("org2b/x", None)])
def test_names_state_sizes(name, expected):
    assert named_bytes(name) == expected


def test_a_draft_that_cannot_be_read_is_said(inputs, table):
    for name, key in (
        ("org/thing", "size.unknown.draft-size"),
        ("org/thing-1B", "size.unknown.draft"),
        ("x/eagle-y", "size.unknown.draft"),
    ):
        asked = {"model": name, "num_speculative_tokens": 2}
        answer = size(inputs("llama-3.1-8b", speculative_config=asked), table)
        assert key in [text.key for text in answer.unknowns]
        assert answer.confidence == "guess"


def test_the_account_says_what_drafts(inputs, table):
    without = size(inputs("llama-3.1-8b"), table)
    asked = {"model": "small", "num_speculative_tokens": 2}
    answer = size(drafting(inputs("llama-3.1-8b", speculative_config=asked), LLAMA_1B), table)
    line = next(line for line in answer.account if line.term == "draft")
    assert answer.per_gpu_gib.weights - without.per_gpu_gib.weights == pytest.approx(line.gib, abs=0.006)
    assert answer.kv.tokens < without.kv.tokens
    assert answer.confidence == without.confidence


def test_without_speculation_there_is_nothing(inputs, table):
    assert ask(inputs("deepseek-v3"), table).settings.draft is None
    assert ask(drafting(inputs("llama-3.1-8b"), LLAMA_1B), table).draft_bytes(Rank()) == 0


@quick
@given(st.integers(1, 40), st.integers(1, 16), st.sampled_from(["0.9.2", "0.19.0", "0.30.0"]))
def test_larger_drafts_leave_less(inputs, table, layers, tokens, release):
    def kv(count, drafted):
        asked = {"model": "small", "num_speculative_tokens": drafted}
        return size(drafting(inputs("llama-3.1-8b", release, speculative_config=asked), {**LLAMA_1B, "num_hidden_layers": count}), table)

    here, more = kv(layers, tokens), kv(layers + 1, tokens)
    assert more.kv.tokens < here.kv.tokens
    assert more.per_gpu_gib.weights > here.per_gpu_gib.weights
    assert kv(layers, tokens + 1).per_gpu_gib.kv_cache <= here.per_gpu_gib.kv_cache


junk = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.lists(st.integers(), max_size=3)
methods = st.sampled_from(["eagle", "eagle3", "mtp", "medusa", "mlp_speculator", "draft_model", "ngram", "new-one"])


@quick
@given(
    st.dictionaries(st.sampled_from(sorted({*LLAMA_1B, "draft_vocab_size", "num_heads", "n_predict", "inner_dim"})), junk), methods, junk
)
def test_hostile_drafts_never_crash(inputs, table, config, method, tokens):
    asked = {"model": "m", "method": method, "num_speculative_tokens": tokens, "draft_tensor_parallel_size": tokens}
    answer = size(drafting(inputs("deepseek-v3", speculative_config=asked), config), table)
    assert answer.verdict in ("fits", "tight", "does-not-fit", "unknown")
    for asked in (junk_text for junk_text in ("{", "[]", '{"model": 3}', "null")):
        assert size(inputs("llama-3.1-8b", speculative_config=asked), table).verdict == "fits"
