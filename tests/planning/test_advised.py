"""A plan marks what is open in each stack, and says when the host holds it at a release with grave advisories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from envcheck.matrix.load import Matrix

PlanFor = Callable[..., Any]
HostOf = Callable[..., dict[str, Any]]


def test_each_stack_is_marked(plan_for: PlanFor, host_of: HostOf) -> None:
    plan = plan_for(host_of("NVIDIA A10", "8.6", "535.161.08"), vllm="0.18.1").plan
    found = plan.stack.advisories
    # 59 by the published ranges; the key bypass is the gravest that a text model on one host may meet
    assert (plan.stack.vllm, found.open, found.gravest, found.newer_than_data) == ("0.18.1", 59, "CVE-2026-48746", False)
    assert found.fixed == "0.31.0"
    assert found.met == 0
    assert all(stack.advisories is not None for stack in (*plan.alternatives, *plan.ways_out))


def test_what_is_newer_than_the_data_is_marked_so(plan_for: PlanFor, host_of: HostOf) -> None:
    found = plan_for(host_of("NVIDIA A10", "8.6", "580.95.05")).plan.stack.advisories
    assert (found.open, found.grave, found.newer_than_data) == (1, 0, True)


def test_what_the_request_meets_is_counted(plan_for: PlanFor, host_of: HostOf) -> None:
    host = host_of("NVIDIA A10", "8.6", "535.161.08")
    plain = plan_for(host, serve_args={"host": "127.0.0.1"}).plan.stack.advisories
    wide = plan_for(host, serve_args={"host": "0.0.0.0", "api_key": "k"}).plan.stack.advisories
    assert plain.met == 0 < wide.met
    assert plain.open == wide.open


def test_a_host_that_holds_the_plan_back_is_told_so(plan_for: PlanFor, host_of: HostOf) -> None:
    def notes(driver: str, **request: Any) -> list[str]:
        return [note.key for note in plan_for(host_of("NVIDIA A10", "8.6", driver), **request).plan.notes]

    assert "plan.note.advisories" in notes("535.161.08")
    assert "plan.note.advisories" not in notes("580.95.05")
    assert "plan.note.advisories" not in notes("535.161.08", vllm="0.19.1")  # asked for, not forced


def test_it_is_the_installation_that_holds_the_plan_not_the_host(plan_for: PlanFor, host_of: HostOf) -> None:
    broken = {"packages": {"vllm": "0.18.1"}, "torch": {"version": "2.10.0+cpu", "cuda": None}}
    judgement, plan = plan_for(host_of("NVIDIA A10", "8.6", "580.95.05", **broken))
    assert (judgement.subject, plan.stack.vllm) == ("installed", "0.18.1")
    assert plan.stack.advisories.grave > 0
    assert "plan.note.advisories" not in [note.key for note in plan.notes]


def test_an_alternative_of_which_nothing_grave_is_known_is_named(plan_for: PlanFor, host_of: HostOf) -> None:
    plan = plan_for(host_of("NVIDIA A10", "8.6", "535.161.08")).plan
    (note,) = [note for note in plan.notes if note.key == "plan.note.without-advisories"]
    # the last wheel for CUDA 12 has only an entry of low severity open; the one of the index has sixteen grave ones
    assert note.params["vllm"] == "0.32.0+cu129"
    assert (plan.stack.vllm, note.params["planned"]) == ("0.19.1", "0.19.1")
    # with no other way than 0.19.1 there is none to name
    volta = plan_for(host_of("Tesla V100-SXM2-32GB", "7.0", "550.54.15")).plan
    assert [note.key for note in volta.notes if "advisories" in note.key] == ["plan.note.advisories"]


def test_alternatives_without_grave_advisories_come_first_of_their_kind(plan_for: PlanFor, host_of: HostOf, matrix: Matrix) -> None:
    """Index wheels for another interpreter, then wheels of the release page: within each, those that are free of them lead."""
    host = {**host_of("NVIDIA A10", "8.6", "535.161.08"), "python": {"version": "3.9.18"}}
    stacks = plan_for(host).plan.alternatives
    for variant in (False, True):
        grave = [stack.advisories.grave > 0 for stack in stacks if bool(stack.variant) is variant]
        assert grave == sorted(grave)
    assert stacks
