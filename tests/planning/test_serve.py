"""The serve settings: reachable from this machine only, and no token to a mirror."""

from __future__ import annotations

import pytest

from envcheck.model.budget import KvCache, PerGpu, SizeResult, Suggestion
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.plan import MirrorChoice, ServeConfig
from envcheck.model.text import Text
from envcheck.planning.serve import serve_config
from envcheck.planning.ways.images import typed_arguments

SPEC = ModelSpec("Qwen/Qwen2.5-7B-Instruct", {}, ModelSource("catalogue", "-"))
HUB = MirrorChoice("model-hub", "some-mirror", "https://hub.example.com", Text("plan.mirror.model-hub"))


def size(**arguments: object) -> SizeResult:
    return SizeResult(
        verdict="fits",
        engine="v1",
        per_gpu_gib=PerGpu(),
        kv=KvCache(),
        failure=None,
        suggested=Suggestion(dict(arguments), [Text(f"why.{name}") for name in arguments]),
        confidence="derived",
    )


def flags(config: ServeConfig) -> dict[str, str | None]:
    return {setting.flag: setting.value for setting in config.settings}


@pytest.mark.parametrize("suggested", [None, size(), size(max_model_len=8192)])
def test_it_listens_on_the_loopback(suggested: SizeResult | None) -> None:
    config = serve_config(SPEC, suggested, ())
    assert flags(config)["--host"] == "127.0.0.1"
    assert [setting.flag for setting in config.settings].count("--host") == 1


def test_a_hub_token_is_not_sent_to_a_mirror() -> None:
    environment = {setting.flag: setting.value for setting in serve_config(SPEC, None, (HUB,)).environment}
    assert environment["HF_ENDPOINT"] == "https://hub.example.com"
    assert environment["HF_HUB_DISABLE_IMPLICIT_TOKEN"] == "1"
    assert not any(name.endswith("TOKEN") for name in environment if not name.startswith("HF_HUB_DISABLE"))


def test_the_official_hub_needs_no_setting() -> None:
    assert serve_config(SPEC, None, ()).environment == ()


def test_settings_are_written_as_they_are_typed() -> None:
    config = serve_config(SPEC, size(max_model_len=8192, gpu_memory_utilization=0.92, enforce_eager=True, kv_cache_dtype="fp8"), ())
    assert {flag: value for flag, value in flags(config).items() if flag not in ("--host", "--port")} == {
        "--max-model-len": "8192",
        "--gpu-memory-utilization": "0.92",
        "--enforce-eager": None,
        "--kv-cache-dtype": "fp8",
    }


def test_a_switch_that_is_off_is_left_out_and_takes_no_reason_with_it() -> None:
    config = serve_config(SPEC, size(enforce_eager=False, max_num_seqs=64), ())
    (setting,) = [setting for setting in config.settings if setting.flag not in ("--host", "--port")]
    assert (setting.flag, setting.value, setting.why.key) == ("--max-num-seqs", "64", "why.max_num_seqs")


def test_every_setting_has_its_reason() -> None:
    config = serve_config(SPEC, size(max_model_len=8192), (HUB,))
    assert all(setting.why.key for setting in (*config.settings, *config.environment))


def test_the_arguments_of_a_container_are_words_and_hold_no_key() -> None:
    given = {"lora_modules": ["a=/x", "b=/y"], "limit_mm_per_prompt": {"image": 2}, "api_key": "secret", "enforce_eager": True, "port": 9}
    assert list(typed_arguments(given)) == ["--lora-modules", "a=/x", "b=/y", "--limit-mm-per-prompt", '{"image": 2}', "--enforce-eager"]
