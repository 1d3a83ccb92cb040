"""Where packages were built from: `direct_url.json` (PEP 610), and the links of older editable installs."""

from __future__ import annotations

import re

import msgspec
from msgspec import UNSET

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host_parts import PackageOrigin
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.packages import Package, installed
from envcheck.probes.site_packages import sites

FIELDS = ("package_origins",)
# Built from source more often than others; the rest is asked about where everything is.
_BUILT = (
    *("torch", "triton", "pytorch-triton", "vllm", "transformers", "flash-attn", "flash-mla", "flashmla", "flashinfer", "xformers"),
    *("deep-gemm", "deep-ep", "apex", "deepspeed", "sglang", "compressed-tensors", "lmcache", "auto-gptq", "autoawq", "bitsandbytes"),
)
# Folders of conda's build machines, which its packages of pure Python state as their origin.
_BUILD_MACHINES = ("/feedstock_root/", "/croot/", "/conda-bld/")


class _Vcs(msgspec.Struct, frozen=True):
    vcs: str = ""
    commit_id: str = ""


class _Folder(msgspec.Struct, frozen=True):
    editable: bool = False


class _Direct(msgspec.Struct, frozen=True):
    url: str
    vcs_info: _Vcs | None = None
    dir_info: _Folder | None = None


def probe(look: Look) -> Facts:
    """The map under `package_origins`: only packages that did not come from an index; `package_origins.<name>` says where it stands."""
    facts = look.once(origins)
    if not isinstance(facts, Found):
        return {"package_origins": facts}
    told = {name: fact for name, fact in facts.value.items() if not isinstance(fact, Absent)}
    found = {name: fact.value for name, fact in told.items() if isinstance(fact, Found)}
    return {"package_origins": Found(found, facts.source), **{f"package_origins.{name}": fact for name, fact in told.items()}}


def origins(look: Look) -> Fact[dict[str, Fact[PackageOrigin]]]:
    """What is known of the origin of every deciding package."""
    packages, folders = look.once(installed), look.once(sites)
    if not isinstance(packages, Found):
        return packages
    names = {site.path: site.names for site in folders.value} if isinstance(folders, Found) else {}
    found = {name: _origin(look, package, names.get(package.site, frozenset())) for name, package in sorted(packages.value.items())}
    return Found(found, f"direct_url.json in {packages.source}")


def _origin(look: Look, package: Package, names: frozenset[str]) -> Fact[PackageOrigin]:
    from envcheck.probes.redact import redacted_urls  # noqa: PLC0415  # few packages come from elsewhere

    if not package.path.startswith(f"{package.site}/"):  # named by an egg-link, which only editable installs have
        folder = package.path.rpartition("/")[0]
        return Found(PackageOrigin(url=f"file://{redacted_urls(folder)[:500]}", editable=True), package.path)
    if not (look.full or package.name.startswith(_BUILT)):
        return Absent("not looked at")
    path = f"{package.path}/direct_url.json"
    file = look.system.read(path, 8192)
    if isinstance(file, Found):
        return _stated(file.value, path)
    finder = next((name for name in _finders(package) if name in names), None)
    if isinstance(file, Absent) and finder:
        return Found(PackageOrigin(editable=True), f"{package.site}/{finder}")
    return (
        Absent("from an index, or installed before origins were written") if isinstance(file, Absent) else Unreadable(f"{path}: {file.why}")
    )


def _stated(data: bytes, path: str) -> Fact[PackageOrigin]:
    origin = parse_direct_url(data)
    if origin is None:
        return Unreadable(f"{path} is no origin as PEP 610 describes it")
    if isinstance(origin.url, str) and from_build_machine(origin.url):
        return Absent("a package of conda, which names its build machine")
    return Found(origin, path)


def _finders(package: Package) -> tuple[str, ...]:
    """Files by which setuptools and hatchling make an editable install importable."""
    plain = package.name.replace("-", "_")
    return (
        f"__editable__.{plain}-{package.version}.pth",
        f"_editable_impl_{plain}.pth",
        f"__editable__.{package.name}-{package.version}.pth",
    )


def parse_direct_url(data: bytes) -> PackageOrigin | None:
    """The origin stated by a `direct_url.json`, without credentials; None where the file is broken."""
    try:
        stated = msgspec.json.decode(data, type=_Direct)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not stated.url:
        return None
    vcs = stated.vcs_info
    from envcheck.probes.redact import redacted_urls  # noqa: PLC0415  # few packages come from elsewhere

    return PackageOrigin(
        url=redacted_urls(stated.url)[:500],
        editable=stated.dir_info.editable if stated.dir_info else False,
        vcs=vcs.vcs[:20] if vcs and vcs.vcs else UNSET,
        commit=vcs.commit_id.lower() if vcs and re.fullmatch(r"[0-9a-fA-F]{7,64}", vcs.commit_id) else UNSET,
    )


def from_build_machine(url: str) -> bool:
    """Whether a local origin is a folder of conda's build machines, and so says nothing of this host."""
    return url.startswith("file:") and any(part in url for part in _BUILD_MACHINES)
