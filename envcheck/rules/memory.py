"""The memory budget as findings: a model that does not fit keeps the server from starting, whatever the stack."""

from __future__ import annotations

import msgspec

from envcheck.model.budget import FailureKind, SizeFailure, SizeResult
from envcheck.model.finding import Finding, Verdict
from envcheck.rules.check import Judgement
from envcheck.rules.make import error

CODES: dict[FailureKind, str] = {
    "weights": "oom-weights",
    "no-kv-blocks": "kv-cache-too-small",
    "kv-too-small": "kv-cache-too-small",
    "free-memory": "gpu-memory-below-utilization",
    "profile-run": "oom-profile-run",
    "encoder": "oom-multimodal-profiling",
    "sampler-warmup": "oom-sampler-warmup",
    "cuda-graphs": "oom-cuda-graphs",
    "host-memory": "host-memory-too-small",
}


def with_memory(judgement: Judgement, size: SizeResult, model: str) -> Judgement:
    """The judgement for serving a model: blocked where even the planned settings do not fit. GiB in the finding are per GPU."""
    if size.verdict != "does-not-fit" or size.failure is None:
        return judgement
    found = _finding(size.failure, model)
    others = tuple(finding for finding in judgement.findings if finding.code != found.code)
    busy = next((finding for finding in others if finding.code == "gpu-memory-busy" and finding.severity == "error"), None)
    if busy and found.code == "gpu-memory-below-utilization":
        # Others hold what is missing: said already, and nearer to the root.
        whole = msgspec.structs.replace(busy, consequences=(*busy.consequences, found))
        findings = tuple(whole if finding is busy else finding for finding in others)
        return msgspec.structs.replace(judgement, verdict=Verdict.BLOCKED, findings=findings)
    errors = sum(finding.severity == "error" for finding in others)
    findings = (*others[:errors], found, *others[errors:])  # the host's own errors come first: without them nothing starts at all
    return msgspec.structs.replace(judgement, verdict=Verdict.BLOCKED, findings=findings, binding=judgement.binding if errors else None)


def _finding(failure: SizeFailure, model: str) -> Finding:
    code = CODES[failure.kind]
    needed, available = failure.needed_gib, failure.available_gib
    if needed is None or available is None:
        return error(code, "unfit", model=model[:200])
    return error(code, "size", model=model[:200], needed_gib=round(needed, 2), available_gib=round(max(available, 0.0), 2))
