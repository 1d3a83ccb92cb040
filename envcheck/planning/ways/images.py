"""Container images as ways: only tags that exist, only where the start gate, the driver and the GPUs take them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from envcheck.matrix.image_tags import ImageTag
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Remedy
from envcheck.model.host import known
from envcheck.model.secret_names import is_secret_argument
from envcheck.model.text import Param, Text
from envcheck.model.ways import Cost, ImageUse, Way
from envcheck.planning.mirrors import hub_settings
from envcheck.planning.ways.image_commands import Engine, Run, chosen_gpus, commands
from envcheck.rules.build import dotted
from envcheck.rules.driver_install import toolkit_commands
from envcheck.rules.image_fit import Fit, fits
from envcheck.rules.image_libcuda import shipped
from envcheck.rules.mainland import in_mainland, provider_of
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation, in_container, part, text
from envcheck.rules.survey import asked_label

if TYPE_CHECKING:
    from envcheck.planning.ways.context import Context

# What the container does not share with its host: of it nothing is known before it runs.
_LEFT_BEHIND: dict[str, Any] = {"packages": {}, "torch": None, "package_origins": {}, "package_problems": [], "loader_folders": []}
_OPTIONAL: dict[str, Any] = {"tools": {}, "toolkits": [], "nccl": None, "cudnn": None, "cuda_home": None}


def images(context: Context) -> Iterator[Way]:
    """The newest image that runs with the driver as it is, and a newer one that runs by its own libcuda.

    Of the releases asked for where one of them runs, else of all, which then break that wish. Nothing where no container is wanted.
    """
    situation, pins = context.situation, context.request.pins
    if (
        not pins.container
        or not situation.usable_gpus
        or situation.arch is None
        or (situation.driver is None and not situation.driver_cuda)
    ):
        return
    found = list(_fitting(context, _asked(context))) or (list(_fitting(context, _planned(context.matrix))) if context.goal else [])
    for one in found:
        way = _way(context, one)
        if pins.root or not way.cost.root:
            yield way


def _asked(context: Context) -> tuple[Release, ...]:
    return context.matrix.matching(context.goal) if context.goal else _planned(context.matrix)


def _planned(matrix: Matrix) -> tuple[Release, ...]:
    """The releases that are planned unasked."""
    oldest = matrix.release(matrix.policy.oldest_planned)
    return tuple(
        release
        for release in matrix.releases
        if not release.record.yanked and not release.version.is_prerelease and (oldest is None or release.version >= oldest.version)
    )


def _fitting(context: Context, releases: tuple[Release, ...]) -> Iterator[Fit]:
    """The newest that takes its own libcuda, while nothing newer runs as well without; then the newest that runs with the driver's."""
    helped = False
    label = asked_label(context.matrix, context.goal) if context.goal else ""
    for release in releases:
        found = [one for tag in _tags(context, release, label) for one in fits(context.situation, context.matrix, tag)]
        plain = next((one for one in found if not one.switch), None)
        own = next((one for one in found if one.switch), None)
        if own is not None and not helped and (plain is None or plain.judged.clashes):
            helped = True
            yield own
        if plain is not None:
            yield plain
            return


def _tags(context: Context, release: Release, label: str) -> tuple[ImageTag, ...]:
    """Those that a plan may name: the plain one first, or the one with the label that was asked for alone."""
    tags = context.matrix.images.table.tags(release.raw, context.situation.arch or "")
    planned = tuple(tag for tag in tags if not tag.flavour and tag.basis != "unverified")
    return tuple(tag for tag in planned if tag.label == label) or planned if label else planned


def _way(context: Context, found: Fit) -> Way:
    situation, tag = context.situation, found.tag
    inside = in_container(situation)
    environment = {found.switch: "1"} if found.switch else {}
    mirror = None if inside else _mirror(context)
    image = ImageUse(
        reference=tag.reference,
        release=tag.release,
        cuda=dotted(tag.cuda),
        compat=bool(found.switch),
        environment=environment,
        basis=tag.basis,
        mirror=f"{mirror}/{tag.reference}" if mirror else None,
    )
    engine = _engine(situation)
    first = () if inside else tuple(_first(context, engine))
    title = "way.image.inside" if inside else "way.image.compat" if found.switch else "way.image"
    return Way(
        kind="image",
        title=Text(title, {"image": tag.reference, "vllm": tag.release, "cuda": dotted(tag.cuda)}),
        commands=() if inside else commands(image, _run(context, engine, mainland=mirror is not None)),
        image=image,
        cost=Cost(root=bool(first), lost=tuple(clash.detail for clash in found.judged.warnings)),
        first=first,
        after=_after(situation, found, engine, installs=bool(first)),
        asks=tag.release,
        breaks=context.breaks(found.judged.release, tag.python),
        why=tuple(_why(context, found, image)),
    )


def _engine(situation: Situation) -> Engine:
    """Podman where it is there and docker is not."""
    engines = part(situation.host.container_runtime, "engines")
    tools = known(situation.host.tools) or {}
    there = {name for name in ("docker", "podman") if (isinstance(engines, list) and name in engines) or tools.get(name)}
    return "podman" if there == {"podman"} else "docker"


def _first(context: Context, engine: Engine) -> Iterator[Remedy]:
    """What must be installed as root before: an engine, and NVIDIA's toolkit in it. Nothing where the host's engines are not known."""
    situation, runtime = context.situation, context.situation.host.container_runtime
    engines, configured = part(runtime, "engines"), part(runtime, "configured")
    if not isinstance(engines, list) or situation.wsl:
        return
    if engine not in engines:
        yield remedy("container", "install-engine", root=True)
    if part(runtime, "cdi"):
        return
    if getattr(runtime, "toolkit", ...) is None:
        yield remedy("container", "install-toolkit", *toolkit_commands(situation, context.matrix, engine), root=True)
    elif isinstance(configured, list) and engine not in configured:
        yield remedy("container", "configure-toolkit", *toolkit_commands(situation, context.matrix, engine, install=False), root=True)


def _mirror(context: Context) -> str | None:
    """The registry to pull by for a host in mainland China."""
    situation, matrix = context.situation, context.matrix
    if not in_mainland(situation, provider_of(situation, matrix)):
        return None
    found = [entry for entry in matrix.mirrors("image-registry") if not entry.upstream and entry.scope == "public"]
    return found[0].url.removeprefix("https://").rstrip("/") if found else None


def _run(context: Context, engine: Engine, *, mainland: bool) -> Run:
    """Several GPUs speak through shared memory, of which an engine gives 64 MiB unasked."""
    situation, request = context.situation, context.request
    several = len(situation.usable_gpus) > 1
    return Run(
        engine=engine,
        model=request.model or "",
        gpus=chosen_gpus((known(situation.host.environment) or {}).get("CUDA_VISIBLE_DEVICES")),
        shm_mib=int(context.matrix.thresholds["shm-recommended-mib"]) if several else 0,
        environment=_hub(context.matrix) if mainland else {},
        arguments=tuple(typed_arguments(request.serve_args)),
    )


def _hub(matrix: Matrix) -> dict[str, str]:
    """The hub's mirror, which is never sent a token."""
    found = [entry for entry in matrix.mirrors("model-hub") if not entry.upstream and entry.scope == "public" and entry.layout == "hub"]
    return hub_settings(found[0].url) if found else {}


def typed_arguments(given: dict[str, Any]) -> Iterator[str]:
    """The arguments that were asked about, as typed; address and port are the container's own, and a key is never written down."""
    for name, value in given.items():
        if value in (None, False) or name in ("model", "host", "port") or is_secret_argument(name):
            continue
        yield "--" + name.replace("_", "-")
        if value is not True:
            yield from (_word(each) for each in (value if isinstance(value, list) else [value]))


def _word(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def _after(situation: Situation, found: Fit, engine: Engine, *, installs: bool) -> dict[str, Any]:
    """The host as it is inside the container; NVML's word is the host's, and says nothing of the gate."""
    tag, host = found.tag, situation.host
    environment = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    if found.switch:
        environment[found.switch] = "1"
    facts: dict[str, Any] = {"container": {"kind": engine, "image": tag.reference, "environment": environment}, "driver.nvml": None}
    if tag.os_version:
        facts |= {"os.name": f"Ubuntu {tag.os_version}", "os.id": "ubuntu", "os.version": tag.os_version, "os.glibc": tag.glibc}
    facts |= _LEFT_BEHIND | {"python": {"version": tag.python} if tag.python else None}
    facts |= {name: value for name, value in _OPTIONAL.items() if known(getattr(host, name)) is not None}
    visible = (known(host.environment) or {}).get("CUDA_VISIBLE_DEVICES")
    facts["environment"] = {"CUDA_VISIBLE_DEVICES": visible} if chosen_gpus(visible) else {}
    if known(host.libcuda) is not None:
        facts["libcuda.compat"] = None  # what the host's loader takes is not what the container's does
    if installs:
        facts["container_runtime"] = None
    return facts


def _why(context: Context, found: Fit, image: ImageUse) -> Iterator[Text]:
    situation, matrix, tag = context.situation, context.matrix, found.tag
    yield Text("way.why.image", {"cuda": image.cuda, "python": tag.python or "3", "glibc": tag.glibc or "?"})
    if found.switch and situation.driver is not None:
        params: dict[str, Param] = {
            "variable": found.switch,
            "cuda": image.cuda,
            "driver": situation.driver.raw,
            "branch": shipped(matrix, found.image) or 0,
        }
        yield Text("way.why.image-compat", params)
    if tag.basis != "pipeline":
        yield Text("way.why.image-basis", {"image": tag.reference})
    if image.mirror:
        yield Text("way.why.image-mirror", {"mirror": image.mirror.partition("/")[0], "image": tag.reference})
    if in_container(situation):
        name = text(situation.host.cloud, "platform")[:60]
        yield Text("way.why.image-platform", {"platform": name}) if name else Text("way.why.image-inside")
