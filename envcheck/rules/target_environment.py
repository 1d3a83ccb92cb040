"""What the target interpreter's vLLM and torch really are, and the commands that change a package there. Shared by its rules."""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.version import Version

from envcheck.model.finding import Remedy
from envcheck.model.host import known
from envcheck.model.versions import lenient_version
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation, part

FRESH = remedy("fresh-environment", "fresh-environment")
# Patterns are compiled when first used.
_CUDA_LABEL = r"[+.]cu(\d\d)\d$"
_VENDOR_LABEL = r"\+.*\bnv\d\d\.\d{1,2}\b"  # installers drop the zero of a month


def released_torch(situation: Situation) -> Version | None:
    """The installed torch's public version; None for a nightly, a vendor's build, or where it is not known."""
    return _released(situation.torch.raw) if situation.torch and situation.torch.version else None


@lru_cache(maxsize=1024)
def _released(raw: str) -> Version | None:
    version = lenient_version(raw)
    return None if version is None or version.is_prerelease else Version(version.base_version)


def built_from_source(situation: Situation) -> bool:
    """Whether the installed vLLM came from a checkout or a repository, so that its release's wheels say nothing of it."""
    origin = (known(situation.host.package_origins) or {}).get("vllm")
    if origin is None:
        return False
    url = known(origin.url) or ""
    return known(origin.editable) is True or bool(known(origin.vcs)) or (url.startswith("file://") and not url.endswith(".whl"))


def vendors_build(situation: Situation) -> bool:
    """Whether the installed vLLM is NVIDIA's own build, as its containers hold it."""
    torch = situation.torch.raw if situation.torch else ""
    labelled = any("+" in raw and re.search(_VENDOR_LABEL, raw) for raw in (situation.installed_raw, torch))
    return labelled or situation.image.startswith("nvcr.io/nvidia/")


def in_conda(situation: Situation) -> bool:
    """Whether torch may be conda's, which is built in other ways than the index's."""
    return part(situation.host.python, "environment") in ("conda", "pixi")


def wheel_cuda_major(situation: Situation) -> int | None:
    """The CUDA major that the installed vLLM needs: by its own label, else by its release's wheel; None where neither counts."""
    installed = situation.installed
    if installed is None or built_from_source(situation) or vendors_build(situation):
        return None
    if not installed.exact and (label := re.search(_CUDA_LABEL, situation.installed_raw)):
        return int(label[1])
    build = installed.release.build(situation.arch or "x86_64", installed.variant)
    return build.cuda_major if build else None


def changed(situation: Situation, *requirements: str) -> tuple[Remedy, ...]:
    """The ways to have packages changed: by the installer that is there, where it may write, and by a fresh environment."""
    if part(situation.host.python, "externally_managed") is True:
        return (FRESH,)
    return (remedy("setting", "install-packages", installer(situation, "install", *requirements)), FRESH)


def removed(situation: Situation, *packages: str) -> tuple[Remedy, ...]:
    """The ways to have packages taken away."""
    return (remedy("setting", "remove-packages", installer(situation, "uninstall", *packages)), FRESH)


def installer(situation: Situation, verb: str, *words: str) -> str:
    """`uv pip …` where uv is at hand, else pip of the interpreter; words quoted."""
    import shlex  # noqa: PLC0415  # only what is found fault with is quoted

    tools = known(situation.host.tools) or {}
    uv = bool(tools.get("uv")) or "uv" in situation.packages or part(situation.host.python, "environment") == "uv"
    quoted = " ".join(shlex.quote(word) for word in words)
    return f"uv pip {verb} {quoted}" if uv else f"python -m pip {verb} {quoted}"
