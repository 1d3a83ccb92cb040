"""The records of `matrices/memory.json`: what each range of vLLM releases takes and charges of a GPU's memory.

Measured constants and release sources, never computed here. `releases` is a version specifier, "" = every release; the first record
of a list that matches decides, so the narrower ones stand first. GiB are 2**30 bytes, MiB 2**20.
"""

from typing import Any, Literal

import msgspec

from envcheck.model import memoryrecord
from envcheck.model.memorycards import Context, CudaTotal, Margins, Spread
from envcheck.model.modelstructure import Structure

Engine = memoryrecord.Engine
Runner = memoryrecord.Runner
Interconnect = memoryrecord.Interconnect
MemoryRecord = memoryrecord.MemoryRecord


class Accounting(MemoryRecord, frozen=True, kw_only=True):
    """What the profile run of a release charges to the budget, utilization x total.

    `charges`: `card` = everything in use on the card, other processes and the CUDA context too; `process` = what this process added
    since before the communicators were made; `after-communicators` = since they were made. `graphs`: `outside` the budget;
    `estimated` = estimated and logged, subtracted only on request; `budgeted` = the estimate is subtracted.
    """

    charges: Literal["card", "process", "after-communicators"]
    graphs: Literal["outside", "estimated", "budgeted"]
    graphs_variable: str | None = None
    free_memory_check: bool = False
    charges_buffers: bool = False
    warms_sampler: bool = False
    swap_gib: float | None = None
    v2_runner_estimates_graphs: bool = False
    default_engine: Engine = "v1"


class Tier(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A default that depends on the GPU: total memory of at least so many GiB and, case ignored, none of these words in its name."""

    value: int
    at_least_gib: float = 0.0
    named: list[str] = []
    not_named: list[str] = []


class Defaults(MemoryRecord, frozen=True, kw_only=True):
    """Serve defaults. `batched_tokens` empty = the whole context unless prefill is chunked (`chunked_batched_tokens`).

    `llm_class_batched_tokens` = where vLLM runs through its `LLM` class; empty = as the server. `pooling_batched_tokens`,
    `multimodal_batched_tokens` = at least so many for such models. `batch_bounded` = no more tokens than all sequences together hold.
    `throughput_factor` = of both defaults in the throughput mode.
    """

    gpu_memory_utilization: float
    max_num_seqs: list[Tier]
    batched_tokens: list[Tier] = []
    llm_class_batched_tokens: list[Tier] = []
    pooling_batched_tokens: int = 0
    multimodal_batched_tokens: int = 0
    batch_bounded: bool = False
    throughput_factor: int = 1
    chunked_batched_tokens: int | None = None
    chunked_above: int | None = None
    least_batched_tokens: int = 2048
    sampler_when_chunked: bool = True
    block_size: int = 16
    mla_block_size: int = 64


class Sampler(MemoryRecord, frozen=True, kw_only=True):
    """The sampler's peak in the profile run and in warm-up: `bytes_per_logit` x rows x vocabulary.

    `rows`: `requests` = min(max_num_seqs, batched tokens); `tokens` = every batched token. `buffer_bytes_per_logit` stays for good.
    `flashinfer` = only where that package's sampler is installed.
    """

    bytes_per_logit: float
    runner: Runner | None = None
    flashinfer: bool = False
    rows: Literal["requests", "tokens"] = "requests"
    buffer_bytes_per_logit: float = 0.0
    keeps_hidden_states: bool = True


class Forward(MemoryRecord, frozen=True, kw_only=True):
    """The forward pass's peak: tokens x (`wide` x widest sharded row + `narrow` x hidden) x 2 bytes.

    `first_stage_gib` is added on the first of several pipeline stages. `expert_workspace`: whether the scratch of the fused expert
    kernels is given back after a layer or stays for good; `expert_chunk` = tokens they take at a time, None = all.
    """

    wide: float
    narrow: float
    runner: Runner | None = None
    first_stage_gib: float = 0.0
    expert_workspace: Literal["transient", "persistent"] = "persistent"
    expert_chunk: int | None = None


class EncoderRows(MemoryRecord, frozen=True, kw_only=True):
    """Rows of encoder width alive for every patch at the encoder's peak: `whole` on every rank, `sharded` divided among the ranks.

    `gathered` = besides, on every one of several ranks, where attention gathers what it sharded. `model_types` empty = every model.
    """

    whole: float
    sharded: float
    gathered: float = 0.0
    model_types: list[str] = []


class ColdStart(MemoryRecord, frozen=True, kw_only=True):
    """A pass of its own when nothing is compiled yet: stand-ins of the embedding table of the rank, and `narrow` rows of the hidden size.

    Where sequences are embedded before the compiled part, as multimodal models do, no table is copied. `assumed` False = charged only
    where a first start is told. `pinned` = copies that may stay cached and are then counted once more. `capability_below` = only there.
    """

    tables: float
    narrow: float
    pinned: float = 0.0
    assumed: bool = True
    capability_below: str | None = None
    runner: Runner | None = None


class NonTorch(MemoryRecord, frozen=True, kw_only=True):
    """Memory of this process outside the tensor allocator that is charged, GiB, by number of tensor-parallel ranks."""

    gib: float
    ranks: int = 1
    interconnect: Interconnect | None = None
    pipeline: bool = False
    runner: Runner | None = None


class GraphSizes(MemoryRecord, frozen=True, kw_only=True):
    """Batch sizes captured by default: `first` single sizes, then steps of `step`, from `wide_from` on of `wide_step`, up to the limits."""

    first: list[int]
    step: int
    wide_from: int | None = None
    wide_step: int | None = None
    largest: int
    sequences_factor: int | None = None
    full_decode: bool = False


class GraphMemory(MemoryRecord, frozen=True, kw_only=True):
    """CUDA graph memory: `base_gib` + graphs x (`mib_per_graph` + layers x `mib_per_graph_layer`).

    `estimated` = the release's own estimate, which its budget may pay, over what they take. `model_types` empty = every model.
    """

    base_gib: float
    mib_per_graph_layer: float
    mib_per_graph: float = 0.0
    estimated: float = 1.0
    runner: Runner | None = None
    model_types: list[str] = []


class KvLayout(MemoryRecord, frozen=True, kw_only=True):
    """How blocks are counted. `tokens`: what the log prints: blocks x size; per group; or concurrency x context.

    `hybrid` = sliding-window and recurrent layers keep only their window or state. `window_flight` = batched tokens held beyond a
    window, in batches (`window_flight_async` with asynchronous scheduling). `group_slack` = group size rule of the release.
    """

    tokens: Literal["blocks", "blocks-per-group", "concurrency"]
    hybrid: bool
    mla: bool = True
    window_flight: int = 1
    window_flight_async: int = 1
    group_slack: float | None = None
    recurrent_pages_with_prefix_caching: int = 1
    prefix_caching: bool = True


class V2Runner(MemoryRecord, frozen=True, kw_only=True):
    """Models that take the second model runner by default in these releases."""

    architectures: list[str] = []
    dense: bool = False
    everything: bool = False
    unquantized_only: bool = False
    variable: str | None = None


class QuantizationFormat(MemoryRecord, frozen=True, kw_only=True):
    """A weight format: `bits` a weight with its scales and zero points included; `scope` what it applies to.

    `pad_to`, `pad_inputs_to` = expert widths are rounded up to a multiple; `extra_gib` = buffers of the method on every rank.
    """

    names: list[str]
    bits: float
    scope: Literal["linear", "experts"] = "linear"
    pad_to: int | None = None
    pad_inputs_to: int | None = None
    extra_gib: float = 0.0
    capability_below: str | None = None


class KvFormat(MemoryRecord, frozen=True, kw_only=True):
    """A KV-cache type: bytes of one head's key and value row of D values: `per_dim` x D + `fixed` each, `even` = rounded up to even."""

    names: list[str]
    key_per_dim: float
    value_per_dim: float
    key_fixed: float = 0.0
    value_fixed: float = 0.0
    even: bool = False
    plain_edge_layers: int = 0
    plain_windows: bool = False


class EncoderItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The largest item of a modality, in tokens; `held_tokens` = rows kept for it where more.

    `per_context` = the item repeats as often as the context holds it, at most so many times. `patches` = rows of the encoder's width that
    one item is, where its tokens do not tell. `pixels` = of one of its images or frames, where the processor's `max_pixels` sets another
    bound; they are squares that share out evenly among the tokens.
    """

    modality: str
    tokens: int
    held_tokens: int | None = None
    patches: int | None = None
    per_context: int = 1
    pixels: int | None = None
    releases: str = ""


class Family(MemoryRecord, frozen=True, kw_only=True):
    """What a `config.json` of these model types leaves unsaid.

    `defaults` = values of the configuration class; `mlp_matrices` 3 = gated, 2 = plain; `rope_rows_factor` rotary table rows a
    position; `positions_scaled` = the stated context is that after rope scaling; `encoder` = largest items of a multimodal model;
    `encoder_outputs` = hidden-sized vectors an encoder token yields; `encoder_parameters` = of one whose configuration does not say;
    `structure` = its vectors and whatever else is no large matrix.
    """

    model_types: list[str]
    defaults: dict[str, Any] = {}
    tied: bool | None = None
    mlp_matrices: int = 3
    rope_rows_factor: float = 1.0
    positions_scaled: bool = False
    fused_experts: bool = True
    encoder: list[EncoderItem] = []
    encoder_outputs: int = 1
    encoder_sharded: bool = True
    encoder_mlp_matrices: int = 2
    encoder_parameters: int | None = None
    structure: Structure = Structure()


class DraftRule(MemoryRecord, frozen=True, kw_only=True):
    """How a release loads what drafts; `shares_mtp_head` = prediction layers use the target's output head instead of their own."""

    shares_mtp_head: bool


class LoraRule(MemoryRecord, frozen=True, kw_only=True):
    """What a release allocates for LoRA.

    `max_loras` and `max_lora_rank` = defaults; `experts` = routed experts have buffers too; `graph_sets` = CUDA graphs of each kind, with
    adapters and without; `extra_vocab` = rows for tokens that
    adapters add, by default; `head_rows_to` = rows of the output head's buffer are a multiple of this; `embeddings` = architectures
    (or model types, where a configuration names none) whose embedding and output head have buffers.
    """

    max_loras: int
    max_lora_rank: int
    experts: bool
    graph_sets: int = 1
    extra_vocab: int
    head_rows_to: int
    embeddings: list[str]


class MemoryFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/memory.json`."""

    accounting: list[Accounting]
    defaults: list[Defaults]
    sampler: list[Sampler]
    forward: list[Forward]
    encoder_rows: list[EncoderRows]
    cold_start: list[ColdStart]
    non_torch: list[NonTorch]
    graph_sizes: list[GraphSizes]
    graph_memory: list[GraphMemory]
    kv_layout: list[KvLayout]
    v2_runner: list[V2Runner]
    contexts: list[Context]
    cuda_totals: list[CudaTotal]
    margins: list[Margins]
    quantization: list[QuantizationFormat]
    kv_formats: list[KvFormat]
    families: list[Family]
    spreads: list[Spread] = []
    drafts: list[DraftRule] = []
    lora: list[LoraRule] = []
