"""All probes of one visit, each guarded on its own: one that fails costs its own facts, never the report."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from envcheck.errors import UsageError
from envcheck.model.cloud import CloudMatcher
from envcheck.model.fact import Unreadable
from envcheck.model.host import HostReport
from envcheck.model.maker import MakerSigns
from envcheck.model.network import NetworkPlaces
from envcheck.probes import (
    accelerators,
    cloud,
    container,
    container_runtime,
    cpu,
    cuda_home,
    cudnn,
    disk,
    driver,
    environment,
    fabric,
    gpus,
    interconnect,
    kernel_log,
    kernel_modules,
    libcuda,
    limits,
    loader_folders,
    memory,
    nccl,
    network,
    operating_system,
    package_origins,
    package_problems,
    packages,
    pci,
    processes,
    python_env,
    secure_boot,
    toolkits,
    tools,
    topology,
    torch,
)
from envcheck.probes.assemble import assemble
from envcheck.probes.facts import Facts, all_of
from envcheck.probes.interpreter import given
from envcheck.probes.look import Look, OwnInterpreter
from envcheck.system.port import System


class Probe(msgspec.Struct, frozen=True):
    """One probe and the paths it answers for, so that its failure leaves no gap unexplained."""

    name: str
    fields: tuple[str, ...]
    run: Callable[[Look], Facts]


# Plain files first: they answer even where the driver hangs.
PROBES: tuple[Probe, ...] = (
    Probe("operating system", operating_system.FIELDS, operating_system.probe),
    Probe("python", python_env.FIELDS, python_env.probe),
    Probe("packages", packages.FIELDS, packages.probe),
    Probe("package origins", package_origins.FIELDS, package_origins.probe),
    Probe("package problems", package_problems.FIELDS, package_problems.probe),
    Probe("torch", torch.FIELDS, torch.probe),
    Probe("cudnn", cudnn.FIELDS, cudnn.probe),
    Probe("nccl", nccl.FIELDS, nccl.probe),
    Probe("tools", tools.FIELDS, tools.probe),
    Probe("toolkits", toolkits.FIELDS, toolkits.probe),
    Probe("cuda home", cuda_home.FIELDS, cuda_home.probe),
    Probe("loader folders", loader_folders.FIELDS, loader_folders.probe),
    Probe("memory", memory.FIELDS, memory.probe),
    Probe("cpu", cpu.FIELDS, cpu.probe),
    Probe("limits", limits.FIELDS, limits.probe),
    Probe("disk", disk.FIELDS, disk.probe),
    Probe("container", container.FIELDS, container.probe),
    Probe("container runtime", container_runtime.FIELDS, container_runtime.probe),
    Probe("cloud", cloud.FIELDS, cloud.probe),
    Probe("network", network.FIELDS, network.probe),
    Probe("environment", environment.FIELDS, environment.probe),
    Probe("pci", pci.FIELDS, pci.probe),
    Probe("interconnect", interconnect.FIELDS, interconnect.probe),
    Probe("accelerators", accelerators.FIELDS, accelerators.probe),
    Probe("secure boot", secure_boot.FIELDS, secure_boot.probe),
    Probe("driver", driver.FIELDS, driver.probe),
    Probe("libcuda", libcuda.FIELDS, libcuda.probe),
    Probe("gpus", gpus.FIELDS, gpus.probe),
    Probe("topology", topology.FIELDS, topology.probe),
    Probe("fabric", fabric.FIELDS, fabric.probe),
    Probe("processes", processes.FIELDS, processes.probe),
    Probe("kernel modules", kernel_modules.FIELDS, kernel_modules.probe),
    Probe("kernel log", kernel_log.FIELDS, kernel_log.probe),
)
# Facts that only another command measures.
_ELSEWHERE = ("observed",)


def collect(
    system: System,
    cloud_matchers: tuple[CloudMatcher, ...] = (),
    makers: tuple[MakerSigns, ...] = (),
    python: str | None = None,
    own: OwnInterpreter | None = None,
    *,
    full: bool = False,
    places: NetworkPlaces | None = None,
) -> HostReport:
    """The report of one host.

    Without the signs of `cloud_matchers` no cloud is found; without those of `makers` the accelerators are unreadable.
    `full` also asks what costs a process each, `places` allows the network and says what is asked over it.
    `python` is the target interpreter's path, its environment's folder, or its name on PATH; UsageError where there is none.
    """
    look = Look(system, cloud_matchers, makers, python, own, full=full, network=places)
    return assemble(gather(look))


def gather(look: Look) -> Facts:
    """The facts of every probe. UsageError where there is no interpreter that was asked for."""
    if look.python is not None and given(look, look.python) is None:
        raise UsageError("error.python-not-found", path=look.python)
    facts = all_of(_ELSEWHERE, Unreadable("not measured"))
    for probe in PROBES:
        facts.update(guarded(probe, look))
    return facts


def guarded(probe: Probe, look: Look) -> Facts:
    """The probe's facts; unreadable, with the error's name, where it fails."""
    try:
        return probe.run(look)
    except Exception as error:
        return all_of(probe.fields, Unreadable(f"internal: {type(error).__name__}: {error}"[:200]))
