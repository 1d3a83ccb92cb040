"""CUDA graphs: how many a release captures, and about how much memory they take."""

from __future__ import annotations

from envcheck.model.memoryfacts import GraphMemory, GraphSizes, Runner
from envcheck.model.units import GIB, MIB
from envcheck.sizing.release import Rules, first
from envcheck.sizing.settings import Settings
from envcheck.sizing.spec import Dimensions


def graph_count(settings: Settings, rules: Rules) -> int:
    """Graphs captured: one a batch size, twice for the sizes that also get a graph of the whole decoding step; with LoRA, one set more."""
    facts = rules.graph_sizes
    if not settings.graphs or facts is None:
        return 0
    sizes = capture_sizes(settings, facts)
    whole = sum(1 for size in sizes if size <= settings.sequences) if facts.full_decode and settings.full_graphs else 0
    sets = rules.lora.graph_sets if settings.lora and rules.lora else 1
    return (len(sizes) + whole) * sets


def capture_sizes(settings: Settings, facts: GraphSizes) -> list[int]:
    """Batch sizes captured by default, or those asked for."""
    if settings.capture_sizes:
        return [size for size in settings.capture_sizes if size <= settings.batched_tokens]
    most = min(facts.largest, settings.batched_tokens)
    if facts.sequences_factor:
        most = min(most, facts.sequences_factor * settings.sequences * (1 + settings.draft_tokens))
    most = min(most, settings.largest_capture or most)
    wide_from = facts.wide_from or facts.largest + 1
    sizes = [*facts.first, *range(facts.step, wide_from, facts.step), *range(wide_from, facts.largest + 1, facts.wide_step or facts.step)]
    return [size for size in sizes if size <= most]


def graph_record(dims: Dimensions, rules: Rules, runner: Runner) -> GraphMemory | None:
    """What is known of the memory of a model's graphs."""
    return first(rules.graph_memory, lambda r: r.runner in (None, runner) and (not r.model_types or dims.model_type in r.model_types))


def estimate_share(dims: Dimensions, rules: Rules, runner: Runner) -> float:
    """The release's estimate of the graphs' memory over what they take: from 0.18 on it captures two sizes and extrapolates."""
    facts = graph_record(dims, rules, runner)
    return facts.estimated if facts else 1.0


def graph_bytes(dims: Dimensions, settings: Settings, rules: Rules, runner: Runner) -> float:
    """Memory of the graphs of one rank; 0 in eager mode."""
    count = graph_count(settings, rules)
    facts = graph_record(dims, rules, runner)
    if not count or facts is None:
        return 0.0
    layers = dims.layer_count / settings.stages
    return facts.base_gib * GIB + count * (facts.mib_per_graph + layers * facts.mib_per_graph_layer) * MIB
