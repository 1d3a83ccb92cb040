"""What the release that is judged has compiled on the host when it starts: by the C compiler, and by nvcc."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.rules.engine import engine_for
from envcheck.rules.situation import Situation


def compilation(
    situation: Situation, matrix: Matrix, release: Release | None, engine: str | None, *, installed: bool, own: bool
) -> Iterator[Finding]:
    """Findings on compiling at run time.

    `release` is the one judged and `engine` its engine; `installed` = it is the installed vLLM; `own` = the target interpreter itself
    would be used, whose headers then count.
    """
    host = situation.host
    if situation.image and not installed and not situation.request.vllm:
        release, engine = _of_image(situation, matrix) or (release, engine)
    if release is None:
        return
    if host.python is not UNSET or host.libcuda is not UNSET or host.tools is not UNSET:
        from envcheck.rules.toolchain import launcher  # noqa: PLC0415  # plain documents have none of these facts

        yield from launcher(situation, matrix, release, engine, installed=installed, own=own)
    environment = known(host.environment) or {}
    if host.toolkits is not UNSET or host.cuda_home is not UNSET or "CUDA_HOME" in environment or "CUDA_PATH" in environment:
        from envcheck.rules.nvcc import cuda_compiler  # noqa: PLC0415  # the same

        yield from cuda_compiler(situation, matrix, release, installed=installed)


def _of_image(situation: Situation, matrix: Matrix) -> tuple[Release, str | None] | None:
    """The release in one of the project's own images and its engine, where the image is all that is known of what runs."""
    image = matrix.images.read(situation.image)
    release = matrix.release(str(image.release)) if image and image.release else None
    return (release, engine_for(situation, matrix, release).engine) if release else None
