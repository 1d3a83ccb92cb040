"""Packages of the target environment that decide, from their metadata; nothing is imported."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import msgspec

from envcheck.model.fact import Absent, Fact, Found
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.package_names import canonical, decides, may_decide, split_folder
from envcheck.probes.site_packages import Site, sites

FIELDS = ("packages",)
# Looked for by name, so that their absence is known.
_ASKED = (
    *("vllm", "torch", "torchvision", "torchaudio", "transformers", "numpy", "triton", "flash-attn", "xformers", "ray", "bitsandbytes"),
    *("flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache", "nvidia-ml-py", "pynvml", "mistral-common", "hf-xet", "modelscope"),
    *("pip", "uv", "ninja", "setuptools"),
)
# Their metadata are opened; of the others the folder's name tells the version, which is a third of the cost.
_OPENED = ("torch", "vllm", "triton", "transformers", "numpy", "flash-attn", "flashinfer", "xformers", "pynvml")
_HEAD = 2048  # Name and Version stand in the first lines of METADATA


class Package(msgspec.Struct, frozen=True):
    """An installed distribution: name as PEP 503 writes it, version, its metadata's folder, the folder imported from.

    `fault` = what is wrong with its metadata.
    """

    name: str
    version: str
    path: str
    site: str = ""
    fault: str | None = None


def probe(look: Look) -> Facts:
    """The map under `packages`, None for what is known to be missing; `packages.<name>` says where."""
    fact = look.once(installed)
    if not isinstance(fact, Found):
        return {"packages": fact}
    versions: dict[str, str | None] = {name: package.version for name, package in sorted(fact.value.items())}
    sources: Facts = {f"packages.{name}": Found(package.version, package.path) for name, package in fact.value.items()}
    for name in _ASKED:
        if name not in versions:
            versions[name] = None
            sources[f"packages.{name}"] = Absent(f"not in {fact.source}")
    return {"packages": Found(versions, fact.source), **sources}


def installed(look: Look) -> Fact[dict[str, Package]]:
    """The deciding packages by name; of two copies the one imported, which lies in the earlier folder."""
    fact = look.once(copies)
    return Found({name: found[0] for name, found in fact.value.items()}, fact.source) if isinstance(fact, Found) else fact


def copies(look: Look) -> Fact[dict[str, tuple[Package, ...]]]:
    """Every copy of the deciding packages by name, the one that counts first."""
    fact = look.once(sites)
    if not isinstance(fact, Found):
        return fact
    found: dict[str, tuple[Package, ...]] = {}
    for site in fact.value:
        here: dict[str, list[Package]] = {}
        for package in _in_site(look, site):
            here.setdefault(package.name, []).append(package)
        for name, several in here.items():
            found[name] = (*found.get(name, ()), *_ranked(look, site, several))
    return Found(found, fact.source)


def _in_site(look: Look, site: Site) -> Iterator[Package]:
    for name in sorted(name for name in site.names if name.endswith(("-info", ".egg", ".egg-link")) and may_decide(name)):
        path = f"{site.path}/{name}"
        package = _linked(look, path, name) if name.endswith("-link") else read_package(look, path)
        if package:
            yield msgspec.structs.replace(package, site=site.path)


def parse_metadata(text: str) -> tuple[str, str] | None:
    """(name, version) from the head of METADATA or PKG-INFO."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if not line.strip():
            break  # the description follows, which may hold any line
        if colon and key in ("Name", "Version") and value.strip():
            values.setdefault(key, value.strip()[:200])
    return (canonical(values["Name"]), values["Version"]) if len(values) == 2 else None


def read_package(look: Look, path: str) -> Package | None:
    """The distribution described by a `.dist-info`, `.egg-info` or `.egg`, if it decides; its name speaks where METADATA does not."""
    named = split_folder(posixpath.basename(path))
    if named is None or not decides(named[0]):
        return None
    name, version = named
    if not (look.full or name.startswith(_OPENED)):
        return Package(name, version, path)
    stated, fault = _stated(look, path)
    return Package(name, stated[1] if stated and stated[0] == name else version, path, fault=fault)


def _stated(look: Look, path: str) -> tuple[tuple[str, str] | None, str | None]:
    """What the metadata state, else what is wrong with them; an egg-info may be a folder or one file."""
    inner = {"dist-info": "/METADATA", "egg-info": "/PKG-INFO", "egg": "/EGG-INFO/PKG-INFO"}[path.rpartition(".")[2]]
    head = look.text(path + inner, _HEAD)
    if isinstance(head, Absent) and path.endswith(".egg-info"):
        head = look.text(path, _HEAD)
    if not isinstance(head, Found):
        return None, head.why
    stated = parse_metadata(head.value)
    return stated, None if stated else f"{head.source} names no version"


def _linked(look: Look, path: str, name: str) -> Package | None:
    """What `setup.py develop` leaves: a file that names the checkout, which holds the metadata."""
    stem = name.removesuffix(".egg-link")
    if not decides(canonical(stem)):
        return None
    line = look.line(path)
    folder = f"{line.value.rstrip('/')}/{re.sub('[-.]+', '_', stem)}.egg-info" if isinstance(line, Found) else ""
    head = look.text(f"{folder}/PKG-INFO", _HEAD) if folder.startswith("/") else Absent("no checkout named")
    stated = parse_metadata(head.value) if isinstance(head, Found) else None
    return Package(canonical(stem), stated[1], folder) if stated else None


def _ranked(look: Look, site: Site, several: list[Package]) -> list[Package]:
    """Of several in one folder first the one of the version that the module itself states, else of the highest."""
    if len({package.version for package in several}) < 2:
        return several
    own = _module_version(look, site, several[0].name)
    return sorted(several, key=lambda package: (package.version == own, _order(package.version)), reverse=True)


def _module_version(look: Look, site: Site, name: str) -> str | None:
    for file in ("version.py", "_version.py"):
        fact = look.text(f"{site.path}/{name.replace('-', '_')}/{file}", 8192)
        found = (
            re.search(r"""^(?:__version__|version)\b[^='"\n]*=(?:\s*\w+\s*=)?\s*['"]([^'"\n]+)""", fact.value, re.M)
            if isinstance(fact, Found)
            else None
        )
        if found:
            return found[1]
    return None


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version)[:8])
