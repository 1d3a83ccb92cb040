"""The text of check, plan, size and probe: what it must say, and that it fits the terminal."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.model.budget import SizeFailure, SizeResult
from envcheck.model.finding import Finding, Severity, Verdict
from envcheck.model.host import Accelerator, Driver, Gpu, HostReport
from envcheck.model.plan import Plan
from envcheck.model.report import CheckReport
from envcheck.model.stack import Clash
from envcheck.model.text import Text
from envcheck.render.catalogue import LANGUAGES, Catalogue
from envcheck.render.check_text import View, check_text
from envcheck.render.host_line import host_line
from envcheck.render.layout import cells
from envcheck.render.paint import Role
from envcheck.render.plan_text import plan_text
from envcheck.render.probe_text import probe_text
from envcheck.render.size_text import size_text

EN, ZH = Catalogue("en"), Catalogue("zh")
FULL = View("full", matrix_date="2026-11-30", cloud_name="Alibaba Cloud")
COMMAND_MARKS = ("uv ", "python3 ", "docker ", "export ", "vllm-0.19.1/", "--", "pip ")


def wide_lines(text: str) -> list[str]:
    """Lines of more than 80 cells that are no command."""
    return [line for line in text.splitlines() if cells(line) > 80 and not line.strip().startswith(COMMAND_MARKS)]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("detail", ["normal", "full"])
def test_no_line_but_commands_is_wider_than_80_cells(report: CheckReport, plan: Plan, size: SizeResult, lang: str, detail: str) -> None:
    catalogue = Catalogue(lang)  # type: ignore[arg-type]
    view = View(detail, matrix_date="2026-11-30")  # type: ignore[arg-type]
    assert not wide_lines(check_text(report, catalogue, view))
    assert not wide_lines(plan_text(plan, catalogue, verbose=detail == "full"))
    assert not wide_lines(size_text(size, "X", catalogue, verbose=True))
    assert not wide_lines(probe_text(report.host, catalogue, verbose=True))


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("subject", ["any", "installed", "requested"])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_first_line_is_the_verdict_in_words(report: CheckReport, verdict: Verdict, subject: str, lang: str) -> None:
    changed = msgspec.structs.replace(report, verdict=verdict, subject=subject)  # type: ignore[arg-type]
    first = check_text(changed, Catalogue(lang), View("brief")).splitlines()[0]  # type: ignore[arg-type]
    words = {
        Verdict.READY: ("READY:", "可用"),
        Verdict.READY_WITH_WARNINGS: ("READY, WITH WARNINGS:", "可用，但有警告"),
        Verdict.BLOCKED: ("BLOCKED:", "不可用"),
        Verdict.UNKNOWN: ("UNKNOWN:", "无法判断"),
    }
    assert first.startswith(words[verdict][LANGUAGES.index(lang)])  # type: ignore[arg-type]
    assert "{" not in first
    assert "0.19.1" in first or subject == "any"


def test_the_verdict_names_the_wheel_s_variant_where_it_has_one(report: CheckReport, plan: Plan) -> None:
    stack = msgspec.structs.replace(plan.alternatives[0])
    changed = msgspec.structs.replace(report, vllm="0.32.0", plan=msgspec.structs.replace(plan, stack=stack))
    assert "vLLM 0.32.0+cu129 runs" in check_text(changed, EN, View("brief"))


def test_the_two_numbers_that_clash_are_there_even_where_the_sentence_lacks_them(report: CheckReport) -> None:
    text = check_text(report, EN, View())
    assert "Why not vLLM 0.33.0:" in text
    assert "needed: 580; here: 535.161.08" in text


def test_a_clash_that_names_its_numbers_is_not_said_twice(report: CheckReport) -> None:
    clash = Clash("x", Text("clash.two-values", {"needed": "580", "present": "535"}), "580", "535")
    assert check_text(msgspec.structs.replace(report, binding=clash), EN, View()).count("needed: 580") == 1


def test_uv_stands_before_pip_and_commands_have_lines_of_their_own(report: CheckReport) -> None:
    lines = check_text(report, EN, FULL).splitlines()
    uv, pip = lines.index("  uv venv --python 3.10 vllm-0.19.1"), lines.index("  python3 -m venv vllm-0.19.1")
    assert uv < pip
    assert lines[uv + 1].endswith(" \\")


def test_alternatives_are_one_line_each_after_the_choice(report: CheckReport) -> None:
    text = check_text(report, EN, View())
    assert text.index("vllm==0.19.1") < text.index("vLLM 0.32.0+cu129: torch 2.13.0+cu129")


def many(finding: Finding, count: int) -> tuple[Finding, ...]:
    return tuple(msgspec.structs.replace(finding, code=f"code-{number}") for number in range(count))


def test_five_findings_and_how_many_more(report: CheckReport, finding: Finding) -> None:
    changed = msgspec.structs.replace(report, findings=many(finding, 8))
    text = check_text(changed, EN, View())
    assert [f"[code-{number}]" in text for number in range(8)] == [True] * 5 + [False] * 3
    assert "and 3 more" in text
    full = check_text(changed, EN, FULL)
    assert all(f"[code-{number}]" in full for number in range(8))
    assert 'evidence: {"shm_mib":64}' in full
    assert "https://example.com/shm" in full
    assert "https://example.com/shm" not in text


def test_a_finding_has_severity_code_and_way_out(report: CheckReport) -> None:
    text = check_text(report, EN, View())
    assert "warning: /dev/shm too small [shm-too-small]" in text
    assert "docker run --shm-size=16g IMAGE" in text


def test_hints_lead_on(report: CheckReport) -> None:
    text = check_text(report, EN, FULL)
    assert "`envcheck explain shm-too-small`" in text
    assert "`envcheck plan --model NAME -o DIR`" in text
    assert "2026-11-30" in text


def test_unknown_says_what_is_missing(report: CheckReport) -> None:
    changed = msgspec.structs.replace(report, verdict=Verdict.UNKNOWN, undecided=(Text("no.such", {"fact": "driver.version"}),))
    assert "driver.version" in check_text(changed, EN, View())


def test_colour_changes_nothing_but_colour(report: CheckReport) -> None:
    def mark(text: str, role: Role) -> str:
        return f"<{role}>{text}</{role}>"

    import re

    painted = check_text(report, EN, View(), mark)
    assert "<caution>READY" in painted
    assert re.sub(r"</?[a-z]+>", "", painted) == check_text(report, EN, View())


@pytest.mark.parametrize(
    ("host", "text"),
    [
        (HostReport(), "GPUs not known · driver not known"),
        (HostReport(gpus=[], driver=None), "no NVIDIA GPU · no NVIDIA driver"),
        (HostReport(gpus=None, driver=None, accelerators=[Accelerator(vendor="Huawei", name="Ascend 910B")]), "but Ascend 910B"),
        (HostReport(gpus=[Gpu(name="NVIDIA H20", memory_mib=97871)] * 8, driver=Driver(version="580.95.05")), "8 x NVIDIA H20 (95.6 GiB)"),
        (HostReport(gpus=[Gpu(name="A"), Gpu(name="B", error="GpuIsLost")]), "1 x A + 1 x B (not answering: GpuIsLost)"),
        (HostReport(driver=Driver(version=None)), "no NVIDIA driver"),
        (HostReport(driver=Driver(cuda="12.2")), "driver version not known (CUDA 12.2)"),
    ],
)
def test_the_host_line_tells_absent_from_unknown(host: HostReport, text: str) -> None:
    assert text in host_line(host, EN)


def test_probe_shows_the_source_or_why_there_is_none(host: HostReport) -> None:
    text = probe_text(host, EN)
    rows = {line.split()[0]: line for line in text.splitlines() if line}
    assert rows["driver.version"].endswith("/sys/module/nvidia/version")
    assert "(none)" in rows["memory.cgroup_limit_mib"]
    assert "no limit" in rows["memory.cgroup_limit_mib"]
    assert "(not known)" in rows["secure_boot"]
    assert "permission denied" in rows["secure_boot"]


def test_markup_in_a_fact_is_shown_as_it_is() -> None:
    host = HostReport(gpus=[Gpu(name="[bold red]A10[/] :smile: \x1b[31m")])
    assert "[bold red]A10[/] :smile:" in " ".join(probe_text(host, EN).split())
    assert "\x1b" not in probe_text(host, EN)


def test_size_says_what_fails_with_both_numbers_and_the_largest_context(size: SizeResult) -> None:
    failure = SizeFailure("kv-too-small", needed_gib=7.0, available_gib=3.5, max_model_len=16384)
    text = size_text(msgspec.structs.replace(size, verdict="does-not-fit", failure=failure), "X on Y", EN)
    assert text.startswith("DOES NOT FIT: X on Y")
    assert "Needed: 7.00 GiB; available: 3.50 GiB." in text
    assert "16384" in text


def test_size_lists_where_each_gib_goes_and_what_fits(size: SizeResult) -> None:
    text = size_text(size, "X", EN)
    assert "14.27" in text
    assert "(0.60)" in text
    assert "--max-model-len 8192" in text
    assert "\n  --enforce-eager\n" in text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_label_has_a_sentence(report: CheckReport, plan: Plan, size: SizeResult, lang: str) -> None:
    catalogue = Catalogue(lang)  # type: ignore[arg-type]
    texts = [check_text(report, catalogue, FULL), plan_text(plan, catalogue), probe_text(report.host, catalogue)]
    texts += [size_text(msgspec.structs.replace(size, verdict=v), "X", catalogue) for v in ("fits", "tight", "does-not-fit", "unknown")]  # type: ignore[arg-type]
    for prefix in ("check.", "findings.", "host.", "stack.", "probe.", "size.t", "size.c", "plan.", "clash.", "severity."):
        assert not any(line.strip().startswith(prefix) for text in texts for line in text.splitlines()), prefix


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=120))
def test_hostile_names_neither_break_the_layout_nor_reach_the_terminal(report: CheckReport, name: str) -> None:
    gpu = Gpu(name=name, compute_capability=name, memory_mib=1e9, error=name)
    hostile = Finding(name, Severity.ERROR, Text(name, {name: name}), {name: name})
    host = HostReport(gpus=[gpu], driver=Driver(version=name, cuda=name), environment={name: name}, packages={name: name})
    text = check_text(msgspec.structs.replace(report, host=host, findings=(hostile,)), ZH, FULL) + probe_text(host, ZH)
    assert all(line.isprintable() for line in text.split("\n"))
