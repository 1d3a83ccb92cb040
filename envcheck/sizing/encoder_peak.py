"""The encoder of a multimodal model in the profile run: what it keeps, and its own peak. Bytes on one rank."""

from __future__ import annotations

import math

import msgspec

from envcheck.model.memoryfacts import EncoderItem, EncoderRows
from envcheck.sizing.release import Rules, first
from envcheck.sizing.settings import Settings
from envcheck.sizing.spec import Dimensions

_HALF = 2  # bytes of an activation


class Items(msgspec.Struct, frozen=True):
    """The dummy items of the profile run: tokens encoded in one call, rows kept of all of them; `prompt` = tokens of the whole prompt.

    `patches` = what the encoder sees of those encoded; 0 = by the tower's merging of patches into tokens.
    """

    encoded: int = 0
    kept: int = 0
    prompt: int = 0
    patches: int = 0


def profiled_items(dims: Dimensions, settings: Settings, rules: Rules) -> Items:
    """V1 profiles as many of the largest item as a batch holds; V0 all items that one prompt may hold, a modality at a time.

    V0's prompt is as long as the items need.

    Sources: `vllm/multimodal/profiling.py`, get_decoder_dummy_data (0.9.0.1); `vllm/v1/worker/utils.py`, MultiModalBudget.
    """
    if settings.text_only or not settings.profile_encoder:
        return Items()
    items = [bounded(item, settings.max_pixels) for item in dims.family.encoder if settings.limits.get(item.modality, 1)]
    if not items:
        return Items()
    if rules.engine == "v0":
        counts = [
            (item_tokens(item, settings.context) * (n := settings.limits.get(item.modality, 1)), (item.patches or 0) * n) for item in items
        ]
        whole, (most, patches) = sum(tokens for tokens, _ in counts), max(counts)
        return Items(most, whole, whole, patches)
    largest = max(items, key=lambda item: item.held_tokens or item_tokens(item, settings.context))
    tokens = item_tokens(largest, settings.context)
    held = largest.held_tokens or tokens
    count = _items_a_batch(settings, held, settings.limits.get(largest.modality))
    return Items(tokens * count, held * count, 0, (largest.patches or 0) * count)


def _items_a_batch(settings: Settings, tokens: int, limit: int | None) -> int:
    """Items of so many tokens that are encoded at once: what the batch holds, no more than all requests together may have."""
    each = max(1, min(limit or 999, settings.context // tokens))
    return max(1, min(max(settings.batched_tokens, tokens) // tokens, settings.sequences * each))


def bounded(item: EncoderItem, max_pixels: int | None) -> EncoderItem:
    """The item under the processor's own bound of pixels: the largest square of whole tokens.

    Source: `vllm/model_executor/models/qwen2_vl.py`, _get_vision_info.
    """
    if not item.pixels or max_pixels is None:
        return item
    unit = math.isqrt(item.pixels // item.tokens)  # pixels on a side of one token
    return msgspec.structs.replace(item, tokens=max(1, math.isqrt(max_pixels) // unit) ** 2)


def item_tokens(item: EncoderItem, context: int) -> int:
    """Tokens of the largest item; some grow with the context, whole frames at a time."""
    return item.tokens * min(item.per_context, max(1, context // item.tokens))


def encoder_peaks(dims: Dimensions, settings: Settings, rules: Rules) -> tuple[float, float]:
    """(what stays while the language model runs, the encoder's own peak).

    Kept: an output row of every token and, of the batch, embeddings before and after they are merged.
    """
    if settings.text_only or not settings.profile_encoder:
        return 0.0, 0.0
    beside = 2.0 * settings.batched_tokens * dims.hidden * _HALF
    items = profiled_items(dims, settings, rules)
    if not items.encoded:
        return beside, 0.0
    kept = float(items.kept * dims.hidden * dims.family.encoder_outputs * _HALF)
    return beside + kept, kept + _tower_bytes(dims, items, settings, encoder_record(dims, rules))


def encoder_record(dims: Dimensions, rules: Rules) -> EncoderRows | None:
    """What is known of the encoder of these models."""
    return first(rules.encoder_rows, lambda r: not r.model_types or dims.model_type in r.model_types)


def _tower_bytes(dims: Dimensions, items: Items, settings: Settings, facts: EncoderRows | None) -> float:
    """Rows of the encoder's width for every patch: whole ones, the sharded of attention and feed-forward part, and those gathered."""
    vision = dims.vision
    if vision is None or facts is None:
        return 0.0
    ranks = settings.tensor_ranks if dims.family.encoder_sharded else 1
    whole = facts.whole + (facts.gathered if ranks > 1 else 0.0)
    sharded = facts.sharded * vision.hidden + (dims.family.encoder_mlp_matrices - 1) * vision.intermediate
    patches = items.patches or items.encoded * vision.merge**2
    return patches * (whole * vision.hidden + sharded / ranks) * _HALF
