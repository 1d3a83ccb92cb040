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
_DECIDES = re.compile(
    r"torch.*|vllm.*|flash-?attn.*|flashinfer-.*|flashmla.*|xformers|transformers|tokenizers|numpy|triton.*|nvidia-.*|cuda-.*|ray|pynvml|cupy-.*"
    r"|compressed-tensors|huggingface-hub|hf-xet|modelscope|outlines.*|xgrammar|llguidance|lm-format-enforcer|bitsandbytes|auto-?awq|auto-?gptq.*"
    r"|gptqmodel|deep-?gemm|deep-?ep|mistral-common|tiktoken|sentencepiece|pydantic|fastapi|opencv-python.*|setuptools|prometheus-client|deepspeed"
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
    named = re.fullmatch(r"([A-Za-z0-9][\w.]*(?:-[A-Za-z_][\w.]*)*)-(\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info", folder[:300])
    return (canonical(named[1]), named[2]) if named else None


def parse_metadata(text: str) -> tuple[str, str] | None:
    """(name, version) from the head of METADATA or PKG-INFO."""
    headers = text.partition("\n\n")[0]
    name = re.search(r"^Name:\s*(\S{1,200})\s*$", headers, re.MULTILINE)
    version = re.search(r"^Version:\s*(\S{1,200})\s*$", headers, re.MULTILINE)
    return (canonical(name[1]), version[1]) if name and version else None


def read_package(look: Look, path: str) -> Package | None:
    """The distribution described by a `.dist-info` or `.egg-info`, if it decides; its folder's name speaks where METADATA does not."""
    named = split_folder(posixpath.basename(path))
    if named is None or not _DECIDES.fullmatch(named[0]):
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
