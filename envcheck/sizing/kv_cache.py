"""Bytes that keys, values and recurrent states take: a token and layer, on one rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from envcheck.model.memoryfacts import KvFormat, KvLayout
from envcheck.sizing.layers import LayerGroup
from envcheck.sizing.rank import stage_layers
from envcheck.sizing.settings import Settings
from envcheck.sizing.spec import Dimensions, dtype_bytes

Keeps = Literal["all", "window", "chunk", "state", "cross"]
_SPARSE_LATENT_BYTES = 656  # one token of fp8_ds_mla: 512 values, 4 scales, 64 rotary values in 16 bit
_PACKED_STATE_BYTES = 584  # a state of compressed attention: 448 values in 8 bit, 64 rotary values in 16, 8 scales
_INDEX_BLOCK = 128  # values of the sparse-attention indexer that share one single-precision scale


class CacheLayers(msgspec.Struct, frozen=True):
    """Layers of equal need on one rank: `count` layers (fractional on a pipeline stage); bytes a token, or bytes a state."""

    keeps: Keeps
    count: float
    bytes_per_token: float = 0.0
    state_bytes: float = 0.0


def cache_layers(dims: Dimensions, settings: Settings, layout: KvLayout, formats: Sequence[KvFormat]) -> tuple[CacheLayers, ...]:
    """What every kind of layer keeps, on one rank of the stage with the most layers; nothing in a model that only encodes."""
    if dims.family.structure.encoder_only:
        return ()
    share = max(stage_layers(dims.layer_count, settings.stages)) / max(1, dims.layer_count)
    found: dict[tuple[Keeps, float, float], float] = {}
    for group in dims.layers:
        for need in _needs(dims, group, settings, layout, formats):
            key = (need.keeps, need.bytes_per_token, need.state_bytes)
            found[key] = found.get(key, 0.0) + need.count * share
    layers = [CacheLayers(keeps, count, each, state) for (keeps, each, state), count in found.items()]
    return _with_drafts(layers, dims, settings, layout, formats) if settings.draft else tuple(layers)


def bytes_per_token(layers: Sequence[CacheLayers]) -> float:
    """What one more token of context takes while no window is full."""
    return sum(layer.count * layer.bytes_per_token for layer in layers if layer.keeps != "cross")


def _with_drafts(
    layers: list[CacheLayers], dims: Dimensions, settings: Settings, layout: KvLayout, formats: Sequence[KvFormat]
) -> tuple[CacheLayers, ...]:
    """A draft's layers keep all tokens, beside the model's full-attention layers; of other size, they count there by their bytes."""
    drafts = _draft_needs(dims, settings, layout, formats)
    full = next((i for i, layer in enumerate(layers) if layer.keeps == "all"), None)
    if full is None:
        return tuple(layers)
    plain = all(layer.keeps == "all" for layer in layers)
    for need in drafts:
        each = layers[full].bytes_per_token
        if plain and need.bytes_per_token != each:
            layers.append(need)
        elif each:
            added = need.count * need.bytes_per_token / each
            layers[full] = msgspec.structs.replace(layers[full], count=layers[full].count + added)
    return tuple(layers)


def _draft_needs(dims: Dimensions, settings: Settings, layout: KvLayout, formats: Sequence[KvFormat]) -> list[CacheLayers]:
    """What the draft's attention layers keep; prediction layers as the target's last attention layer, each with its own keys."""
    draft = settings.draft
    if draft is None:
        return []
    if draft.kind == "mtp":
        return [need for group in draft.groups for need in _needs(dims, group, settings, layout, formats) if need.keeps == "all"]
    if draft.kind not in ("model", "eagle", "eagle3") or draft.dims is None:
        return []
    own, mine = draft.dims, msgspec.structs.replace(settings, tensor_ranks=draft.ranks)
    needs = [need for group in own.layers for need in _needs(own, group, mine, layout, formats)]
    return [msgspec.structs.replace(need, keeps="all") for need in needs if need.bytes_per_token and need.keeps != "cross"]


def _needs(dims: Dimensions, group: LayerGroup, settings: Settings, layout: KvLayout, formats: Sequence[KvFormat]) -> list[CacheLayers]:
    layer = group.layer
    if layer.mixer in ("none", "shared", "cross"):
        return []
    if layer.mixer == "recurrent":
        return [CacheLayers("state", group.count, 0.0, state_bytes(dims, settings))] if dims.recurrent else []
    keeps: Keeps = "all"
    if layout.hybrid and layer.mixer in ("window", "chunk") and dims.window:
        keeps = "window" if layer.mixer == "window" else "chunk"
    if layer.compress:
        return _compressed(dims, group, layer.compress, layout)
    if dims.latent and layout.mla:
        return _latent(dims, group, settings)
    heads = max(1, (layer.kv_heads or dims.kv_heads) // settings.tensor_ranks)
    head_dim, value_dim = layer.head_dim or dims.head_dim, layer.head_dim or dims.head_dim
    if dims.latent:
        heads, head_dim = max(1, dims.heads // settings.tensor_ranks), dims.latent.nope + dims.latent.rope
        value_dim = head_dim
    form = _plain_where(layer.mixer, kv_format(settings, formats), settings)
    edges = min(group.count, form.plain_edge_layers) if form else 0
    plain = CacheLayers(keeps, edges, float(heads * (head_dim + value_dim) * settings.dtype_bytes))
    packed = CacheLayers(keeps, group.count - edges, heads * row_bytes(form, head_dim, settings))
    needs = [need for need in (plain, packed) if need.count]
    if dims.family.structure.cross_attention and dims.encoder:
        needs += [msgspec.structs.replace(need, keeps="cross") for need in needs]
    if layer.mixer == "parallel" and dims.recurrent:
        needs.append(CacheLayers("state", group.count, 0.0, state_bytes(dims, settings)))
    return needs


def _compressed(dims: Dimensions, group: LayerGroup, ratio: int, layout: KvLayout) -> list[CacheLayers]:
    """One packed state for every `ratio` tokens, and the window's tokens one by one."""
    needs = [CacheLayers("all", group.count, _PACKED_STATE_BYTES / ratio)]
    if layout.hybrid and dims.window:
        needs.append(CacheLayers("window", group.count, float(_PACKED_STATE_BYTES)))
    return needs


def _plain_where(mixer: str, form: KvFormat | None, settings: Settings) -> KvFormat | None:
    return None if form and form.plain_windows and mixer == "window" else form


def row_bytes(form: KvFormat | None, head_dim: int, settings: Settings) -> float:
    """One head's key and value of one token."""
    if form is None:
        return float(2 * head_dim * settings.dtype_bytes)
    size = form.key_per_dim * head_dim + form.key_fixed + form.value_per_dim * head_dim + form.value_fixed
    return float(-(-size // 2) * 2) if form.even else size


def kv_format(settings: Settings, formats: Sequence[KvFormat]) -> KvFormat | None:
    """The record of `--kv-cache-dtype`; None = as the model's own type."""
    if settings.kv_dtype == "auto" or dtype_bytes(settings.kv_dtype) == settings.dtype_bytes:
        return None
    exact = next((form for form in formats if settings.kv_dtype in form.names), None)
    return exact or next((form for form in formats if any(settings.kv_dtype.startswith(name) for name in form.names)), None)


def _latent(dims: Dimensions, group: LayerGroup, settings: Settings) -> list[CacheLayers]:
    """One shared latent a token, the same on every rank; an indexer keeps its own keys beside it."""
    mla = dims.latent
    if mla is None:
        return []
    eight_bit = settings.kv_dtype.startswith("fp8")
    each = float((mla.rank + mla.rope) * (1 if eight_bit else settings.dtype_bytes))
    if mla.index_dim and eight_bit:
        each = float(_SPARSE_LATENT_BYTES)
    needs = [CacheLayers("all", group.count, each)]
    if mla.index_dim:
        needs.append(CacheLayers("all", group.count, mla.index_dim + mla.index_dim / _INDEX_BLOCK * 4))
    return needs


def state_bytes(dims: Dimensions, settings: Settings) -> float:
    """A recurrent layer's state of one request on one rank: the convolution's last inputs and the state itself."""
    cell = dims.recurrent
    if cell is None:
        return 0.0
    state = dtype_bytes(settings.state_dtype) or dtype_bytes(cell.state_dtype) or settings.dtype_bytes
    taps = cell.taps + (settings.draft_tokens if cell.kind == "delta" else 0)
    return (taps * cell.conv_width * settings.dtype_bytes + cell.state_values * state) / settings.tensor_ranks
