"""The encoder of a multimodal model in the profile run: what it keeps, and its own peak. Bytes on one rank."""

from __future__ import annotations

import msgspec

from envcheck.model.memoryfacts import EncoderItem, EncoderRows
from envcheck.sizing.release import Rules, first
from envcheck.sizing.settings import Settings
from envcheck.sizing.spec import Dimensions

_HALF = 2  # bytes of an activation


class Items(msgspec.Struct, frozen=True):
    """The dummy items of the profile run: tokens encoded in one call, rows kept of all of them; `prompt` = tokens of the whole prompt."""

    encoded: int = 0
    kept: int = 0
    prompt: int = 0


def profiled_items(dims: Dimensions, settings: Settings, rules: Rules) -> Items:
    """V1 profiles the largest item alone; V0 all items that one prompt may hold, a modality at a time, in a prompt as long as they need.

    Sources: `vllm/multimodal/profiling.py`, get_decoder_dummy_data (0.9.0.1); `vllm/v1/core/encoder_cache_manager.py`.
    """
    if settings.text_only or not settings.profile_encoder:
        return Items()
    items = [item for item in dims.family.encoder if settings.limits.get(item.modality, 1)]
    if not items:
        return Items()
    if rules.engine == "v0":
        each = [item_tokens(item, settings.context) * settings.limits.get(item.modality, 1) for item in items]
        return Items(max(each), sum(each), sum(each))
    largest = max(items, key=lambda item: item.held_tokens or item_tokens(item, settings.context))
    tokens = item_tokens(largest, settings.context)
    return Items(tokens, largest.held_tokens or tokens)


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
    return beside + kept, kept + _tower_bytes(dims, items.encoded, settings, encoder_record(dims, rules))


def encoder_record(dims: Dimensions, rules: Rules) -> EncoderRows | None:
    """What is known of the encoder of these models."""
    return first(rules.encoder_rows, lambda r: not r.model_types or dims.model_type in r.model_types)


def _tower_bytes(dims: Dimensions, tokens: int, settings: Settings, facts: EncoderRows | None) -> float:
    """Rows of the encoder's width for every patch: whole ones, the sharded of attention and feed-forward part, and those gathered."""
    vision = dims.vision
    if vision is None or facts is None:
        return 0.0
    ranks = settings.tensor_ranks if dims.family.encoder_sharded else 1
    whole = facts.whole + (facts.gathered if ranks > 1 else 0.0)
    sharded = facts.sharded * vision.hidden + (dims.family.encoder_mlp_matrices - 1) * vision.intermediate
    return tokens * vision.merge**2 * (whole * vision.hidden + sharded / ranks) * _HALF
