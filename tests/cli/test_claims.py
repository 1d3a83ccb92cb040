"""Claims that circulate and that vLLM's sources contradict: asked as people ask them, and as requests, the tool says what is so.

The expectations were written from the sources of the releases, before the records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from envcheck.cli.batch_answer import Answerer
from envcheck.matrix.load import Matrix, load
from envcheck.render.catalogue import LANGUAGES, Catalogue
from envcheck.render.claims import claim_out, claim_texts

Run = Callable[..., tuple[int, str, str]]

# the question, and what its answer must say
ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "v1-since-07": ("VLLM_USE_V1", ("since 0.8.0", "Up to 0.7.3")),
    "v0-grows-kv": ("--max-model-len", ("Both engines take the whole KV cache once", "does not change its size")),
    "issue-12529-cause": ("--claims 12529", ("every one of the 12288 batched tokens", "3.48 GiB", "0.7.3 or later")),
    "sampler-error-in-07": ("--claims warming up sampler", ("No release before 0.8.0",)),
    "warmup-is-capture": ("--claims sampler warm-up", ("runs after the capture", "since 0.2.6")),
    "256-sequences-in-v1": ("--max-num-seqs", ("From 0.7.0 to 0.8.4 it is 1024", "70 GiB", "256 on smaller")),
    "swap-space-fragmentation": ("--swap-space", ("memory of the host", "unknown from 0.18.0")),
    "use-deepgemm-flag": ("--use-deepgemm", ("No release of vLLM has it", "VLLM_USE_DEEP_GEMM does it since 0.8.3")),
    "v0-for-deepseek-v32": ("VLLM_USE_V1=0", ("last release with V0 is 0.10.2", "In 0.11.0 the value 0 stops the start")),
    "vocabulary-and-deepgemm": ("--claims DeepGEMM vocabulary", ("3.5 to 4 GiB", "lower --max-num-seqs")),
    "workspace-growth": ("VLLM_ALLOW_WORKSPACE_GROWTH", ("No release of vLLM has it", "0.24.0", "--enforce-eager")),
    "sort-in-sampler-file": ("--claims logits.sort", ("vllm/v1/sample/ops/topk_topp_sampler.py",)),
    "095-explodes-on-v1": ("--gpu-memory-utilization", ("The engine is not what decides", "Before 0.20.0")),
    "encoder-cache-3b-larger": ("--claims encoder cache", ("64 MiB with the 3B model and 112 MiB with the 7B",)),
    "vit-l-and-vit-g": ("--claims ViT-L", ("the same for both: at most 16384",)),
    "encoder-cache-by-images": ("--claims encoder_cache_size", ("the larger of --max-num-batched-tokens", "number of images is no part")),
    "one-image-halves": ("--limit-mm-per-prompt", ("It changes nothing", "Only 0 helps")),
    "cache-gbs": ("--mm-processor-cache-gbs", ("No release of vLLM has it", "--mm-processor-cache-gb, since 0.10.1", "memory of the host")),
    "sampler-four-bytes": ("--claims sampler memory", ("24 to 32 bytes", "260 to 297 MiB")),
    "unlimited-is-16-images": ("--limit-mm-per-prompt", ("V1 allows 999 since 0.8.4",)),
    "seq-len-to-capture-on-v1": ("--max-seq-len-to-capture", ("V1 never reads it", "unknown from 0.11.0")),
    "encoder-size-in-log": ("--claims grep encoder", ("budget in tokens only",)),
    "free-memory-4096-tokens": ("--claims 4096 tokens", ("0.5 MiB for a token", "56 KiB")),
    "batched-tokens-are-context": ("--max-num-batched-tokens", ("Only V0 without chunked prefill", "at least 2048")),
    "swap-space-cuda-oom": ("--swap-space", ("Too large swap space", "70 %")),
    "torch-2-1-to-2-3": ("--claims torch 2.1", ("0.5.4 to 0.6.3.post1 take 2.4.0", "0.6.4 to 0.7.3 take 2.5.1")),
    "truncate-prompt-tokens-flag": ("--truncate-prompt-tokens", ("No release of vLLM has it", "a field of each request")),
    "max-tokens-flag": ("--max-tokens", ("No release of vLLM has it", "refused beforehand with status 400")),
    "fp8-kv-needs-h100": ("--kv-cache-dtype fp8", ("since 0.3.0 (fp8_e5m2), `fp8` since 0.4.1", "0.6.0 asks nothing")),
    "int8-kv": ("--kv-cache-dtype int8", ("No release takes `int8`", "`int8_per_token_head` is a choice since 0.20.0")),
    "ray-balances-memory": ("--distributed-executor-backend", ("since 0.4.3", "Shards are equal")),
    "serve-left-out": ("--claims vllm serve", ("vllm serve MODEL --tensor-parallel-size 2",)),
    "log-level-debug": ("--log-level debug", ("since 0.31.0 only", "VLLM_LOGGING_LEVEL=DEBUG")),
    "printed-arguments-are-effective": ("--claims AsyncEngineArgs", ("None means that it is decided later", "config.json")),
    "utilization-090": ("--gpu-memory-utilization", ("Up to 0.19.1 it is 0.9, from 0.20.0 on 0.92",)),
    "empty-cache-as-cure": ("--claims torch.cuda.empty_cache", ("Nobody can call it inside a server that runs",)),
    "eager-stabilises": ("--enforce-eager", ("It takes away the memory of CUDA graphs", "Before 0.20.0 that lies beside the budget")),
}


def test_the_table_asks_about_every_claim() -> None:
    assert {claim.id for claim in load().claims} == set(ASKED)
    assert len(ASKED) == 37


@pytest.mark.parametrize("claim", ASKED)
def test_asked_as_people_do(claim: str, envcheck: Run) -> None:
    question, wanted = ASKED[claim]
    status, out, _ = envcheck("explain", *question.split())
    said = " ".join(out.split())
    assert status == 0
    assert [words for words in wanted if words not in said] == []
    answered = json.loads(envcheck("explain", *question.split(), "--json")[1])
    assert answered["schema"] == "envcheck.about/1"
    assert claim in {one["id"] for one in answered["claims"]}


# the arguments of a request to a release, and the finding on each
REQUESTS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("0.8.5", {"use_deepgemm": "false"}, {"flag-not-in-release"}),
    ("0.33.0", {"use_deep_gemm": True}, {"flag-not-in-release"}),
    ("0.18.0", {"swap_space": 0}, {"flag-not-in-release"}),
    ("0.17.1", {"swap_space": 0}, set()),
    ("0.9.2", {"mm_processor_cache_gbs": 0}, {"flag-not-in-release"}),
    ("0.9.2", {"mm_processor_cache_gb": 0}, {"flag-not-in-release"}),
    ("0.10.1", {"mm_processor_cache_gb": 0}, set()),
    ("0.11.0", {"max_seq_len_to_capture": 8192}, {"flag-not-in-release"}),
    ("0.8.5", {"truncate_prompt_tokens": 100}, {"flag-not-in-release"}),
    ("0.8.5", {"max_tokens": 100}, {"flag-not-in-release"}),
    ("0.8.5", {"kv_cache_dtype": "int8"}, {"flag-value-invalid"}),
    ("0.6.0", {"kv_cache_dtype": "fp8"}, set()),
    ("0.30.0", {"log_level": "DEBUG"}, {"flag-not-in-release"}),
    ("0.31.0", {"log_level": "DEBUG"}, set()),
    ("0.6.0", {"distributed_executor_backend": "ray"}, set()),
]
OF_ARGUMENTS = {"flag-not-in-release", "flag-value-invalid"}


@pytest.mark.parametrize(("vllm", "arguments", "codes"), REQUESTS)
def test_as_the_argument_of_a_request(vllm: str, arguments: dict[str, Any], codes: set[str]) -> None:
    answerer = Answerer(load(), Catalogue("en"))
    question = {"id": 1, "host": {"gpus": [{"name": "NVIDIA A10"}]}, "request": {"vllm": vllm, "serve_args": arguments}}
    answer: Any = answerer.answer(json.dumps(question).encode(), 1)
    assert {finding.code for finding in answer.findings} & OF_ARGUMENTS == codes


def defaults(envcheck: Run, vllm: str, gpu: str) -> dict[str, Any]:
    document = json.loads(envcheck("defaults", "--vllm", vllm, "--gpu", gpu, "--json")[1])
    return {one["setting"]: one["value"] for one in document["defaults"]}


def test_defaults_that_claims_get_wrong(envcheck: Run) -> None:
    assert [defaults(envcheck, v, "NVIDIA A10")["engine"] for v in ("0.7.3", "0.8.0")] == ["V0", "V1"]
    assert [defaults(envcheck, v, "NVIDIA A10")["max_num_seqs"] for v in ("0.8.4", "0.8.5")] == [1024, 256]
    assert defaults(envcheck, "0.12.0", "NVIDIA H20")["max_num_seqs"] == 1024
    assert [defaults(envcheck, v, "NVIDIA A10")["gpu_memory_utilization"] for v in ("0.19.1", "0.20.0")] == [0.9, 0.92]
    assert [defaults(envcheck, v, "NVIDIA A10")["images_per_prompt"] for v in ("0.8.3", "0.8.4")] == [1, 999]
    assert defaults(envcheck, "0.8.5", "NVIDIA A10")["max_num_batched_tokens"] == 2048


def size(envcheck: Run, model: str, *words: str) -> Any:
    return json.loads(envcheck("size", model, "--gpu", "NVIDIA A10", "--offline", "--json", *words)[1])


def test_sizes_that_claims_get_wrong(envcheck: Run) -> None:
    llama = size(envcheck, "meta-llama/Llama-2-7b-hf", "--vllm", "0.9.2", "--gpu-memory-utilization", "0.85")
    assert llama["kv"]["bytes_per_token"] == pytest.approx(0.5 * 2**20, rel=0.005)
    assert 9_000 < llama["kv"]["tokens"] < 14_000  # not 4096
    qwen = size(envcheck, "Qwen/Qwen2.5-7B-Instruct", "--vllm", "0.9.2", "--max-model-len", "4096")
    assert qwen["kv"]["bytes_per_token"] == pytest.approx(56 * 1024, rel=0.005)
    short = size(envcheck, "Qwen/Qwen2.5-7B-Instruct", "--vllm", "0.9.2", "--max-model-len", "1024")
    assert short["per_gpu_gib"]["kv_cache"] == qwen["per_gpu_gib"]["kv_cache"]  # the length gates, and reserves nothing
    many, few = (size(envcheck, "Qwen/Qwen2.5-7B-Instruct", "--vllm", "0.9.2", "--max-num-seqs", n) for n in ("256", "64"))
    assert few["per_gpu_gib"]["sampler"] < many["per_gpu_gib"]["sampler"]
    assert 0.25 <= few["per_gpu_gib"]["sampler"] <= 0.5  # 64 x 151936 at 28 bytes and the sort's own, not 38.9 MB


def test_torch_of_releases_as_the_answer_names_it() -> None:
    facts = next(claim for claim in load().claims if claim.id == "torch-2-1-to-2-3").facts
    for pin, releases in (("a", ("a_first",)), ("b", ("b_first", "b_last")), ("c", ("c_first", "c_last"))):
        for name in releases:
            release = load().release(str(facts[name]))
            assert release is not None
            assert release.torch_pin == facts[pin]


def releases_named(matrix: Matrix) -> Iterator[tuple[str, str]]:
    for claim in matrix.claims:
        for name, value in claim.facts.items():
            if isinstance(value, str) and name not in {"a", "b", "c"}:  # torch's versions
                yield f"{claim.id}.{name}", value


def test_every_release_that_an_answer_names_exists() -> None:
    matrix = load()
    known = {release.raw for release in matrix.releases}
    assert [place for place, version in releases_named(matrix) if version not in known] == []
    assert [code for claim in matrix.claims for code in claim.codes if code not in matrix.codes] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_claim_is_told_whole_in_each_language(lang: Any) -> None:
    matrix = load()
    assert set(claim_texts(lang)) == {claim.id for claim in matrix.claims}
    for claim in matrix.claims:
        out, raw = claim_out(claim, Catalogue(lang)), claim_texts(lang)[claim.id]
        assert not re.search(r"\{[a-z0-9_]+\}", out.said + out.answer)
        used = set(re.findall(r"\{([a-z0-9_]+)\}", raw.said + raw.answer))
        assert used == set(claim.facts), claim.id


def test_what_nobody_knows_is_a_usage_error(envcheck: Run) -> None:
    status, out, err = envcheck("explain", "--max-num-seq")
    assert (status, out) == (2, "")
    assert "--max-num-seqs" in err
    assert envcheck("explain", "--claims", "nothing of the kind")[0] == 2


def test_releases_of_an_argument_are_runs_of_the_matrix(envcheck: Run) -> None:
    found = json.loads(envcheck("explain", "--kv-cache-dtype", "int8_per_token_head", "--json")[1])
    assert found["releases"][0]["first"] == "0.3.0"
    assert found["value_in"][0]["first"] == "0.20.0"
    assert json.loads(envcheck("explain", "--swap-space", "--json")[1])["releases"] == [{"first": "0.0.1", "last": "0.17.1"}]
    assert json.loads(envcheck("explain", "-tp", "--json")[1])["name"] == "--tensor-parallel-size"
