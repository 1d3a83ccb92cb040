import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import accelerators, fabric, pci
from envcheck.probes.pci_bus import PciFunction, acs_redirects, functions, parse_resource, parse_uevent
from envcheck.system.port import NvmlGpu, NvmlReport

A10 = "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2236\nPCI_SUBSYS_ID=10DE:1482\nPCI_SLOT_NAME=0000:00:07.0\n"
H20 = tuple((f"0000:{bus:02x}:00.0", "10DE:2329", "30200", "nvidia") for bus in (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB))
SWITCH = ("0000:07:00.0", "10DE:22A3", "68000", "nvidia-nvswitch")
MODULE = "systemctl is-active nvidia-fabricmanager"


def test_a_function_from_its_uevent():
    assert parse_uevent(A10) == PciFunction("0000:00:07.0", "10de", "2236", 0x0302, "nvidia")


@pytest.mark.parametrize("text", ["", "PCI_CLASS=zz\nPCI_ID=10DE:2236\nPCI_SLOT_NAME=x\n", "PCI_CLASS=30200\nPCI_SLOT_NAME=0000:00:07.0\n"])
def test_a_function_that_lacks_a_line_is_none(text):
    assert parse_uevent(text) is None


def test_nvidias_sound_function_is_no_gpu_and_the_host_bridge_no_accelerator(look, bus):
    files = bus(("0000:01:00.0", "10DE:2B85", "30000", "nvidia"), ("0000:01:00.1", "10DE:22E8", "40300", "snd_hda_intel"))
    devices = pci.probe(look(files=files))["pci.devices"].value
    assert [(device.address, device.kind, device.driver) for device in devices] == [("0000:01:00.0", "gpu", "nvidia")]


def test_no_bus_is_absent_and_a_closed_one_unreadable(look):
    assert isinstance(functions(look()), Absent)
    closed = {"/sys/bus/pci/devices/0000:00:07.0/uevent": Unreadable("permission denied")}
    assert functions(look(files=closed)) == Unreadable("/sys/bus/pci/devices/0000:00:07.0/uevent: permission denied")
    assert "/0000:00:07.0/uevent: permission denied" in accelerators.probe(look(files=closed))["accelerators"].why


def test_where_no_maker_is_known_nothing_is_said_of_accelerators(look, bus):
    facts = accelerators.probe(look(files=bus(("0000:c1:00.0", "1002:74A1", "120000", None)), makers=()))
    assert isinstance(facts["accelerators"], Unreadable)


@pytest.mark.parametrize(("kind", "expected"), [("DMA-FQ", "translated"), ("DMA", "translated"), ("identity", "passthrough")])
def test_iommu(look, bus, kind, expected):
    files = bus(("0000:00:07.0", "10DE:2236", "30200", "nvidia")) | {"/sys/bus/pci/devices/0000:00:07.0/iommu_group/type": f"{kind}\n"}
    assert pci.iommu(look(files=files)).value == expected


def test_without_an_iommu_group_there_is_no_translation(look, bus):
    assert isinstance(pci.iommu(look(files=bus(("0000:00:07.0", "10DE:2236", "30200", "nvidia")))), Absent)


@pytest.mark.parametrize(
    ("ids", "class_code", "vendor"),
    [
        ("1002:74A1", "120000", "amd"),
        ("19E5:D802", "120000", "ascend"),
        ("8086:0BD5", "38000", "intel"),
        ("1DA3:1020", "120000", "habana"),
        ("1ED5:0105", "30000", "moore-threads"),
        ("9999:4001", "38000", "metax"),
    ],
)
def test_other_makers_by_vendor_and_class(look, bus, ids, class_code, vendor):
    visit = look(files=bus(("0000:c1:00.0", ids, class_code, None), ("0000:c2:00.0", ids, class_code, None)))
    found = accelerators.probe(visit)["accelerators"].value
    assert [(one.vendor, one.count) for one in found] == [(vendor, 2)]
    assert {device.kind for device in pci.probe(visit)["pci.devices"].value} == {"other"}


@pytest.mark.parametrize(
    ("ids", "what"), [("19E5:1711", "a server's management chip"), ("8086:4680", "a processor's own graphics"), ("1002:164E", "the same")]
)
def test_what_only_drives_a_screen_is_no_accelerator(look, bus, ids, what):
    assert accelerators.probe(look(files=bus(("0000:02:00.0", ids, "30000", None))))["accelerators"].value == [], what


def test_ascend_by_its_device_nodes_where_sysfs_is_hidden(look):
    nodes = {f"/dev/davinci{number}": b"" for number in range(8)} | {"/dev/davinci_manager": b""}
    found = accelerators.probe(look(files=nodes))["accelerators"].value
    assert [(one.vendor, one.count) for one in found] == [("ascend", 8)]


def test_a_node_without_a_number_counts_nothing(look):
    found = accelerators.probe(look(files={"/dev/kfd": b""}))["accelerators"].value
    assert [(one.vendor, one.count) for one in found] == [("amd", UNSET)]


def test_no_switch_no_manager_and_nothing_started(look, bus):
    visit = look(files=bus(H20[0]), commands={MODULE: (0, "active\n")})
    facts = fabric.probe(visit)
    assert facts["fabric.nvswitch"].value is False
    assert isinstance(facts["fabric.manager"], Absent)
    assert visit.system.started == []


@pytest.mark.parametrize(
    ("answer", "files", "expected"),
    [
        ((0, "active\n"), {}, "running"),
        ((3, "inactive\n"), {"/usr/bin/nv-fabricmanager": b""}, "stopped"),
        ((3, "failed\n"), {"/usr/lib/systemd/system/nvidia-fabricmanager.service": ""}, "stopped"),
        ((4, "inactive\n"), {}, "absent"),
        ((3, "inactive\n"), {"/proc/2211/comm": "nv-fabricmanage\n"}, "running"),
    ],
)
def test_the_manager_by_systemd_and_processes(look, bus, answer, files, expected):
    visit = look(files=bus(*H20, SWITCH) | files, commands={MODULE: answer})
    assert fabric.manager(visit).value == expected


def test_without_systemd_the_processes_decide(look, bus):
    files = bus(*H20, SWITCH) | {"/proc/1/comm": "sshd\n", "/proc/99/comm": "nv-fabricmanage\n"}
    for host, expected in ((files, "running"), (bus(SWITCH), "absent")):
        fact = fabric.manager(look(files=host))
        assert (fact.value, fact.source) == (expected, "/proc")


def test_a_container_cannot_see_the_hosts_manager(look, bus):
    assert isinstance(fabric.manager(look(files=bus(SWITCH) | {"/.dockerenv": ""})), Unreadable)


def states(*given):
    return NvmlReport(
        "ok", gpus=[NvmlGpu(index=i, fabric_state=s, fabric_status=t) for i, (s, t) in enumerate(given)], gpu_count=len(given)
    )


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (states(("completed", "ok"), ("completed", "ok")), "completed"),
        (states(("completed", "ok"), ("in-progress", None)), "in-progress"),
        (states(("completed", "ok"), ("not-started", None)), "not-started"),
        (states(("unsupported", None), ("unsupported", None)), "unsupported"),
        (states(("completed", "ok"), ("completed", "NotReady")), "failed: NotReady"),
    ],
)
def test_the_gpu_furthest_behind_speaks_for_the_fabric(look, report, expected):
    assert fabric.state(look(nvml=report)).value == expected


def test_a_driver_that_does_not_tell_the_state(look):
    assert isinstance(fabric.state(look(nvml=states((None, None)))), Unreadable)
    assert fabric.state(look(nvml=NvmlReport("Timeout"))) == Unreadable("NVML: Timeout")


def test_a_switch_seen_only_by_the_links(look, bus):
    report = NvmlReport("ok", gpus=[NvmlGpu(index=0, nvlink_peers=["switch"] * 18)], gpu_count=1)
    assert fabric.nvswitch(look(files=bus(H20[0]), nvml=report)) == Found(True, "NVML")


# As Linux writes it for an RTX 4090: registers, the large window, a small one, a port; the lines after the sixth are not its own.
RESOURCE = """0x00000000fa000000 0x00000000faffffff 0x0000000000040200
0x000000d000000000 0x000000d7ffffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x000000d800000000 0x000000d801ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x000000000000f000 0x000000000000f07f 0x0000000000040101
0x00000000fb000000 0x00000000fb07ffff 0x0000000000046200
0x0000f00000000000 0x0000ffffffffffff 0x000000000014220c
"""
UNMAPPED = """0x00000000fa000000 0x00000000faffffff 0x0000000000040200
0x0000000000000000 0x00000007ffffffff 0x000000002014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RESOURCE, 32 << 30),
        (UNMAPPED, 16 << 20),
        ("0x0000000000000000 0x0000000000000000 0x0000000000000000\n" * 6, 0),
        ("0x00000000fa000000 0x00000000f9ffffff 0x0000000000040200\n", 0),
        ("0x000000000000f000 0x000000000000f07f 0x0000000000040101\n", 0),
        ("no such\n", None),
        ("0x1 0x2\n", None),
        ("", None),
    ],
)
def test_the_largest_window_that_was_mapped(text, expected):
    assert parse_resource(text) == expected


def test_window_and_node_of_nvidias_gpus_only(look, bus):
    at = "/sys/bus/pci/devices"
    files = bus(H20[0], H20[1], SWITCH) | {
        f"{at}/0000:18:00.0/resource": RESOURCE,
        f"{at}/0000:18:00.0/numa_node": "1\n",
        f"{at}/0000:2a:00.0/resource": Unreadable("permission denied"),
        f"{at}/0000:2a:00.0/numa_node": "-1\n",
        f"{at}/0000:07:00.0/numa_node": "1\n",
    }
    found = {one.address: (one.bar_mib, one.numa_node) for one in pci.probe(look(files=files))["pci.devices"].value}
    assert found == {"0000:18:00.0": (32768, 1), "0000:2a:00.0": (UNSET, None), "0000:07:00.0": (UNSET, UNSET)}


@pytest.mark.parametrize("text", ["", "zz", "-2", "12345", "1" * 5000])
def test_a_node_that_is_no_number(look, bus, text):
    files = bus(H20[0]) | {"/sys/bus/pci/devices/0000:18:00.0/numa_node": text}
    assert pci.probe(look(files=files))["pci.devices"].value[0].numa_node is UNSET


def space(control=0, *, capability=0x000D, loop=False):
    """A bridge's 4096 bytes: at 0x100 error reporting (1), at 0x150 Access Control Services (13) with its control register."""
    data = bytearray(4096)
    struct.pack_into("<I", data, 0x100, 0x0001 | 2 << 16 | 0x150 << 20)
    struct.pack_into("<IHH", data, 0x150, capability | 1 << 16 | (0x100 if loop else 0) << 20, 0x001F, control)
    return bytes(data)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (space(0b11101), True),
        (space(0b00100), True),
        (space(0b01000), True),
        (space(0b10011), False),
        (space(0b01100, capability=0x0019), False),
        (space(0b01100, capability=0x0019, loop=True), False),
        (bytes(4096), False),
        (b"\xff" * 4096, False),
        (space(0b01100)[:64], None),
        (space(0b01100)[:256], None),
        (b"", None),
    ],
)
def test_redirection_in_a_bridges_configuration_space(config, expected):
    assert acs_redirects(config) is expected


@given(st.binary(max_size=64), st.integers(0, 4095))
def test_no_configuration_space_makes_the_reader_fail(noise, at):
    data = bytearray(space(0b01100))
    data[at : at + len(noise)] = noise
    assert acs_redirects(bytes(data[:4096])) in (True, False)


ROOT = "/sys/devices/pci0000:16"
TREE = {
    "/sys/bus/pci/devices/0000:18:00.0": f"{ROOT}/0000:16:02.0/0000:17:00.0/0000:18:00.0",
    "/sys/bus/pci/devices/0000:2a:00.0": f"{ROOT}/0000:16:02.0/0000:17:01.0/0000:2a:00.0",
}
BRIDGES = [f"{ROOT}/0000:16:02.0/0000:17:00.0/config", f"{ROOT}/0000:16:02.0/config", f"{ROOT}/0000:16:02.0/0000:17:01.0/config"]


def two_gpus(bus, configs):
    """Two GPUs below two ports of one switch."""
    found = bus(H20[0], H20[1])
    moved = {f"{TREE.get(path.rpartition('/')[0], path.rpartition('/')[0])}/uevent": text for path, text in found.items()}
    return {"files": found | moved | dict(zip(BRIDGES, configs, strict=False)), "links": TREE}


def test_the_bridges_above_the_gpus_are_asked_each_once(look, bus):
    visit = look(**two_gpus(bus, [space(), space(), space()]))
    assert pci.acs_redirect(visit).value is False
    assert [path for path in visit.system.asked if path.endswith("/config")] == BRIDGES


@pytest.mark.parametrize("which", range(3))
def test_one_bridge_that_redirects_is_enough(look, bus, which):
    configs = [space(0b01100 if place == which else 0) for place in range(3)]
    fact = pci.acs_redirect(look(**two_gpus(bus, configs)))
    assert fact == Found(True, BRIDGES[which])


def test_without_root_one_short_answer_ends_the_question(look, bus):
    visit = look(**two_gpus(bus, [space(0b01100)[:64]] * 3))
    assert isinstance(pci.acs_redirect(visit), Unreadable)
    assert [path for path in visit.system.asked if path.endswith("/config")] == BRIDGES[:1]


def test_one_gpu_has_nobody_to_speak_to_and_a_virtual_bus_shows_no_bridge(look, bus):
    assert isinstance(pci.acs_redirect(look(files=bus(H20[0]))), Absent)
    assert isinstance(pci.acs_redirect(look(files=bus(*H20))), Unreadable)
    assert isinstance(pci.acs_redirect(look(**two_gpus(bus, [Unreadable("permission denied")]))), Unreadable)
