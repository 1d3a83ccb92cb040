"""The settings in force: what was asked for, the release's defaults for the rest. Values of odd types count as not asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from envcheck.model.memoryfacts import Defaults
from envcheck.sizing.defaults import batched_tokens, sequences
from envcheck.sizing.fields import as_number, flag, integer, items, mapping, number, word
from envcheck.sizing.inputs import SizingInputs
from envcheck.sizing.quantization import model_dtype_bytes
from envcheck.sizing.release import Rules
from envcheck.sizing.spec import Dimensions, answers_with_vectors

if TYPE_CHECKING:
    from envcheck.sizing.lora import Lora
    from envcheck.sizing.speculative import Speculation

_POOLING_NAMES = ("embedding", "reranker", "reward", "classification", "crossencoder")
_LENGTH_UNITS = {"k": 1000, "K": 1024, "m": 10**6, "M": 1 << 20}
_UNKNOWN_CONTEXT = 2048  # vLLM's own fallback for a model that states no length


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings in force. Lengths in tokens; `context_asked` None = the model's own; `graphs` False = eager."""

    utilization: float
    context: int
    context_asked: int | None
    fit_context: bool
    batched_tokens: int
    sequences: int
    tensor_ranks: int
    stages: int
    replicas: int
    context_ranks: int
    expert_parallel: bool
    block_size: int
    kv_dtype: str
    dtype_bytes: int
    chunked: bool
    prefix_caching: bool
    graphs: bool
    full_graphs: bool
    capture_sizes: tuple[int, ...] | None
    largest_capture: int | None
    offload_gib: float
    kv_bytes: float | None
    blocks: int | None
    swap_gib: float
    kv_offload_gib: float
    pooling: bool
    text_only: bool
    profile_encoder: bool
    limits: Mapping[str, int]
    max_pixels: int | None
    draft_tokens: int
    draft: Speculation | None
    lora: Lora | None
    state_dtype: str | None
    asynchronous: bool | None
    sampler_in_profile: bool
    flashinfer: bool

    @property
    def gpus(self) -> int:
        """GPUs one server needs."""
        return self.tensor_ranks * self.stages * self.replicas


def settings_of(inputs: SizingInputs, dims: Dimensions, rules: Rules) -> Settings:
    """The settings in force for one question."""
    args = inputs.serve_args
    base = rules.defaults
    asked = context_length(args.get("max_model_len"))
    context = asked or dims.context or _UNKNOWN_CONTEXT
    chunked = _chunked(args, base, context, dims)
    plain, ranks = model_dtype_bytes(dims, args), integer(args, "tensor_parallel_size", most=4096) or 1
    draft = _draft(inputs, dims, rules, ranks)
    compilation = mapping(args, "compilation_config")
    pooling = _pooling(inputs, args, dims)
    batch, wanted = _batch(inputs, dims, base, context, chunked, pooling)
    mode = (word(compilation, "cudagraph_mode") or "").upper()
    eager = (
        bool(flag(args, "enforce_eager"))
        or mode == "NONE"
        or compilation.get("mode") in (0, "NONE")
        or args.get("optimization_level") in (0, "0")
    )
    return Settings(
        utilization=number(args, "gpu_memory_utilization", least=1e-6, most=1) or base.gpu_memory_utilization,
        context=context,
        context_asked=asked,
        fit_context=str(args.get("max_model_len")).strip().lower() in ("auto", "-1"),
        batched_tokens=batch,
        sequences=min(wanted, batch),
        tensor_ranks=ranks,
        stages=integer(args, "pipeline_parallel_size", most=1024) or 1,
        replicas=integer(args, "data_parallel_size", most=4096) or 1,
        context_ranks=integer(args, "decode_context_parallel_size", most=4096) or 1,
        expert_parallel=bool(flag(args, "enable_expert_parallel")),
        block_size=integer(args, "block_size", most=1 << 16) or base.block_size,
        kv_dtype=(word(args, "kv_cache_dtype") or "auto").lower(),
        dtype_bytes=plain,
        chunked=chunked,
        prefix_caching=_or(flag(args, "enable_prefix_caching"), rules.engine == "v1" and not pooling and dims.recurrent is None),
        graphs=not eager,
        full_graphs=mode in ("", "FULL", "FULL_AND_PIECEWISE", "FULL_DECODE_ONLY"),
        capture_sizes=_sizes(args, compilation),
        largest_capture=integer(compilation, "max_cudagraph_capture_size", most=1 << 20) or integer(args, "max_cudagraph_capture_size"),
        offload_gib=number(args, "cpu_offload_gb", most=1 << 20) or 0.0,
        kv_bytes=number(args, "kv_cache_memory_bytes", "kv_cache_memory", least=1, most=1 << 50),
        blocks=integer(args, "num_gpu_blocks_override"),
        swap_gib=number(args, "swap_space", most=1 << 20) or 0.0,
        kv_offload_gib=number(args, "kv_offloading_size", most=1 << 30) or 0.0,
        pooling=pooling,
        text_only=bool(flag(args, "language_model_only")) or not dims.multimodal,
        profile_encoder=not flag(args, "skip_mm_profiling"),
        limits=_limits(args),
        max_pixels=_max_pixels(mapping(args, "mm_processor_kwargs")),
        draft_tokens=draft.tokens if draft else 0,
        draft=draft,
        lora=_lora(inputs, plain, rules),
        state_dtype=word(args, "mamba_ssm_cache_dtype"),
        asynchronous=flag(args, "async_scheduling"),
        sampler_in_profile=not pooling and (base.sampler_when_chunked or not chunked),
        flashinfer=inputs.flashinfer and flag(inputs.environment, "VLLM_USE_FLASHINFER_SAMPLER") is not False,
    )


def _batch(  # what each default of the batch hangs on
    inputs: SizingInputs, dims: Dimensions, base: Defaults, context: int, chunked: bool, pooling: bool
) -> tuple[int, int]:
    """(batched tokens, sequences): as asked for, else the release's default for this model and card."""
    args = inputs.serve_args
    factor = base.throughput_factor if word(args, "performance_mode") == "throughput" else 1
    wanted = integer(args, "max_num_seqs", most=1 << 20) or factor * sequences(base, inputs.card)
    batch = integer(args, "max_num_batched_tokens", most=1 << 26)
    if batch is None:
        batch = factor * batched_tokens(base, inputs.card, context, chunked, inputs.llm_class)
        batch = max(batch, base.pooling_batched_tokens if pooling else 0, base.multimodal_batched_tokens if dims.multimodal else 0)
        batch = min(batch, wanted * context) if base.batch_bounded else batch
    return batch, wanted


def context_length(value: object) -> int | None:
    """`--max-model-len` as a number of tokens: `32768`, `32k` (thousands), `32K` (1,024s); None for `auto`, `-1` and what is no length."""
    if isinstance(value, str) and value.strip()[-1:] in _LENGTH_UNITS and len(value) <= 20:
        unit = _LENGTH_UNITS[value.strip()[-1]]
        found = as_number(value.strip()[:-1])
        return int(found * unit) if found and 0 < found * unit <= 1 << 30 else None
    found = as_number(value)
    return int(found) if found and 0 < found <= 1 << 30 else None


def _or(told: bool | None, otherwise: bool) -> bool:
    return otherwise if told is None else told


def _chunked(args: Mapping[str, Any], base: Defaults, context: int, dims: Dimensions) -> bool:
    """Whether prefill is chunked: always in V1; in V0 when asked for, or on its own above a context length for plain models."""
    if base.batched_tokens:
        return flag(args, "enable_chunked_prefill") is not False
    told = flag(args, "enable_chunked_prefill")
    plain = not dims.multimodal and dims.latent is None and not any(g.layer.mixer == "window" for g in dims.layers)
    return _or(told, base.chunked_above is not None and context > base.chunked_above and plain)


def _pooling(inputs: SizingInputs, args: Mapping[str, Any], dims: Dimensions) -> bool:
    """Whether the model answers with vectors or scores; a checkpoint of a generating architecture shows it only in its name."""
    runner = (word(args, "runner", "task") or "auto").lower()
    if runner in ("generate", "draft", "transcription"):
        return False
    if runner != "auto":
        return True
    named = inputs.model.lower()
    return answers_with_vectors(dims.architecture) or any(part in named for part in _POOLING_NAMES)


def _sizes(args: Mapping[str, Any], compilation: Mapping[str, Any]) -> tuple[int, ...] | None:
    listed = items(compilation, "cudagraph_capture_sizes") or items(args, "cudagraph_capture_sizes", "cuda_graph_sizes")
    sizes = {int(size) for size in listed if as_number(size) and 0 < float(size) <= 1 << 20}
    return tuple(sorted(sizes)) if sizes else None


def _limits(args: Mapping[str, Any]) -> dict[str, int]:
    """Items of each modality a prompt may hold, where limited."""
    found = {}
    for modality, limit in list(mapping(args, "limit_mm_per_prompt").items())[:20]:
        count = integer(limit, "count", least=0) if isinstance(limit, Mapping) else as_number(limit)
        if count is not None:
            found[str(modality)] = int(count)
    return found


def _max_pixels(kwargs: Mapping[str, Any]) -> int | None:
    """The bound on an image's pixels that the processor is given, in either of its spellings."""
    return integer(kwargs, "max_pixels", most=1 << 34) or integer(mapping(kwargs, "size"), "longest_edge", most=1 << 34)


def _draft(inputs: SizingInputs, dims: Dimensions, rules: Rules, ranks: int) -> Speculation | None:
    """What drafts, where the arguments speak of it."""
    if not any(name.startswith(("spec", "num_spec")) for name in inputs.serve_args):
        return None
    from envcheck.sizing.speculative import speculation_of  # noqa: PLC0415  # few servers speculate

    return speculation_of(inputs, dims, rules.families, ranks)


def _lora(inputs: SizingInputs, plain: int, rules: Rules) -> Lora | None:
    """LoRA's settings, where it is enabled."""
    if not inputs.serve_args.get("enable_lora"):
        return None
    from envcheck.sizing.lora import lora_of  # noqa: PLC0415  # few servers have adapters

    return lora_of(inputs.serve_args, plain, rules.lora, inputs.adapters)
