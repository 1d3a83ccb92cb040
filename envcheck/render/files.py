"""The files of a plan by name, with their mode; writing them is the command's business."""

from __future__ import annotations

import msgspec

from envcheck.model.plan import PLAN_SCHEMA, Plan
from envcheck.render.catalogue import Catalogue
from envcheck.render.jsonout import plan_out
from envcheck.render.shell import MARKER, install_script, serve_script

NAMES = ("install.sh", "serve.sh", "plan.json")  # every name a plan may write
HEAD_BYTES = 512  # of a file, which tell whose it is


class PlanFile(msgspec.Struct, frozen=True):
    """One file to write; `mode` as for chmod."""

    name: str
    content: bytes
    mode: int


def plan_files(plan: Plan, catalogue: Catalogue, version: str) -> tuple[PlanFile, ...]:
    """`install.sh`, `serve.sh` where the plan has them, and `plan.json`, which holds all of it."""
    files = []
    for name, script in (("install.sh", install_script(plan, catalogue, version)), ("serve.sh", serve_script(plan, catalogue, version))):
        if script is not None:
            files.append(PlanFile(name, script.encode("utf-8", "replace"), 0o755))
    document = msgspec.json.format(msgspec.json.encode(plan_out(plan, catalogue)), indent=2) + b"\n"
    return (*files, PlanFile("plan.json", document, 0o644))


def is_ours(head: bytes) -> bool:
    """Whether a file that begins so was written by us: it carries the marker, or the plan's schema."""
    start = head[:HEAD_BYTES]
    return MARKER.encode() in start or f'"schema": "{PLAN_SCHEMA}"'.encode() in start
