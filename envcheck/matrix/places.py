"""The places that `--network` asks, out of the mirrors and clouds of the matrix."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.matrix.records import Mirror
from envcheck.model.network import NetworkPlaces, NetworkSite

_NAMES = {"torch-wheels": "torch_index", "python-builds": "python_builds", "image-registry": "registry"}
_MODELSCOPE = "modelscope"


def network_places(matrix: Matrix) -> NetworkPlaces:
    """Origins are asked everywhere, a mirror on the machines of those clouds whose plans would name it."""
    hubs = matrix.mirrors("model-hub")
    hub = next((mirror.url for mirror in hubs if mirror.upstream), "")
    scope = next((mirror.url for mirror in hubs if mirror.id == _MODELSCOPE), "")
    return NetworkPlaces(hub, scope, (*_origins(matrix), *_mirrors(matrix)))


def _origins(matrix: Matrix) -> Iterator[NetworkSite]:
    for mirror in matrix.mirrors():
        if mirror.upstream and mirror.kind in _NAMES:
            yield NetworkSite(_NAMES[mirror.kind], _page(mirror))


def _mirrors(matrix: Matrix) -> Iterator[NetworkSite]:
    for mirror in matrix.mirrors():
        if mirror.upstream or mirror.id == _MODELSCOPE or mirror.kind not in ("python-index", "model-hub", "image-registry"):
            continue
        if mirror.kind == "python-index":
            clouds = tuple(cloud.id for cloud in matrix.clouds if mirror.id in cloud.mirrors)
        else:
            clouds = tuple(cloud.id for cloud in matrix.clouds if cloud.mainland)
        if clouds:
            yield NetworkSite(f"mirror.{mirror.id}", _page(mirror), clouds)


def _page(mirror: Mirror) -> str:
    """A page of it that is small: one project of an index, the registry's version."""
    base = mirror.url.partition("{variant}")[0].rstrip("/")
    pages = {"python-index": "pip/", "model-hub": "robots.txt", "image-registry": "v2/"}
    return f"{base}/{pages.get(mirror.kind, '')}"
