"""`envcheck check`: what is here, will vLLM run, what to do first."""

from __future__ import annotations

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common, said
from envcheck.cli.wishes import Wishes, wishes


@click.command("check")
@click.option("--vllm", callback=said, metavar="SPEC", help="Judge this vLLM: a release, `0.19`, `>=0.8,<0.10` or `latest`.")
@click.option("--model", callback=said, metavar="NAME", help="Judge for serving this model (hub id or local folder).")
@click.option("--why-not", "reasons", is_flag=True, help="Every wheel of the releases meant, and all that clashes with this host.")
@wishes
@common()
def command(asked: Common, vllm: str | None, model: str | None, reasons: bool, wished: Wishes) -> int:
    """Probe, judge, and say what to do. The exit status is the verdict: 0 ready, 1 blocked, 3 unknown."""
    if reasons:
        from envcheck.cli.why_not import explain_releases

        return explain_releases(asked, vllm, model)
    from envcheck.cli.checking import check

    return check(asked, vllm, model, wished)
