"""What `--network` asks: whether the places that an installation and a model come from answer."""

from __future__ import annotations

import msgspec


class NetworkSite(msgspec.Struct, frozen=True):
    """A place to ask: its name in the host document's `network`, and an URL whose answer is small.

    `clouds` = the providers on whose machines alone it is asked; empty = everywhere.
    """

    name: str
    url: str
    clouds: tuple[str, ...] = ()


class NetworkPlaces(msgspec.Struct, frozen=True):
    """The model hub that is asked where `HF_ENDPOINT` names none, ModelScope's for those who chose it, and the other places."""

    hub: str
    modelscope: str
    sites: tuple[NetworkSite, ...]
