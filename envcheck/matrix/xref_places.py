"""Cross-references of clouds, mirrors, distributions and the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.matrix.problem import Loaded, Problem, is_date
from envcheck.matrix.records import CloudProvider, Mirror
from envcheck.matrix.xref_images import image_problems
from envcheck.model.cloud import CloudSign, CloudTell, Metadata, is_private

Found = Iterator[tuple[str, str]]


def place_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of clouds, mirrors, distributions, images, models and codes."""
    clouds: list[CloudProvider] = loaded.value("clouds.json")
    mirrors: list[Mirror] = loaded.value("mirrors.json")
    by_file = {
        "clouds.json": _of_clouds(clouds, mirrors),
        "mirrors.json": _of_mirrors(mirrors, {cloud.id for cloud in clouds}),
        "distros.json": _of_distributions(loaded),
        "images.json": image_problems(loaded),
        "models.json": _of_models(loaded),
        "codes.json": _of_codes(loaded),
        "matrix.json": _of_info(loaded),
    }
    for file, found in by_file.items():
        yield from (loaded.problem(file, path, what) for path, what in found)


def _of_clouds(clouds: list[CloudProvider], mirrors: list[Mirror]) -> Found:
    indexes = {mirror.id for mirror in mirrors if mirror.kind == "python-index"}
    names = {cloud.id for cloud in clouds}
    seen: set[str] = set()
    for index, cloud in enumerate(clouds):
        at = f"$[{index}]"
        if cloud.id in seen:
            yield f"{at}.id", "twice the same"
        seen.add(cloud.id)
        yield from ((f"{at}.mirrors", f"there is no index mirror `{name}`") for name in cloud.mirrors if name not in indexes)
        if cloud.provider is not None and (cloud.provider not in names or cloud.level != "platform"):
            yield f"{at}.provider", f"there is no cloud `{cloud.provider}`, or this is no platform"
        for place, sign in enumerate(cloud.signs):
            yield from ((f"{at}.signs[{place}]", what) for what in _of_place(sign))
        for place, tell in enumerate(cloud.tells):
            yield from ((f"{at}.tells[{place}]", what) for what in _of_place(tell))
            yield from ((f"{at}.tells[{place}].means", f"there is no cloud `{name}`") for name in tell.means.values() if name not in names)
        if cloud.metadata is not None:
            yield from ((f"{at}.metadata", what) for what in _of_metadata(cloud.metadata))


def _of_place(place: CloudSign | CloudTell) -> Iterator[str]:
    if place.kind == "file" and not (place.path or "").startswith("/"):
        yield "a file needs an absolute path"
    if place.kind == "env" and not place.name:
        yield "a variable needs a name"
    if isinstance(place, CloudSign) and place.value is not None and place.value != place.value.strip():
        yield f"`{place.value}`: blanks around it are never found"


def _of_metadata(metadata: Metadata) -> Iterator[str]:
    """Only literal addresses: a name could lead anywhere. Only paths that hold no secret."""
    if not re.fullmatch(r"http://\d{1,3}(\.\d{1,3}){3}", metadata.base):
        yield f"`{metadata.base}` is no literal address"
    paths = [question.path for question in metadata.questions] + ([metadata.proof.path] if metadata.proof else [])
    for path in paths:
        if not path.startswith("/"):
            yield f"`{path}` is no path"
        if is_private(path):
            yield f"`{path}` is never to be asked for"


def _of_mirrors(mirrors: list[Mirror], clouds: set[str]) -> Found:
    seen: set[str] = set()
    for index, mirror in enumerate(mirrors):
        if mirror.id in seen:
            yield f"$[{index}].id", f"`{mirror.id}` is another mirror too"
        seen.add(mirror.id)
        if mirror.cloud is not None and mirror.cloud not in clouds:
            yield f"$[{index}].cloud", f"there is no cloud `{mirror.cloud}`"
        if not re.fullmatch(r"https?://[a-z0-9.-]+(/[A-Za-z0-9._/{}-]*)?", mirror.url) or mirror.url.endswith("/"):
            yield f"$[{index}].url", "no plain URL without a final slash"
        if mirror.scope == "public" and not mirror.url.startswith("https://"):
            yield f"$[{index}].url", "a public mirror is asked over https only"
        if (mirror.kind == "torch-wheels") != ("{variant}" in mirror.url):
            yield f"$[{index}].url", "wheels of torch, and only they, lie under a {variant}"


def _of_distributions(loaded: Loaded) -> Found:
    for index, entry in enumerate(loaded.value("distros.json")):
        if not re.fullmatch(r"2\.\d\d", entry.glibc) or not re.fullmatch(r"3\.\d{1,2}", entry.python or "3.0"):
            yield f"$[{index}]", f"glibc {entry.glibc}, Python {entry.python}"


def _of_models(loaded: Loaded) -> Found:
    for index, card in enumerate(loaded.value("models.json")):
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", card.id):
            yield f"$[{index}].id", f"`{card.id}` is no id of a hub"
        if "model_type" not in card.config:
            yield f"$[{index}].config", "no model_type"
        if (card.weights_bytes is None) != (card.weights_basis is None) or (card.weights_bytes or 1) <= 0:
            yield f"$[{index}].weights_bytes", "bytes and their basis go together"


def _of_codes(loaded: Loaded) -> Found:
    for index, entry in enumerate(loaded.value("codes.json")):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.code) or not entry.meaning:
            yield f"$[{index}]", f"`{entry.code}`"


def _of_info(loaded: Loaded) -> Found:
    if not is_date(loaded.value("matrix.json").date):
        yield "$.date", "no ISO date"
