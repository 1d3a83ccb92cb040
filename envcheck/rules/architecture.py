"""Rule on the model's architecture: whether the release knows it, or may run it by transformers' own code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release, specifier
from envcheck.model.finding import Finding, Remedy
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.situation import Situation
from envcheck.rules.spread import config_of, release_of

if TYPE_CHECKING:
    from envcheck.matrix.model_knowledge import Knowledge

_CODE = "model-unsupported-by-release"
_MOST, _LONGEST = 8, 80
_TEXT, _MULTIMODAL = "ForCausalLM", "ForConditionalGeneration"
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
# The classes that run a model by transformers' code: of text, of experts, of images and sound.
_BY_TRANSFORMERS = ("TransformersForCausalLM", "TransformersMoEForCausalLM", "TransformersMultiModalForCausalLM")


def known_to_release(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A model that the release asked about, or the installed one, does not know. Source: the registries of all releases."""
    request = situation.request
    if not request.model and request.model_config is None:
        return
    release, config = release_of(situation, matrix), config_of(situation, matrix)
    names = architectures(config)
    if release is None or not names or _overridden(request.serve_args):
        return
    knowledge = matrix.knowledge
    if any(knowledge.knows(name, release.version) for name in names):
        return
    listed = next((name for name in names if knowledge.releases_of(name)), None)
    if listed is not None:
        yield _of_other_releases(matrix, release, listed, config)
    elif names[0].endswith((_TEXT, _MULTIMODAL)):
        yield _unlisted(matrix, release, names[0], config)


def architectures(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The names in `architectures` of a configuration, bounded."""
    found = config.get("architectures")
    return tuple(name for name in found[:_MOST] if isinstance(name, str) and 0 < len(name) <= _LONGEST) if isinstance(found, list) else ()


def releases_for(matrix: Matrix, names: tuple[str, ...]) -> str | None:
    """The releases that know one of the architectures, as a specifier; None where none is listed."""
    return next((found for name in names if (found := matrix.knowledge.releases_of(name))), None)


def _overridden(args: Mapping[str, Any]) -> bool:
    """Whether the user has the model run as another one."""
    return "architectures" in str(args.get("hf_overrides") or "")[:4096] or args.get("model_impl") in ("transformers", "terratorch")


def _by_transformers(knowledge: Knowledge, version: Version, name: str, config: Mapping[str, Any]) -> bool:
    """Whether the release has a class that runs models like this one by transformers' code."""
    text, experts, multimodal = _BY_TRANSFORMERS
    if name.endswith(_MULTIMODAL) or "vision_config" in config or "audio_config" in config:
        return knowledge.knows(multimodal, version)
    return knowledge.knows(experts if any(config.get(key) for key in _EXPERTS) else text, version)


def _of_other_releases(matrix: Matrix, release: Release, name: str, config: Mapping[str, Any]) -> Finding:
    wanted = specifier(matrix.knowledge.releases_of(name) or "")
    knowing = [one for one in matrix.releases if wanted.contains(one.version, prereleases=True)]
    if not knowing:  # a registry of a release that the index has no more
        return _unlisted(matrix, release, name, config)
    first, last = knowing[-1], knowing[0]
    if release.version > last.version:
        return error(_CODE, "gone", remedies=(_way(last),), vllm=release.raw, architecture=name, last=last.raw)
    if _by_transformers(matrix.knowledge, release.version, name, config):
        return warning(_CODE, "later-transformers", remedies=(_way(first),), vllm=release.raw, architecture=name, first=first.raw)
    return error(_CODE, "later", remedies=(_way(first),), vllm=release.raw, architecture=name, first=first.raw)


def _unlisted(matrix: Matrix, release: Release, name: str, config: Mapping[str, Any]) -> Finding:
    newest = matrix.releases[0].raw
    if _by_transformers(matrix.knowledge, release.version, name, config):
        return warning(_CODE, "unlisted-transformers", vllm=release.raw, architecture=name, newest=newest)
    return error(_CODE, "unlisted", vllm=release.raw, architecture=name, newest=newest)


def _way(release: Release) -> Remedy:
    return remedy("other-wheel", "release-knows-model", vllm=release.raw)
