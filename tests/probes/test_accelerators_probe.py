"""Accelerators of other makers: each shipped sign alone, and what merely looks like one."""

import pytest
from msgspec import UNSET

from envcheck.model.fact import Found, Unreadable
from envcheck.model.host import Accelerator
from envcheck.probes import accelerators

NVIDIA = ("0000:01:00.0", "10DE:2684", "30000", "nvidia")


def listed(look, **host):
    fact = accelerators.probe(look(**host))["accelerators"]
    return fact.value if isinstance(fact, Found) else fact


def card(vendor, device="ffff", class_code="120000", address="0000:3b:00.0"):
    return (address, f"{vendor}:{device}".upper(), class_code, None)


def test_every_listed_device_is_named_whatever_its_class(look, bus, makers):
    for maker in makers:
        for device, name in maker.devices.items():
            found = listed(look, files=bus(NVIDIA, card(maker.pci_vendor, device, "30000")))
            assert found == [Accelerator(maker.id, name, 1)]


def test_every_class_that_counts_and_no_other(look, bus, makers):
    for maker in makers:
        for code in ("0300", "0302", "0380", "1200", "0200", "0604", "0108", "1180", "0c03"):
            found = listed(look, files=bus(card(maker.pci_vendor, "fffe", f"{code}00")))
            assert found == ([Accelerator(maker.id, maker.name, 1)] if code in maker.classes else []), (maker.id, code)


def test_every_numbered_node_is_counted_where_the_bus_is_hidden(look, makers):
    seen = set()
    for maker in makers:
        for node in maker.nodes:
            if node.endswith("#"):
                files = {f"{node[:-1]}{number}": "" for number in (0, 1, 2, 11)} | {"/dev/null": "", "/dev/tty1": ""}
                assert listed(look, files=files) == [Accelerator(maker.id, maker.name, 4)]
                seen.add(maker.id)
    assert len(seen) >= 8


def test_near_misses_of_every_node_show_nobody(look, makers):
    for maker in makers:
        for node in maker.nodes:
            stem = node.rstrip("#")
            files = {f"{stem}x7": "", f"{stem}_old": "", f"/devices{stem}0": ""} | ({f"{stem}/0": ""} if node.endswith("#") else {})
            assert listed(look, files=files | {"/dev/accel/accel0": ""}) == [], node


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(card("8086", "3e92", "30000", "0000:00:02.0"), id="a desktop processor's graphics"),
        pytest.param(card("8086", "a780", "38000", "0000:00:02.0"), id="graphics without a screen"),
        pytest.param(card("8086", "7d1d", "120000", "0000:00:0b.0"), id="a laptop's neural unit"),
        pytest.param(card("1002", "164e", "30000", "0000:10:00.0"), id="a desktop processor's graphics of AMD's"),
        pytest.param(card("1002", "15bf", "38000", "0000:c4:00.0"), id="the same without a screen"),
        pytest.param(card("19e5", "1711", "30000", "0000:05:00.0"), id="a server's management chip"),
        pytest.param(card("1ae0", "0042", "20000", "0000:00:04.0"), id="a virtual network card"),
        pytest.param(card("1d22", "1380", "10802", "0000:00:05.0"), id="a storage device"),
        pytest.param(card("1d94", "1451", "60000", "0000:00:00.1"), id="a processor's bridge"),
    ],
)
def test_what_is_no_accelerator_beside_an_nvidia_gpu(look, bus, function):
    files = bus(NVIDIA, function) | {"/dev/kfd": "", "/dev/dri/card0": "", "/dev/nvidia0": ""}
    assert listed(look, files=files) == []


def test_a_node_that_two_drivers_make(look, bus):
    assert listed(look, files={"/dev/kfd": ""}) == [Accelerator("amd", "AMD", UNSET)]
    assert listed(look, files={"/dev/kfd": ""}, which={"hy-smi": "/opt/hyhal/bin/hy-smi"}) == [Accelerator("hygon", "Hygon DCU", UNSET)]
    assert listed(look, files={"/dev/kfd": ""} | bus(card("1d94", "54b7", "38000"))) == [Accelerator("hygon", "Hygon DCU", 1)]


def test_a_container_uses_the_nodes_it_was_given(look, bus):
    cards = [card("19e5", "d802", "120000", f"0000:{number}1:00.0") for number in range(8)]
    files = bus(*cards) | {"/dev/davinci3": "", "/dev/davinci_manager": ""}
    assert listed(look, files=files) == [Accelerator("ascend", "Ascend 910B", 1)]


def test_two_products_of_one_maker(look, bus):
    cards = (card("1002", "74a1", address="0000:05:00.0"), card("1002", "740f", "38000", "0000:06:00.0"), card("1002", "74a1"))
    files = bus(*cards) | {"/dev/kfd": ""}
    assert listed(look, files=files) == [Accelerator("amd", "AMD Instinct MI300X", 2), Accelerator("amd", "AMD Instinct MI210", 1)]


def test_what_showed_them_is_told(look, bus):
    files = bus(card("19e5", "d802")) | {"/dev/davinci0": ""}
    visit = look(files=files, which={"npu-smi": "/usr/local/bin/npu-smi"}, full=True)
    assert accelerators.probe(visit)["accelerators.ascend"] == Found(1, "PCI vendor 19e5, /dev/davinci#, npu-smi on PATH")


def test_a_bus_that_cannot_be_read_may_hold_some(look, bus):
    closed = dict.fromkeys(bus(NVIDIA), Unreadable("permission denied"))
    fact = listed(look, files=closed, which={"npu-smi": "/bin/npu-smi"}, full=True)
    assert isinstance(fact, Unreadable)
    assert fact.why.endswith("; on PATH: npu-smi")


def test_a_container_without_a_bus_may_hide_some(look):
    assert isinstance(listed(look, files={"/.dockerenv": ""}), Unreadable)
    assert listed(look, files={}) == []


def test_makers_are_needed(look):
    assert accelerators.probe(look(makers=()))["accelerators"] == Unreadable("no makers to look for")
