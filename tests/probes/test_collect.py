import string

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from envcheck.errors import UsageError
from envcheck.model.fact import Unreadable
from envcheck.model.host import HostReport, Provenance
from envcheck.probes import collect as module
from envcheck.probes import driver, gpus, memory, nvidia_smi, operating_system, packages, pci_bus, toolkits, torch
from envcheck.probes.assemble import assemble, document_paths
from envcheck.probes.collect import PROBES, Probe, collect, guarded
from envcheck.probes.overrides import apply
from envcheck.system.port import NvmlReport


def test_a_bare_host(in_memory, bus, makers):
    report = collect(in_memory(files=bus() | {"/etc/os-release": "ID=debian\nVERSION_ID=12\n", "/proc/modules": ""}), makers=makers)
    assert report.driver is None
    assert report.gpus == []
    assert report.accelerators == []
    assert report.os.id == "debian"
    assert report.kernel_modules.nouveau is False


def test_every_field_of_the_document_has_a_state(in_memory):
    report = collect(in_memory())
    assert set(document_paths()) <= set(report.provenance)
    document = msgspec.to_builtins(report)
    for path in document_paths():
        part, _, field = path.partition(".")
        holder = document.get(part, "missing")
        value = holder.get(field, "missing") if isinstance(holder, dict) and field else holder
        state = report.provenance[path].state
        if holder is None or value is None:
            assert state == "absent", path
        elif value == "missing":
            assert state == "unreadable", path
        else:
            assert state == "found", path


def test_the_report_survives_json(in_memory, bus):
    report = collect(in_memory(files=bus(("0000:00:07.0", "10DE:2236", "30200", "nvidia")), nvml=NvmlReport("Timeout")))
    assert msgspec.json.decode(msgspec.json.encode(report), type=HostReport) == report


def test_probes_answer_for_every_path_they_declare_and_for_no_other_field(look):
    visit = look()
    for probe in PROBES:
        facts = probe.run(visit)
        assert set(probe.fields) <= set(facts), probe.name
        for path in set(facts) - set(probe.fields):
            assert path not in document_paths(), f"{probe.name} speaks of {path}"
    declared = [path for probe in PROBES for path in probe.fields]
    assert len(declared) == len(set(declared))
    assert set(document_paths()) - set(declared) == {"observed"}


def test_a_probe_that_fails_costs_its_own_facts_only(in_memory, monkeypatch):
    def fails(look):
        raise ZeroDivisionError("no")

    broken = tuple(Probe(p.name, p.fields, fails if p.name == "memory" else p.run) for p in PROBES)
    monkeypatch.setattr(module, "PROBES", broken)
    report = collect(in_memory())
    assert report.memory is msgspec.UNSET
    assert report.provenance["memory.ram_mib"] == Provenance("unreadable", why="internal: ZeroDivisionError: no")
    assert report.os is not msgspec.UNSET


def test_an_interpreter_that_is_not_there_is_the_users_error(in_memory):
    with pytest.raises(UsageError) as raised:
        collect(in_memory(), python="/nowhere/python")
    assert raised.value.text.key == "error.python-not-found"


def test_a_whole_part_nobody_could_read_is_missing_not_empty():
    report = assemble({path: Unreadable("no") for path in document_paths()})
    paths = {*document_paths(), *(path.split(".")[0] for path in document_paths())}
    provenance = {path: {"state": "unreadable", "why": "no"} for path in sorted(paths)}
    assert msgspec.to_builtins(report) == {"schema": "envcheck.host/1", "provenance": provenance}


PARSERS = (
    driver.parse_proc_version,
    nvidia_smi.parse_banner,
    operating_system.parse_os_release,
    memory.parse_meminfo,
    memory.parse_cgroup,
    memory.parse_limit,
    pci_bus.parse_uevent,
    packages.parse_metadata,
    packages.split_folder,
    toolkits.parse_version_json,
    toolkits.parse_nvcc,
    torch.parse_version_py,
    gpus.parse_information,
)


@given(
    st.one_of(
        st.text(max_size=400),
        st.text(alphabet=string.printable, max_size=400),
        st.binary(max_size=400).map(lambda b: b.decode("utf-8", "replace")),
    )
)
@settings(max_examples=150, deadline=None)
def test_no_parser_raises(text):
    for parse in PARSERS:
        parse(text)


ORDINARY = {
    "/sys/module/nvidia/version": "550.54.15\n",
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n",
    "/proc/meminfo": "MemTotal: 1024 kB\n",
    "/proc/self/cgroup": "0::/\n",
    "/proc/self/mountinfo": "",
    "/etc/os-release": "ID=x\n",
    "/etc/ld.so.conf.d/x.conf": "/opt\n",
    "/run/cloud-init/instance-data.json": "{}",
    "/usr/bin/python3.10": b"",
    "/usr/lib/python3.10/site-packages/torch/version.py": "cuda = None\n",
    "/usr/lib/python3.10/site-packages/torch-2.0.dist-info/METADATA": "Name: torch\nVersion: 2\n\n",
    "/usr/local/cuda-12.0/version.json": "{}",
    "/usr/local/cuda-12.0/bin/nvcc": b"",
    "/sys/bus/pci/devices/0000:00:07.0/uevent": "PCI_CLASS=30200\nPCI_ID=10DE:2236\nPCI_SLOT_NAME=0000:00:07.0\n",
    "/usr/lib64/libnvidia-ml.so.1": b"",
}


@given(
    st.dictionaries(
        st.sampled_from(sorted(ORDINARY)), st.one_of(st.binary(max_size=300), st.just(Unreadable("permission denied"))), min_size=1
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])  # the fixture is a class
def test_no_content_of_a_file_makes_a_probe_fail(in_memory, content):
    host = in_memory(files=ORDINARY | content, links={"/usr/bin/python3": "python3.10"}, which={"python3": "/usr/bin/python3"})
    report = collect(host)
    assert not [path for path, entry in report.provenance.items() if (entry.why or "").startswith("internal")]


def test_guarded_names_the_error(look):
    def fails(look):
        raise KeyError("x")

    assert guarded(Probe("x", ("a.b",), fails), look()) == {"a.b": Unreadable("internal: KeyError: 'x'")}


BASE = HostReport()


def test_stated_facts_win_and_say_so():
    report = apply(
        BASE, {"driver.version": "550.54.15", "python.version": "3.12", "gpus.0.name": "NVIDIA A10", "gpus.0.memory_mib": "23028"}
    )
    assert report.driver.version == "550.54.15"
    assert report.python.version == "3.12"
    assert (report.gpus[0].name, report.gpus[0].memory_mib) == ("NVIDIA A10", 23028.0)
    assert report.provenance["driver.version"] == Provenance("given", source="--set driver.version=550.54.15")


def test_stated_types_and_absence():
    report = apply(
        BASE, {"os.wsl": "true", "torch": "null", "packages.vllm": "0.6.3", "environment.VLLM_USE_V1": "0", "secure_boot": "false"}
    )
    assert report.os.wsl is True
    assert report.torch is None
    assert report.packages == {"vllm": "0.6.3"}
    assert report.environment == {"VLLM_USE_V1": "0"}
    assert report.secure_boot is False


def test_other_facts_stay_as_they_were():
    before = apply(BASE, {"driver.version": "470.161.03", "driver.cuda": "11.4"})
    after = apply(before, {"driver.version": "525.60.13"})
    assert after.driver.cuda == "11.4"
    assert before.driver.version == "470.161.03"
    assert after.provenance["driver.cuda"] == before.provenance["driver.cuda"]


def test_whole_lists_may_be_given_as_json():
    report = apply(BASE, {"gpus": '[{"index": 0, "name": "NVIDIA A10"}, {"index": 1, "name": "NVIDIA A10"}]'})
    assert [gpu.index for gpu in report.gpus] == [0, 1]


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ("drivr.version", "1", "error.override-path"),
        ("driver.versio", "1", "error.override-path"),
        ("provenance.x", "1", "error.override-path"),
        ("schema", "x", "error.override-path"),
        ("driver..version", "1", "error.override-path"),
        ("gpus.7.name", "x", "error.override-place"),
        ("gpus.x.name", "x", "error.override-value"),
        ("gpus.0.memory_mib", "much", "error.override-value"),
        ("driver", "550", "error.override-value"),
        ("secure_boot.x", "1", "error.override-value"),
    ],
)
def test_what_cannot_be_stated(path, value, key):
    with pytest.raises(UsageError) as raised:
        apply(BASE, {path: value})
    assert raised.value.text.key == key


def test_what_is_absent_stays_so_around_a_stated_field():
    bare = apply(BASE, {"driver": "null", "libcuda": "null"})
    report = apply(bare, {"driver.version": "580.95.05"})
    assert report.driver.version == "580.95.05"
    assert (report.driver.nvml, report.driver.library_version, report.driver.cuda) == (None, None, None)
    assert report.libcuda is None
    # Of a part that nobody knows, its other fields are as unknown as before.
    assert apply(BASE, {"driver.version": "580.95.05"}).driver.nvml is UNSET


def test_a_stated_package_of_an_environment_known_to_be_absent():
    assert apply(apply(BASE, {"packages": "null"}), {"packages.vllm": "0.19.1"}).packages == {"vllm": "0.19.1"}


def test_another_driver_or_card_takes_what_was_read_of_the_old_one_along() -> None:
    """550.54.15 on a host whose library is of 535 is no such host: what goes with the version is not known then."""
    report = msgspec.convert(
        {
            "driver": {"version": "535.161.08", "cuda": "12.2", "library_version": "535.161.08", "flavour": "open"},
            "libcuda": {"path": "/usr/lib/libcuda.so.1", "version": "535.161.08"},
            "gpus": [
                {"index": 0, "name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028},
                {"index": 1, "name": "NVIDIA A10"},
            ],
        },
        HostReport,
        strict=False,
    )
    other = msgspec.to_builtins(apply(report, {"driver.version": "550.54.15", "gpus.0.name": "NVIDIA H20"}))
    assert other["driver"] == {"version": "550.54.15", "flavour": "open"}
    assert "libcuda" not in other
    assert other["gpus"] == [{"index": 0, "name": "NVIDIA H20"}, {"index": 1, "name": "NVIDIA A10"}]
    stated = msgspec.to_builtins(
        apply(report, {"driver.version": "550.54.15", "driver.cuda": "12.4", "gpus.0.name": "X", "gpus.0.memory_mib": "8"})
    )
    assert stated["driver"]["cuda"] == "12.4"
    assert stated["gpus"][0] == {"index": 0, "name": "X", "memory_mib": 8.0}
