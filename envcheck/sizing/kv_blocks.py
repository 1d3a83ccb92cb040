"""Blocks: how a pool of KV memory divides into pages, what one request needs of it, what the log then prints.

Layers that keep different things draw from one pool in groups of equal size: pages are made equal by larger blocks of the smaller
kinds, groups are filled up to the smallest kind's number of layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from envcheck.model.memoryfacts import KvLayout
from envcheck.sizing.kv_cache import CacheLayers, Keeps, bytes_per_token
from envcheck.sizing.settings import Settings

_STATE_ALIGN = 16  # tokens: an attention block grows to hold a state in steps of this


class Group(msgspec.Struct, frozen=True):
    """`groups` groups of one kind, each a block of `block_size` tokens (states: one block each)."""

    keeps: Keeps
    groups: int
    block_size: int


class Pool(msgspec.Struct, frozen=True):
    """How KV memory is dealt out: bytes of one block of every layer of a group, and the groups."""

    block_bytes: float
    groups: tuple[Group, ...]
    window: int
    flight: int
    context_ranks: int
    state_pages: int
    layout: KvLayout
    encoder_tokens: int = 0

    def blocks(self, kv_bytes: float) -> int:
        """Whole blocks in so much memory."""
        return max(0, int(kv_bytes // self.block_bytes)) if self.block_bytes else 0

    def request_blocks(self, context: int) -> int:
        """Blocks that one request of `context` tokens holds at most."""
        return sum(group.groups * self._held(group, context) for group in self.groups)

    def request_bytes(self, context: int) -> float:
        """Memory that one request of `context` tokens needs."""
        return self.request_blocks(context) * self.block_bytes

    def concurrency(self, blocks: int, context: int) -> float:
        """Requests of `context` tokens that fit at once."""
        needed = self.request_blocks(context)
        return blocks / needed if needed else 0.0

    def tokens(self, blocks: int, context: int) -> int:
        """The pool's tokens as the release prints them."""
        size = max((group.block_size for group in self.groups if group.keeps != "state"), default=0)
        if self.layout.tokens == "concurrency":
            return int(self.concurrency(blocks, context) * context)
        groups = sum(group.groups for group in self.groups) if self.layout.tokens == "blocks-per-group" else 1
        return blocks // max(1, groups) * size * self.context_ranks

    def longest(self, kv_bytes: float, most: int) -> int:
        """The longest context up to `most` that one request can have; 0 = none."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.request_bytes(middle) <= kv_bytes else (low, middle - 1)
        return low

    def _held(self, group: Group, context: int) -> int:
        if group.keeps == "state":
            return self.state_pages
        size = group.block_size * self.context_ranks
        if group.keeps == "cross":
            return math.ceil(self.encoder_tokens / size)
        if group.keeps == "window":
            return math.ceil(min(self.window - 1 + self.flight, context) / size) + 1
        if group.keeps == "chunk":
            return math.ceil(min(self.window + self.flight, context) / size)
        return math.ceil(context / size)


def pool(layers: Sequence[CacheLayers], settings: Settings, layout: KvLayout, window: int, encoder_tokens: int = 0) -> Pool:
    """The pool of one rank; `encoder_tokens` = of an encoder's output, which cross attention keeps for a request."""
    flight = settings.batched_tokens * (layout.window_flight_async if settings.asynchronous is not False else layout.window_flight)
    pages = layout.recurrent_pages_with_prefix_caching if settings.prefix_caching else 1
    kinds = {layer.keeps for layer in layers}
    if kinds <= {"all"}:
        block_bytes = bytes_per_token(layers) * settings.block_size
        groups: tuple[Group, ...] = (Group("all", 1, settings.block_size),) if layers else ()
    else:
        block_bytes, groups = _grouped(layers, settings.block_size, layout)
    return Pool(block_bytes, groups, window, flight, settings.context_ranks, pages, layout, encoder_tokens)


def _grouped(layers: Sequence[CacheLayers], block_size: int, layout: KvLayout) -> tuple[float, tuple[Group, ...]]:
    """Equal pages and equal groups for layers that keep different things."""
    size = block_size
    attention = [layer for layer in layers if layer.keeps != "state"]
    widest = max((layer.bytes_per_token for layer in attention), default=0.0)
    state = max((layer.state_bytes for layer in layers), default=0.0)
    if state and widest:
        size = max(size, _STATE_ALIGN * math.ceil(state / (_STATE_ALIGN * widest)))
    page = size * widest if widest else state
    counts = [layer.count for layer in layers]
    group_size = _group_size(counts, layout)
    groups = [
        Group(layer.keeps, math.ceil(layer.count / group_size), int(page // layer.bytes_per_token) if layer.bytes_per_token else 1)
        for layer in layers
    ]
    return page * group_size, tuple(groups)


def _group_size(counts: Sequence[float], layout: KvLayout) -> float:
    """Layers in a group: as many as the rarest kind has; in some releases as the commonest where the two are close."""
    fewest, most = min(counts), max(counts)
    if layout.group_slack and most < layout.group_slack * fewest:
        return most
    return max(fewest, 1.0)
