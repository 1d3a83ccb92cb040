"""What the verdict is about, what it says, and what stands first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from envcheck.errors import UsageError
from envcheck.model.finding import Severity, Verdict
from envcheck.rules import registry, resources
from envcheck.rules.check import Judgement

Ask = Callable[..., Judgement]
T4 = {"name": "Tesla T4", "compute_capability": "7.5", "memory_mib": 15360}
OLD_DRIVER = {"driver.version": "470.161.03", "driver.library_version": "470.161.03"}


def undecided(judgement: Judgement) -> list[str]:
    return [text.key for text in judgement.undecided]


@pytest.mark.parametrize(
    ("base", "asked", "subject", "release"),
    [
        ("a100", {}, "any", "0.33.0"),
        ("a100", {"vllm": "0.19.1"}, "requested", "0.19.1"),
        ("a100", {"vllm": ">=0.8,<0.10"}, "requested", "0.9.2"),
        ("installed", {}, "installed", "0.19.1"),
        ("installed", {"vllm": "0.19.1"}, "installed", "0.19.1"),
        ("installed", {"vllm": ">=0.19,<0.20"}, "installed", "0.19.1"),
        ("installed", {"vllm": "0.33.0"}, "requested", "0.33.0"),
        ("unseen", {}, "any", None),
    ],
)
def test_the_verdict_is_about_what_was_asked(ask: Ask, base: str, asked: dict[str, str], subject: str, release: str | None) -> None:
    judgement = ask(base, **asked)
    assert judgement.subject == subject
    assert (judgement.release.raw if judgement.release else None) == release


def test_an_installation_that_cannot_work_is_blocked_though_another_release_would_run(ask: Ask) -> None:
    facts = {"packages": {"vllm": "0.33.0"}, "torch": {"version": "2.14.0+cu130", "cuda": "13.0"}, "driver.version": "550.54.15"}
    judgement = ask("installed", facts)
    assert (judgement.verdict, judgement.subject) == (Verdict.BLOCKED, "installed")
    # the same host with nothing installed runs 0.19.1, so the question with nothing asked is not blocked
    assert ask("a100", {"driver.version": "550.54.15"}).verdict is Verdict.READY_WITH_WARNINGS


def test_a_requested_release_is_its_index_wheel(ask: Ask) -> None:
    # 0.32.0+cu129 of the release page would run on driver 535; the question is about the wheel that the index serves
    judgement = ask("a100", {"driver.version": "535.183.01"}, vllm="0.32.0")
    assert judgement.verdict is Verdict.BLOCKED
    assert judgement.findings[0].remedies[-1].kind == "driver"


def test_a_wheel_asked_for_with_its_label_is_that_wheel(ask: Ask) -> None:
    # the index's 0.32.0 is of CUDA 13, the one labelled cu129 runs on driver 535
    judgement = ask("a100", {"driver.version": "535.183.01"}, vllm="0.32.0+cu129")
    assert judgement.verdict is Verdict.READY
    assert judgement.judged is not None
    assert judgement.judged.build.variant == "cu129"


def test_an_installed_release_is_not_its_wheel_of_another_label(ask: Ask) -> None:
    assert ask("installed", vllm="0.19.1+cu130").subject == "requested"
    assert ask("installed", {"packages.vllm": "0.19.1+cu130"}, vllm="0.19.1+cu130").subject == "installed"


@pytest.mark.parametrize("name", ["0.99.0", "99", "<0.0.1", "not a release", "0.33.0+cu129", "0.19.1+cu999", "=="])
def test_a_release_that_does_not_exist_is_an_error_of_usage(ask: Ask, name: str) -> None:
    with pytest.raises(UsageError):
        ask("a100", vllm=name)


@pytest.mark.parametrize(
    ("base", "gone", "missing"),
    [
        ("a100", "gpus", "undecided.gpus.compute_capability"),
        ("a100", "driver", "undecided.driver.version"),
        ("a100", "os.arch", "undecided.os.arch"),
        ("a100", "os.glibc", "undecided.os.glibc"),
        ("installed", "gpus", "undecided.gpus.compute_capability"),
        ("installed", "driver", "undecided.driver.version"),
    ],
)
def test_without_a_deciding_fact_the_verdict_is_unknown_and_names_it(ask: Ask, base: str, gone: str, missing: str) -> None:
    assert ask(base).verdict is Verdict.READY
    judgement = ask(base, {gone: "UNSET"})
    assert judgement.verdict is Verdict.UNKNOWN
    assert missing in undecided(judgement)


@pytest.mark.parametrize("gone", ["python", "memory", "torch", "packages", "container", "driver.nvml", "gpus.0.memory_mib"])
def test_what_decides_nothing_may_be_missing(ask: Ask, gone: str) -> None:
    assert ask("a100", {gone: "UNSET"}).verdict is Verdict.READY


@pytest.mark.parametrize("gone", ["os.arch", "os.glibc", "os", "python"])
def test_an_installed_wheel_has_passed_the_installer(ask: Ask, gone: str) -> None:
    assert ask("installed", {gone: "UNSET"}).verdict is Verdict.READY


def test_what_is_known_may_block_whatever_is_missing(ask: Ask) -> None:
    judgement = ask("a100", {"os": "UNSET", **OLD_DRIVER}, vllm="0.33.0")
    assert judgement.verdict is Verdict.BLOCKED
    assert judgement.undecided == ()


def test_a_capability_that_is_not_stated_follows_from_the_name(ask: Ask) -> None:
    assert ask("a100", {"gpus.0": {"name": "NVIDIA A100-SXM4-80GB"}}).verdict is Verdict.READY
    assert ask("a100", {"gpus.0": {"name": "NVIDIA Nonesuch 9000"}}).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("seen", ["torch_cuda", "vllm_serves"])
def test_a_driver_seen_at_work_need_not_be_known(ask: Ask, seen: str) -> None:
    assert ask("installed", {"driver": "UNSET", "observed": {seen: True}}).verdict is Verdict.READY
    assert ask("installed", {"driver": "UNSET", "observed": {seen: None}}).verdict is Verdict.UNKNOWN


def test_nothing_is_an_error_where_vllm_has_been_seen_to_serve(ask: Ask) -> None:
    broken: dict[str, Any] = {"torch": {"version": "2.9.1+cu128", "cuda": "12.8"}}
    assert ask("installed", broken).verdict is Verdict.BLOCKED
    judgement = ask("installed", {**broken, "observed": {"vllm_serves": True}})
    assert judgement.verdict is Verdict.READY_WITH_WARNINGS
    assert judgement.findings[0].code == "torch-vllm-mismatch"


def test_that_the_installed_one_serves_says_nothing_of_another(ask: Ask) -> None:
    judgement = ask("installed", {"driver.version": "550.54.15", "observed": {"vllm_serves": True}}, vllm="0.33.0")
    assert judgement.verdict is Verdict.BLOCKED


def test_a_remark_alone_leaves_a_host_ready(ask: Ask) -> None:
    judgement = ask("installed", {"driver.version": "535.183.01"})
    assert {finding.severity for finding in judgement.findings} == {Severity.INFO}
    assert judgement.verdict is Verdict.READY


def test_findings_stand_by_severity_and_each_code_once(ask: Ask) -> None:
    facts = {**OLD_DRIVER, "gpus": [T4, {**T4, "name": "NVIDIA T4G"}], "memory.ram_mib": 16384}
    judgement = ask("a100", facts, vllm="0.33.0")
    order = ["error", "warning", "info"]
    places = [order.index(finding.severity.value) for finding in judgement.findings]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2}
    codes = [finding.code for finding in judgement.findings]
    assert len(codes) == len(set(codes))


def test_of_two_clashes_of_one_code_the_error_is_kept(ask: Ask) -> None:
    # the installed vLLM and the installed torch are both of CUDA 13; one sentence says so, the graver one
    facts = {"packages": {"vllm": "0.33.0"}, "torch": {"version": "2.14.0+cu130", "cuda": "13.0"}, "driver.version": "550.54.15"}
    found = [finding for finding in ask("installed", facts).findings if finding.code == "driver-too-old-for-cuda"]
    assert [finding.severity for finding in found] == [Severity.ERROR]


def test_a_fault_of_the_machine_stands_before_what_is_wrong_with_a_wheel(ask: Ask) -> None:
    facts = {"driver.version": "550.54.15", "fabric": {"nvswitch": True, "manager": "stopped"}}
    judgement = ask("a100", facts, vllm="0.33.0")
    assert [finding.code for finding in judgement.findings[:2]] == ["fabric-manager-not-ready", "driver-too-old-for-cuda"]
    assert judgement.binding is None  # the wheel's clash is not what to mend first


def test_without_a_gpu_nothing_is_said_of_wheels(ask: Ask) -> None:
    judgement = ask("unseen", {"pci.devices": []})
    assert [finding.code for finding in judgement.findings] == ["no-gpu"]


def test_the_binding_constraint_of_a_blocked_host_is_its_first_error(ask: Ask) -> None:
    judgement = ask("a100", {"driver.version": "550.54.15"}, vllm="0.33.0")
    assert judgement.binding is not None
    assert (judgement.binding.code, judgement.binding.needed, judgement.binding.present) == ("driver-too-old-for-cuda", "580", "550.54.15")
    assert judgement.binding_release == "0.33.0"


def test_the_binding_constraint_of_a_host_that_runs_is_what_keeps_the_newest_from_it(ask: Ask) -> None:
    judgement = ask("a100", {"driver.version": "550.54.15"})
    assert judgement.release is not None
    assert judgement.release.raw == "0.19.1"
    assert judgement.binding is not None
    assert (judgement.binding.needed, judgement.binding_release) == ("580", "0.33.0")


def test_where_nothing_clashes_nothing_binds(ask: Ask) -> None:
    assert ask("a100").binding is None


@pytest.mark.parametrize(
    ("gpu", "release", "switch", "engine"),
    [  # vLLM's source: V0 only before 0.6.4; V1 by default from 0.8.0 on, where it asks for 8.0; V0 is gone from 0.11.0 on
        ("8.0", "0.6.3", None, "v0"),
        ("8.0", "0.7.3", None, "v0"),
        ("8.0", "0.7.3", "1", "v1"),
        ("8.0", "0.8.5.post1", None, "v1"),
        ("8.0", "0.8.5.post1", "0", "v0"),
        ("7.5", "0.8.5.post1", None, "v0"),
        ("7.5", "0.10.2", None, "v1"),
        ("8.0", "0.11.0", None, "v1"),
        ("7.5", "0.19.1", "0", "v1"),
    ],
)
def test_the_engine_is_that_of_the_release_on_the_gpu(ask: Ask, gpu: str, release: str, switch: str | None, engine: str) -> None:
    environment = {"VLLM_USE_V1": switch} if switch else {}
    judgement = ask("a100", {"gpus.0.compute_capability": gpu, "environment": environment}, vllm=release)
    assert judgement.engine == engine


def test_an_installed_version_that_is_no_release_leaves_the_verdict_open(ask: Ask) -> None:
    judgement = ask("installed", {"packages.vllm": "of my own"})
    assert judgement.verdict is Verdict.UNKNOWN
    assert undecided(judgement) == ["undecided.packages.vllm"]
    # asked about a release, the verdict is about that one
    assert ask("installed", {"packages.vllm": "of my own"}, vllm="0.19.1").verdict is Verdict.READY


def test_a_release_that_runs_is_named_before_a_container(ask: Ask) -> None:
    # 0.22.0 and later are tagged manylinux_2_28 again, so Ubuntu 20.04 takes the newest though not 0.20.0
    remedies = ask("a100", {"os.glibc": "2.31"}, vllm="0.20.0").findings[0].remedies
    assert [(remedy.kind, remedy.note.params.get("vllm")) for remedy in remedies] == [("other-wheel", "0.33.0"), ("container", None)]


def test_where_only_some_operations_need_a_newer_driver_nothing_else_is_recommended(ask: Ask) -> None:
    facts = {"gpus.0": {"name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0"}, "driver.version": "550.54.15"}
    (remedy,) = ask("a100", facts, vllm="0.19.1").findings[0].remedies
    assert (remedy.kind, remedy.note.params["driver"]) == ("driver", "575")  # the branch of CUDA 12.9


def test_remedies_go_from_the_least_to_the_most_intrusive(ask: Ask) -> None:
    remedies = ask("a100", {"driver.version": "550.54.15"}).findings[0].remedies
    assert [remedy.kind for remedy in remedies] == ["other-wheel", "other-wheel", "driver"]
    assert [remedy.needs_root for remedy in remedies] == [False, False, True]
    named = [remedy.note.params.get("vllm") for remedy in remedies]
    assert named == ["0.19.1", "0.32.0+cu129", "0.33.0"]


def test_a_broken_torch_blocks_only_where_it_would_be_used(ask: Ask) -> None:
    # design: the verdict is about what was asked; a plan for another release makes an environment of its own
    cpu = {"torch": {"version": "2.10.0+cpu", "cuda": None}}
    used, beside, alone = ask("installed", cpu), ask("installed", cpu, vllm="0.33.0"), ask("a100", cpu)
    for judgement in (used, alone):  # without vLLM, the torch at hand is what would be used
        assert (judgement.verdict, judgement.findings[0].code) == (Verdict.BLOCKED, "torch-cpu-build")
    assert (used.subject, alone.subject) == ("installed", "environment")
    assert beside.verdict is Verdict.READY_WITH_WARNINGS
    assert [finding.severity for finding in beside.findings if finding.code == "torch-cpu-build"] == [Severity.WARNING]


def test_an_environment_is_not_all_that_blocks_a_host_whose_driver_is_too_old_for_anything(ask: Ask) -> None:
    broken = {"torch": {"version": "2.10.0+cpu", "cuda": None}, "driver": {"version": "440.33.01", "nvml": "ok"}}
    judged = ask("a100", broken)
    assert (judged.verdict, judged.subject) == (Verdict.BLOCKED, "any")


def test_a_rule_that_fails_costs_its_own_findings_and_is_not_taken_for_fine(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(situation: object, matrix: object) -> object:
        raise ZeroDivisionError("no")

    healthy, small = ask("a100"), {"driver.version": "470.161.03"}
    registry.function.cache_clear()
    monkeypatch.setattr(resources, "system_memory", fails)
    try:
        judged, blocked = ask("a100"), ask("a100", small)
    finally:
        registry.function.cache_clear()
    assert healthy.verdict is Verdict.READY
    assert judged.verdict is Verdict.UNKNOWN
    assert [(text.key, text.params["rule"]) for text in judged.undecided] == [("undecided.internal", "resources.system_memory")]
    assert blocked.verdict is Verdict.BLOCKED


def test_a_release_nobody_has_looked_into_is_not_called_ready(ask: Ask) -> None:
    facts = {"gpus.0": {"name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0"}, "python.version": "3.10.12"}
    judged = ask("a100", facts, vllm="0.1.7")
    assert judged.verdict is Verdict.UNKNOWN
    assert "undecided.matrix.gpu_code" in [text.key for text in judged.undecided]
    assert ask("a100", facts, vllm="0.2.0").verdict is not Verdict.UNKNOWN


def test_the_release_of_an_image_is_what_is_judged(ask: Ask) -> None:
    judged = ask("a100", {"packages": "UNSET", "container": {"kind": "docker", "image": "mirror.example/vllm/vllm-openai:v0.19.1"}})
    assert (judged.subject, judged.release.raw if judged.release else None) == ("installed", "0.19.1")
    asked = ask("a100", {"packages.vllm": None, "container": {"kind": "docker", "image": "vllm/vllm-openai:v0.19.1"}})
    assert asked.subject == "any"  # known to hold none


def test_a_build_of_ones_own_may_hold_code_for_other_gpus(ask: Ask) -> None:
    gpu = {
        "gpus.0": {"name": "NVIDIA B200", "compute_capability": "10.0"},
        "torch": {"version": "2.7.0a0+ecf3bae40a.nv25.02", "cuda": "12.8"},
    }
    own = ask("installed", {**gpu, "packages": {"vllm": "0.8.2.dev0+gb8b9a5f3b.d20250315"}})
    assert "gpu-arch-not-in-vllm-build" not in [finding.code for finding in own.findings]
    released = ask("installed", {**gpu, "packages": {"vllm": "0.8.2"}})
    assert "gpu-arch-not-in-vllm-build" in [finding.code for finding in released.findings]


@pytest.mark.parametrize("state", ["ForkFailed", "BindingMissing", "BindingBroken"])
def test_that_we_could_not_ask_nvml_is_no_fault_of_the_host(ask: Ask, state: str) -> None:
    judged = ask("a100", {"driver.nvml": state, "gpus": "UNSET"})
    assert (judged.verdict, [finding.severity for finding in judged.findings if finding.severity is Severity.ERROR]) == (
        Verdict.UNKNOWN,
        [],
    )
    assert "undecided.gpus.compute_capability" in undecided(judged)
    assert ask("a100", {"driver.nvml": "Unknown", "gpus": "UNSET"}).verdict is Verdict.BLOCKED


def test_a_model_is_judged_on_the_release_that_runs_here_not_on_the_newest(ask: Ask) -> None:
    # driver 535 runs 0.19.1, whose modelopt FP8 begins at 8.9; 0.33.0 takes it from 8.0 on, and is not what gets planned
    gpu = {"gpus.0": {"name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}}
    config = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}
    old = ask("a100", {**gpu, "driver.version": "535.183.01", "driver.library_version": "535.183.01"}, model_config=config)
    new = ask("a100", gpu, model_config=config)
    codes = [[finding.code for finding in judged.findings if finding.severity is Severity.ERROR] for judged in (old, new)]
    assert (old.release.raw if old.release else None, new.release.raw if new.release else None) == ("0.19.1", "0.33.0")
    assert "quantization-unsupported-gpu" in codes[0] or "fp8-unsupported-gpu" in codes[0]
    assert codes[1] == []


def test_a_card_hidden_by_an_identifier_does_not_block_the_others(ask: Ask) -> None:
    new, old = "GPU-11111111-0000-0000-0000-000000000001", "GPU-22222222-0000-0000-0000-000000000002"
    cards = [
        {"index": 0, "name": "NVIDIA GeForce RTX 3090", "uuid": new, "compute_capability": "8.6", "memory_mib": 24576},
        {"index": 1, "name": "NVIDIA GeForce GTX 1080 Ti", "uuid": old, "compute_capability": "6.1", "memory_mib": 11264},
    ]
    both = ask("a100", {"gpus": cards})
    good, bad = (ask("a100", {"gpus": cards, "environment": {"CUDA_VISIBLE_DEVICES": one}}) for one in (new, old))
    assert (both.verdict, both.findings[0].code) == (Verdict.BLOCKED, "mixed-gpus")
    assert good.verdict is not Verdict.BLOCKED
    assert [gpu.name for gpu in good.situation.gpus] == ["NVIDIA GeForce RTX 3090"]
    assert (bad.verdict, bad.findings[0].code) == (Verdict.BLOCKED, "gpu-too-old")
