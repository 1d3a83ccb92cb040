"""Which mirrors to use: the public ones of the cloud found, and only where the host stands in mainland China."""

from __future__ import annotations

from envcheck.matrix.load import Matrix
from envcheck.matrix.records import CloudProvider, Mirror
from envcheck.model.plan import MirrorChoice
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.planning.interpreter import lacks_headers
from envcheck.rules.mainland import in_mainland, provider_of
from envcheck.rules.situation import Situation


def choose_mirrors(situation: Situation, matrix: Matrix, stack: Stack | None) -> tuple[MirrorChoice, ...]:
    """The mirrors a plan writes down. Names of a cloud's own network are left out: they work only once tested."""
    provider = provider_of(situation, matrix)
    if provider is None or not in_mainland(situation, provider):
        return ()
    chosen = [_index(matrix, provider)]
    if stack and stack.torch_variant:
        chosen.append(_first(matrix, provider, "torch-wheels", variant=stack.torch_variant))
    if stack and (stack.new_python or lacks_headers(situation, stack)):
        chosen.append(_first(matrix, provider, "python-builds"))
    chosen.append(_first(matrix, provider, "model-hub"))
    return tuple(choice for choice in chosen if choice)


def _public(matrix: Matrix, kind: str) -> list[Mirror]:
    return [
        mirror for mirror in matrix.mirrors(kind) if mirror.scope == "public" and not mirror.upstream and mirror.url.startswith("https://")
    ]


def _index(matrix: Matrix, provider: CloudProvider) -> MirrorChoice | None:
    """The first public index in the provider's order of preference."""
    known = {mirror.id: mirror for mirror in _public(matrix, "python-index")}
    found = next((known[id_] for id_ in provider.mirrors if id_ in known), None)
    return _choice(found) if found else None


def _first(matrix: Matrix, provider: CloudProvider, kind: str, variant: str = "") -> MirrorChoice | None:
    # A flat listing is taken only from the cloud itself: it serves exact labels alone, an index serves their requirements too.
    mirrors = sorted(_public(matrix, kind), key=lambda mirror: mirror.layout == "flat")
    own = [mirror for mirror in mirrors if mirror.cloud == provider.id]
    found = next(iter([*own, *mirrors]), None)
    return _choice(found, variant) if found else None


def _choice(mirror: Mirror, variant: str = "") -> MirrorChoice:
    url = mirror.url.replace("{variant}", variant)
    return MirrorChoice(mirror.kind, mirror.id, url, Text(f"plan.mirror.{mirror.kind}", {"id": mirror.id}))


def mirror_url(mirrors: tuple[MirrorChoice, ...], kind: str) -> str | None:
    """The URL chosen for a kind of mirror."""
    return next((choice.url for choice in mirrors if choice.kind == kind), None)


def hub_settings(url: str) -> dict[str, str]:
    """The environment that has models fetched from a mirror of the hub: it serves no Xet storage, and must not be sent a token."""
    return {"HF_ENDPOINT": url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}
