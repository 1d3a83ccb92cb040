"""Whether index, model hub, registry and mirrors answer; asked only where the user allows the network, all at once.

Nothing is sent but a GET of a small page, without credentials, and nothing of the answer is kept but its status and date.
"""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.cloud import platform_of, provider_of
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.system.port import HttpAnswer

FIELDS = ("network",)
_EACH_S, _ALL_S = 2.0, 2.5
_MOST = 16  # places asked
_SKEW_S = 300  # a clock further off breaks certificates and signatures
_SERVER_ERROR, _PROXY_AUTHENTICATION = 500, 407
_TRUE = ("1", "true")


def probe(look: Look) -> Facts:
    """The map under `network`, name → `reachable`, `unreachable` or `refused`; `network.NAME` says why."""
    if look.network is None:
        return {"network": Unreadable("not asked; `--network` does")}
    from envcheck.system.together import get_together  # noqa: PLC0415 - threads only where the network is asked

    wanted = dict(list(_wanted(look))[:_MOST])
    urls = {name: fact.value for name, fact in wanted.items() if isinstance(fact, Found)}
    answers = get_together(look.system, urls, _EACH_S, _ALL_S)
    facts: Facts = {
        f"network.{name}": fact if not isinstance(fact, Found) else judged(fact, answers[name]) for name, fact in wanted.items()
    }
    facts["network.clock"] = clock([fact.value for fact in answers.values() if isinstance(fact, Found)])
    found = {path.partition(".")[2]: fact.value for path, fact in facts.items() if isinstance(fact, Found)}
    facts["network"] = Found(found, "GET of each place") if found else Unreadable("no place could be asked")
    return facts


def _wanted(look: Look) -> Iterator[tuple[str, Fact[str]]]:
    """Name and URL of each place; the source of an URL is where it is configured."""
    places = look.network
    if places is None:
        return
    from envcheck.probes.index_url import configured_index, plain_url, uv_index  # noqa: PLC0415  # only where the network may be asked

    index, second = configured_index(look), uv_index(look)
    yield "index", _page(index, "pip/")
    if isinstance(second, Found) and not (isinstance(index, Found) and index.value == second.value):
        yield "uv_index", _page(second, "pip/")
    chosen = plain_url(look.env.get("HF_ENDPOINT", ""))
    hub = Found(chosen, "HF_ENDPOINT") if chosen else Found(places.hub, "default")
    yield "model_hub", _page(hub, "robots.txt")
    if look.env.get("VLLM_USE_MODELSCOPE", "").strip().lower() in _TRUE:
        yield "modelscope", _page(Found(places.modelscope, "VLLM_USE_MODELSCOPE"), "robots.txt")
    clouds = {fact.value for fact in (look.once(provider_of), look.once(platform_of)) if isinstance(fact, Found)}
    for site in places.sites:
        if not site.clouds or clouds.intersection(site.clouds):
            yield site.name, Found(site.url, "default" if not site.clouds else "mirror of this cloud")


def _page(base: Fact[str], page: str) -> Fact[str]:
    return Found(f"{base.value.rstrip('/')}/{page}", base.source) if isinstance(base, Found) else base


def judged(asked: Found[str], answer: Fact[HttpAnswer]) -> Fact[str]:
    """`reachable` where a server answered with anything but a fault of its own."""
    where = f"GET {asked.value} ({asked.source})"
    if isinstance(answer, Found):
        status = answer.value.status
        word = "refused" if status == _PROXY_AUTHENTICATION else "reachable" if status < _SERVER_ERROR else "unreachable"
        return Found(word, f"{where}: HTTP {status}")
    from envcheck.system.reasons import NOT_ASKED, REFUSED  # noqa: PLC0415  # the same

    if isinstance(answer, Absent) or answer.why.endswith(NOT_ASKED):
        return Unreadable(f"{where}: {answer.why}")
    return Found("refused" if answer.why.endswith(REFUSED) else "unreachable", f"{where}: {answer.why}")


def clock(answers: list[HttpAnswer]) -> Fact[str]:
    """Whether this machine's clock is right: `ok` where any server agrees, else by how much the nearest one differs."""
    ahead = [answer.date_ahead_s for answer in answers if answer.date_ahead_s is not None]
    if not ahead:
        return Unreadable("no answer bears a date")
    nearest = min(ahead, key=abs)
    return Found("ok" if abs(nearest) <= _SKEW_S else f"skewed by {abs(nearest)} s", f"Date of {len(ahead)} answers")
