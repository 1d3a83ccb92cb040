"""Speculative decoding: which draft the serve arguments ask for, and the bytes it holds on one rank.

A draft model is loaded whole; an EAGLE head and the model's own prediction layers (MTP) borrow the embedding, and the output head where
the release or the checkpoint shares it; Medusa heads and MLP speculators keep no keys and values; n-gram lookup loads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from envcheck.model.memoryfacts import DraftRule, Family
from envcheck.sizing.allocator import total
from envcheck.sizing.fields import flag, integer, items, mapping, word
from envcheck.sizing.inputs import SizingInputs
from envcheck.sizing.layer_weights import layer_tensors
from envcheck.sizing.layers import LayerGroup, layer_groups
from envcheck.sizing.quantization import WeightFormat, model_dtype_bytes, weight_format
from envcheck.sizing.rank import Rank
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.weights import checkpoint_bytes, padded_rows, rotary_bytes, weight_terms

DraftKind = Literal["lookup", "model", "eagle", "eagle3", "mtp", "medusa", "mlp"]
_LOOKUPS = ("ngram", "[ngram]", "ngram_gpu", "suffix")
_KINDS: dict[str, DraftKind] = {"draft_model": "model", "medusa": "medusa", "mlp_speculator": "mlp", "eagle": "eagle", "eagle3": "eagle3"}
_LEFT = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules")  # where checkpoints list what is not quantized
_AUXILIARY = 3  # layers of the target whose outputs an EAGLE-3 head takes together
_MOST_TOKENS = 1024
_INDEX_BYTES = 8  # of the table from a draft's vocabulary to the target's


class Speculation(msgspec.Struct, frozen=True, kw_only=True):
    """What drafts: `tokens` a step; `dims` = the draft's own configuration, None where it has none or it could not be read.

    `layers` = prediction layers inside the target, `groups` = what they consist of; `ranks` = tensor-parallel ranks of the draft;
    `weights_bytes` = its checkpoint; `plain` = bytes of an unquantized weight.
    `assumed` = the draft is drawn up from the target or from its name, because its configuration was not to be had.
    """

    kind: DraftKind
    name: str = ""
    tokens: int = 0
    dims: Dimensions | None = None
    layers: int = 0
    groups: tuple[LayerGroup, ...] = ()
    ranks: int = 1
    weights_bytes: float | None = None
    plain: int = 2
    assumed: bool = False


class DraftTerms(msgspec.Struct, frozen=True):
    """Bytes of a draft on one rank, by part."""

    layers: float = 0.0
    fusion: float = 0.0
    embedding: float = 0.0
    head: float = 0.0
    rotary: float = 0.0

    @property
    def total(self) -> float:
        """All parts."""
        return float(sum(msgspec.structs.astuple(self)))


def speculation_of(inputs: SizingInputs, dims: Dimensions, families: Sequence[Family], ranks: int) -> Speculation | None:
    """The draft asked for, or None; `dims` = the target's, `ranks` = its tensor-parallel ranks."""
    told = told_of(inputs.serve_args)
    method, name = (word(told, "method") or "").lower(), word(told, "model") or ""
    if not method and not name:
        return None
    own = Dimensions.from_config(inputs.draft_config, families) if inputs.draft_config else None
    kind = _kind(method, name, own)
    shown = Speculation(
        kind=kind,
        name=name[:200],
        tokens=integer(told, "num_speculative_tokens", least=0, most=_MOST_TOKENS) or _trained_tokens(kind, own, dims),
        ranks=integer(told, "draft_tensor_parallel_size", most=ranks) or ranks,
        plain=model_dtype_bytes(dims, inputs.serve_args),
    )
    if kind in ("lookup", "mtp"):
        layers = max(1, dims.draft_layers) if kind == "mtp" else 0
        return msgspec.structs.replace(shown, layers=layers, groups=_prediction_groups(dims, layers))
    if own is not None and not (kind in ("model", "eagle", "eagle3") and own.missing):
        return msgspec.structs.replace(shown, dims=own, weights_bytes=inputs.draft_bytes)
    return msgspec.structs.replace(shown, dims=_likeness(kind, dims), weights_bytes=named_bytes(name), assumed=True)


def _prediction_groups(dims: Dimensions, layers: int) -> tuple[LayerGroup, ...]:
    """What prediction layers consist of: what a pattern of their own says, else each is as the target's last layer of attention."""
    pattern = word(dims.text, "mtp_hybrid_override_pattern")
    if pattern:
        return layer_groups({"hybrid_override_pattern": pattern * layers}, len(pattern) * layers, True)
    attending = [group.layer for group in dims.layers if group.layer.mixer in ("full", "parallel")]
    return (LayerGroup(attending[-1], layers),) if attending and layers else ()


def told_of(args: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the speculative configuration, in whichever of the releases' spellings."""
    told = {key: value for key, value in mapping(args, "speculative_config").items() if isinstance(key, str)}
    spellings = {
        "model": ("speculative_config.model", "spec_model", "speculative_model"),
        "method": ("speculative_config.method", "spec_method"),
        "num_speculative_tokens": ("speculative_config.num_speculative_tokens", "spec_tokens", "num_speculative_tokens"),
        "draft_tensor_parallel_size": (
            "speculative_config.draft_tensor_parallel_size",
            "speculative_draft_tensor_parallel_size",
            "spec_draft_tp",
        ),
    }
    for field, names in spellings.items():
        found = next((args[name] for name in names if args.get(name) is not None), None)
        if found is not None and told.get(field) is None:
            told[field] = found
    if told.get("num_speculative_tokens") is not None and not (told.get("model") or told.get("method")):
        told.pop("num_speculative_tokens")  # without a method, vLLM takes the count only for a model with layers of its own
        if mapping(args, "speculative_config"):
            told["method"] = "mtp"
    return told


def _kind(method: str, name: str, own: Dimensions | None) -> DraftKind:
    """The kind by the method, else by the draft's configuration, else by its name, in vLLM's order."""
    if method in _LOOKUPS or name in _LOOKUPS:
        return "lookup"
    if "mtp" in method:
        return "mtp"
    if method in _KINDS:
        return _KINDS[method]
    described = f"{own.architecture} {own.model_type}".lower() if own else ""
    for text in (described, name.lower()):
        if "eagle3" in text or "eagle-3" in text:
            return "eagle3"
        if "eagle" in text:
            return "eagle"
        if "medusa" in text:
            return "medusa"
        if "mlp_speculator" in text or "mlpspeculator" in text:
            return "mlp"
    return "model"


def _trained_tokens(kind: DraftKind, own: Dimensions | None, dims: Dimensions) -> int:
    """Tokens a step where nobody says: what the draft was trained for."""
    if kind == "mtp":
        return max(1, dims.draft_layers)
    return integer(own.config, "n_predict", "num_lookahead_tokens", "num_heads", most=64) or 0 if own and kind != "model" else 0


def _likeness(kind: DraftKind, dims: Dimensions) -> Dimensions | None:
    """What an unread head most likely looks like: one layer as the target's last; nothing is assumed of a whole draft model."""
    if kind not in ("eagle", "eagle3") or not dims.layers:
        return None
    dense = msgspec.structs.replace(dims.layers[-1].layer, feed_forward="dense", intermediate=dims.intermediate or 3 * dims.hidden)
    return msgspec.structs.replace(dims, layers=(LayerGroup(dense, 1),), experts=None, encoder=None, vision=None, config={})


def named_bytes(name: str) -> float | None:
    """Bytes of a model in 16 bit by the parameters its name states, as `Qwen3-0.6B`; None where it states none."""
    found = re.search(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3})?)([bBmM])(?![a-zA-Z0-9])", name.rsplit("/", 1)[-1])
    return float(found[1]) * (1e9 if found[2] in "bB" else 1e6) * 2 if found else None


def draft_terms(draft: Speculation, dims: Dimensions, rank: Rank, form: WeightFormat, rule: DraftRule | None) -> DraftTerms:
    """The draft's bytes on a rank of the target; nothing before the last pipeline stage, where drafting happens."""
    if not rank.is_last or draft.kind == "lookup":
        return DraftTerms()
    mine = Rank(draft.ranks)
    if draft.kind == "mtp":
        return _prediction_layers(draft, dims, rank, form, rule)
    if draft.kind == "medusa":
        return _medusa(draft.dims, mine, draft.plain)
    if draft.kind == "mlp":
        return _mlp_speculator(draft.dims, mine, draft.plain)
    if draft.kind == "model":
        return DraftTerms(layers=_whole(draft, mine))
    return _eagle(draft, dims, rank, mine) if draft.dims else DraftTerms()


def _form(dims: Dimensions, name: str, plain: int) -> WeightFormat:
    """The draft's own format: `--quantization` is the target's."""
    return weight_format(dims, None, name, plain, ())


def _whole(draft: Speculation, mine: Rank) -> float:
    """A draft model, scaled to its checkpoint where its computed size is off; by its checkpoint alone where nothing else is known."""
    if draft.dims is None:
        return (draft.weights_bytes or 0.0) / mine.ranks
    form = _form(draft.dims, draft.name, draft.plain)
    if not form.known and draft.weights_bytes:
        return draft.weights_bytes / mine.ranks
    computed, file = weight_terms(draft.dims, mine, form, text_only=True).total, checkpoint_bytes(draft.dims, form)
    off = abs((draft.weights_bytes or file) / file - 1) if file else 0.0
    return computed * (draft.weights_bytes or file) / file if off > 0.03 else computed


def _eagle(draft: Speculation, target: Dimensions, rank: Rank, mine: Rank) -> DraftTerms:
    """One or more layers that take the target's hidden state beside the embedding.

    EAGLE joins both in a matrix of its own and leaves out the first norm. EAGLE-3 joins three of the target's states, feeds both into
    a first layer whose projections are twice as wide, and has an output head over its own vocabulary.
    """
    head = draft.dims
    if head is None:
        return DraftTerms()
    third = draft.kind == "eagle3"
    form = _form(head, draft.name, draft.plain)
    layers = _layers(head, head.layers, mine, form)
    own_vocabulary = integer(head.config, "draft_vocab_size", most=1 << 26) or (head.vocab if third and not draft.assumed else 0)
    if third:
        layer = head.layers[0].layer
        keys = max(1, (layer.kv_heads or head.kv_heads) // mine.ranks) * (layer.head_dim or head.head_dim)
        first_inputs = head.hidden * (head.heads * (layer.head_dim or head.head_dim) / mine.ranks + 2 * keys)
        layers += (first_inputs + 2 * head.hidden) * draft.plain  # the second half of the inputs; the norm of the state and the last one
        wide = integer(head.config, "target_hidden_size", most=1 << 24) or target.hidden
        fusion = _AUXILIARY * wide * head.hidden * draft.plain
    else:
        layers -= head.hidden * draft.plain
        fusion = 2 * head.hidden * head.hidden * draft.plain
    table = padded_rows(head.vocab) * head.hidden / mine.ranks * draft.plain
    own_head = padded_rows(own_vocabulary) * head.hidden / mine.ranks * draft.plain if third and own_vocabulary else 0.0
    mapped = own_vocabulary * _INDEX_BYTES if third and own_vocabulary and own_vocabulary != target.vocab else 0
    return DraftTerms(layers, fusion, table if rank.stages > 1 else 0.0, own_head + mapped, _rotary(head, target, form))


def _layers(dims: Dimensions, groups: Sequence[LayerGroup], rank: Rank, form: WeightFormat) -> float:
    size = 0.0
    for group in groups:
        tensors = layer_tensors(dims, group.layer, rank, form, loaded=True)
        size += group.count * sum(total(part, True) for part in (tensors.mixer, tensors.feed_forward, tensors.experts))
    return size


def _rotary(head: Dimensions, target: Dimensions, form: WeightFormat) -> float:
    """Tables of equal shape are shared with the target."""
    same = (head.rotary_rows, head.rotary_dim) == (target.rotary_rows, target.rotary_dim)
    return 0.0 if same else rotary_bytes(head, form)


def _prediction_layers(draft: Speculation, dims: Dimensions, rank: Rank, form: WeightFormat, rule: DraftRule | None) -> DraftTerms:
    """Layers as the target's last, each with a matrix that joins state and embedding, and three norms of its own."""
    if _predicts_plainly(dims):
        form = WeightFormat(form.plain, form.plain, form.plain, form.plain, form.plain, form.plain)
    layers = _layers(dims, draft.groups, rank, form) + draft.layers * dims.hidden * form.plain
    joined = draft.layers * (2 * dims.hidden**2 + 2 * dims.hidden) * form.plain
    table = padded_rows(dims.vocab) * dims.hidden / rank.ranks * form.plain
    numbered = integer(dims.text, "num_nextn_predict_layers", least=0, most=64)  # the layout in which every layer has a head of its own
    numbered = None if word(dims.text, "mtp_hybrid_override_pattern") else numbered
    own_heads = draft.layers if numbered and (rule is None or not rule.shares_mtp_head) else 0
    return DraftTerms(layers, joined, table if rank.stages > 1 else 0.0, own_heads * table)


def _predicts_plainly(dims: Dimensions) -> bool:
    """Whether a quantized checkpoint leaves its prediction layers as they were."""
    quantized = mapping(dims.config, "quantization_config") or mapping(dims.text, "quantization_config")
    return any(
        isinstance(name, str) and name.startswith(("mtp", "re:.*mtp", "model.mtp")) for key in _LEFT for name in items(quantized, key)
    )


def _medusa(own: Dimensions | None, rank: Rank, plain: int) -> DraftTerms:
    """Residual blocks and an output head for every token drafted."""
    if own is None:
        return DraftTerms()
    config = own.config
    hidden, heads = integer(config, "hidden_size", most=1 << 24) or 0, integer(config, "num_heads", most=64) or 5
    depth = integer(config, "num_hidden_layers", "medusa_num_layers", most=64) or 1
    rows = integer(config, "truncated_vocab_size", most=1 << 26) or own.vocab
    blocks = heads * depth * (hidden**2 + (hidden if flag(config, "medusa_fc_bias") else 0))
    tables = (1 if flag(config, "original_lm_head") else heads) * padded_rows(rows) * hidden / rank.ranks
    return DraftTerms(layers=blocks * plain, head=tables * plain)


def _mlp_speculator(own: Dimensions | None, rank: Rank, plain: int) -> DraftTerms:
    """An embedding, a projection, a norm and an output head for every token drafted, or one of each where they are tied."""
    if own is None:
        return DraftTerms()
    config = own.config
    wide = integer(config, "emb_dim", "hidden_size", most=1 << 24) or 0
    inner = integer(config, "inner_dim", least=0, most=1 << 24) or wide
    count = integer(config, "n_predict", most=64) or 1
    tied = bool(flag(config, "tie_weights")) and count > 1
    tables = (1 if tied else count) * padded_rows(own.vocab) * inner / rank.ranks
    inward = wide * inner + (inner * inner * (1 if tied else count - 1))
    norms = (1 if tied else count) * 2 * inner
    return DraftTerms(layers=(inward + norms) * plain, embedding=tables * plain, head=tables * plain)
