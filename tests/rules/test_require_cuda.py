"""Start gates as real images carry them, and what is not certain."""

import pytest

from envcheck.model.versions import ComputeCapability
from envcheck.rules.require_cuda import Offer, refused, satisfied

DATA_CENTER = frozenset({"tesla", "nvidia"})
GEFORCE = frozenset({"geforce", "geforcertx"})
A10 = ComputeCapability(8, 6)
# The beginning of what nvidia/cuda 12.8.1 carries: data-center and workstation brands on the branches 470 and 535.
BASE_12_8 = (
    "cuda>=12.8 brand=unknown,driver>=470,driver<471 brand=grid,driver>=470,driver<471 brand=tesla,driver>=470,driver<471 "
    "brand=nvidia,driver>=470,driver<471 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=535,driver<536 "
    "brand=nvidia,driver>=535,driver<536 brand=quadro,driver>=535,driver<536"
)


def offer(cuda: tuple[int, ...] | None, driver: tuple[int, ...] | None, brand: frozenset[str] = DATA_CENTER) -> Offer:
    return Offer(cuda, driver, (A10,), (brand,))


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        (offer((12, 8), (570, 86)), True),  # shows the CUDA release itself
        (offer((13, 0), (580, 95)), True),
        (offer((12, 2), (535, 183, 1)), True),  # an older branch on the list
        (offer((12, 4), (550, 54, 15)), False),  # an older branch that this list has not
        (offer((12, 2), (535, 183, 1), GEFORCE), False),  # GeForce is on no list
        (offer((12, 8), (570, 86), GEFORCE), True),
        (Offer((12, 2), (535, 183, 1)), None),  # the brand decides, and is not known
        (Offer((12, 4), (550, 54, 15)), False),  # here it does not
        (Offer(None, None), None),
        (Offer(None, (580, 95)), None),
    ],
)
def test_the_gate_of_a_base_image(host: Offer, answer: bool | None) -> None:
    assert satisfied(BASE_12_8, host) is answer


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("cuda>=9.0", True),
        ("cuda>=11.0 driver>=450", True),
        ("cuda>=13.0,driver>=580", False),
        ("cuda>=13.0 driver>=535", True),
        ("arch>=8.0", True),
        ("arch>=9.0", False),
        ("driver>=535.183.01,driver<536", True),
        ("driver>=535.183.02,driver<536", False),
        ("brand!=geforce", True),
        ("brand=tesla", True),
        ("cuda=12.2", True),
        ("", True),
        ("compute>=5", None),
        ("cuda>=", None),
        ("cuda>=x y=z ,,, ", None),
    ],
)
def test_the_grammar(expression: str, answer: bool | None) -> None:
    assert satisfied(expression, offer((12, 2), (535, 183, 1))) is answer


def test_a_branch_alone_does_not_answer_for_its_releases() -> None:
    assert satisfied("driver>=535.183", offer((12, 2), (535,))) is None
    assert satisfied("driver>=535", offer((12, 2), (535,))) is True


@pytest.mark.parametrize(
    ("environment", "answer"),
    [
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8"}, ("NVIDIA_REQUIRE_CUDA", "cuda>=12.8")),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8", "NVIDIA_DISABLE_REQUIRE": "1"}, None),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8", "NVIDIA_DISABLE_REQUIRE": "true"}, None),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8", "NVIDIA_DISABLE_REQUIRE": "0"}, ("NVIDIA_REQUIRE_CUDA", "cuda>=12.8")),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.0", "NVIDIA_REQUIRE_DRIVER": "driver>=580"}, ("NVIDIA_REQUIRE_DRIVER", "driver>=580")),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.0"}, None),
        ({"PATH": "/bin"}, None),
        ({"NVIDIA_REQUIRE_CUDA": ""}, None),
    ],
)
def test_several_variables_hold_together_and_one_switches_them_off(environment: dict[str, str], answer: tuple[str, str] | None) -> None:
    assert refused(environment, offer((12, 2), (535, 183, 1))) == answer


def test_a_monstrous_expression_is_cut() -> None:
    assert satisfied("cuda>=99 " * 100_000, offer((12, 2), (535,))) is False
