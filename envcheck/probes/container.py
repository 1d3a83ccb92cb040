"""The container we are in, by the marks its runtime leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.look import Look
from envcheck.probes.redact import redacted

FIELDS = ("container.kind", "container.image", "container.environment")
# What NVIDIA's and vLLM's images set and what their start depends on.
_IMAGE_VARIABLES = ("CUDA_VERSION", "NV_CUDA_CUDART_VERSION", "PYTORCH_VERSION", "VLLM_ENABLE_CUDA_COMPATIBILITY", "VLLM_USAGE_SOURCE")
_MOST = 100
_ROOT_MARKS = (("docker", "docker"), ("containers/storage", "podman"), ("containerd", "containerd"), ("crio", "cri-o"), ("lxc", "lxc"))


def probe(look: Look) -> Facts:
    """All facts under `container`; absent outside of one."""
    fact = look.once(kind)
    if not isinstance(fact, Found):
        return all_of(FIELDS, fact)
    names = [name for name in sorted(look.env) if name.startswith("NVIDIA_") or name in _IMAGE_VARIABLES]
    chosen = {name: redacted(name, look.env[name]) for name in names[:_MOST]}
    return {"container.kind": fact, "container.image": image(look), "container.environment": Found(chosen, "environment")}


def kind(look: Look) -> Fact[str]:
    """docker, podman, kubernetes, containerd, lxc, apptainer, enroot …; absent on a host of one's own."""
    return first_found(_marks(look))


def _marks(look: Look) -> Iterator[Fact[str]]:
    env, exists = look.env, look.system.exists
    for variable, name in (("APPTAINER_CONTAINER", "apptainer"), ("SINGULARITY_CONTAINER", "apptainer"), ("ENROOT_ROOTFS", "enroot")):
        yield Found(name, variable) if variable in env else Absent(f"no {variable}")
    if "KUBERNETES_SERVICE_HOST" in env:
        yield Found("kubernetes", "KUBERNETES_SERVICE_HOST")
    marks = (
        ("/var/run/secrets/kubernetes.io/serviceaccount", "kubernetes"),
        ("/run/.containerenv", "podman"),
        ("/.dockerenv", "docker"),
    )
    for path, name in marks:
        yield Found(name, path) if exists(path) else Absent(f"no {path}")
    if "container" in env:
        yield Found(env["container"][:40], "container (variable)")
    yield _by_mounts(look)
    yield Absent("no mark of a container")


def _by_mounts(look: Look) -> Fact[str]:
    """No mountinfo, no conclusion from it: the marks above decide alone."""
    fact = look.text("/proc/self/mountinfo", 16384)
    name = root_owner(fact.value) if isinstance(fact, Found) else None
    return Found(name, "/proc/self/mountinfo") if name else Absent("the root file system is no container's")


def root_owner(mountinfo: str) -> str | None:
    """The runtime whose layers the root is made of; `container` for an overlay root of no known one, None for a plain root."""
    for line in mountinfo.splitlines()[:500]:
        fields, _, rest = line.partition(" - ")
        parts = fields.split(" ")
        if len(parts) > 4 and parts[4] == "/" and rest.split(" ")[0] in ("overlay", "fuse-overlayfs", "aufs"):
            return next((name for mark, name in _ROOT_MARKS if mark in rest), "container")
    return None


def image(look: Look) -> Fact[str]:
    """The image's name, where the runtime tells it: podman in a file, apptainer in a variable."""
    for variable in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if look.env.get(variable):
            return Found(look.env[variable][:300], variable)
    fact = look.text("/run/.containerenv", 4096)
    named = re.search(r'^image="([^"]{1,300})"', fact.value, re.MULTILINE) if isinstance(fact, Found) else None
    return Found(named[1], "/run/.containerenv") if named else Unreadable("the runtime does not tell it")
