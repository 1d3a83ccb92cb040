"""What a model needs and offers on a release: arguments of vLLM's own recipe, features as the release takes them, code of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.model_knowledge import Recipe
from envcheck.matrix.release import Release, specifier
from envcheck.model.modelspec import ModelSpec
from envcheck.model.text import Text
from envcheck.model.versions import ComputeCapability
from envcheck.planning.serving.spelling import Spelt, Wanted, spell
from envcheck.rules.architecture import architectures, releases_for

_PARSERS = ("--tool-call-parser", "--reasoning-parser")
_SHOWN = 4
# The method whose floor stands for a precision as recipes name it.
_METHODS = {"fp8": "fp8", "nvfp4": "modelopt_fp4", "mxfp4": "mxfp4", "int4": "compressed-tensors", "int8": "compressed-tensors"}


def recipe_arguments(matrix: Matrix, release: Release, spec: ModelSpec) -> Iterator[Wanted]:
    """The arguments that the recipe of the model says it cannot do without, where the release has them."""
    recipe = matrix.knowledge.recipe(spec.name)
    if recipe is None:
        return
    why = Text("plan.serve.recipe", {"model": recipe.id})
    for key, value in pairs(recipe.arguments):
        flag = matrix.flags.of_dest(key, release.version)
        if flag is not None:
            yield Wanted(key, value, why)


def model_notes(matrix: Matrix, release: Release, spec: ModelSpec, asked: Mapping[str, Any]) -> Iterator[Text]:
    """What to know of the model on this release, and what can be added to the command."""
    recipe = matrix.knowledge.recipe(spec.name)
    yield from _remote_code(recipe, spec, asked)
    yield from _last_release(matrix, spec)
    if recipe is None:
        return
    told = {"model": recipe.id, "vllm": release.raw, "first": recipe.first or ""}
    if recipe.first and release.version < Version(recipe.first):
        yield Text("serve.note.recipe-newer", told)
        return
    if recipe.nightly and release is not matrix.releases[0]:
        yield Text("serve.note.recipe-nightly", told)
    features = [("tools", recipe.tools, "tool_call_parser"), ("reasoning", recipe.reasoning, "reasoning_parser")]
    if spec.name.lower() == recipe.id.lower():  # a draft model belongs to one checkpoint
        features.append(("speculation", recipe.speculation, "speculative_config"))
    for name, words, key in features:
        line = _feature(matrix, release, words)
        if line and key not in asked:
            yield Text(f"serve.note.{name}", {"vllm": release.raw, "arguments": line})


def variant_notes(matrix: Matrix, release: Release, spec: ModelSpec, capabilities: tuple[ComputeCapability, ...]) -> Iterator[Text]:
    """For a model that does not fit: its checkpoints in fewer bits whose format the release takes on these GPUs."""
    recipe = matrix.knowledge.recipe(spec.name)
    if recipe is None or spec.name.lower() != recipe.id.lower() or not capabilities:
        return
    lowest = min(capabilities)
    floors = {name: matrix.quantization.floor(method, release.version) for name, method in _METHODS.items()}
    names = [one.id for one in recipe.variants if (floor := floors.get(one.precision)) is not None and floor <= lowest]
    if names:
        yield Text("serve.note.variants", {"model": recipe.id, "names": tuple(names[:_SHOWN]), "vllm": release.raw})


def releases_knowing(matrix: Matrix, spec: ModelSpec, vllm: str) -> str | None:
    """The releases that know the model, as a specifier, where the release `vllm` is none of them; None also where that is not known."""
    names, release = architectures(spec.config), matrix.release(vllm)
    if release is None or any(matrix.knowledge.knows(name, release.version) for name in names):
        return None
    found = releases_for(matrix, names)
    if found is None or not any(specifier(found).contains(one.version, prereleases=True) for one in matrix.releases):
        return None
    return found


def feature_words(matrix: Matrix, release: Release, words: list[str]) -> list[str]:
    """The arguments of a feature as the release takes them; empty where it lacks one of them, or the parser."""
    wanted = [Wanted(key, value, Text("plan.serve.recipe", {"model": ""})) for key, value in pairs(words)]
    spelt = spell(matrix.flags, release.version, release.raw, wanted)
    if not _whole(matrix, release, spelt, wanted):
        return []
    return [word for setting in spelt.settings for word in setting.words]


def pairs(words: list[str]) -> Iterator[tuple[str, Any]]:
    """Arguments as typed, in snake case with their values; a switch is True, `--no-x` is x off."""
    position = 0
    while position < len(words):
        key = words[position][2:].replace("-", "_")
        position += 1
        if position < len(words) and not words[position].startswith("--"):
            yield key, words[position]
            position += 1
        else:
            yield (key[3:], False) if key.startswith("no_") else (key, True)


def _feature(matrix: Matrix, release: Release, words: list[str]) -> str:
    from shlex import join  # noqa: PLC0415  # only for a model with a recipe

    return join(feature_words(matrix, release, words))


def _whole(matrix: Matrix, release: Release, spelt: Spelt, wanted: list[Wanted]) -> bool:
    """Whether nothing got lost on the way to the release's spelling, and the parsers named are there."""
    names = {setting.flag: setting.value for setting in spelt.settings}
    parsers = [names[flag] or "" for flag in _PARSERS if flag in names]
    known = all(matrix.knowledge.parser_in(name, release.version) for name in parsers)
    return bool(wanted) and not spelt.notes and not spelt.environment and known and len(names) == len(wanted)


def _last_release(matrix: Matrix, spec: ModelSpec) -> Iterator[Text]:
    """A model that newer releases dropped."""
    newest, names = matrix.releases[0], architectures(spec.config)
    found = releases_for(matrix, names)
    if found is None or any(matrix.knowledge.knows(name, newest.version) for name in names):
        return
    wanted = specifier(found)
    last = next((one for one in matrix.releases if wanted.contains(one.version, prereleases=True)), None)
    if last is not None:
        yield Text("serve.note.last-for-model", {"architecture": names[0], "last": last.raw})


def _remote_code(recipe: Recipe | None, spec: ModelSpec, asked: Mapping[str, Any]) -> Iterator[Text]:
    """Python from the model's repository is run only where the user says so."""
    if asked.get("trust_remote_code") is True:
        yield Text("serve.note.remote-code-asked", {"model": spec.name})
    elif recipe is not None and recipe.remote_code:
        yield Text("serve.note.remote-code-recipe", {"model": recipe.id})
    elif isinstance(spec.config.get("auto_map"), dict):
        yield Text("serve.note.remote-code-own", {"model": spec.name})
