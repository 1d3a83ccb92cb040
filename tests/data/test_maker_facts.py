"""Makers of accelerators that run no CUDA: told by the bus, and by the names of their products, never by a name of NVIDIA's."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from envcheck.matrix.gpu_names import any_word
from envcheck.matrix.load import Matrix

NVIDIA_WITHOUT_THE_BRAND = (
    "Tesla T4",
    "GeForce RTX 4090",
    "GeForce MX150",
    "GeForce 910M",
    "Quadro RTX 8000",
    "GRID A100X-10C",
    "A100 SXM4 80GB MIG 1g.10gb",
    "H20",
    "",
)


def test_a_vendor_id_is_one_makers_and_never_nvidias(matrix: Matrix) -> None:
    vendors = Counter(maker.pci_vendor for maker in matrix.makers if maker.pci_vendor)
    assert {vendor: count for vendor, count in vendors.items() if count > 1} == {}
    assert len(vendors) >= 10
    assert all(re.fullmatch("[0-9a-f]{4}", vendor) for vendor in vendors)
    assert "10de" not in vendors


def test_every_maker_is_told_by_its_own_name(matrix: Matrix) -> None:
    """The probe writes the maker's name where it does not know the product's; read back, that must name the maker."""
    assert [maker.id for maker in matrix.makers if not maker.words or not any_word(maker.words).search(maker.name)] == []
    assert [maker.id for maker in matrix.makers if not matrix.names_other_maker(maker.name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "AMD Radeon RX 7900 XT",
        "Instinct MI210",
        "MI300X",
        "mi300a",
        "MI250",
        "Ascend 910B3",
        "910B",
        "910C",
        "Intel(R) Data Center GPU Max 1550",
        "Gaudi 3",
        "Hygon K100_AI",
        "MLU370-X8",
        "MTT S4000",
        "MetaX C500",
        "Kunlun R200",
        "Iluvatar BI-V150",
        "TPU v5e",
        "Enflame S60",
    ],
)
def test_products_of_other_makers(matrix: Matrix, name: str) -> None:
    assert matrix.names_other_maker(name)


def test_no_name_of_nvidias_is_another_makers(matrix: Matrix) -> None:
    names = [name for gpu in matrix.gpus for name in (gpu.name, *gpu.aliases)]
    assert len(names) > 100
    spelt = {spelling for name in names for spelling in (name, name.lower(), name.replace(" ", "-"), name.removeprefix("NVIDIA "))}
    assert [name for name in (*sorted(spelt), *NVIDIA_WITHOUT_THE_BRAND) if matrix.names_other_maker(name)] == []


def test_words_are_whole_and_mean_themselves() -> None:
    found = any_word(["MI#", "A.B"])
    assert [bool(found.search(name)) for name in ("mi300", "x MI8 y", "MI", "MIG", "MI300X", "ami300", "A.B", "AxB")] == [
        True,
        True,
        False,
        False,
        False,
        False,
        True,
        False,
    ]
    assert any_word([]).search("AMD") is None


def test_how_makers_are_looked_for_on_a_host(matrix: Matrix) -> None:
    signs = {one.id: one for one in matrix.maker_signs()}
    assert set(signs) == {maker.id for maker in matrix.makers}
    assert (signs["amd"].pci_vendor, signs["amd"].nodes) == ("1002", ("/dev/kfd",))
    # Classes that a processor's own graphics, a management chip or a neural unit share count for nobody who sells those too.
    assert {one.id for one in signs.values() if "0300" in one.classes} == {"metax", "moore-threads"}
    assert {one.id for one in signs.values() if not one.classes} == {"google-tpu", "intel", "kunlun"}
    assert "0380" not in signs["amd"].classes


def test_every_listed_product_is_told_by_its_name(matrix: Matrix) -> None:
    names = [(maker.id, name) for maker in matrix.makers for name in maker.devices.values()]
    assert len(names) > 50
    assert [entry for entry in names if not matrix.names_other_maker(entry[1])] == []


@pytest.mark.parametrize(
    ("maker", "device", "name"),
    [
        ("amd", "740f", "AMD Instinct MI210"),
        ("amd", "74a1", "AMD Instinct MI300X"),
        ("ascend", "d802", "Ascend 910B"),
        ("intel", "0bd5", "Intel Data Center GPU Max 1550"),
        ("habana", "1020", "Intel Gaudi 2"),
        ("google-tpu", "0063", "Google TPU v5e"),
        ("kunlun", "3684", "Kunlun AI Accelerator"),
    ],
)
def test_products_by_device_id(matrix: Matrix, maker: str, device: str, name: str) -> None:
    """Ids and names as in the PCI ID registry, vLLM's and gVisor's sources."""
    assert {one.id: one.devices for one in matrix.makers}[maker][device] == name
