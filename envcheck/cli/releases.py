"""What `envcheck matrix show` does."""

from __future__ import annotations

from envcheck.cli.asked import Common
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode


def show_releases(asked: Common, vllm: str | None, *, here: bool, arch: str) -> int:
    """A line for every release; exit status 0, whatever the host makes of them."""
    if asked.schema:
        from envcheck.render.jsonreleases import RELEASES_SCHEMA, ReleasesOut

        schema_out(RELEASES_SCHEMA, ReleasesOut)
        return int(ExitCode.READY)
    from envcheck.cli.world import load_host, load_matrix
    from envcheck.planning.releases import release_lines

    matrix = load_matrix(asked)
    host = load_host(asked, matrix) if here or asked.host or asked.overrides else None
    machine, lines = release_lines(matrix, host, vllm, arch)
    if asked.output == "json":
        from envcheck.render.jsonreleases import releases_out

        json_out(releases_out(lines, machine, asked.catalogue, matrix.info.date, judged=host is not None))
    else:
        from envcheck.render.releases_text import releases_text

        to_stdout(releases_text(lines, machine, asked.catalogue, matrix.info.date, asked.paint, host))
    return int(ExitCode.READY)
