"""Which GPU's memory is counted: that of the GPUs a server would use, a slice as a slice."""

from __future__ import annotations

import pytest

from envcheck.cli.memory import seen
from envcheck.model.host import Gpu, HostReport
from envcheck.model.units import GIB, MIB
from envcheck.sizing.request import Sizer


@pytest.fixture
def sizer(facts):
    return Sizer(facts, lambda _: None)


def gpu(index, mib, name="NVIDIA GeForce RTX 4090", **more):
    return Gpu(index=index, name=name, memory_mib=float(mib), **more)


MIXED = HostReport(gpus=[gpu(0, 24564), gpu(1, 24564), gpu(2, 8192, "NVIDIA GeForce RTX 2080")])


def test_one_rank_is_counted_for_the_first_card_not_for_the_smallest(sizer):
    card = sizer.card(MIXED)
    assert card.nvml_bytes == 24564 * MIB
    assert card.count == 2  # a third rank would land on the small one


def test_ranks_on_all_cards_are_counted_for_the_smallest(sizer):
    card = sizer.card(MIXED, 3)
    assert card.nvml_bytes == 8192 * MIB
    assert card.count == 3


def test_two_cards_of_one_model_are_alike_though_they_differ_by_a_few_mib(sizer):
    assert sizer.card(HostReport(gpus=[gpu(0, 24564), gpu(1, 24540)])).count == 2


def test_a_hidden_card_is_not_counted():
    host = HostReport(gpus=[gpu(0, 8192), gpu(1, 24564)], environment={"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert [shown.memory_mib for shown in seen(host).gpus] == [24564.0]


def test_a_process_gets_one_slice():
    slices = [gpu(0, 40448, "NVIDIA H100 PCIe MIG 3g.40gb", mig="3g.40gb", uuid=f"MIG-{n}") for n in range(2)]
    assert len(seen(HostReport(gpus=slices, environment={})).gpus) == 1


@pytest.mark.parametrize("mig", ["3g.40gb", True])
def test_a_slice_whose_driver_reports_the_board(sizer, mig):
    card = sizer.card(HostReport(gpus=[gpu(0, 81559, "NVIDIA H100 PCIe MIG 3g.40gb", mig=mig)]))
    assert 38 * GIB <= card.nvml_bytes <= 40 * GIB


def test_a_slice_that_reports_its_own_memory_is_believed(sizer):
    assert sizer.card(HostReport(gpus=[gpu(0, 40448, "NVIDIA H100 PCIe MIG 3g.40gb", mig="3g.40gb")])).nvml_bytes == 40448 * MIB
