"""Advisories and exposure: what is met, what is only possible, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules.check import Judgement, judge
from envcheck.rules.entries import NEVER
from envcheck.rules.exposure import key_guard
from envcheck.rules.planned import CONDITIONS, UNKNOWABLE, Planned, is_loopback, is_on
from envcheck.rules.situation import read_situation

Ask = Callable[..., Judgement]
TOP = Path(__file__).parents[2]
VISION: dict[str, Any] = {
    "model_type": "qwen2_5_vl",
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "vision_config": {"depth": 32},
}
TEXT: dict[str, Any] = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
SAFE_DRIVER = {"driver.version": "580.159.03"}


def vulnerable(judgement: Judgement) -> Finding | None:
    return next((finding for finding in judgement.findings if finding.code == "release-vulnerable"), None)


def states(judgement: Judgement) -> dict[str, str]:
    """Advisory → `met`, `possible`, `not-met`."""
    finding = vulnerable(judgement)
    return {entry["cve"]: entry["state"] for entry in finding.evidence["entries"]} if finding else {}


def stack(vllm: str, torch: str, cuda: str) -> dict[str, Any]:
    return {**SAFE_DRIVER, "packages": {"vllm": vllm}, "torch": {"version": torch, "cuda": cuda}}


def test_every_condition_of_the_facts_is_judged_or_known_not_to_be(matrix: Matrix) -> None:
    used = {condition.partition(":")[0] for advisory in matrix.advisories.file.advisories for condition in advisory.conditions}
    assert used <= CONDITIONS | UNKNOWABLE | NEVER
    assert used >= UNKNOWABLE | NEVER


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_workaround_of_the_facts_has_a_sentence(matrix: Matrix, lang: str) -> None:
    texts = json.loads((TOP / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))
    ways = {way for advisory in matrix.advisories.file.advisories for way in advisory.workarounds}
    assert ways
    assert {f"remedy.advisory-{way}" for way in ways} <= texts.keys()


@pytest.mark.parametrize(
    ("name", "vllm", "met", "missed"),
    [
        # CVE-2026-44222: multimodal models before 0.20.0
        ("CVE-2026-44222", "0.19.1", {"model_config": VISION}, {"model_config": TEXT}),
        ("CVE-2026-44222", "0.19.1", {"model_config": VISION}, {"model_config": VISION, "serve_args": {"language_model_only": True}}),
        # CVE-2026-48746: the API key, where others reach the server
        ("CVE-2026-48746", "0.19.1", {"serve_args": {"host": "0.0.0.0", "api_key": "k"}}, {"serve_args": {"host": "0.0.0.0"}}),
        # CVE-2026-55514: prompt embeddings and M-RoPE
        (
            "CVE-2026-55514",
            "0.19.1",
            {"model_config": {**VISION, "rope_scaling": {"mrope_section": [16, 24, 24]}}, "serve_args": {"enable_prompt_embeds": True}},
            {"model_config": {**VISION, "rope_scaling": {"mrope_section": [16, 24, 24]}}},
        ),
        # CVE-2026-54234: speculative decoding
        ("CVE-2026-54234", "0.19.1", {"serve_args": {"speculative_config": {"method": "ngram"}}}, {"serve_args": {"max_model_len": 4096}}),
        # CVE-2026-44223: one method of it
        (
            "CVE-2026-44223",
            "0.19.1",
            {"serve_args": {"speculative_config": '{"method": "extract_hidden_states"}'}},
            {"serve_args": {"speculative_config": '{"method": "eagle3"}'}},
        ),
        # CVE-2025-9141: one tool parser
        ("CVE-2025-9141", "0.10.1", {"serve_args": {"tool_call_parser": "qwen3_coder"}}, {"serve_args": {"tool_call_parser": "hermes"}}),
        # CVE-2025-30202: several hosts
        ("CVE-2025-30202", "0.8.4", {"serve_args": {"nnodes": 2}}, {"serve_args": {"tensor_parallel_size": 1}}),
        (
            "CVE-2025-30202",
            "0.8.4",
            {"serve_args": {"tensor_parallel_size": 2, "distributed_executor_backend": "ray"}},
            {"serve_args": {"tensor_parallel_size": 1, "distributed_executor_backend": "ray"}},
        ),
        # CVE-2025-32444: Mooncake alone of the connectors
        (
            "CVE-2025-32444",
            "0.8.4",
            {"serve_args": {"kv_transfer_config": '{"kv_connector":"MooncakeConnector"}'}},
            {"serve_args": {"kv_transfer_config": '{"kv_connector":"NixlConnector"}'}},
        ),
        # CVE-2026-94622: NIXL
        (
            "CVE-2026-94622",
            "0.29.0",
            {"serve_args": {"kv_transfer_config": {"kv_connector": "NixlConnector"}}},
            {"serve_args": {"port": 1}},
        ),
        # GHSA-h3rc: remote code with a multimodal model
        (
            "GHSA-h3rc-6mm3-gc2m",
            "0.30.0",
            {"model_config": VISION, "serve_args": {"trust_remote_code": True}},
            {"model_config": VISION, "serve_args": {"trust_remote_code": False}},
        ),
        # CVE-2026-22773: Idefics3
        ("CVE-2026-22773", "0.11.0", {"model_config": {**VISION, "model_type": "idefics3", "architectures": []}}, {"model_config": VISION}),
        # CVE-2026-93592: pooling
        ("CVE-2026-93592", "0.27.0", {"serve_args": {"runner": "pooling"}}, {"model_config": TEXT}),
        # CVE-2026-47155: a pinned revision
        ("CVE-2026-47155", "0.21.0", {"serve_args": {"revision": "abc"}}, {"serve_args": {"port": 1}}),
    ],
)
def test_a_condition_is_met_by_what_the_request_says(ask: Ask, name: str, vllm: str, met: Any, missed: Any) -> None:
    host = {**SAFE_DRIVER, "packages": {"vllm": vllm}, "torch": None}
    assert states(ask("a100", host, **met))[name] == "met"
    assert states(ask("a100", host, **missed))[name] == "not-met"
    assert states(ask("a100", host))[name] == "possible"


def test_two_gpus_here_make_two_ranks_one_host(ask: Ask) -> None:
    arguments = {"tensor_parallel_size": 2, "distributed_executor_backend": "ray"}
    two = [{"name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "memory_mib": 81920}] * 2
    host = {**SAFE_DRIVER, "packages": {"vllm": "0.8.4"}, "gpus": two}
    assert states(ask("a100", host, serve_args=arguments))["CVE-2025-30202"] == "not-met"


def test_what_no_request_tells_stays_possible(ask: Ask) -> None:
    """Whether a repository is trusted, or a tenant another's, is nobody's argument."""
    found = states(ask("installed", SAFE_DRIVER, model_config=TEXT, serve_args={"host": "0.0.0.0", "port": 1}))
    assert found["CVE-2026-90555"] != "met"
    assert found["CVE-2026-73558"] == "possible"


def test_a_server_behind_the_loopback_may_have_a_proxy_before_it(ask: Ask) -> None:
    arguments = {"host": "127.0.0.1", "max_model_len": 4096}
    assert states(ask("installed", SAFE_DRIVER, serve_args=arguments))["CVE-2026-54235"] == "possible"
    assert states(ask("installed", SAFE_DRIVER, serve_args={**arguments, "host": "0.0.0.0"}))["CVE-2026-54235"] == "met"


def test_what_nobody_reviewed_never_warns(ask: Ask) -> None:
    """CVE-2026-9540 is the only published entry of 0.33.0: vague, of every release, reviewed by nobody."""
    judgement = ask("a100", stack("0.33.0", "2.14.0+cu130", "13.0"), serve_args={"host": "0.0.0.0"})
    finding = vulnerable(judgement)
    assert finding is not None
    assert finding.severity.value == "info"
    assert states(judgement)["CVE-2026-9540"] == "met"


def test_a_gate_makes_an_error_of_a_grave_entry_that_is_met_and_of_nothing_else(ask: Ask) -> None:
    def severity(fail_on: str, **request: Any) -> str:
        finding = vulnerable(ask("installed", SAFE_DRIVER, gate={"fail_on": fail_on}, **request))
        assert finding is not None
        return finding.severity.value

    exposed = {"serve_args": {"host": "0.0.0.0", "api_key": "k"}}
    assert severity("warning", **exposed) == "error"
    assert severity("error", **exposed) == "warning"
    assert severity("warning", serve_args={"max_model_len": 4096}) == "info"
    assert severity("warning", serve_args={"quantization": "awq", "revision": "abc"}) == "warning"  # CVE-2026-47155 is medium


def test_one_finding_holds_every_product(ask: Ask) -> None:
    host = {
        "packages.aiohttp": "3.13.0",
        "packages.xgrammar": "0.1.24",
        "container_runtime": {"toolkit": "1.17.7"},
        "driver.version": "570.172.08",
    }
    findings = [finding for finding in ask("installed", host).findings if finding.code == "release-vulnerable"]
    assert len(findings) == 1
    entries = findings[0].evidence["entries"]
    assert {entry["package"] for entry in entries} == {"vllm", "aiohttp", "xgrammar", "nvidia-container-toolkit"}
    assert findings[0].evidence["driver"] == {
        "version": "570.172.08",
        "branch": 570,
        "fixed": "570.211.01",
        "bulletin": "5747",
        "date": "2026-01-28",
        "branch_ended": True,
    }
    assert [remedy.note.key for remedy in findings[0].remedies][-2:] == ["remedy.advisory-upgrade-runs", "remedy.advisory-driver-branch"]


def test_a_fix_that_vllm_forbids_is_not_advised(ask: Ask) -> None:
    """0.18.1 asks for transformers below 5, which CVE-2026-4372 and others are fixed after."""
    finding = vulnerable(ask("installed", {"packages.vllm": "0.18.1", "packages.transformers": "4.57.6"}))
    assert finding is not None
    bound = next(remedy for remedy in finding.remedies if remedy.note.key == "remedy.advisory-package-bound")
    assert bound.note.params["package"] == "transformers"
    assert "<5" in str(bound.note.params["bound"])


def test_packages_of_an_environment_that_is_not_used_are_not_said(ask: Ask) -> None:
    finding = vulnerable(ask("installed", {**SAFE_DRIVER, "packages.aiohttp": "3.13.0"}, vllm="0.31.0"))
    assert finding is not None
    assert {entry["package"] for entry in finding.evidence["entries"]} == {"vllm"}


def test_nothing_is_said_of_a_host_that_nothing_is_known_of(matrix: Matrix) -> None:
    assert judge(HostReport(), matrix, Request()).findings == ()


@pytest.mark.parametrize("driver", ["580+", "580", "595.71.05", "610.20.01", "535.309.01"])
def test_a_driver_is_not_blamed_by_its_branch_alone_nor_beyond_the_data(ask: Ask, driver: str) -> None:
    finding = vulnerable(ask("installed", {"driver.version": driver, "packages.vllm": "0.1.dev1+g1234567"}))
    assert finding is None


def test_back_doors_beside_an_open_door_are_one_finding_with_all_ways_out(ask: Ask) -> None:
    host = {"environment": {"VLLM_SERVER_DEV_MODE": "1", "VLLM_ALLOW_INSECURE_SERIALIZATION": "1"}}
    found = [finding for finding in ask("installed", host, serve_args={"host": "0.0.0.0"}).findings if finding.code == "server-exposed"]
    assert [finding.detail.key for finding in found] == ["finding.server-exposed.open"]
    assert found[0].evidence["problems"] == ["open", "dev-mode", "pickle"]
    assert [command for remedy in found[0].remedies for command in remedy.commands] == [
        "unset VLLM_SERVER_DEV_MODE",
        "unset VLLM_ALLOW_INSECURE_SERIALIZATION",
    ]


@pytest.mark.parametrize(
    ("release", "guarded"),
    [("0.21.0", "/v1"), ("0.22.0", "/inference"), ("0.26.0", "/inference"), ("0.27.0", "/cohere"), ("0.33.0", "/cohere")],
)
def test_what_the_key_guards(matrix: Matrix, release: str, guarded: str) -> None:
    guard = key_guard(matrix, Version(release))
    assert guard is not None
    assert guard.guarded[-1] == guarded
    assert "/invocations" in guard.open


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]", " LOCALHOST "])
def test_addresses_of_this_host_alone(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "localhost.example.com", "example.com"])
def test_addresses_that_others_reach(address: str) -> None:
    assert not is_loopback(address)


def test_switches() -> None:
    assert [is_on(value) for value in (True, 1, "1", "true", "True ", "2")] == [True] * 6
    assert [is_on(value) for value in (False, 0, "0", "00", "", "false", None, [], {})] == [False] * 9


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3))
NAMES = ["host", "uds", "api_key", "nnodes", "kv_transfer_config", "limit_mm_per_prompt", "tool_call_parser", "revision", "task"]


@given(
    st.dictionaries(st.sampled_from(NAMES), JSON | st.dictionaries(st.text(max_size=6), JSON, max_size=3), max_size=6),
    st.dictionaries(st.sampled_from(["model_type", "architectures", "text_config", "rope_scaling", "vision_config"]), JSON, max_size=4),
)
def test_no_argument_and_no_configuration_breaks_it(matrix: Matrix, arguments: dict[str, Any], config: dict[str, Any]) -> None:
    host = msgspec.convert({"packages": {"vllm": "0.11.0"}, "environment": {}}, HostReport)
    request = Request(serve_args=arguments, model_config=config)
    planned = Planned(read_situation(host, matrix, request), matrix, "v1")
    conditions = {condition for advisory in matrix.advisories.file.advisories for condition in advisory.conditions}
    assert {planned.holds(condition) for condition in conditions} <= {True, False, None}
    assert vulnerable(judge(host, matrix, request)) is not None
