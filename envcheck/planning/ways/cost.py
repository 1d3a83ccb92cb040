"""What a way takes to download, as far as the records know the files."""

from __future__ import annotations

from envcheck.matrix.load import Matrix
from envcheck.model.stack import Stack


def download_mib(stack: Stack, matrix: Matrix) -> int | None:
    """MiB of the wheels of vLLM and torch; None where neither is known. NVIDIA's libraries and the rest come on top."""
    release = matrix.release(stack.vllm)
    build = release.build(stack.arch, stack.variant) if release else None
    torch = matrix.torch(stack.torch) if stack.torch and not stack.torch_variant else None
    files = [build.record.size_mib if build else None]
    files += [size for arch, size in torch.record.size_mib.items() if arch == stack.arch] if torch else []
    known = [size for size in files if size]
    return sum(known) if known else None
