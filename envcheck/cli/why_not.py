"""What `envcheck check --why-not` does."""

from __future__ import annotations

from envcheck.cli.asked import Common
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode

_RELEASES = 3  # that a person still reads


def explain_releases(asked: Common, vllm: str | None = None, model: str | None = None) -> int:
    """All that clashes between the releases asked about and the host; the exit status is the verdict of what was asked."""
    if asked.schema:
        from envcheck.render.jsonreleases import WHY_NOT_SCHEMA, WhyNotOut

        schema_out(WHY_NOT_SCHEMA, WhyNotOut)
        return int(ExitCode.READY)
    from envcheck.cli.exits import of_verdict
    from envcheck.cli.world import load_host, load_matrix
    from envcheck.model.request import Request
    from envcheck.rules.why_not import why_not

    matrix = load_matrix(asked)
    matrix.matching(vllm or "latest")  # a release that does not exist is said before the host is looked at
    found = why_not(load_host(asked, matrix), matrix, Request(vllm=vllm, model=model), None if asked.verbose else _RELEASES)
    if asked.output == "json":
        from envcheck.render.jsonreleases import why_not_out

        json_out(why_not_out(found, asked.catalogue, matrix.info.date))
    else:
        from envcheck.cli.view import cloud_name
        from envcheck.render.why_not_text import why_not_text

        cloud = cloud_name(found.host, matrix, asked.lang)
        to_stdout(why_not_text(found, asked.catalogue, asked.paint, verbose=asked.verbose, cloud=cloud))
    return of_verdict(found.verdict)
