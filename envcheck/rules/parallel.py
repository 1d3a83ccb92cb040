"""Rules on how a model is spread over GPUs, as far as the request alone decides."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules.make import error
from envcheck.rules.situation import Situation


def parallel_size(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """More ranks than GPUs on one node, or a size that is no positive whole number."""
    arguments = situation.request.serve_args
    sizes = {name: arguments[name] for name in ("tensor_parallel_size", "pipeline_parallel_size") if arguments.get(name) is not None}
    ranks = 1
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            yield error("parallel-size-invalid", "value", flag="--" + name.replace("_", "-"), value=str(value)[:40])
            return
        ranks *= value
    count = len(situation.usable_gpus)
    if situation.gpus_known and 0 < count < ranks:
        yield error("parallel-size-invalid", ranks=min(ranks, 10**9), count=count)
