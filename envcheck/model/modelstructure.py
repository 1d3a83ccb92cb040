"""What the configuration of a model type leaves unsaid of its parameters besides the large matrices: part of a family's record."""

from typing import Literal

import msgspec

HeadNorm = Literal["none", "head", "heads"]


class Tower(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An image encoder's small parts.

    `norm_vectors` 2 = norms with a bias; `merger` = patches are merged by two matrices, `two-layer` and `one-layer` = a plain projector;
    `outer_norms` = norms before and after the layers; `head` = a pooling layer that the checkpoint holds and vLLM leaves out;
    `deepstack` = layers that have a merger of their own where the configuration names none.
    """

    norms: int = 2
    norm_vectors: int = 2
    head_norm: bool = False
    biases: bool = True
    query_biases: bool = True
    layer_scales: bool = False
    patch_bias: bool = False
    class_token: bool = False
    outer_norms: int = 0
    no_positions: bool = False
    position_tables: int = 1
    separator: bool = False
    projector: Literal["merger", "two-layer", "one-layer", "merged-two-layer", "patch-merger"] = "merger"
    projector_biases: bool = True
    projector_norm: Literal["none", "input", "input-plain"] = "none"
    deepstack: int = 0
    head: bool = False


def _usual_biases() -> dict[str, str]:
    return {"attention_bias": "qkvo", "mlp_bias": "ud", "use_qkv_bias": "qkv", "qkv_bias": "qkv"}


class Structure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The vectors of a text model and its layers.

    `biases` = by the flag of the configuration that switches them on ("" = always): letters of the matrices that have one: q, k, v, o,
    u (feed-forward inputs), d (feed-forward output), h (head), c (convolution), p (projections of recurrent layers). `norms` a layer,
    `final_norms` once, of `norm_vectors` vectors each; `head_norms`: one vector a head size, or one for all heads; `position_rows`: rows
    of a learned table of positions beside the stated ones; `outer` = once in a model, in hidden sizes.
    """

    biases: dict[str, str] = msgspec.field(default_factory=_usual_biases)
    norms: int = 2
    norms_field: str | None = None
    norm_vectors: int = 1
    final_norms: int = 1
    head_norms: HeadNorm = "none"
    head_norms_flag: str | None = None
    position_rows: int | None = None
    embedding_norms: int = 0
    segments: bool = False
    pooler: bool = False
    encoder_only: bool = False
    sinks: bool = False
    expert_biases: bool = False
    router_correction: bool = False
    shared_gate: bool = False
    cross_attention: bool = False
    relative_positions: bool = False
    shared_first_norm: bool = False
    layer_scalars: int = 0
    expert_norms: int = 0
    router_scales: bool = False
    shared_without_keys: bool = False
    alternating: bool = False
    convolved_audio: bool = False
    tower: Tower | None = None
