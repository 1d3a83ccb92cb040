"""Rules on number formats: bfloat16, FP8 and quantized weights against the GPUs and the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding, Remedy
from envcheck.model.versions import ComputeCapability
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import Situation
from envcheck.rules.spread import config_of, release_of

if TYPE_CHECKING:
    from envcheck.matrix.quantization import KernelUse

_HALF, _SINGLE = ("half", "float16"), ("float32", "float")
_FP8_CACHES = ("fp8", "fp8_e4m3")
# Other words for one method, as checkpoints and publishers write them.
_SPELLINGS = {"nvfp4": "modelopt_fp4", "bnb": "bitsandbytes", "gptq-int8": "gptq"}
_OF_MODELOPT = {"NVFP4": "modelopt_fp4", "MXFP8": "modelopt_mxfp8", "MIXED_PRECISION": "modelopt_mixed"}


def bfloat16(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs without bfloat16: most checkpoints are stored in it, which a release refuses or turns into another type."""
    capabilities = situation.capabilities
    floor = matrix.capability_trait("bfloat16-min-capability") if capabilities else None
    if floor is None or capabilities[0] >= floor:
        return
    from envcheck.sizing.fields import mapping, word  # noqa: PLC0415  # only for a model

    asked = (word(situation.request.serve_args, "dtype") or "auto").lower().removeprefix("torch.")
    config = config_of(situation, matrix)
    text = mapping(config, "text_config")
    stored = (word(config, "torch_dtype", "dtype") or word(text, "torch_dtype", "dtype") or "").lower().removeprefix("torch.")
    kinds = {word(config, "model_type") or "", word(text, "model_type") or ""}
    params = {"capability": str(capabilities[0]), "needed": str(floor)}
    half = (remedy("setting", "dtype-half"),)
    if asked == "bfloat16":
        yield error("bf16-unsupported-gpu", "asked", remedies=half, **params)
    elif config and kinds & matrix.quantization.refused_in_half and asked not in _SINGLE:
        model = sorted(kinds & matrix.quantization.refused_in_half)[0]
        make, key = (error, "refused") if asked in _HALF else (warning, "single")
        yield make("bf16-unsupported-gpu", key, model=model, remedies=(remedy("setting", "dtype-single"),), **params)
    elif asked not in (*_HALF, *_SINGLE) and stored not in (*_HALF, *_SINGLE):
        release = release_of(situation, matrix)
        if release and matrix.quantization.replaces_bfloat16(release.version):
            yield info("bf16-unsupported-gpu", "replaced", vllm=release.raw, **params)
        else:
            yield warning("bf16-unsupported-gpu", remedies=half, **params)


def number_formats(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Quantized weights and FP8 keys and values that the GPUs or the release do not take."""
    request = situation.request
    if not (request.serve_args or request.model or request.model_config) or not situation.capabilities:
        return
    release = release_of(situation, matrix) or situation.concluded or matrix.releases[0]
    oldest = situation.capabilities[0]
    yield from _kv_cache(situation, matrix, release, oldest)
    config = config_of(situation, matrix)
    method = quantization_method(config, situation.request.serve_args, request.model or "")
    if method is None:
        return
    floor = _floor(matrix, method, release)
    eight_bits = method == "fp8" or method.endswith("_fp8")
    code = "fp8-unsupported-gpu" if eight_bits else "quantization-unsupported-gpu"
    if floor and oldest < floor:
        params = {"method": method, "vllm": release.raw, "needed": str(floor), "capability": str(oldest)}
        yield error(code, remedies=tuple(_ways(matrix, method, oldest, release)), **params)
    elif eight_bits:
        yield from _fp8_kernels(matrix, release, oldest, config)


def _floor(matrix: Matrix, method: str, release: Release) -> ComputeCapability | None:
    """The floor of a method in a release; that of the method itself where its scheme has none of its own."""
    facts = matrix.quantization
    return facts.floor(method, release.version) or facts.floor(method.partition(" ")[0], release.version)


def _ways(matrix: Matrix, method: str, oldest: ComputeCapability, release: Release) -> Iterator[Remedy]:
    """A newer release that takes the method here, else another checkpoint."""
    for other in matrix.releases:
        if other.version <= release.version:
            break
        floor = _floor(matrix, method, other)
        if floor and oldest >= floor:
            yield remedy("other-wheel", "release-takes-format", vllm=other.raw, method=method)
            break
    yield remedy("setting", "other-checkpoint")


def _fp8_kernels(matrix: Matrix, release: Release, oldest: ComputeCapability, config: Mapping[str, Any]) -> Iterator[Finding]:
    """FP8 weights that a release takes by its own floor, and yet has no kernel for here; below 8.9 it runs them weight-only."""
    from envcheck.sizing.fields import items, mapping  # noqa: PLC0415  # only for a model

    blocks = bool(items(mapping(config, "quantization_config"), "weight_block_size"))
    experts = bool(config) and _has_experts(config)
    uses: tuple[tuple[KernelUse, bool], ...] = (("experts", experts), ("blocks", blocks))
    for use, there in uses:
        limit = matrix.quantization.limit(use, release.version, oldest) if there else None
        if limit:
            ways = tuple(_first_without(matrix, release, oldest, experts=experts, blocks=blocks))
            params = {"vllm": release.raw, "needed": limit.below, "capability": str(oldest)}
            yield error("fp8-unsupported-gpu", use, remedies=(*ways, remedy("setting", "other-checkpoint")), **params)
            return
    native = matrix.quantization.native_fp8
    if native and oldest < native:
        yield info("fp8-unsupported-gpu", "weight-only", capability=str(oldest), needed=str(native))


def _has_experts(config: Mapping[str, Any]) -> bool:
    from envcheck.sizing.spec import Dimensions  # noqa: PLC0415  # a check without a model never needs it

    return Dimensions.from_config(config).experts is not None


def _first_without(matrix: Matrix, release: Release, oldest: ComputeCapability, *, experts: bool, blocks: bool) -> Iterator[Remedy]:
    """The first newer release that has the kernels."""
    facts = matrix.quantization
    for other in reversed(matrix.releases):
        if other.version <= release.version:
            continue
        lacks = (experts and facts.limit("experts", other.version, oldest)) or (blocks and facts.limit("blocks", other.version, oldest))
        if not lacks:
            yield remedy("other-wheel", "release-has-kernels", vllm=other.raw)
            return


def _kv_cache(situation: Situation, matrix: Matrix, release: Release, oldest: ComputeCapability) -> Iterator[Finding]:
    from envcheck.sizing.fields import word  # noqa: PLC0415  # only for a model

    asked = (word(situation.request.serve_args, "kv_cache_dtype") or "auto").lower()
    limit = matrix.quantization.limit("kv-cache", release.version, oldest) if asked in _FP8_CACHES else None
    if limit:
        make, key = (error, "kv-cache") if limit.severity == "error" else (warning, "kv-backend")
        params = {"vllm": release.raw, "needed": limit.below, "capability": str(oldest)}
        yield make("fp8-unsupported-gpu", key, remedies=(remedy("setting", "kv-cache-auto"),), **params)


def quantization_method(config: Mapping[str, Any], args: Mapping[str, Any], name: str) -> str | None:
    """The quantization method in vLLM's words: the checkpoint's own, else what is asked for, else what the model's name ends in."""
    from envcheck.sizing.fields import mapping, word  # noqa: PLC0415  # only for a model

    told = mapping(config, "quantization_config", "compression_config")
    method = (word(told, "quant_method") or "").lower()
    if method == "compressed-tensors":
        return _scheme(told)
    if method == "modelopt":
        return _OF_MODELOPT.get((word(told, "quant_algo") or "").upper(), method)
    asked = word(args, "quantization", "q")
    found = method or (asked.lower() if asked else "") or ("" if config or not name else _in_name(name))
    return _SPELLINGS.get(found, found) or None


def _scheme(told: Mapping[str, Any]) -> str:
    """The scheme of compressed-tensors where its floor is one of its own; eight-bit floats are FP8 by another name."""
    from envcheck.sizing.fields import mapping, word  # noqa: PLC0415  # only for a model

    groups = [group for group in mapping(told, "config_groups").values() if isinstance(group, Mapping)]
    weights = mapping(groups[0], "weights") if groups else {}
    kind, bits = word(weights, "type"), weights.get("num_bits")
    if kind == "float" and bits == 8:
        return "fp8"
    activations = mapping(groups[0], "input_activations") if groups else {}
    if kind == "int" and not activations and bits in (4, 8):
        return "compressed-tensors wNa16"
    whole = bits == 8 and activations.get("num_bits") == 8 and word(activations, "type") == "int"
    return "compressed-tensors w8a8" if kind == "int" and whole else "compressed-tensors"


def _in_name(name: str) -> str:
    from envcheck.sizing.quantization import in_name  # noqa: PLC0415  # a check without a model never needs it

    return in_name(name) or ""
