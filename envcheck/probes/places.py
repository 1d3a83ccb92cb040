"""Where models, environments, caches and temporary files will lie, by the variables that each program reads.

Sources: huggingface_hub's `constants.py`, modelscope's `file_utils.py`, vLLM's `envs.py`, uv's and pip's cache settings, triton, torch,
flashinfer, CUDA's `CUDA_CACHE_PATH`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.interpreter import target
from envcheck.probes.limits import user_id
from envcheck.probes.look import Look

_LONGEST = 4096  # the kernel's own bound of a path
_JIT_VARIABLES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE", "CUDA_CACHE_PATH")


class Place(msgspec.Struct, frozen=True):
    """A path and what it is for; `if_closed` = of interest only where this user may not write there."""

    path: str
    purposes: tuple[str, ...]
    if_closed: bool = False


def places(look: Look) -> tuple[Place, ...]:
    """Every place once, the models' first."""
    purposes: dict[str, list[str]] = {}
    always: set[str] = set()
    for purpose, named, if_closed in _wanted(look):
        if not named.startswith("/"):
            continue
        path = "/" + posixpath.normpath(named).lstrip("/")[:_LONGEST]  # normpath keeps two slashes at the beginning
        known = purposes.setdefault(path, [])
        known += [purpose] if purpose not in known else []
        if not if_closed:
            always.add(path)
    return tuple(Place(path, tuple(names), path not in always) for path, names in purposes.items())


def _wanted(look: Look) -> Iterator[tuple[str, str, bool]]:
    """(purpose, path, only if closed); what is relative or unknown is no path."""
    env, folder = look.env, look.once(home)
    own = folder.value if isinstance(folder, Found) else ""
    cache = _expanded(env.get("XDG_CACHE_HOME", ""), own) or _below(own, ".cache")
    for path in _models(look, own, cache):
        yield "model-cache", path, False
    yield "vllm-cache", _expanded(env.get("VLLM_CACHE_ROOT", ""), own) or _below(cache, "vllm"), False
    yield "wheel-cache", _expanded(env.get("UV_CACHE_DIR", ""), own) or _below(cache, "uv"), False
    yield "wheel-cache", _expanded(env.get("PIP_CACHE_DIR", ""), own), False
    for variable in _JIT_VARIABLES:
        yield "jit-cache", _expanded(env.get(variable, ""), own), False
    if "TRITON_CACHE_DIR" not in env:
        yield "jit-cache", _below(own, ".triton"), True
    yield "temporary", env.get("TMPDIR") or "/tmp", False  # noqa: S108 - asked about only
    yield "environment", _environment(look), False


def _models(look: Look, own: str, cache: str) -> Iterator[str]:
    """Hugging Face's cache, before it ModelScope's where vLLM is told to use that."""
    env = look.env
    modelscope = _expanded(env.get("MODELSCOPE_CACHE", ""), own)
    if env.get("VLLM_USE_MODELSCOPE", "").lower() in ("1", "true"):
        yield modelscope or _below(own, ".cache/modelscope/hub")
    hugging_face = _expanded(env.get("HF_HOME", ""), own) or _below(cache, "huggingface")
    named = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE") or ""
    yield _expanded(named, own) or _below(hugging_face, "hub")
    yield _expanded(env.get("TRANSFORMERS_CACHE", ""), own)
    yield modelscope


def _environment(look: Look) -> str:
    """Where packages get installed; of a base installation only its prefix, for its kind decides about the rest."""
    fact = look.once(target)
    if not isinstance(fact, Found):
        return ""
    interpreter = fact.value
    own = interpreter.environment in ("venv", "conda", "uv") and interpreter.sites
    return interpreter.sites[0] if own and interpreter.sites[0].startswith(interpreter.prefix) else interpreter.prefix


def _expanded(value: str, own: str) -> str:
    """A variable's path with `~` put in."""
    if value == "~" or value.startswith("~/"):
        return _below(own, value[2:])
    return value


def _below(folder: str, name: str) -> str:
    return posixpath.join(folder, name) if folder else ""


def home(look: Look) -> Fact[str]:
    """The home folder as programs find it: HOME, else the user's line in `/etc/passwd`."""
    stated = look.env.get("HOME")
    if stated is not None:
        return Found(stated or "/", "HOME") if not stated or stated.startswith("/") else Unreadable("HOME is no absolute path")
    user = look.once(user_id)
    if user is None:
        return Unreadable("no HOME, and no user number to look up")
    table = look.text("/etc/passwd")
    if not isinstance(table, Found):
        return Unreadable(f"no HOME; {table.why}")
    found = parse_home(table.value, user)
    return Found(found, "/etc/passwd") if found else Absent(f"no HOME, and no user {user} in /etc/passwd")


def parse_home(passwd: str, user: int) -> str | None:
    """The folder of a user's number in `/etc/passwd`."""
    for line in passwd.splitlines()[:5000]:
        fields = line.split(":")
        if len(fields) >= 6 and fields[2] == str(user):
            return fields[5] if fields[5].startswith("/") else None
    return None
