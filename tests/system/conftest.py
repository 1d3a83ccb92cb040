"""Looking at a stand-in's host as the tool does: in a process of its own, through the real nvidia-ml-py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from envcheck.system.nvml import NvmlVisit

PROGRAM = """
import sys, msgspec
from envcheck.system.real import RealSystem
{before}
system = RealSystem()
report, libcuda = system.nvml(), system.libcuda_version()
heavy = {{"pynvml", "ctypes"}} & set(sys.modules)
assert not heavy, heavy
sys.stdout.buffer.write(msgspec.json.encode({{"report": report, "libcuda_version": libcuda}}))
"""


@pytest.fixture
def look() -> Callable[..., NvmlVisit]:
    """`look(env, before="")` is what a process with that environment sees; `before` is Python it runs first."""

    def visit(env: dict[str, str], before: str = "") -> NvmlVisit:
        program = PROGRAM.format(before=before)
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""
        return msgspec.json.decode(done.stdout, type=NvmlVisit)

    return visit


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """`changed(env, *lines, section="system")` is the same host with more lines in its profile."""

    def environment(env: dict[str, str], *lines: str, section: str = "system") -> dict[str, str]:
        profile = tmp_path / "changed.ini"
        profile.write_text(Path(env["ENVCHECK_NVML_PROFILE"]).read_text() + f"\n[{section}]\n" + "\n".join(lines) + "\n")
        return {**env, "ENVCHECK_NVML_PROFILE": str(profile)}

    return environment
