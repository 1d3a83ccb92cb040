"""The ways round what keeps a request from running: what each does, costs and leads to, and what judging its result said."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from envcheck.model.finding import Remedy, Verdict
from envcheck.model.stack import Stack
from envcheck.model.text import Text

# From the least to the most intrusive; the order is the ranking.
WayKind = Literal[
    "setting",  # a variable, a flag, a choice of GPUs
    "mend",  # packages changed in the environment at hand
    "environment",  # a fresh virtual environment with the wheel of the package index
    "interpreter",  # the same with another Python, which needs no root either
    "wheel",  # another build of the same release
    "release",  # another release
    "image",  # a container image
    "service",  # something to start or to switch on the host, as root
    "compat",  # a forward-compatibility libcuda on the host, as root
    "reboot",
    "driver",
    "hardware",
]
INTRUSION: tuple[WayKind, ...] = get_args(WayKind)
Pin = Literal["vllm", "torch", "python", "driver"]


class Cost(msgspec.Struct, frozen=True):
    """What a way costs. `download_mib` = what is known of the download (None = nothing is), `download_more` = there is more than that.

    `shared` = others on the same machine notice. `lost` = features that are missing afterwards.
    """

    root: bool = False
    reboot: bool = False
    shared: bool = False
    download_mib: int | None = None
    download_more: bool = True
    lost: tuple[Text, ...] = ()


class ImageUse(msgspec.Struct, frozen=True):
    """A container image as a way uses it: `reference` is a tag that exists, `environment` what it must be started with.

    `cuda` its CUDA release, `compat` = its own forward-compatibility libcuda is used, `basis` how the tag is known.
    """

    reference: str
    release: str
    cuda: str
    compat: bool = False
    environment: dict[str, str] = {}
    basis: str = "artefact"
    mirror: str | None = None


class Way(msgspec.Struct, frozen=True):
    """One way round. `kind` is that of the most intrusive thing it does.

    `commands` = shell lines to print, in order, those as root marked by `sudo`; where a stack is installed they come from its recipe.
    `first` = what else on the host must be mended for it. `after` = the host facts it changes, by dotted path, and `asks` the release to
    ask about then: together they are the question whose verdict is `proof`; None = its result cannot be stated as facts.
    `breaks` = wishes of the user that it does not honour. `why` = why it stands where it stands.
    """

    kind: WayKind
    title: Text
    commands: tuple[str, ...] = ()
    stack: Stack | None = None
    image: ImageUse | None = None
    cost: Cost = Cost()
    first: tuple[Remedy, ...] = ()
    after: dict[str, Any] = {}
    asks: str | None = None
    proof: Verdict | None = None
    breaks: tuple[Pin, ...] = ()
    why: tuple[Text, ...] = ()
