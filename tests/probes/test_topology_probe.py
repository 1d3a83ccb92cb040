import pytest
from msgspec import UNSET

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.model.host_parts import GpuPair
from envcheck.probes import topology
from envcheck.system.port import NvmlGpu, NvmlPair, NvmlReport


def report(*pairs, peers=((), ())):
    gpus = [NvmlGpu(index=index, nvlink_peers=list(kinds)) for index, kinds in enumerate(peers)]
    return NvmlReport("ok", gpus=gpus, gpu_count=len(gpus), pairs=list(pairs))


@pytest.mark.parametrize(
    ("level", "link"),
    [
        (0, "internal"),
        (10, "single-switch"),
        (20, "multiple-switches"),
        (30, "host-bridge"),
        (40, "node"),
        (50, "system"),
        (7, UNSET),
        (-1, UNSET),
    ],
)
def test_the_way_between_two(look, level, link):
    pair = NvmlPair(0, 1, ancestor=level, read=0, nvlink=5)
    assert topology.probe(look(nvml=report(pair)))["topology"].value == [GpuPair(0, 1, link, "ok")]


@pytest.mark.parametrize(
    ("status", "p2p"),
    [
        (0, "ok"),
        (1, "chipset-not-supported"),
        (2, "gpu-not-supported"),
        (3, "topology-not-supported"),
        (4, "disabled-by-regkey"),
        (5, "not-supported"),
        (6, "unknown"),
        (77, UNSET),
    ],
)
def test_whether_one_may_read_the_other(look, status, p2p):
    pair = NvmlPair(0, 1, ancestor=30, read=status, nvlink=5)
    assert topology.probe(look(nvml=report(pair)))["topology"].value == [GpuPair(0, 1, "host-bridge", p2p)]


@pytest.mark.parametrize(
    ("nvlink", "peers", "link"),
    [
        (0, ((), ()), "nvlink"),
        (5, (("switch",), ("switch",)), "system"),  # links are up, and yet the pair cannot use them
        (None, (("switch",), ("switch",)), "nvlink"),
        (None, (("switch",), ()), "system"),
        (None, (("gpu",), ("gpu",)), "nvlink"),
        (None, (("gpu",), ("gpu",), ("gpu",)), "system"),  # whose links lead to whom is not said
        (None, (("other",), ("other",)), "system"),
        (None, ((), ()), "system"),
    ],
)
def test_nvlink_where_nvml_says_so_or_nothing_else_can_be(look, nvlink, peers, link):
    pair = NvmlPair(0, 1, ancestor=50, read=0, nvlink=nvlink, errors={} if nvlink is not None else {"nvlink": "FunctionNotFound"})
    assert topology.probe(look(nvml=report(pair, peers=peers)))["topology"].value == [GpuPair(0, 1, link, "ok")]


def test_what_could_not_be_read_of_a_pair_says_why(look):
    pair = NvmlPair(0, 1, errors={"ancestor": "Unknown", "read": "FunctionNotFound", "nvlink": "FunctionNotFound"})
    facts = topology.probe(look(nvml=report(NvmlPair(0, 2, 50, 0, 5), pair)))
    assert facts["topology"] == Found([GpuPair(0, 2, "system", "ok"), GpuPair(0, 1)], "NVML")
    assert facts["topology.1.link"] == Unreadable("NVML: Unknown")
    assert facts["topology.1.p2p"] == Unreadable("NVML: FunctionNotFound")
    assert set(facts) == {"topology", "topology.1.link", "topology.1.p2p"}


def test_a_host_that_has_no_such_notion(look):
    pair = NvmlPair(0, 1, errors={"ancestor": "NotSupported", "read": "NotSupported", "nvlink": "NotSupported"})
    facts = topology.probe(look(nvml=report(pair)))
    assert facts == {"topology": Found([GpuPair(0, 1, None, None)], "NVML")}


def test_a_pair_of_gpus_that_are_not_listed_is_borne(look):
    assert topology.probe(look(nvml=report(NvmlPair(7, 9, ancestor=50))))["topology"].value == [GpuPair(7, 9, "system", UNSET)]


@pytest.mark.parametrize(
    ("nvml", "state"),
    [
        (NvmlReport("LibraryNotFound"), Absent),
        (NvmlReport("DriverNotLoaded"), Absent),
        (NvmlReport("ok", gpu_count=0), Absent),
        (NvmlReport("ok", gpus=[NvmlGpu(index=0)], gpu_count=1), Absent),
        (NvmlReport("ok", gpus=[NvmlGpu(index=0), NvmlGpu(index=1, lost="GpuIsLost")], gpu_count=2), Unreadable),
        (NvmlReport("ok", gpus=[NvmlGpu(index=0), NvmlGpu(index=1)], gpu_count=2), Unreadable),
        (NvmlReport("Timeout", gpus=[NvmlGpu(index=0)], gpu_count=2), Unreadable),
        (NvmlReport("LibRmVersionMismatch"), Unreadable),
    ],
)
def test_no_pair_is_no_second_gpu_or_nobody_knows(look, nvml, state):
    assert isinstance(topology.probe(look(nvml=nvml))["topology"], state)
