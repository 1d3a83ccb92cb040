"""The files of a plan by name, with their mode; writing them is the command's business."""

from __future__ import annotations

import msgspec

from envcheck.model.plan import PLAN_SCHEMA, Plan
from envcheck.render.catalogue import Catalogue
from envcheck.render.host_steps import host_steps
from envcheck.render.jsonout import plan_out
from envcheck.render.shell import MARKER, install_script, run_script, serve_script

STEPS = "HOST-STEPS.txt"  # no script: nobody but a person carries it out
NAMES = (STEPS, "install.sh", "serve.sh", "run.sh", "plan.json")  # every name a plan may write
HEAD_BYTES = 512  # of a file, which tell whose it is


class PlanFile(msgspec.Struct, frozen=True):
    """One file to write; `mode` as for chmod."""

    name: str
    content: bytes
    mode: int


def plan_files(plan: Plan, catalogue: Catalogue, version: str) -> tuple[PlanFile, ...]:
    """What to do by hand first, `install.sh`, `serve.sh`, `run.sh`, as far as the plan has them, and `plan.json`, which holds all of it."""
    scripts = {"install.sh": install_script, "serve.sh": serve_script, "run.sh": run_script}
    made = {name: script for name, make in scripts.items() if (script := make(plan, catalogue, version)) is not None}
    files = [PlanFile(name, script.encode("utf-8", "replace"), 0o755) for name, script in made.items()]
    steps = host_steps(plan, catalogue, version, tuple(made))
    if steps is not None:
        files.insert(0, PlanFile(STEPS, steps.encode("utf-8", "replace"), 0o644))
    document = msgspec.json.format(msgspec.json.encode(plan_out(plan, catalogue)), indent=2) + b"\n"
    return (*files, PlanFile("plan.json", document, 0o644))


def is_ours(head: bytes) -> bool:
    """Whether a file that begins so was written by us: it carries the marker, or the plan's schema."""
    start = head[:HEAD_BYTES]
    return MARKER.encode() in start or f'"schema": "{PLAN_SCHEMA}"'.encode() in start
