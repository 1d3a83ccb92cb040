"""Ways that change the host as root: another driver branch, the forward-compatibility package; whose they are, and what they lead to."""

from __future__ import annotations

import copy
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Verdict
from envcheck.model.host import HostReport
from envcheck.model.request import Pins, Request
from envcheck.model.ways import Way
from envcheck.planning.ways.compat import compat
from envcheck.planning.ways.context import Context, context_of
from envcheck.planning.ways.drivers import drivers
from envcheck.rules.check import judge

A10, A100, V100, B200, RTX, L20 = (
    "NVIDIA A10",
    "NVIDIA A100-SXM4-80GB",
    "Tesla V100-SXM2-32GB",
    "NVIDIA B200",
    "NVIDIA GeForce RTX 4090",
    "NVIDIA L20",
)
BASE = {"os": {"id": "ubuntu", "version": "22.04", "arch": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12.3"}}
SUPPORTED = {580, 595, 620}  # NVIDIA's list of November 2026
GIVEN = (
    (V100, "470.182.03"),
    (A10, "535.183.01"),
    (A100, "550.90.07"),
    (RTX, "550.144.03"),
    (L20, "570.124.06"),
)


@pytest.fixture(scope="module")
def facts() -> Matrix:
    return Matrix(Path(__file__).parents[2] / "matrices")


def document(*gpus: str, driver: str | None = None, **more: Any) -> dict[str, Any]:
    """A host with a driver, by what differs from a plain one."""
    made: dict[str, Any] = copy.deepcopy(BASE) | {"gpus": [{"name": name, "index": place} for place, name in enumerate(gpus)]}
    made["os"] = made["os"] | more.pop("os", {})
    return made | ({"driver": {"version": driver}} if driver else {}) | more


def given(facts: Matrix, host: dict[str, Any], **asked: Any) -> Context:
    """The context of a host and a request."""
    request = Request(**asked)
    judgement = judge(msgspec.convert(host, HostReport, strict=False), facts, request)
    return context_of(judgement, facts, request)


def changed(host: dict[str, Any], way: Way) -> dict[str, Any]:
    """The host after a way, by the dotted paths of its facts."""
    found = copy.deepcopy(host)
    for path, value in way.after.items():
        place = found
        *parents, last = path.split(".")
        for parent in parents:
            if not isinstance(place.get(parent), dict):
                place[parent] = {}
            place = place[parent]
        place[last] = value
    return found


def proven(facts: Matrix, host: dict[str, Any], way: Way) -> Verdict:
    return judge(msgspec.convert(changed(host, way), HostReport, strict=False), facts, Request(vllm=way.asks)).verdict


def branch(way: Way) -> int:
    return int(str(way.title.params["branch"]))


@pytest.mark.parametrize(("gpu", "driver"), GIVEN)
def test_a_way_leads_where_it_says(facts: Matrix, gpu: str, driver: str) -> None:
    host = document(gpu, driver=driver)
    ways = [*compat(given(facts, host)), *drivers(given(facts, host))]
    assert any(way.kind == "driver" for way in ways)
    for way in ways:
        assert proven(facts, host, way) in (Verdict.READY, Verdict.READY_WITH_WARNINGS), way
        assert way.stack is not None
        assert str(way.asks).split("+")[0] == way.stack.vllm


@pytest.mark.parametrize(("gpu", "driver"), GIVEN)
def test_the_branch_is_supported_and_newer(facts: Matrix, gpu: str, driver: str) -> None:
    found = [branch(way) for way in drivers(given(facts, document(gpu, driver=driver)))]
    assert set(found) <= SUPPORTED
    assert found[0] == 580  # the smallest that is supported and runs CUDA 13, which the newest release needs
    assert min(found) > int(driver.split(".", maxsplit=1)[0])


def test_nothing_is_offered_where_it_leads_nowhere(facts: Matrix) -> None:
    # CUDA 12 runs from driver 525.60.13 on, and no wheel of CUDA 13 has code for Volta
    assert list(drivers(given(facts, document(V100, driver="535.183.01")))) == []


def test_volta_gets_its_last_branch_with_the_proprietary_module(facts: Matrix) -> None:
    (way,) = drivers(given(facts, document(V100, driver="470.182.03")))
    assert branch(way) == 580
    assert way.title.params["flavour"] == "proprietary"
    assert not any("-open" in line for line in way.commands)
    assert way.why[0].key == "way.why.last-branch"


def test_a_driver_that_has_dropped_the_card_is_replaced_by_the_last_one_for_it(facts: Matrix) -> None:
    host = document(V100, driver="595.71.05")
    assert judge(msgspec.convert(host, HostReport), facts, Request()).verdict is Verdict.BLOCKED
    (way,) = drivers(given(facts, host))
    assert branch(way) == 580
    assert proven(facts, host, way) is not Verdict.BLOCKED


def test_blackwell_with_the_other_module_gets_the_open_one(facts: Matrix) -> None:
    host = document(B200)
    host["driver"] = {"version": "580.95.05", "flavour": "proprietary", "nvml": "DeviceNotFound"}
    assert judge(msgspec.convert(host, HostReport), facts, Request()).verdict is Verdict.BLOCKED
    ways = list(drivers(given(facts, host)))
    assert (branch(ways[0]), ways[0].title.params["flavour"]) == (580, "open")
    assert "sudo apt-get install -y nvidia-driver-580-server-open" in ways[0].commands
    assert proven(facts, host, ways[0]) is Verdict.READY


@pytest.mark.parametrize(
    ("device", "name", "package"), [("2684", RTX, "nvidia-driver-580-open"), ("2236", A10, "nvidia-driver-580-server-open")]
)
def test_a_card_that_only_the_bus_shows_gets_its_driver(facts: Matrix, device: str, name: str, package: str) -> None:
    bus = {"devices": [{"address": "0000:01:00.0", "vendor": "10de", "device": device, "kind": "gpu", "driver": "nouveau"}]}
    host = document(pci=bus, driver=None, kernel_modules={"nouveau": True}, kernel_log={"events": ["nouveau-conflict"]}) | {"driver": None}
    assert judge(msgspec.convert(host, HostReport), facts, Request()).verdict is Verdict.BLOCKED
    ways = list(drivers(given(facts, host)))
    assert f"sudo apt-get install -y {package}" in ways[0].commands
    assert changed(host, ways[0])["gpus"][0]["name"] == name
    assert proven(facts, host, ways[0]) in (Verdict.READY, Verdict.READY_WITH_WARNINGS)


@pytest.mark.parametrize("where", [{"os": {"wsl": True}}, {"container": {"kind": "docker"}}, {"container": {"kind": "kubernetes"}}])
def test_windows_and_container_hosts_change_their_drivers_themselves(facts: Matrix, where: dict[str, Any]) -> None:
    systems = {record.distribution: (record.versions or ["1"])[-1] for record in facts.root_steps.file.systems}
    for (distribution, version), (gpu, driver), root in product(systems.items(), GIVEN, (True, False)):
        here = {key: value for key, value in where.items() if key != "os"}
        os = {"id": distribution, "version": version, **where.get("os", {})}
        host = document(gpu, driver=driver, os=os, limits={"root": root}, **here)
        for way in drivers(given(facts, host)):
            assert way.commands == ()
            assert way.title.key in ("way.driver.wsl", "way.driver.container")
        found = list(compat(given(facts, host)))
        assert not found or (root and "container" in where)
        assert not any("nvidia-driver" in line or "nvidia-open" in line or "modprobe" in line for way in found for line in way.commands)


def test_compat_is_for_data_center_cards_on_older_drivers(facts: Matrix) -> None:
    for gpu in facts.gpus:
        for driver in ("535.183.01", "580.95.05", "595.71.05"):
            for way in compat(given(facts, document(gpu.name, driver=driver))):
                assert gpu.kind == "data-center", gpu.name  # GeForce and workstation cards end with 804
                loaded = str(way.after["libcuda"]["version"])
                assert int(loaded.split(".", maxsplit=1)[0]) > int(driver.split(".")[0])  # an older one ends with 803
    assert list(compat(given(facts, document(A10, RTX, driver="535.183.01")))) == []
    assert list(compat(given(facts, document(A10, driver="470.182.03")))) == []  # no package is made for that branch any more


def test_compat_installs_and_puts_its_folder_first(facts: Matrix) -> None:
    (way,) = compat(given(facts, document(A100, driver="550.90.07")))
    assert way.commands[-2:] == (
        "sudo apt-get install -y cuda-compat-13-0",
        "export LD_LIBRARY_PATH=/usr/local/cuda-13.0/compat${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
    )
    assert (way.cost.root, way.cost.reboot) == (True, False)


def test_what_is_asked_for_decides_what_is_enough(facts: Matrix) -> None:
    # wheels of 0.10.2 on the index are for CUDA 12, which driver 470 does not run and 580 does
    host = document(V100, driver="470.182.03")
    (way,) = drivers(given(facts, host, vllm="0.10.2"))
    assert way.asks == "0.10.2"
    # where the release runs already, nothing is to be opened
    assert list(drivers(given(facts, document(A10, driver="580.95.05"), vllm="0.19.1"))) == []


def test_what_is_to_be_kept_is_kept_or_named(facts: Matrix) -> None:
    host = document(A10, driver="535.183.01")
    assert list(drivers(given(facts, host, pins=Pins(root=False)))) == []
    assert list(compat(given(facts, host, pins=Pins(root=False)))) == []
    for way in drivers(given(facts, host, pins=Pins(driver=True))):
        assert way.breaks == ("driver",)
        assert way.title.key == "way.driver.host-pinned"
    assert all(not way.breaks for way in compat(given(facts, host, pins=Pins(driver=True))))


def test_a_torch_to_be_kept_decides_the_release(facts: Matrix) -> None:
    host = document(V100, driver="470.182.03")  # runs wheels of CUDA 11.8 alone
    (way,) = drivers(given(facts, host, pins=Pins(torch="2.7.1")))
    assert way.stack is not None
    assert way.stack.torch == "2.7.1"
    assert way.breaks == ()


def test_an_interpreter_that_does_not_serve_is_left_aside(facts: Matrix) -> None:
    host = document(A10, driver="535.183.01", python={"version": "3.8.10"})
    for way in (*compat(given(facts, host)), *drivers(given(facts, host))):
        assert way.stack is not None
        assert way.after["python.version"] == way.stack.python
        assert proven(facts, host, way) is not Verdict.BLOCKED


def test_a_forward_compatibility_libcuda_goes_before_the_new_driver_comes(facts: Matrix) -> None:
    loaded = {"path": "/usr/local/cuda-12.4/compat/libcuda.so.1", "version": "550.54.15", "compat": True}
    path = "/usr/local/cuda-12.4/compat:/opt/lib"
    host = document(A10, driver="535.183.01", libcuda=loaded, environment={"LD_LIBRARY_PATH": path})
    way = next(drivers(given(facts, host)))
    assert [step.note.key for step in way.first] == ["remedy.drop-compat"]
    assert way.after["environment.LD_LIBRARY_PATH"] == "/opt/lib"
    assert proven(facts, host, way) is not Verdict.BLOCKED


def test_where_no_package_source_is_known_the_page_is_named(facts: Matrix) -> None:
    way = next(drivers(given(facts, document(A10, driver="535.183.01", os={"id": "openeuler", "version": "22.03"}))))
    assert way.commands == ()
    assert [text.params["page"] for text in way.why if text.key == "way.why.no-commands"] == ["https://docs.openeuler.org/"]
    way = next(drivers(given(facts, document(A10, driver="535.183.01", os={"id": "anolis", "version": "8.8"}))))
    assert way.commands
    assert "way.why.unverified" in [text.key for text in way.why]


@pytest.mark.parametrize(
    ("more", "shared"),
    [
        ({}, False),
        ({"cloud": {"provider": "aliyun"}}, False),
        ({"cloud": {"platform": "autodl"}}, True),
        ({"container": {"kind": "docker"}}, True),
    ],
)
def test_others_on_the_machine_are_told_of(facts: Matrix, more: dict[str, Any], shared: bool) -> None:
    way = next(drivers(given(facts, document(A10, driver="535.183.01", **more))))
    assert way.cost.shared is shared
    assert (way.cost.root, way.cost.reboot) == (True, True)


def test_an_old_kernel_and_secure_boot_are_said(facts: Matrix) -> None:
    way = next(drivers(given(facts, document(A10, driver="535.183.01", os={"kernel": "3.10.0-1160.el7.x86_64"}, secure_boot=True))))
    assert {"way.why.kernel-too-old", "way.why.secure-boot"} <= {text.key for text in way.why}  # branch 580 takes Linux 4.15 or newer
    assert "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der" in way.commands
