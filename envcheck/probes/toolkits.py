"""CUDA toolkits: folders with an `nvcc`. Only run-time compilation and source builds need one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec import UNSET

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host import Toolkit
from envcheck.probes.cuda_home import VARIABLES
from envcheck.probes.driver import level_text
from envcheck.probes.facts import Facts, first_found
from envcheck.probes.interpreter import target
from envcheck.probes.kernel_modules import NOT_LOOKED
from envcheck.probes.libraries import cuda_folders
from envcheck.probes.look import Look
from envcheck.probes.packages import installed

FIELDS = ("toolkits",)
_LINK = "/usr/local/cuda"
_DEBIAN = ("/usr/lib/nvidia-cuda-toolkit", "/usr/lib/cuda")  # of the package nvidia-cuda-toolkit, beside /usr/bin/nvcc
_NO_ROOTS = ("/", "/usr", "/usr/local")  # `nvcc` in their `bin` is a distribution's or a wrapper: they are no toolkits
_MOST = 32
_HEAD_BYTES = 32_768  # of a file: the release stands 13 KiB into CUDA 12's `cuda.h`, which has a MiB


def probe(look: Look) -> Facts:
    """The list under `toolkits`, every real folder once; `toolkits.<path>` says where a version came from or why there is none."""
    found: list[Toolkit] = []
    sources: Facts = {}
    for path in roots(look):
        version = first_found(_versions(look, path))
        told = version.value if isinstance(version, Found) else UNSET
        found.append(Toolkit(told, path, origin(look, path), selected_by(look, path)))
        sources[f"toolkits.{path}"] = version
    return {"toolkits": Found(found, "/usr/local/cuda*, /opt/cuda*, CUDA_HOME, CUDA_PATH, PATH, conda, pip"), **sources}


def roots(look: Look) -> tuple[str, ...]:
    """The real folders that hold `bin/nvcc`, and an `nvcc` on PATH that lies in none of them."""
    named = [look.env[name].rstrip("/") for name in (*VARIABLES, "CONDA_PREFIX") if look.env.get(name, "").startswith("/")]
    debian = [root for root in _DEBIAN if _has_nvcc(look, root)][:1]
    places = (look.system.resolve(root) for root in dict.fromkeys((*look.once(cuda_folders), *named, *debian, *_pip(look))))
    real = [place.value for place in places if isinstance(place, Found)]
    chosen = look.once(on_path)
    folders = dict.fromkeys((*real, *([chosen] if chosen else [])))
    return tuple(folder for folder in folders if folder == chosen or (folder not in _NO_ROOTS and _has_nvcc(look, folder)))[:_MOST]


def _has_nvcc(look: Look, root: str) -> bool:
    return look.system.exists(f"{root}/bin/nvcc")


def on_path(look: Look) -> str | None:
    """The toolkit whose `nvcc` comes first on PATH; the command's own path where no folder can be told; None without one."""
    path = look.system.which("nvcc")
    if path is None:
        return None
    real = look.system.resolve(path)
    root = _root_of(real.value) if isinstance(real, Found) and real.value.endswith("/bin/nvcc") else "/"
    if root not in _NO_ROOTS and _has_nvcc(look, root):
        return root
    # A wrapper script is believed where it names its target.
    head = look.text(path, 512)
    told = re.search(r"(/[\w.+/-]+)/bin/nvcc\b", head.value) if isinstance(head, Found) and head.value.startswith("#!") else None
    place = look.system.resolve(told[1]) if told else None
    return place.value if isinstance(place, Found) and place.value not in _NO_ROOTS and _has_nvcc(look, place.value) else path


def _root_of(nvcc: str) -> str:
    return posixpath.dirname(posixpath.dirname(nvcc))


def _pip(look: Look) -> tuple[str, ...]:
    """Folders in which NVIDIA's wheels put `nvcc`: those of CUDA 13 do, those of CUDA 12 bring only the assembler."""
    python = look.once(target)
    sites = python.value.sites if isinstance(python, Found) else ()
    return tuple(_root_of(path) for site in sites for path in look.system.glob(f"{site}/nvidia/cu*/bin/nvcc", 4))


def origin(look: Look, path: str) -> str:
    """Who installed a toolkit: `conda`, `pip`, the `distribution`, or somebody for the whole `system`."""
    if "/site-packages/" in path or "/dist-packages/" in path:
        return "pip"
    if look.system.exists(f"{path}/conda-meta"):
        return "conda"
    return "distribution" if path.startswith(("/usr/lib/", "/usr/bin/")) else "system"


def selected_by(look: Look, path: str) -> list[str]:
    """What points at a toolkit: `PATH`, the variables, the link `/usr/local/cuda`."""
    names = ["PATH"] if look.once(on_path) == path else []
    # Of a distribution's toolkit the folder is /usr, where its `nvcc` and headers are.
    own = {path, "/usr", *_DEBIAN} if origin(look, path) == "distribution" else {path}
    for name, value in (*((name, look.env.get(name, "")) for name in VARIABLES), (_LINK, _LINK)):
        place = look.system.resolve(value.rstrip("/")) if value.startswith("/") else None
        if isinstance(place, Found) and place.value in own:
            names.append(name)
    return names


def _versions(look: Look, path: str) -> Iterator[Fact[str]]:
    """The release from a toolkit's own files, else from its folder's name; `nvcc` is started last, and only on request."""
    folders = (*_DEBIAN, "/usr") if path == "/usr/bin/nvcc" or path in _DEBIAN else (path,)
    for name, parse in (("version.json", parse_version_json), ("version.txt", parse_version_txt)):
        yield from (_read(look, f"{folder}/{name}", parse) for folder in folders)
    for record in look.system.glob(f"{path}/conda-meta/cuda-nvcc-[0-9]*.json", 4):
        named = re.search(r"/cuda-nvcc-(\d+\.\d+(?:\.\d+)?)-", record)
        if named:
            yield Found(named[1], record)
    if origin(look, path) == "pip":
        yield _packaged(look)
    named = re.search(r"/cuda-(\d{1,2}\.\d{1,2})$", path)
    if named:
        yield Found(named[1], path)
    yield from (_read(look, f"{folder}/include/cuda.h", parse_header) for folder in folders)
    yield _asked(look, path if path.endswith("/nvcc") else f"{path}/bin/nvcc") if look.full else NOT_LOOKED


def _read(look: Look, path: str, parse: Callable[[str], str | None]) -> Fact[str]:
    fact = look.text(path, _HEAD_BYTES)
    if not isinstance(fact, Found):
        return fact
    version = parse(fact.value)
    return Found(version, path) if version else Unreadable(f"{path} does not tell")


def _packaged(look: Look) -> Fact[str]:
    """The release of NVIDIA's wheel, whose folder bears only the major one."""
    packages = look.once(installed)
    if not isinstance(packages, Found):
        return packages
    found = next((package for name, package in packages.value.items() if name.startswith("nvidia-cuda-nvcc")), None)
    return Found(found.version, found.path) if found else Absent("no package nvidia-cuda-nvcc")


def parse_header(text: str) -> str | None:
    """The release in the toolkit's `cuda.h`: `#define CUDA_VERSION 12040` is 12.4."""
    found = re.search(r"^#define CUDA_VERSION (\d{4,6})$", text, re.MULTILINE)
    return level_text(int(found[1])) if found else None


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
