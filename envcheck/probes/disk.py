"""Free space where models, environments and temporary files will lie. MiB."""

from __future__ import annotations

import posixpath

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.model.host import Disk
from envcheck.model.units import MIB
from envcheck.probes.facts import Facts
from envcheck.probes.interpreter import target
from envcheck.probes.look import Look

FIELDS = ("disk",)


def probe(look: Look) -> Facts:
    """The list under `disk`; `disk.<path>` explains a path that could not be asked."""
    found: list[Disk] = []
    gaps: Facts = {}
    for path in places(look):
        space = look.system.disk(path)
        if isinstance(space, Found):
            found.append(Disk(path, space.value.free_bytes / MIB))
        else:
            gaps[f"disk.{path}"] = Unreadable(space.why)
    whole: Fact[list[Disk]] = Found(found, "statvfs") if found else Unreadable("no place could be asked")
    return {"disk": whole, **gaps}


def places(look: Look) -> tuple[str, ...]:
    """Model caches (Hugging Face, ModelScope), home, temporary files, the target environment."""
    env, home = look.env, look.env.get("HOME", "/root")
    cache = env.get("XDG_CACHE_HOME") or posixpath.join(home, ".cache")
    hugging_face = env.get("HF_HOME") or posixpath.join(cache, "huggingface")
    hub = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE") or posixpath.join(hugging_face, "hub")
    interpreter = look.once(target)
    environment = interpreter.value.prefix if isinstance(interpreter, Found) else home
    wanted = (hub, env.get("MODELSCOPE_CACHE", ""), environment, env.get("TMPDIR") or "/tmp", home)  # noqa: S108 - asked about only
    return tuple(dict.fromkeys(path for path in wanted if path.startswith("/")))
