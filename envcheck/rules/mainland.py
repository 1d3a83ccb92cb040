"""Whether a host stands in mainland China, where the default hosts are likely out of reach."""

from __future__ import annotations

from envcheck.matrix.load import Matrix
from envcheck.matrix.records import CloudProvider
from envcheck.rules.situation import Situation, text


def provider_of(situation: Situation, matrix: Matrix) -> CloudProvider | None:
    """The cloud the host stands in, by the provider's id, else by the platform on top of it."""
    for name in ("provider", "platform"):
        found = matrix.cloud(text(situation.host.cloud, name).strip().lower())
        if found:
            return found
    return None


def in_mainland(situation: Situation, provider: CloudProvider | None) -> bool:
    """Whether the default hosts are likely out of reach: a mainland provider, and no region that says otherwise."""
    if provider is None or not provider.mainland:
        return False
    region = text(situation.host.cloud, "region").lower()
    return not region or not provider.mainland_regions or region.startswith(tuple(provider.mainland_regions))
