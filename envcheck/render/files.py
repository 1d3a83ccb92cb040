"""The files of a plan by name, with their mode; writing them is the command's business."""

from __future__ import annotations

import re

import msgspec

from envcheck.model.plan import PLAN_SCHEMA, Plan
from envcheck.render.catalogue import Catalogue
from envcheck.render.host_steps import host_steps
from envcheck.render.jsonout import plan_out
from envcheck.render.shell import MARKER, install_script, run_script, serve_script

STEPS = "HOST-STEPS.txt"  # no script: nobody but a person carries it out
NAMES = (STEPS, "install.sh", "serve.sh", "run.sh", "plan.json")  # every name a plan may write
HEAD_BYTES = 512  # of a file, which tell whose it is
LARGEST_BYTES = 1 << 20  # of a script of ours
_SEAL = re.compile(rb"# sha256 of the lines above: ([0-9a-f]{64})\n\Z")


class PlanFile(msgspec.Struct, frozen=True):
    """One file to write; `mode` as for chmod."""

    name: str
    content: bytes
    mode: int


def plan_files(plan: Plan, catalogue: Catalogue, version: str) -> tuple[PlanFile, ...]:
    """What to do by hand first, `install.sh`, `serve.sh`, `run.sh`, as far as the plan has them, and `plan.json`, which holds all of it."""
    scripts = {"install.sh": install_script, "serve.sh": serve_script, "run.sh": run_script}
    made = {name: script for name, make in scripts.items() if (script := make(plan, catalogue, version)) is not None}
    files = [PlanFile(name, sealed(script.encode("utf-8", "replace")), 0o755) for name, script in made.items()]
    steps = host_steps(plan, catalogue, version, tuple(made))
    if steps is not None:
        files.insert(0, PlanFile(STEPS, steps.encode("utf-8", "replace"), 0o644))
    document = msgspec.json.format(msgspec.json.encode(plan_out(plan, catalogue)), indent=2) + b"\n"
    return (*files, PlanFile("plan.json", document, 0o644))


def is_ours(head: bytes) -> bool:
    """Whether a file that begins so was written by us: it carries the marker, or the plan's schema."""
    start = head[:HEAD_BYTES]
    return MARKER.encode() in start or f'"schema": "{PLAN_SCHEMA}"'.encode() in start


def sealed(script: bytes) -> bytes:
    """A script with a last line by which changes made by hand are seen."""
    return script + f"# sha256 of the lines above: {_digest(script)}\n".encode()


def is_edited(content: bytes) -> bool:
    """Whether a script of ours was changed since it was written; False for one without a seal, which an older release wrote."""
    found = _SEAL.search(content)
    if found is None:
        return b"# sha256 of the lines above: " in content  # something was added behind it
    return found[1].decode() != _digest(content[: found.start()])


def _digest(content: bytes) -> str:
    from hashlib import sha256  # noqa: PLC0415  # only where files are written

    return sha256(content).hexdigest()
