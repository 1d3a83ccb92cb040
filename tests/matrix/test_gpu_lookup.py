"""GPUs by the names that NVML, nvidia-smi, old drivers, vGPU guests and people give them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.matrix.load import Matrix


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("NVIDIA A10", "NVIDIA A10"),
        ("A10", "NVIDIA A10"),
        ("nvidia  a10 ", "NVIDIA A10"),
        ("Tesla V100-SXM2-32GB", "Tesla V100-SXM2-32GB"),
        ("NVIDIA Tesla V100-SXM2-32GB", "Tesla V100-SXM2-32GB"),
        ("A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA H100 80GB HBM3 (MIG 2g.20gb)", "NVIDIA H100 80GB HBM3"),
        ("Jetson AGX Orin", "Orin (nvgpu)"),
        ("GRID T4-16Q", "Tesla T4"),
        ("NVIDIA A10-24Q", "NVIDIA A10"),
        ("NVIDIA L20-48Q", "NVIDIA L20"),
        ("GeForce RTX 3090", "NVIDIA GeForce RTX 3090"),
        ("RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("rtx4090", "NVIDIA GeForce RTX 4090"),
        ("4090", "NVIDIA GeForce RTX 4090"),
        ("RTX 3090Ti", "NVIDIA GeForce RTX 3090 Ti"),
        ("RTX 4090 D", "NVIDIA GeForce RTX 4090 D"),
        ("H20-3e", "NVIDIA H20-3e"),
        ("NVIDIA RTX PRO 6000 Blackwell", "NVIDIA RTX PRO 6000 Blackwell"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 6000 Blackwell Server Edition"),
        ("A100", "NVIDIA A100"),
        ("H100 SXM5", "NVIDIA H100 80GB HBM3"),
    ],
)
def test_spellings(matrix: Matrix, spelling: str, name: str) -> None:
    found = matrix.gpu(spelling)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "spelling",
    [
        "",
        "NVIDIA",
        "NVIDIA Graphics Device",
        "GPU",
        "RTX 50xx",
        "NVIDIA GeForce RTX 50xx",
        "A1",
        "A1000000",
        "Radeon RX 7900 XT",
        "Ascend 910B3",
    ],
)
def test_what_is_no_known_gpu(matrix: Matrix, spelling: str) -> None:
    assert matrix.gpu(spelling) is None


def test_a_name_without_a_board_leaves_what_boards_differ_in(matrix: Matrix) -> None:
    """A100 comes with 40 and 80 GB, as SXM and PCIe, always with compute capability 8.0."""
    found = matrix.gpu("A100")
    assert found is not None
    assert (found.compute_capability, found.memory_mib, found.nvswitch_board) == ("8.0", None, False)


@given(st.text(max_size=300))
def test_any_text_is_a_gpu_or_none(matrix: Matrix, text: str) -> None:
    found = matrix.gpu(text)
    assert found is None or found in matrix.gpus


@pytest.mark.parametrize(
    ("device", "capability"), [("2236", "8.6"), ("0x1EB8", "7.5"), ("2330", "9.0"), ("2329", "9.0"), ("2b85", "12.0"), ("20b5", "8.0")]
)
def test_pci_ids(matrix: Matrix, device: str, capability: str) -> None:
    """Ids of the driver's list: A10, T4, H100 SXM, H20, RTX 5090, A100 80GB."""
    found = matrix.gpu_by_pci(device)
    assert found is not None
    assert found.compute_capability == capability


def test_an_unknown_pci_id(matrix: Matrix) -> None:
    assert matrix.gpu_by_pci("ffff") is None


def test_boards_that_share_a_pci_id_share_the_compute_capability(matrix: Matrix) -> None:
    capabilities: dict[str, str] = {}
    for gpu in matrix.gpus:
        for device in gpu.pci_ids:
            assert capabilities.setdefault(device, gpu.compute_capability) == gpu.compute_capability
