"""The text of plan, and what check, size and probe keep short: the answer first, nothing twice, no way that leads nowhere."""

from __future__ import annotations

import msgspec

from envcheck.model.budget import SizeFailure, SizeResult, Suggestion
from envcheck.model.finding import Finding, Remedy, Severity, Verdict
from envcheck.model.host import Disk, Gpu, HostReport, Pci, PciDevice, Provenance
from envcheck.model.plan import Plan, Setting
from envcheck.model.report import CheckReport
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue
from envcheck.render.check_text import View, check_text
from envcheck.render.host_line import host_line
from envcheck.render.plan_text import Doubt, plan_text, written_text
from envcheck.render.probe_text import probe_text
from envcheck.render.shell import serve_script
from envcheck.render.size_parts import Around
from envcheck.render.size_text import size_text

EN = Catalogue("en")
PATHS = ("/x/install.sh", "/x/serve.sh", "/x/plan.json")
FABRIC = Finding(
    "fabric-manager-not-ready",
    Severity.ERROR,
    Text("finding.fabric-manager-not-ready.service", {"manager": "stopped"}),
    remedies=(Remedy("service", Text("remedy.start-fabric-manager"), ("sudo systemctl enable --now nvidia-fabricmanager",), True),),
)


def unfit(plan: Plan, size: SizeResult, arguments: dict[str, object] | None = None) -> Plan:
    failure = SizeFailure("weights", 61.03, 31.03)
    changed = msgspec.structs.replace(size, verdict="does-not-fit", failure=failure, suggested=Suggestion(arguments or {}))
    return msgspec.structs.replace(plan, size=changed)


def test_a_model_that_does_not_fit_is_said_before_any_command_and_gets_no_serve_command(plan: Plan, size: SizeResult) -> None:
    text = plan_text(unfit(plan, size), EN)
    assert text.index("Memory: it does not fit.") < text.index("Needed: 61.03 GiB; available: 31.03 GiB.") < text.index("uv venv")
    assert "No serve command" in text
    assert "vllm serve" not in text


def test_a_model_that_fits_otherwise_than_asked_for_keeps_its_serve_command(plan: Plan, size: SizeResult) -> None:
    text = plan_text(unfit(plan, size, {"max_model_len": 8192}), EN)
    assert "Memory: as asked for it does not fit; the serve command below does." in text
    assert "vllm serve" in text


def test_what_was_written_begins_with_the_verdict_and_leads_to_no_script_that_fails(plan: Plan, size: SizeResult) -> None:
    text = written_text(unfit(plan, size), PATHS, EN)
    assert text.splitlines()[0] == "Plan: vLLM 0.19.1"
    assert "Memory: it does not fit." in text
    assert "bash /x/install.sh" in text
    assert "bash /x/serve.sh" not in text
    assert "bash /x/serve.sh" in written_text(plan, PATHS, EN)


def test_a_script_of_a_model_that_does_not_fit_says_so(plan: Plan, size: SizeResult) -> None:
    assert "does not fit this host" in (serve_script(unfit(plan, size), EN, "0.1.0") or "")
    assert "does not fit this host" not in (serve_script(plan, EN, "0.1.0") or "")


def test_what_must_be_mended_on_the_host_comes_first_and_once(plan: Plan) -> None:
    text = plan_text(msgspec.structs.replace(plan, findings=(FABRIC,)), EN)
    assert text.index("First, on the host:") < text.index("sudo systemctl enable --now nvidia-fabricmanager") < text.index("uv venv")
    assert text.count("sudo systemctl") == 1
    assert "[fabric-manager-not-ready]" in text


def test_without_anything_to_install_there_is_no_serve_command(plan: Plan) -> None:
    text = plan_text(msgspec.structs.replace(plan, stack=None, install=(), alternatives=()), EN)
    assert text.startswith("No plan")
    assert "vllm serve" not in text


def test_another_wheel_than_asked_for_is_a_plan(plan: Plan) -> None:
    text = plan_text(msgspec.structs.replace(plan, stack=None, ways_out=plan.alternatives), EN)
    assert text.startswith("Plan: vLLM 0.32.0+cu129 instead\n")


def test_brief_is_the_plan_and_what_stands_in_its_way(plan: Plan) -> None:
    assert plan_text(plan, EN, brief=True).splitlines()[0] == "Plan: vLLM 0.19.1"
    assert "uv venv" not in plan_text(plan, EN, brief=True)


def test_check_shows_one_installer_and_where_the_other_is(report: CheckReport) -> None:
    text = check_text(report, EN, View())
    assert "uv venv" in text
    assert "python3 -m venv" not in text
    assert "The same with pip: `envcheck plan`" in text
    assert "python3 -m venv" in check_text(report, EN, View("full"))


def test_check_says_the_obstacle_and_its_way_out_once(report: CheckReport) -> None:
    blocked = msgspec.structs.replace(report, verdict=Verdict.BLOCKED, findings=(FABRIC,))
    assert check_text(blocked, EN, View()).count("sudo systemctl") == 1
    assert "[fabric-manager-not-ready]" in check_text(blocked, EN, View())


def test_check_does_not_say_that_nothing_runs_where_another_wheel_does(report: CheckReport, plan: Plan) -> None:
    other = msgspec.structs.replace(plan, stack=None, ways_out=plan.alternatives, notes=(Text("plan.note.way-out", {"vllm": "x"}),))
    text = check_text(msgspec.structs.replace(report, verdict=Verdict.BLOCKED, plan=other), EN, View())
    assert "0.32.0+cu129 of the release page does." in " ".join(text.split())
    assert "What was asked for" not in text


def test_unknown_says_why_and_what_to_type(report: CheckReport, host: HostReport) -> None:
    silent = msgspec.structs.replace(host, provenance={"gpus": Provenance("unreadable", why="NVML: Timeout")})
    changed = msgspec.structs.replace(
        report,
        verdict=Verdict.UNKNOWN,
        host=silent,
        undecided=(Text("undecided.gpus.compute_capability"), Text("undecided.driver.version")),
    )
    text = " ".join(check_text(changed, EN, View()).split())
    assert "only. (could not be read: NVML: Timeout) Look: `nvidia-smi -L`" in text
    assert "State it: `--set gpus.0.name='NVIDIA A10'`" in text
    assert "`--set driver.version=580.95.05`" in text


def test_size_leads_to_what_fits_and_says_how_many_gpus_it_counts(size: SizeResult) -> None:
    text = size_text(msgspec.structs.replace(size, verdict="does-not-fit"), "X", EN, around=Around(note="Counted for one GPU."))
    assert text.splitlines()[1:3] == ["  Counted for one GPU.", "  It fits with the serve arguments below."]
    assert size_text(size, "X", EN, brief=True) == "FITS: X\n"


def test_gpus_on_the_bus_are_not_no_gpu() -> None:
    device = PciDevice(vendor="10de", device="2236", kind="gpu")
    assert host_line(HostReport(gpus=[], pci=Pci(devices=[device])), EN).startswith("1 NVIDIA GPU on the PCI bus, not usable")
    switch = msgspec.structs.replace(device, kind="nvswitch")
    assert host_line(HostReport(gpus=[], pci=Pci(devices=[device, device, switch])), EN).startswith("2 NVIDIA GPUs on the PCI bus")
    assert host_line(HostReport(gpus=[], pci=Pci(devices=[switch])), EN).startswith("no NVIDIA GPU")


def test_probe_names_entries_as_set_takes_them_and_keeps_them_short() -> None:
    host = HostReport(
        gpus=[Gpu(name="NVIDIA A10", uuid="GPU-1", memory_mib=23028, memory_free_mib=22528)],
        disk=[Disk(path="/usr", free_mib=10240)],
        pci=Pci(devices=[PciDevice(vendor="10de", device="2236", kind="gpu")] * 2),
    )
    text = probe_text(host, EN)
    assert "gpus.0" in text
    assert "NVIDIA A10 (22.5 GiB), 22 GiB free" in " ".join(text.split())
    assert "10 GiB free at /usr" in text
    assert "2 x gpu 10de:2236" in text
    assert "GPU-1" not in text
    assert "GPU-1" in probe_text(host, EN, verbose=True)


def test_a_path_is_broken_behind_a_slash() -> None:
    host = HostReport(
        provenance={"os": Provenance("found", source="/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.161.08")}, secure_boot=None
    )
    long = msgspec.structs.replace(host, environment={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64:/opt/conda/lib/python3.12/site-packages"})
    lines = [line.rstrip() for line in probe_text(long, EN).splitlines() if "/" in line]
    assert all(line.endswith(("/", "-", "_", ".", "packages")) for line in lines)


def test_a_way_out_that_the_serve_command_takes_is_not_proposed(plan: Plan) -> None:
    bfloat = Finding("bf16-unsupported-gpu", Severity.WARNING, Text("x"), remedies=(Remedy("setting", Text("remedy.dtype-half")),))
    plain = msgspec.structs.replace(plan, findings=(bfloat,))
    assert "Serve with `--dtype half`." in plan_text(plain, EN)
    assert plan.serve is not None
    half = msgspec.structs.replace(plan.serve, settings=(Setting("--dtype", "half", Text("why.half")),))
    assert "Serve with `--dtype half`." not in plan_text(msgspec.structs.replace(plain, serve=half), EN)


def test_check_of_a_model_that_does_not_fit_has_no_serve_command(report: CheckReport, plan: Plan, size: SizeResult) -> None:
    text = check_text(msgspec.structs.replace(report, plan=unfit(plan, size)), EN, View())
    assert "vllm serve" not in text
    assert "Memory: it does not fit." in text
    assert "Needed: 61.03 GiB" in text


def test_a_plan_of_a_host_not_known_says_what_is_missing_before_the_commands(plan: Plan, host: HostReport) -> None:
    doubt = Doubt((Text("undecided.driver.version"),), msgspec.structs.replace(host, provenance={}))
    text = plan_text(plan, EN, doubt=doubt)
    assert text.index("--set driver.version=") < text.index("uv venv")
    assert "--set driver.version=" in written_text(plan, PATHS, EN, doubt=doubt)
