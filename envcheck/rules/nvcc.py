"""Rules on nvcc, for releases that have CUDA kernels compiled on the host: is one found, does it know the GPU, does it take the compiler.

A wheel that brings all its kernels needs none of this, and then nothing is said, or an info.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.matrix.toolchain import KernelCompilation, within
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import Toolkit, known
from envcheck.model.versions import ComputeCapability, compute_capability, numbers
from envcheck.rules.build import dotted
from envcheck.rules.cuda_home import malformed
from envcheck.rules.kernels import compiled_here, precompiled
from envcheck.rules.make import info, remedy, warning
from envcheck.rules.situation import Situation, text

_ORDER = ("CUDA_HOME", "CUDA_PATH", "PATH", "/usr/local/cuda")  # in which FlashInfer and torch's own builds look
_CHOOSES_COMPILER = ("CC", "CXX", "CUDAHOSTCXX", "NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
_SHOWN = 200


class Found(msgspec.Struct, frozen=True):
    """A toolkit: its CUDA release, None where it does not tell; `selected_by` None = not known."""

    path: str
    cuda: tuple[int, ...] | None
    selected_by: tuple[str, ...] | None


def cuda_compiler(situation: Situation, matrix: Matrix, release: Release, *, installed: bool) -> Iterator[Finding]:
    """CUDA_HOME, nvcc, the compiler behind it and several toolkits, as far as anything is compiled."""
    # Where nothing is installed or asked for, the plan decides how the server is started: see `missing_nvcc`.
    asked = installed or situation.request.vllm is not None
    kernels = compiled_here(situation, matrix, release, installed=installed) if asked else ()
    source = installed and _from_source(situation)
    toolkits = None if situation.host.toolkits is msgspec.UNSET else _toolkits(situation.host.toolkits or ())
    used = _chosen(toolkits or ())
    # A release that brings FlashInfer may have kernels of it compiled for some models, even where none are at every start.
    may = "flashinfer-python" in release.record.requires
    yield from malformed(situation, needed=bool(kernels or source), may=may, toolkit=_newest(toolkits or ()))
    if kernels and toolkits is not None:
        yield from _nvcc(situation, matrix, release, kernels, toolkits, used)
    if used is not None and used.cuda and (kernels or source):
        yield from _gcc(situation, matrix, used)
    if toolkits and len(toolkits) > 1:
        yield from _several(situation, toolkits, used, needed=bool(kernels or source))


def _from_source(situation: Situation) -> bool:
    from envcheck.rules.target_environment import built_from_source  # noqa: PLC0415  # only where vLLM is installed

    return built_from_source(situation)


def missing_nvcc(situation: Situation, matrix: Matrix, release: Release, *, installed: bool = False) -> tuple[KernelCompilation, ...]:
    """What a start of a release would have compiled here without an nvcc that can, for plans: their `variable` set to `off` avoids that."""
    if situation.host.toolkits is msgspec.UNSET:
        return ()
    kernels = compiled_here(situation, matrix, release, installed=installed)
    toolkits = _toolkits(situation.host.toolkits or ())
    used = _chosen(toolkits)
    return tuple(entry for entry in kernels if any(True for _ in _nvcc(situation, matrix, release, (entry,), toolkits, used)))


def _toolkits(listed: Iterable[Toolkit]) -> tuple[Found, ...]:
    return tuple(
        Found(
            path if len(path := known(entry.path) or "") <= _SHOWN else "",  # half a path would be another one
            numbers(known(entry.version) or ""),
            None if entry.selected_by is msgspec.UNSET else tuple(known(entry.selected_by) or ()),
        )
        for entry in listed
    )


def _chosen(toolkits: tuple[Found, ...]) -> Found | None:
    """The toolkit that a build takes; the only one, where it is not known what points at it."""
    for name in _ORDER:
        for toolkit in toolkits:
            if name in (toolkit.selected_by or ()):
                return toolkit
    return toolkits[0] if len(toolkits) == 1 and toolkits[0].selected_by is None else None


def chosen_toolkit(situation: Situation) -> Found | None:
    """The same of a host."""
    return _chosen(_toolkits(known(situation.host.toolkits) or ()))


def _newest(toolkits: tuple[Found, ...]) -> str:
    with_path = [toolkit for toolkit in toolkits if toolkit.path.startswith("/") and not toolkit.path.endswith("/nvcc")]
    return max(with_path, key=lambda toolkit: toolkit.cuda or ()).path if with_path else ""


def _nvcc(
    situation: Situation,
    matrix: Matrix,
    release: Release,
    kernels: tuple[KernelCompilation, ...],
    toolkits: tuple[Found, ...],
    used: Found | None,
) -> Iterator[Finding]:
    code = "nvcc-missing-for-jit"
    if not toolkits:
        if not (known(situation.host.tools) or {}).get("nvcc"):
            yield warning(code, remedies=_ways(situation, release, kernels), **_named(release, kernels))
        return
    if used is None:
        if all(toolkit.selected_by == () for toolkit in toolkits) and (path := _newest(toolkits)):
            export = remedy("setting", "set-cuda-home", f"export CUDA_HOME={shlex.quote(path)}", path=path)
            ways = (export, *_ways(situation, release, kernels))
            yield warning(code, "unselected", remedies=ways, path=path, **_named(release, kernels))
        return
    for capability in situation.capabilities if used.cuda else ():
        lacking = [(entry, cuda) for entry in kernels if (cuda := _lacks(matrix, entry, release, capability, used.cuda or ()))]
        if lacking:
            told = {"present": dotted((used.cuda or ())[:2]), "capability": str(capability), "path": used.path or "nvcc"}
            needed = max((cuda for _, cuda in lacking), key=lambda cuda: numbers(cuda) or ())
            concerned = tuple(entry for entry, _ in lacking)
            yield warning(
                code, "too-old", remedies=_ways(situation, release, concerned), needed=needed, **told, **_named(release, concerned)
            )
            return


def _named(release: Release, kernels: tuple[KernelCompilation, ...]) -> dict[str, str]:
    packages = dict.fromkeys(entry.package for entry in kernels)
    return {"vllm": release.raw, "package": ", ".join(packages), "kernel": ", ".join(entry.id for entry in kernels)}


def _ways(situation: Situation, release: Release, kernels: tuple[KernelCompilation, ...]) -> tuple[Remedy, ...]:
    """The server without these kernels, then the packages that bring them."""
    bring = (way for entry in kernels for way in precompiled(situation, entry, release))
    return (*(way for entry in kernels for way in _without(entry)), *bring)


def _lacks(matrix: Matrix, kernel: KernelCompilation, release: Release, capability: ComputeCapability, cuda: tuple[int, ...]) -> str | None:
    """The toolkit that these kernels need on a GPU, where this one is older and vLLM does not go without them."""
    needed = None if within(kernel.passes_by, release.version) else _needed(matrix, kernel, capability)
    return needed if needed and cuda[:2] < (numbers(needed) or ()) else None


def _needed(matrix: Matrix, kernel: KernelCompilation, capability: ComputeCapability) -> str | None:
    stated = next((cuda for text, cuda in kernel.needs.items() if compute_capability(text) == capability), None)
    return stated or matrix.toolchain.first_toolkit(capability)


def _without(kernel: KernelCompilation) -> tuple[Remedy, ...]:
    """The server without these kernels."""
    if kernel.variable is None:
        return ()
    command = f"unset {kernel.variable}" if kernel.on else f"export {kernel.variable}={kernel.off}"
    return (remedy("setting", "without-kernel", command, variable=kernel.variable),)


def _gcc(situation: Situation, matrix: Matrix, used: Found) -> Iterator[Finding]:
    """A gcc newer than the toolkit takes; where a variable chooses another compiler, that one is used."""
    compiler = re.match(r"gcc (\d{1,3})\b", text(situation.host.python, "compiler"))
    environment = known(situation.host.environment) or {}
    newest = matrix.toolchain.newest_gcc(used.cuda or ()) if compiler else None
    if compiler is None or newest is None or int(compiler[1]) <= newest or any(environment.get(name) for name in _CHOOSES_COMPILER):
        return
    way = remedy("setting", "other-gcc", f"export NVCC_PREPEND_FLAGS='-ccbin g++-{newest}' CC=gcc-{newest} CXX=g++-{newest}", newest=newest)
    cuda, path = dotted((used.cuda or ())[:2]), used.path or "nvcc"
    yield warning("gcc-unsupported-by-nvcc", gcc=compiler[1], newest=newest, cuda=cuda, path=path, remedies=(way,))


def _several(situation: Situation, toolkits: tuple[Found, ...], used: Found | None, *, needed: bool) -> Iterator[Finding]:
    """Toolkits of different releases: the one that is taken is not of torch's CUDA major, or PATH and CUDA_HOME disagree."""
    code, torch = "multiple-cuda-toolkits", situation.torch.cuda if situation.torch else None
    if used is None or not used.cuda:
        return
    fitting = [toolkit for toolkit in toolkits if torch and toolkit.cuda and toolkit.cuda[0] == torch[0]]
    if needed and torch and used.cuda[0] != torch[0] and fitting:
        best = max(fitting, key=lambda toolkit: toolkit.cuda or ())
        way = remedy("setting", "set-cuda-home", f"export CUDA_HOME={shlex.quote(best.path)}", path=best.path)
        params = {"path": used.path, "present": dotted(used.cuda[:2]), "torch": dotted(torch), "other": best.path}
        yield warning(code, "torch", remedies=(way,), **params)
        return
    on_path = next((toolkit for toolkit in toolkits if "PATH" in (toolkit.selected_by or ())), None)
    by_variable = any(name in (used.selected_by or ()) for name in ("CUDA_HOME", "CUDA_PATH"))
    if by_variable and on_path is not None and on_path.cuda and on_path.cuda[:2] != used.cuda[:2]:
        yield info(code, home=used.path, present=dotted(used.cuda[:2]), path=on_path.path, other=dotted(on_path.cuda[:2]))
