"""`--gpu`: the card that is named, wholly, or none."""

from __future__ import annotations

import pytest

from envcheck.cli.cards import host_of_cards
from envcheck.errors import UsageError
from envcheck.matrix.load import load
from envcheck.model.host import known

MATRIX = load()


@pytest.mark.parametrize("name", [gpu.name for gpu in MATRIX.gpus])
def test_every_card_is_found_by_its_own_name(name: str) -> None:
    assert [known(gpu.name) for gpu in known(host_of_cards(name, MATRIX).gpus) or ()] == [name]


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [
        ("A10", 1, "NVIDIA A10"),
        ("A10 x2", 2, "NVIDIA A10"),
        ("2x A10", 2, "NVIDIA A10"),
        ("H20 ×8", 8, "NVIDIA H20"),
        ("rtx4090", 1, "NVIDIA GeForce RTX 4090"),
        ("RTX 4090 laptop", 1, "NVIDIA GeForce RTX 4090 Laptop GPU"),
        ("4090D", 1, "NVIDIA GeForce RTX 4090 D"),
        ("GeForce RTX 3090Ti", 1, "NVIDIA GeForce RTX 3090 Ti"),
        ("a100-sxm4-80gb x4", 4, "NVIDIA A100-SXM4-80GB"),
    ],
)
def test_cards_as_people_write_them(text: str, count: int, name: str) -> None:
    assert [known(gpu.name) for gpu in known(host_of_cards(text, MATRIX).gpus) or ()] == [name] * count


@pytest.mark.parametrize("text", ["A10 x-1", "A10 x99999", "A10 x2.5", "A10 x2 banana", "A10, A10", "A10 x0", "A10 x65", "NVIDIA A10-24Q"])
def test_what_is_left_over_is_no_card(text: str) -> None:
    with pytest.raises(UsageError):
        host_of_cards(text, MATRIX)


def test_a_slice_is_no_whole_card() -> None:
    with pytest.raises(UsageError):
        host_of_cards("NVIDIA H100 PCIe MIG 3g.40gb x2", MATRIX)
