"""CUDA toolkits: folders with an `nvcc`. Only run-time compilation and source builds need one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.model.host import Toolkit
from envcheck.probes.facts import Facts, first_found
from envcheck.probes.look import Look

FIELDS = ("toolkits",)


def probe(look: Look) -> Facts:
    """The list under `toolkits`, every real folder once; `toolkits.<path>` says where a version came from or why there is none."""
    found: dict[str, Toolkit] = {}
    sources: Facts = {}
    for root in dict.fromkeys(_roots(look)):
        if look.system.exists(f"{root}/bin/nvcc"):
            version = root_version(look, root)
            found[root] = Toolkit(version.value if isinstance(version, Found) else UNSET, root)
            sources[f"toolkits.{root}"] = version
    path = look.system.which("nvcc")
    if path and not _belongs(look, path, found):
        version = _asked(look, path)
        found[path] = Toolkit(version.value if isinstance(version, Found) else UNSET, path)
        sources[f"toolkits.{path}"] = version
    return {"toolkits": Found(list(found.values()), "/usr/local/cuda*, CUDA_HOME, PATH"), **sources}


def _roots(look: Look) -> Iterator[str]:
    """Real folders: the usual places, what the variables name, what `nvcc` on PATH lies in."""
    named = [look.env[name].rstrip("/") for name in ("CUDA_HOME", "CUDA_PATH") if look.env.get(name, "").startswith("/")]
    conda = [look.env["CONDA_PREFIX"]] if look.env.get("CONDA_PREFIX", "").startswith("/") else []
    path = look.system.which("nvcc")
    real = look.system.resolve(path) if path else None
    on_path = [_root_of(real.value)] if isinstance(real, Found) and real.value.endswith("/bin/nvcc") else []
    for root in (*look.system.glob("/usr/local/cuda*", 32), *named, *conda, *on_path):
        place = look.system.resolve(root)
        # `nvcc` in /usr/bin is the distribution's or a wrapper: its folder is no toolkit.
        if isinstance(place, Found) and place.value not in ("/usr", "/usr/local", "/"):
            yield place.value


def _root_of(nvcc: str) -> str:
    return posixpath.dirname(posixpath.dirname(nvcc))


def _belongs(look: Look, path: str, found: dict[str, Toolkit]) -> bool:
    """Whether this `nvcc` is one of a toolkit found; a wrapper script is believed where it names its target."""
    real = look.system.resolve(path)
    if isinstance(real, Found) and _root_of(real.value) in found:
        return True
    head = look.text(path, 512)
    named = re.search(r"(/[\w.+/-]+)/bin/nvcc\b", head.value) if isinstance(head, Found) and head.value.startswith("#!") else None
    return named is not None and named[1] in found


def root_version(look: Look, root: str) -> Fact[str]:
    """A toolkit's release from its own files, else from its folder's name; `nvcc` is started last."""
    return first_found(_versions(look, root))


def _versions(look: Look, root: str) -> Iterator[Fact[str]]:
    for name, parse in (("version.json", parse_version_json), ("version.txt", parse_version_txt)):
        fact = look.text(f"{root}/{name}")
        version = parse(fact.value) if isinstance(fact, Found) else None
        if version:
            yield Found(version, f"{root}/{name}")
    for record in look.system.glob(f"{root}/conda-meta/cuda-nvcc-[0-9]*.json", 4):
        named = re.search(r"/cuda-nvcc-(\d+\.\d+(?:\.\d+)?)-", record)
        if named:
            yield Found(named[1], record)
    folder = re.search(r"/cuda-(\d{1,2}\.\d{1,2})$", root)
    if folder:
        yield Found(folder[1], root)
    yield _asked(look, f"{root}/bin/nvcc")


class _Part(msgspec.Struct, frozen=True):
    version: str | None = None


def parse_version_json(text: str) -> str | None:
    """The toolkit's release in `version.json` (CUDA 11.1 and later)."""
    try:
        parts = msgspec.json.decode(text.encode(), type=dict[str, _Part])
    except (msgspec.MsgspecError, RecursionError):
        return None
    version = parts["cuda"].version if "cuda" in parts else None
    return version if version and re.fullmatch(r"\d+\.\d+[\w.]*", version) else None


def parse_version_txt(text: str) -> str | None:
    """The release in `version.txt` (up to CUDA 11.0): `CUDA Version 10.2.89`."""
    found = re.search(r"CUDA Version (\d+\.\d+(?:\.\d+)?)", text)
    return found[1] if found else None


def parse_nvcc(text: str) -> str | None:
    """The release in the answer of `nvcc --version`: `…, release 11.5, V11.5.119`."""
    found = re.search(r"release (\d+\.\d+)(?:, V(\d+\.\d+\.\d+))?", text[:4096])
    return (found[2] or found[1]) if found else None


def _asked(look: Look, path: str) -> Fact[str]:
    answer = look.system.run((path, "--version"))
    if not isinstance(answer, Found):
        return Unreadable(f"{path}: {answer.why}")
    version = parse_nvcc(answer.value.stdout)
    return Found(version, f"{path} --version") if version else Unreadable(f"{path} --version does not tell")
