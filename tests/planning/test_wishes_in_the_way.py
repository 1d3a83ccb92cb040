"""Where only a wish keeps a host from being mended, that is said: no other hardware, no plan for what cannot run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from envcheck.model.request import Pins

PlanFor = Callable[..., Any]

SYSTEM = {"os": {"id": "ubuntu", "version": "22.04", "arch": "x86_64", "glibc": "2.35"}, "python": {"version": "3.10.12"}}
H20 = [{"index": index, "name": "NVIDIA H20", "compute_capability": "9.0", "memory_mib": 97871} for index in range(8)]
STOPPED = {"driver": {"version": "535.183.06"}, "gpus": H20, "fabric": {"nvswitch": True, "manager": "stopped", "state": "in progress"}}
RTX_5090 = [{"index": 0, "name": "NVIDIA GeForce RTX 5090", "compute_capability": "12.0", "memory_mib": 32607}]
OLD = {"driver": {"version": "550.90.07", "nvml": "ok"}, "gpus": RTX_5090}
KEPLER = {"driver": {"version": "470.256.02"}, "gpus": [{"index": 0, "name": "Tesla K80", "compute_capability": "3.7"}]}


@pytest.mark.parametrize(
    ("facts", "pins", "option"),
    [
        (STOPPED, Pins(root=False), "`--no-root`"),
        (OLD, Pins(root=False), "`--no-root`"),
        (OLD, Pins(python="3.6"), "`--with-python 3.6`"),
    ],
    ids=["fabric", "driver", "python"],
)
def test_a_wish_that_leaves_no_way_is_named(plan_for: PlanFor, facts: dict[str, Any], pins: Pins, option: str) -> None:
    assert plan_for({**SYSTEM, **facts}).plan.ways[0].kind != "hardware"  # without the wish the host itself can be mended
    plan = plan_for({**SYSTEM, **facts}, pins=pins).plan
    (way,) = plan.ways
    assert (way.title.key, way.title.params) == ("way.wishes", {"options": option})
    assert (plan.stack, plan.install, plan.choice) == (None, (), ())


def test_a_wish_beside_a_gpu_that_nothing_serves_is_not_to_blame(plan_for: PlanFor) -> None:
    assert plan_for({**SYSTEM, **KEPLER}, pins=Pins(root=False)).plan.ways[0].title.key == "way.hardware"


def test_an_interpreter_that_is_wanted_is_planned_however_old(plan_for: PlanFor) -> None:
    # 0.10.2 takes Python from 3.9 on by its metadata
    facts = {**SYSTEM, "driver": {"version": "550.54.15"}, "gpus": [{"index": 0, "name": "NVIDIA A10", "compute_capability": "8.6"}]}
    plan = plan_for(facts, vllm="0.10.2", pins=Pins(python="3.9")).plan
    assert (plan.stack.vllm, plan.stack.python, plan.ways[0].stack) == ("0.10.2", "3.9", plan.stack)


def test_a_torch_that_is_wanted_is_no_reason_to_call_its_release_the_newest(plan_for: PlanFor) -> None:
    facts = {**SYSTEM, "driver": {"version": "550.54.15"}, "gpus": [{"index": 0, "name": "NVIDIA A10", "compute_capability": "8.6"}]}
    plan = plan_for(facts, pins=Pins(torch="2.8.0")).plan
    assert plan.stack.torch == "2.8.0"
    assert plan.choice == ()
    assert [note.key for note in plan.notes if note.key.startswith("plan.note.advisories")] == []
