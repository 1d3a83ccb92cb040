"""Packages of the target environment that decide, from their metadata; nothing is imported."""

from __future__ import annotations

import posixpath
import re

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts
from envcheck.probes.interpreter import target
from envcheck.probes.look import Look
from envcheck.probes.redact import redacted_urls

FIELDS = ("packages",)
_PREFIXES = (
    *("torch", "vllm", "triton", "transformers", "tokenizers", "xgrammar", "outlines", "flash-attn", "flash-mla", "flashmla", "flashinfer"),
    *("nvidia-", "cuda-", "cupy-", "opencv-python", "deep-gemm", "deep-ep", "auto-gptq", "autoawq"),
)
_NAMES = frozenset(
    (
        *("numpy", "xformers", "ray", "pynvml", "compressed-tensors", "bitsandbytes", "gptqmodel", "deepspeed", "setuptools"),
        *("huggingface-hub", "hf-xet", "modelscope", "safetensors", "sentencepiece", "tiktoken", "mistral-common"),
        *("llguidance", "lm-format-enforcer", "pydantic", "fastapi", "prometheus-client"),
    )
)
# Looked for by name, so that their absence is known.
_ASKED = ("vllm", "torch", "transformers", "numpy", "triton", "flash-attn", "flashinfer-python", "xformers")
_ORIGINS = frozenset({"vllm", "torch", "flash-attn", "xformers", "flashinfer-python"})  # built from source more often than others
_ENTRIES = 4096
_HEAD = 2048  # Name and Version stand in the first lines of METADATA


class Package(msgspec.Struct, frozen=True):
    """An installed distribution: name as PEP 503 writes it, version, its metadata's folder."""

    name: str
    version: str
    path: str


def probe(look: Look) -> Facts:
    """The map under `packages`, None for what is known to be missing; `packages.<name>` says where."""
    fact = look.once(installed)
    if not isinstance(fact, Found):
        return {"packages": fact}
    versions: dict[str, str | None] = {name: package.version for name, package in sorted(fact.value.items())}
    sources: Facts = {f"packages.{name}": Found(package.version, _source(look, package)) for name, package in fact.value.items()}
    for name in _ASKED:
        if name not in versions:
            versions[name] = None
            sources[f"packages.{name}"] = Absent(f"not in {fact.source}")
    return {"packages": Found(versions, fact.source), **sources}


def installed(look: Look) -> Fact[dict[str, Package]]:
    """The deciding packages by name; of two copies the one imported, which lies in the earlier folder."""
    interpreter = look.once(target)
    if not isinstance(interpreter, Found):
        return interpreter
    sites = [site for site in interpreter.value.sites if look.system.exists(site)]
    if not sites:
        return Unreadable(f"{interpreter.value.executable}: no site-packages folder found")
    found: dict[str, Package] = {}
    for site in sites:
        for path in look.system.glob(f"{site}/*-info", _ENTRIES):
            package = read_package(look, path)
            if package:
                found.setdefault(package.name, package)
    return Found(found, sites[0])


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def split_folder(folder: str) -> tuple[str, str] | None:
    """(name, version) of `torch-2.4.0+cu121.dist-info`; None for other names, and for `~orch…`, what a broken install left behind."""
    stem, _, kind = folder[:300].rpartition(".")
    parts = stem.split("-")
    place = next((place for place, part in enumerate(parts) if place and part[:1].isdigit()), 0)
    if kind not in ("dist-info", "egg-info") or not place or not parts[0][:1].isalnum():
        return None
    return canonical("-".join(parts[:place])), parts[place]


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


def decides(name: str) -> bool:
    """Whether a package can change what runs here."""
    return name in _NAMES or name.startswith(_PREFIXES)


def read_package(look: Look, path: str) -> Package | None:
    """The distribution described by a `.dist-info` or `.egg-info`, if it decides; its folder's name speaks where METADATA does not."""
    named = split_folder(posixpath.basename(path))
    if named is None or not decides(named[0]):
        return None
    inner = "METADATA" if path.endswith(".dist-info") else "PKG-INFO"
    head = look.text(f"{path}/{inner}", _HEAD)
    stated = parse_metadata(head.value) if isinstance(head, Found) else None
    return Package(named[0], stated[1] if stated and stated[0] == named[0] else named[1], path)


class _Origin(msgspec.Struct, frozen=True):
    url: str = ""


def _source(look: Look, package: Package) -> str:
    """The metadata's folder, and for packages often built from source the place they were built from (`direct_url.json`, PEP 610)."""
    fact = look.system.read(f"{package.path}/direct_url.json", 8192) if package.name in _ORIGINS else None
    if not isinstance(fact, Found):
        return package.path
    try:
        url = msgspec.json.decode(fact.value, type=_Origin).url
    except (msgspec.MsgspecError, RecursionError):
        return package.path
    return f"{package.path} (installed from {redacted_urls(url)[:200]})" if url else package.path
