import pytest
from msgspec import UNSET

from envcheck.model.fact import Found, Unreadable
from envcheck.model.host_parts import NetworkPort
from envcheck.probes import interconnect
from envcheck.probes.interconnect import parse_rate, parse_state

CLASS = "/sys/class/infiniband"


def port(device, number, state, rate, layer):
    folder = f"{CLASS}/{device}/ports/{number}"
    return {f"{folder}/state": state, f"{folder}/rate": rate, f"{folder}/link_layer": layer}


def test_nothing_of_it_costs_a_few_looks(look):
    visit = look(files={"/sys/class/net/eth0": "", "/sys/module/nvidia/version": ""})
    facts = interconnect.probe(visit)
    assert {path: fact.value for path, fact in facts.items()} == {
        "interconnect.ports": [],
        "interconnect.peermem": False,
        "interconnect.devices": False,
        "interconnect.imex_channels": 0,
    }
    assert visit.system.asked == []


def test_a_hidden_sysfs_tells_nothing(look):
    facts = interconnect.probe(look())
    assert isinstance(facts["interconnect.ports"], Unreadable)
    assert isinstance(facts["interconnect.peermem"], Unreadable)


def test_infiniband_and_roce(look):
    files = port("mlx5_0", 1, "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n", "InfiniBand\n")
    files |= port("mlx5_bond_0", 1, "1: DOWN\n", "40 Gb/sec (4X QDR)\n", "Ethernet\n")
    files |= {"/sys/module/nvidia_peermem/initstate": "live\n", "/dev/infiniband/uverbs0": ""}
    facts = interconnect.probe(look(files=files))
    assert facts["interconnect.ports"].value == [
        NetworkPort("mlx5_0", 1, "infiniband", "ACTIVE", 400.0),
        NetworkPort("mlx5_bond_0", 1, "roce", "DOWN", 40.0),
    ]
    assert facts["interconnect.peermem"] == Found(True, "/sys/module/nvidia_peermem")
    assert facts["interconnect.devices"].value is True


def test_amazons_cards_by_driver_or_by_their_first_name(look):
    files = port("rdmap16s27", 1, "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n", "Unspecified\n")
    files |= port("efa_0", 1, "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n", "Unspecified\n")
    files |= port("rdmap1s1", 1, "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n", "Unspecified\n")
    links = {f"{CLASS}/rdmap16s27/device/driver": "/sys/bus/pci/drivers/efa", f"{CLASS}/rdmap1s1/device/driver": "/sys/bus/pci/drivers/odd"}
    drivers = {"/sys/bus/pci/drivers/efa/module": "", "/sys/bus/pci/drivers/odd/module": ""}
    found = interconnect.ports(look(files=files | drivers, links=links)).value
    assert {one.device: one.kind for one in found} == {"efa_0": "efa", "rdmap16s27": "efa", "rdmap1s1": UNSET}


def test_a_port_that_says_nothing_is_still_a_port(look):
    (found,) = interconnect.ports(look(files={f"{CLASS}/mlx5_0/ports/x/gids": ""})).value
    assert found == NetworkPort("mlx5_0")


def test_a_host_of_endless_ports(look):
    files = {f"{CLASS}/mlx5_{number}/ports/1/state": "4: ACTIVE\n" for number in range(100)}
    assert len(interconnect.ports(look(files=files)).value) == 32


def test_channels_of_multi_node_nvlink(look):
    files = {f"/dev/nvidia-caps-imex-channels/channel{number}": "" for number in range(3)}
    assert interconnect.imex_channels(look(files=files)) == 3


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("400 Gb/sec (4X NDR)", 400.0),
        ("2.5 Gb/sec (1X SDR)", 2.5),
        ("", None),
        ("x Gb/sec", None),
        ("1e9 Gb/sec", None),
        ("10 Mb/sec", None),
    ],
)
def test_rates(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize(("text", "state"), [("4: ACTIVE", "ACTIVE"), ("1: DOWN", "DOWN"), ("ARMED", "ARMED"), ("", "")])
def test_states(text, state):
    assert parse_state(text) == state
