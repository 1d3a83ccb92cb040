"""Programs that installing, compiling, containers and services need: where PATH has them. None is started."""

from __future__ import annotations

from envcheck.model.fact import Found, Unreadable
from envcheck.probes.facts import Facts
from envcheck.probes.kernel_modules import NOT_LOOKED
from envcheck.probes.look import Look
from envcheck.probes.site_packages import sites

FIELDS = ("tools",)
_DECIDING = (
    *("uv", "pip", "pip3", "conda", "git", "curl", "ninja", "nvcc", "gcc", "g++", "cc", "clang", "ld"),
    *("docker", "podman", "nvidia-ctk", "nvidia-smi", "systemctl", "sudo", "numactl", "ray"),
)
# Every name costs a look into every folder of PATH: these are asked only where everything is.
_OTHERS = (
    *("mamba", "micromamba", "wget", "make", "cmake", "nvidia-container-cli", "kubectl", "srun"),
    *("apt-get", "dnf", "yum", "zypper", "apk"),
)
_FOLDERS = 256  # a PATH of thousands would cost a look into each for every name
# triton carries its own assembler; releases before 3 kept it elsewhere.
_PTXAS = ("backends/nvidia/bin/ptxas", "third_party/cuda/bin/ptxas")


def probe(look: Look) -> Facts:
    """The map under `tools`: None = not on PATH, missing = not asked; `ptxas` is the one triton calls, which may lie in its package."""
    path = look.env.get("PATH")
    if path is not None and path.count(":") >= _FOLDERS:
        return {"tools": Unreadable(f"PATH names {path.count(':') + 1} folders")}
    found: dict[str, str | None] = {name: look.system.which(name) for name in (*_DECIDING, *(_OTHERS if look.full else ()))}
    if path is None:  # then only what is found is known
        found = {name: place for name, place in found.items() if place}
    gaps: Facts = {} if look.full else {f"tools.{name}": NOT_LOOKED for name in _OTHERS}
    return {"tools": Found({**found, **_assembler(look)}, "PATH"), **gaps}


def _assembler(look: Look) -> dict[str, str | None]:
    """`TRITON_PTXAS_PATH`, else the copy in the package, else the one on PATH, in triton's order."""
    named = look.env.get("TRITON_PTXAS_PATH", "")
    if named.startswith("/") and look.system.exists(named):
        return {"ptxas": named}
    folders = look.once(sites)
    triton = next((site.path for site in folders.value if "triton" in site.names), None) if isinstance(folders, Found) else None
    inside = (f"{triton}/triton/{place}" for place in _PTXAS if triton)
    return {"ptxas": next((place for place in inside if look.system.exists(place)), None) or look.system.which("ptxas")}
