"""What every test is held to, and the compiled stand-ins for the driver's libraries.

A test without a marker may neither reach the network nor start a process nor load NVML. `native`, `resolver`, `wheel`, `online` and `real`
lift that; a test that starts processes of its own asks for the fixture `processes`. Loopback is no network.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FREE = ("native", "resolver", "wheel", "online", "real")
NATIVE = HERE / "native"
LIBRARIES = {"libnvidia-ml.so.1": "nvml_*.c", "libcuda.so.1": "cuda_standin.c"}


def _guarded(real: Callable[..., Any], allowed: Callable[..., bool], what: str) -> Callable[..., Any]:
    def guard(*args: Any, **kwargs: Any) -> Any:
        if not allowed(*args, **kwargs):
            asked = [value for value in args if isinstance(value, (str, bytes, tuple, list))]
            pytest.fail(f"a test without a marker may not {what}: {asked!r}")
        return real(*args, **kwargs)

    return guard


def _is_loopback(host: Any) -> bool:
    return host is None or str(host).startswith("127.") or host in {"::1", "localhost"}


def _is_near(_: socket.socket, address: Any) -> bool:
    return not isinstance(address, tuple) or _is_loopback(address[0])


def _is_known(host: Any, *args: Any, **kwargs: Any) -> bool:
    return _is_loopback(host)


def _is_harmless(_: ctypes.CDLL, name: Any = None, *args: Any, **kwargs: Any) -> bool:
    return not any(library in str(name) for library in ("libnvidia-ml", "libcuda"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Guards are up from a test's first fixture to its last."""
    if any(item.get_closest_marker(marker) for marker in FREE):
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name), _is_near, "reach the network"))
        patch.setattr(socket, "getaddrinfo", _guarded(socket.getaddrinfo, _is_known, "look up a name"))
        patch.setattr(ctypes.CDLL, "__init__", _guarded(ctypes.CDLL.__init__, _is_harmless, "load a driver's library"))
        if "processes" not in getattr(item, "fixturenames", ()):
            patch.setattr(subprocess.Popen, "__init__", _guarded(subprocess.Popen.__init__, lambda *a, **k: False, "start a process"))
            patch.setattr(os, "fork", _guarded(os.fork, lambda: False, "fork"))
        return (yield)


@pytest.fixture
def processes() -> None:
    """Asked for by a test that starts processes of its own making: shell one-liners, this interpreter."""


def _compilers() -> list[list[str]]:
    found = [[path] for path in (shutil.which("cc"),) if path]
    return [*found, [sys.executable, "-m", "ziglang", "cc"]]


def compile_library(compiler: list[str], sources: str, target: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Compile one stand-in from the sources that a pattern names, warnings being errors."""
    flags = ["-std=gnu11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-Wl,-soname,{target.name}", *more]
    files = [str(path) for path in sorted(NATIVE.glob(sources))]
    argv = [*compiler, *flags, "-o", str(target), *files, str(NATIVE / "profile.c")]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def native_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both stand-ins, compiled once by `cc`, or by the compiler that the package `ziglang` brings.

    Its folder `470` holds the same libcuda beside an NVML without the functions that driver branch 470 did not have.
    """
    folder = tmp_path_factory.mktemp("native")
    old = folder / "470"
    old.mkdir()
    for compiler in _compilers():
        if compile_library(compiler, "no-source-of-this-name", folder / "profile.so").returncode:
            continue
        for library, sources in LIBRARIES.items():
            done = compile_library(compiler, sources, folder / library)
            assert done.returncode == 0, f"{sources}: {done.stderr}"
        script = f"-Wl,--version-script={NATIVE / 'driver_470.map'}"
        done = compile_library(compiler, "nvml_*.c", old / "libnvidia-ml.so.1", script)
        assert done.returncode == 0, f"driver_470.map: {done.stderr}"
        (old / "libcuda.so.1").symlink_to(folder / "libcuda.so.1")
        return folder
    pytest.fail("no C compiler works here: install `ziglang` from the package index")


@pytest.fixture
def standin(native_libraries: Path) -> Callable[[str], dict[str, str]]:
    """`standin(profile)` is the environment in which a child process sees the host of `tests/profiles/<profile>.ini`."""

    def environment(profile: str) -> dict[str, str]:
        path = HERE / "profiles" / f"{profile}.ini"
        assert path.is_file(), f"no profile {profile}"
        folder = native_libraries / "470" if "\nlibrary = 470\n" in path.read_text() else native_libraries
        here = {"LD_LIBRARY_PATH": str(folder), "ENVCHECK_NVML_PROFILE": str(path)}
        search = filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])
        return {**os.environ, **here, "PYTHONPATH": os.pathsep.join(search)}

    return environment
