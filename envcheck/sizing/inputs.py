"""What the memory model is asked about: a model, a GPU, a release and the settings of `vllm serve`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from packaging.version import Version

from envcheck.model.memoryfacts import Engine
from envcheck.model.modelspec import Adapter
from envcheck.model.versions import ComputeCapability


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU the arithmetic is for, the smallest of those used. Bytes; None = not known.

    `total_bytes` as CUDA reports it; `nvml_bytes` as NVML does, where CUDA's figure is not known; `free_bytes` before the server starts.
    `mig` = a slice of a card, which both count alike.
    """

    name: str = ""
    count: int | None = None
    total_bytes: float | None = None
    nvml_bytes: float | None = None
    free_bytes: float | None = None
    capability: ComputeCapability | None = None
    nvlink: bool | None = None
    unified: bool = False
    wsl: bool = False
    mig: bool = False


class SizingInputs(msgspec.Struct, frozen=True, kw_only=True):
    """One question. `weights_gib` = GiB a GPU as measured; `weights_bytes` = the whole checkpoint; both win over the configuration.

    `release_told` False = nobody named the release and none is installed, so that what its log would print is anybody's guess.
    `first_start` False = compiled code of an earlier run is cached. `ram_bytes` = host memory. `flashinfer` = that package is installed.
    `draft_config` and `draft_bytes` = of the model that drafts; `adapters` = those read; `unread` = what could not be read of either.
    `llm_class` = vLLM runs inside a program through its `LLM` class.
    """

    config: Mapping[str, Any]
    model: str = ""
    weights_bytes: float | None = None
    weights_gib: float | None = None
    card: Card = Card()
    release: Version | None = None
    release_told: bool = True
    engine: Engine | None = None
    serve_args: Mapping[str, Any] = {}
    environment: Mapping[str, str] = {}
    first_start: bool | None = None
    ram_bytes: float | None = None
    flashinfer: bool = False
    draft_config: Mapping[str, Any] = {}
    draft_bytes: float | None = None
    adapters: tuple[Adapter, ...] = ()
    unread: tuple[str, ...] = ()
    llm_class: bool = False
