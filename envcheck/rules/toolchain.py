"""Rules on what triton needs to build its launcher when the server starts: a C compiler, Python.h, and a libcuda to link with."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator

from msgspec import UNSET

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.host import known
from envcheck.model.versions import lenient_version
from envcheck.rules.driver_install import any_system, as_root, version_of
from envcheck.rules.make import finding, remedy
from envcheck.rules.planned import is_on
from envcheck.rules.situation import Situation, part, text

_COMPILERS = ("gcc", "cc", "clang")
_SHOWN = 200


def launcher(
    situation: Situation, matrix: Matrix, release: Release, engine: str | None, *, installed: bool, own: bool
) -> Iterator[Finding]:
    """What is missing for triton's launcher: an error where the engine compiles the model at every start, else a warning."""
    compiles = engine == "v1" and not is_on(situation.request.serve_args.get("enforce_eager"))
    severity = Severity.ERROR if compiles else Severity.WARNING
    vllm = situation.installed_raw[:60] if installed else release.raw
    if _no_compiler(situation):
        named = (known(situation.host.environment) or {}).get("CC", "").split()
        key = "named" if named else "detail"
        params = {"vllm": vllm, "compiler": named[0][:_SHOWN] if named else "gcc"}
        yield finding("compiler-missing-for-jit", severity, key, remedies=tuple(_compilers(situation, matrix)), **params)
    if part(situation.host.python, "headers") is False:
        grave = severity if own else Severity.WARNING
        params = {"vllm": vllm, "python": _python(situation), "executable": text(situation.host.python, "executable")[:_SHOWN] or "python"}
        yield finding("python-headers-missing", grave, remedies=tuple(_headers(situation, matrix)), **params)
    if part(situation.host.libcuda, "development_link") is False and _links_by_name(situation, matrix, release, installed=installed):
        path = text(situation.host.libcuda, "path") or "libcuda.so.1"
        ways = tuple(_links(situation, path))
        yield finding("libcuda-symlink-missing", severity, remedies=ways, vllm=vllm, path=path[:_SHOWN])


def _no_compiler(situation: Situation) -> bool:
    """Whether it is known that there is no C compiler: stated of the interpreter, else none of the names is on PATH."""
    python = known(situation.host.python)
    if python is not None and python.compiler is not UNSET:
        return python.compiler is None
    tools = known(situation.host.tools)
    if not tools or (known(situation.host.environment) or {}).get("CC"):
        return False
    return all(name in tools and tools[name] is None for name in _COMPILERS)


def _links_by_name(situation: Situation, matrix: Matrix, release: Release, *, installed: bool) -> bool:
    """Whether the triton in use links with the file that is missing; one of an unknown release is taken not to."""
    raw = situation.packages.get("triton", "") if installed else ""
    torch = situation.torch.version.base_version if installed and situation.torch and situation.torch.version else release.torch_pin
    record = matrix.torch(torch) if torch and not raw else None
    version = lenient_version(raw or (record.record.triton if record else None) or "")
    return version is not None and matrix.toolchain.links_with(version) == "libcuda.so"


def _python(situation: Situation) -> str:
    return f"{situation.python[0]}.{situation.python[1]}" if situation.python else "3"


def _compilers(situation: Situation, matrix: Matrix) -> Iterator[Remedy]:
    """Conda's compiler where the environment is conda's, which needs no root; the distribution's."""
    if part(situation.host.python, "environment") == "conda":
        yield remedy("setting", "compiler-conda", "conda install -y -c conda-forge c-compiler cxx-compiler")
    system = any_system(situation, matrix)
    commands = as_root(situation, *system.compiler()) if system else ()
    yield remedy("setting", "install-compiler", *commands, root=True)


def _headers(situation: Situation, matrix: Matrix) -> Iterator[Remedy]:
    """The distribution's headers, for an interpreter that is the distribution's; an interpreter that brings its own."""
    system = any_system(situation, matrix)
    prefix, python = text(situation.host.python, "prefix"), _python(situation)
    if system and situation.python and (part(situation.host.python, "environment") == "system" or prefix == "/usr"):
        usual = matrix.distro(system.record.distribution, version_of(situation))
        lines = system.python_headers(python, default=usual is not None and usual.python == python)
        yield remedy("setting", "install-headers", *as_root(situation, *lines), root=True, python=python)
    wanted = matrix.policy.planned_python if python == "3" else python
    yield remedy("fresh-environment", "managed-python", f"uv venv --managed-python --python {wanted}", python=wanted)


def _links(situation: Situation, path: str) -> Iterator[Remedy]:
    """A link in a folder of one's own, which triton is told of; one beside the library."""
    if not path.startswith("/"):
        return
    folder = posixpath.dirname(path)
    link = f"ln -sf {shlex.quote(posixpath.join(folder, 'libcuda.so.1'))} ~/.cuda/libcuda.so"
    yield remedy("setting", "link-libcuda-own", "mkdir -p ~/.cuda", link, "export TRITON_LIBCUDA_PATH=~/.cuda")
    if not situation.wsl:  # there the folder is mounted from Windows
        link = posixpath.join(folder, "libcuda.so")
        yield remedy("setting", "link-libcuda", *as_root(situation, f"sudo ln -s libcuda.so.1 {shlex.quote(link)}"), root=True)
