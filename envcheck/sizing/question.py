"""A question made ready: dimensions, release records and card resolved once, settings cheap to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from envcheck.model.memoryfacts import QuantizationFormat, Runner
from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability, compute_capability
from envcheck.sizing.card import total_bytes
from envcheck.sizing.fields import word
from envcheck.sizing.inputs import SizingInputs
from envcheck.sizing.kv_blocks import Pool, pool
from envcheck.sizing.kv_cache import cache_layers
from envcheck.sizing.quantization import WeightFormat, weight_format
from envcheck.sizing.rank import Rank, stage_layers
from envcheck.sizing.release import MemoryTable, Rules
from envcheck.sizing.runner import runner_of
from envcheck.sizing.settings import Settings, settings_of
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.weights import WeightTerms, checkpoint_bytes, weight_terms

_CHECKPOINT_TOLERANCE = 0.03  # a computed size this close to the checkpoint's is trusted for how it shards


class Question(msgspec.Struct, frozen=True):
    """One question with everything resolved that the terms need."""

    inputs: SizingInputs
    table: MemoryTable
    dims: Dimensions
    rules: Rules
    settings: Settings
    form: WeightFormat
    runner: Runner
    total: float | None

    @property
    def graphs_budgeted(self) -> bool:
        """Whether the budget pays for CUDA graphs: by release, unless the environment says otherwise or the runner estimates none."""
        if self.runner == "v2" and not self.rules.accounting.v2_runner_estimates_graphs:
            return False
        told = self.inputs.environment.get(self.rules.accounting.graphs_variable or "")
        if self.rules.accounting.graphs == "outside" or told in ("0", "1"):
            return told == "1" and self.rules.accounting.graphs != "outside"
        return self.rules.accounting.graphs == "budgeted"

    @property
    def stages(self) -> list[Rank]:
        """The pipeline stages that differ: the first, the one with the most layers, and the last."""
        settings = self.settings
        shared = settings.tensor_ranks * (settings.replicas if settings.expert_parallel else 1)
        parts, count = stage_layers(self.dims.layer_count, settings.stages), max(1, self.dims.layer_count)
        last = settings.stages - 1
        shown = dict.fromkeys([0, *([parts.index(max(parts))] if max(parts) > parts[0] else []), last])
        return [Rank(settings.tensor_ranks, shared, stage, settings.stages, parts[stage] / count) for stage in shown]

    def pool(self) -> Pool:
        """How KV memory is dealt out on one rank."""
        layers = cache_layers(self.dims, self.settings, self.rules.kv_layout, self.rules.facts.kv_formats)
        encoded = self.dims.encoder.positions if self.dims.encoder else 0
        return pool(layers, self.settings, self.rules.kv_layout, self.dims.window, encoded)

    def weights(self, rank: Rank) -> float | None:
        """Bytes of weights on a rank: as measured, else computed, scaled to the checkpoint where that is known; None = not known."""
        offload = self.settings.offload_gib * GIB
        if self.inputs.weights_gib is not None:
            return max(0.0, self.inputs.weights_gib * GIB - offload)
        offload -= self.draft_bytes(rank) + self.lora_bytes(rank)
        if self.dims.missing or not self.form.known:
            whole = self.inputs.weights_bytes
            return max(0.0, whole / rank.ranks / rank.stages - offload) if whole else None
        return max(0.0, self.weight_parts(rank).total * self._checkpoint_scale() - offload)

    def draft_bytes(self, rank: Rank) -> float:
        """Bytes of what drafts on a rank; measured weights hold it already."""
        draft = self.settings.draft
        if draft is None:
            return 0.0
        from envcheck.sizing.speculative import draft_terms  # noqa: PLC0415  # few servers speculate

        return draft_terms(draft, self.dims, rank, self.form, self.rules.drafts).total

    def lora_bytes(self, rank: Rank) -> float:
        """Bytes of the buffers for LoRA adapters on a rank; measured weights hold them already."""
        lora, rule = self.settings.lora, self.rules.lora
        if lora is None or rule is None:
            return 0.0
        from envcheck.sizing.lora import lora_terms  # noqa: PLC0415  # few servers have adapters

        return lora_terms(self.dims, lora, rank, rule, self.settings.batched_tokens, self.settings.sequences).total

    def weight_parts(self, rank: Rank) -> WeightTerms:
        """Bytes of weights on a rank by part, as computed from the configuration."""
        return weight_terms(self.dims, rank, self.form, self._text_weights(), self.settings.pooling, self.settings.batched_tokens)

    def _text_weights(self) -> bool:
        return self.dims.multimodal and self.settings.text_only

    def _checkpoint_scale(self) -> float:
        """The checkpoint's bytes over the computed ones, where they differ by more than rounding and no other type was asked for."""
        whole, args = self.inputs.weights_bytes, self.inputs.serve_args
        if not whole or "quantization" in args or args.get("dtype") not in (None, "auto"):
            return 1.0
        computed = checkpoint_bytes(self.dims, self.form)
        apart = abs(whole / computed - 1) if computed else 0.0
        return whole / computed if apart > _CHECKPOINT_TOLERANCE else 1.0

    def with_args(self, **changes: Any) -> Question:
        """The same question with other serve arguments."""
        return ask(msgspec.structs.replace(self.inputs, serve_args={**self.inputs.serve_args, **changes}), self.table, self.dims)


def ask(inputs: SizingInputs, table: MemoryTable, dims: Dimensions | None = None) -> Question:
    """A question made ready; `dims` where they were read before."""
    inputs = msgspec.structs.replace(inputs, serve_args=spelt(inputs.serve_args))
    rules = table.rules(inputs.release, inputs.engine)
    dims = dims or Dimensions.from_config(inputs.config, rules.families)
    settings = settings_of(inputs, dims, rules)
    form = weight_format(dims, word(inputs.serve_args, "quantization"), inputs.model, settings.dtype_bytes, _formats(rules, inputs))
    runner = runner_of(dims, settings, rules, inputs.environment)
    return Question(inputs, table, dims, rules, settings, form, runner, total_bytes(inputs.card, rules.facts))


def _formats(rules: Rules, inputs: SizingInputs) -> list[QuantizationFormat]:
    """The weight formats of a release on this card."""
    here = inputs.card.capability or ComputeCapability(99, 0)
    return [r for r in rules.quantization if (below := compute_capability(r.capability_below or "")) is None or here < below]


def spelt(args: Mapping[str, Any]) -> dict[str, Any]:
    """Serve arguments in snake case, however they were written; keys that are no text are dropped."""
    return {
        key.strip().lstrip("-").replace("-", "_").lower(): value for key, value in args.items() if isinstance(key, str) and len(key) < 100
    }
