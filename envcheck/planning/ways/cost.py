"""What a way takes to download, as far as the records know the files, and the advisories that it leaves open."""

from __future__ import annotations

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.model.stack import Stack
from envcheck.model.text import Param, Text
from envcheck.model.ways import Way
from envcheck.planning.advised import advised
from envcheck.planning.ways.context import Context


def download_mib(stack: Stack, matrix: Matrix) -> int | None:
    """MiB of the wheels of vLLM and torch; None where neither is known. NVIDIA's libraries and the rest come on top."""
    release = matrix.release(stack.vllm)
    build = release.build(stack.arch, stack.variant) if release else None
    torch = matrix.torch(stack.torch) if stack.torch and not stack.torch_variant else None
    files = [build.record.size_mib if build else None]
    files += [size for arch, size in torch.record.size_mib.items() if arch == stack.arch] if torch else []
    known = [size for size in files if size]
    return sum(known) if known else None


def with_costs(way: Way, context: Context, *, installed: bool) -> Way:
    """The way with what is left to price; `installed` = what would be served is there, so that a setting downloads nothing.

    Critical and high advisories that stay open in the release it leads to stand among what is lost.
    """
    cost = way.cost
    if way.kind == "setting" and (installed or way.stack is None):
        cost = msgspec.structs.replace(cost, download_mib=0, download_more=False)
    elif way.stack is not None and way.kind not in ("mend", "hardware") and not installed and cost.download_mib is None:
        cost = msgspec.structs.replace(cost, download_mib=download_mib(way.stack, context.matrix))
    name = way.image.release if way.image else way.stack.vllm if way.stack else ""
    release = context.matrix.release(name) if name else None
    told = advised(release, context.judgement, context.matrix) if release else None
    if release and told and told.grave:
        params: dict[str, Param] = {"vllm": release.raw, "count": told.grave, "gravest": told.gravest or "", "date": told.as_of}
        cost = msgspec.structs.replace(cost, lost=(*cost.lost, Text("way.lost.advisories", params)))
    return msgspec.structs.replace(way, cost=cost)
