"""This machine, with the stand-in's GPUs in it, recorded and played again: in a process of its own, where NVML may be loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from envcheck.model.host import HostReport

pytestmark = pytest.mark.native
MATRICES = Path(__file__).parents[2] / "matrices"
PROGRAM = """
import sys, msgspec
from pathlib import Path
from envcheck.matrix.load import Matrix
from envcheck.probes.collect import collect
from envcheck.probes.redact import redacted_report
from envcheck.system.real import RealSystem
from envcheck.system.recording import RecordingSystem
from envcheck.system.rooted import RootedSystem

matrix, full = Matrix(Path(sys.argv[1])), sys.argv[3] == "full"
signs = (matrix.cloud_matchers(), matrix.maker_signs())
visit = RecordingSystem(RealSystem())
seen = collect(visit, *signs, full=full)
recorded = visit.write(sys.argv[2])
pair = [redacted_report(seen, recorded.redactor), collect(RootedSystem(sys.argv[2]), *signs, full=full), seen]
sys.stdout.buffer.write(msgspec.json.encode(pair))
"""


@pytest.mark.parametrize("depth", ["full", "short"])
@pytest.mark.parametrize("profile", ["h20x8", "mig", "lost", "mismatch"])
def test_the_replay_of_a_real_visit_is_the_visit_redacted(
    standin: Callable[[str], dict[str, str]], profile: str, depth: str, tmp_path: Path
) -> None:
    planted = {"HF_TOKEN": "hf_notarealtokenatall", "LOGNAME": "zebulon", "MASTER_ADDR": "10.20.30.40", "CUDA_VISIBLE_DEVICES": "0"}
    words = [sys.executable, "-c", PROGRAM, str(MATRICES), str(tmp_path / "copy"), depth]
    done = subprocess.run(words, env={**standin(profile), **planted}, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    told, replayed, seen = msgspec.json.decode(done.stdout, type=list[HostReport])
    assert replayed == told
    assert seen.driver != msgspec.UNSET
    files = [path for path in (tmp_path / "copy").rglob("*") if path.is_file() and not path.is_symlink()]
    everything = b"\n".join([*(path.read_bytes() for path in files), *map(os.fsencode, files)])
    for secret in ("hf_notarealtoken", "zebulon", "10.20.30.40"):
        assert secret.encode() not in everything
