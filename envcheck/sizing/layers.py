"""What each layer of a model is: full, windowed, chunked, recurrent or no attention; dense, experts or no feed-forward part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from envcheck.sizing.fields import flag, integer, items, mapping, number, word

Mixer = Literal["full", "window", "chunk", "recurrent", "none", "cross", "shared", "parallel"]
FeedForward = Literal["dense", "experts", "none"]

MOST_LAYERS = 4096
_PURE_RECURRENT = ("mamba", "mamba2", "falcon_mamba")
_NAMES: dict[str, Mixer] = {
    "full_attention": "full",
    "attention": "full",
    "full": "full",
    "sliding_attention": "window",
    "local_attention": "window",
    "sliding": "window",
    "chunked_attention": "chunk",
    "linear_attention": "recurrent",
    "mamba": "recurrent",
    "mamba2": "recurrent",
    "recurrent": "recurrent",
    "conv": "recurrent",
    "none": "none",
}
_PATTERN: dict[str, tuple[Mixer, FeedForward]] = {
    "M": ("recurrent", "none"),
    "*": ("full", "none"),
    "-": ("none", "dense"),
    "E": ("none", "experts"),
}


class Layer(msgspec.Struct, frozen=True):
    """One layer's shape; None = the model's own.

    `compress` = tokens that share one stored state of compressed attention; `keys_are_values` = one projection serves as both.
    """

    mixer: Mixer
    feed_forward: FeedForward = "dense"
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate: int | None = None
    compress: int | None = None
    keys_are_values: bool = False


class LayerGroup(msgspec.Struct, frozen=True):
    """So many layers of one shape."""

    layer: Layer
    count: int


def layer_groups(text: Mapping[str, Any], count: int, has_experts: bool) -> tuple[LayerGroup, ...]:
    """The layers of a text model, equal ones together, in order of first appearance."""
    if count > MOST_LAYERS:
        return ()
    layers = (
        _from_blocks(text) or _from_pattern(text, count) or _from_parts(text) or _compressed(text, _from_kinds(text, count, has_experts))
    )
    return tuple(LayerGroup(layer, n) for layer, n in Counter(layers).items())


def _from_kinds(text: Mapping[str, Any], count: int, has_experts: bool) -> list[Layer]:
    kinds = _mixers(text, count)
    mixers = _share(text, kinds)
    dense = _dense_layers(text, count) if has_experts else set(range(count))
    alone = word(text, "model_type") in _PURE_RECURRENT
    layers = [
        Layer(
            mixer,
            "none" if alone else "dense" if i in dense else "experts",
            integer(text, "num_global_key_value_heads") if kind == "full" else None,
            integer(text, "global_head_dim") if kind == "full" else None,
            _width(text, mixer, i) if i in dense else None,
            keys_are_values=kind == "full" and bool(flag(text, "attention_k_eq_v")),
        )
        for i, (kind, mixer) in enumerate(zip(kinds, mixers, strict=True))
    ]
    return _overridden(text, layers)


def _width(text: Mapping[str, Any], mixer: Mixer, index: int) -> int | None:
    """A feed-forward width of its own: stated by layer, of the plain layers of a mixture, or doubled where keys are another layer's."""
    listed = items(text, "intermediate_size")
    if index < len(listed):
        return integer({"width": listed[index]}, "width", most=1 << 26)
    usual = integer(text, "intermediate_size", most=1 << 26)
    if usual and mixer == "shared" and flag(text, "use_double_wide_mlp"):
        return 2 * usual
    return integer(text, "intermediate_size_mlp", most=1 << 26)


def _overridden(text: Mapping[str, Any], layers: list[Layer]) -> list[Layer]:
    """Layers whose heads the configuration states one by one."""
    own = mapping(text, "per_layer_config")
    if not own or len(own) > MOST_LAYERS:
        return layers
    found = []
    for i, layer in enumerate(layers):
        said = own.get(str(i))
        heads, dim = (integer(said, name) for name in ("num_key_value_heads", "head_dim")) if isinstance(said, Mapping) else (None, None)
        found.append(msgspec.structs.replace(layer, kv_heads=heads or layer.kv_heads, head_dim=dim or layer.head_dim))
    return found


def _compressed(text: Mapping[str, Any], layers: list[Layer]) -> list[Layer]:
    """Layers that store one state for several tokens; a ratio of 0 keeps its window alone."""
    ratios = items(text, "compress_ratios")
    if len(ratios) < len(layers):
        return layers
    known = [ratio if isinstance(ratio, int) and 0 <= ratio <= 1 << 16 else 0 for ratio in ratios]
    return [
        msgspec.structs.replace(layer, mixer="full" if ratio else "window", compress=ratio or None)
        for layer, ratio in zip(layers, known, strict=False)
    ]


def _mixers(text: Mapping[str, Any], count: int) -> list[Mixer]:
    """The kind of every layer, by whichever field says so."""
    named = [_NAMES.get(str(item), "full") for item in items(text, "layer_types", "layers_block_type")]
    if len(named) >= count:
        return named[:count]
    for read in (_by_interval, _by_period, _by_lists):
        found = read(text, count)
        if found:
            return found
    return _windows(text, count)


def _by_interval(text: Mapping[str, Any], count: int) -> list[Mixer]:
    interval = integer(text, "full_attention_interval", most=MOST_LAYERS)
    return ["full" if (i + 1) % interval == 0 else "recurrent" for i in range(count)] if interval else []


def _by_period(text: Mapping[str, Any], count: int) -> list[Mixer]:
    period = integer(text, "attn_layer_period", most=MOST_LAYERS)
    offset = integer(text, "attn_layer_offset", least=0, most=MOST_LAYERS) or 0
    return ["full" if i % period == offset % period else "recurrent" for i in range(count)] if period else []


def _by_lists(text: Mapping[str, Any], count: int) -> list[Mixer]:
    """Lists of layer numbers or of 0/1 marks."""
    linear = mapping(text, "linear_attn_config")
    if linear:
        full = {int(i) for i in items(linear, "full_attn_layers") if isinstance(i, int)}
        return ["full" if i + 1 in full else "recurrent" for i in range(count)]
    marks = items(text, "attn_type_list")
    if len(marks) >= count:
        return ["full" if mark == 1 else "recurrent" for mark in marks[:count]]
    indices = {i for i in items(text, "attn_layer_indices") if isinstance(i, int)}
    if indices:
        return ["full" if i in indices else "recurrent" for i in range(count)]
    if word(text, "model_type") in _PURE_RECURRENT:
        return ["recurrent"] * count
    if word(text, "model_type") == "falcon_h1":
        return ["parallel"] * count
    crossing = {i for i in items(text, "cross_attention_layers") if isinstance(i, int)}
    return ["cross" if i in crossing else "full" for i in range(count)] if crossing else []


def _windows(text: Mapping[str, Any], count: int) -> list[Mixer]:
    """Windowed and chunked layers among full ones."""
    if integer(text, "attention_chunk_size"):
        step = integer(text, "no_rope_layer_interval", most=MOST_LAYERS) or 4
        return ["full" if (i + 1) % step == 0 else "chunk" for i in range(count)]
    window = integer(text, "sliding_window", "sliding_window_size")
    positions = integer(text, "max_position_embeddings")
    if not window or flag(text, "use_sliding_window") is False or (positions is not None and window >= positions):
        return ["full"] * count
    pattern = integer(text, "sliding_window_pattern", "_sliding_window_pattern", most=MOST_LAYERS)
    if pattern:
        return ["full" if (i + 1) % pattern == 0 else "window" for i in range(count)]
    untouched = integer(text, "max_window_layers", least=0, most=MOST_LAYERS) if flag(text, "use_sliding_window") else 0
    return ["full" if i < (untouched or 0) else "window" for i in range(count)]


def _share(text: Mapping[str, Any], mixers: list[Mixer]) -> list[Mixer]:
    """The last layers may read the cache of earlier ones."""
    shared = integer(text, "num_kv_shared_layers", most=MOST_LAYERS) or 0
    keep = max(0, len(mixers) - shared)
    return [mixer if i < keep or mixer == "recurrent" else "shared" for i, mixer in enumerate(mixers)]


def _dense_layers(text: Mapping[str, Any], count: int) -> set[int]:
    """Layers of a mixture model that have an ordinary feed-forward part."""
    dense = {i for i in items(text, "mlp_only_layers") if isinstance(i, int)}
    first = integer(text, "first_k_dense_replace", "moe_layer_start_index", most=MOST_LAYERS) or 0
    step = (
        integer(text, "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval", "expert_layer_period", most=MOST_LAYERS)
        or 1
    )
    marks = items(text, "moe_layer_freq")
    offset = integer(text, "expert_layer_offset", least=0, most=MOST_LAYERS)
    for i in range(count):
        marked = len(marks) >= count and not marks[i]
        apart = (i + 1) % step if offset is None else i % step != offset % step
        if i < first or apart or marked:
            dense.add(i)
    return dense


def _from_pattern(text: Mapping[str, Any], count: int) -> list[Layer]:
    """A string of one letter a layer."""
    pattern = word(text, "hybrid_override_pattern") or ""
    letters = [letter for letter in pattern if letter in _PATTERN]
    return [Layer(*_PATTERN[letter]) for letter in letters[:count]] if len(letters) >= count else []


def _from_parts(text: Mapping[str, Any]) -> list[Layer]:
    """One kind a layer, feed-forward parts being layers of their own."""
    named = [item for item in items(text, "layers_block_type") if isinstance(item, str)]
    if not {"mlp", "moe"} & set(named) or len(named) > MOST_LAYERS:
        return []
    alone: dict[str, Layer] = {"mlp": Layer("none", "dense"), "moe": Layer("none", "experts")}
    return [alone.get(name) or Layer(_NAMES.get(name, "full"), "none") for name in named]


def _from_blocks(text: Mapping[str, Any]) -> list[Layer]:
    """Per-layer objects of a pruned model: attention may be absent, widths differ."""
    blocks = items(text, "block_configs")
    hidden, heads = integer(text, "hidden_size"), integer(text, "num_attention_heads")
    if not blocks or len(blocks) > MOST_LAYERS or not hidden or not heads:
        return []
    return [_block(block, hidden, heads) for block in blocks if isinstance(block, Mapping)]


def _block(block: Mapping[str, Any], hidden: int, heads: int) -> Layer:
    attention, feed = mapping(block, "attention"), mapping(block, "ffn")
    share = integer(attention, "n_heads_in_group", most=heads)
    factor = number(feed, "ffn_mult", most=64)
    absent = flag(attention, "no_op") or flag(attention, "replace_with_linear") or share is None
    return Layer(
        "none" if absent else "full",
        "none" if factor is None or flag(feed, "no_op") else "dense",
        heads // share if share else None,
        None,
        _rounded(2 * factor * hidden / 3) if factor else None,
    )


def _rounded(width: float, multiple: int = 256) -> int:
    return -(-int(width) // multiple) * multiple
