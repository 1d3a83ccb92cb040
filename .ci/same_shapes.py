"""Writes some of the checkpoint fixtures anew with the real writers and compares; left out where pip finds no CPU build of torch."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
SHAPES = TOP / "tests" / "sizing"
NAMES = ("llama", "deepseek-v3", "llama-w4a16")
QUANTIZED = ("llama-bnb-nf4-skipped", "qwen2-bnb-int8", "deepseek-v3-fp8-fine", "gpt-oss-mxfp4")  # what needs no long calibration
PLACE = Path.home() / ".cache" / "envcheck-ci" / "shapes"


def wheel() -> Path | None:
    """The CPU build of torch that pip would take for this Python."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    places = [Path(place) for place in os.environ.get("PIP_FIND_LINKS", "").split() if "://" not in place]
    return next((path for place in places for path in sorted(place.glob(f"torch-*+cpu-{tag}-*.whl"))), None)


def interpreter(torch: Path, transformers: str) -> Path:
    """A Python with that torch and that transformers, made once."""
    venv = PLACE / f"venv-{torch.name.split('-')[1]}-{transformers}-bitsandbytes"
    python = venv / "bin" / "python"
    if not (venv / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        wanted = [str(torch), f"transformers=={transformers}", "compressed-tensors", "accelerate", "bitsandbytes"]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted], check=True)
        (venv / "complete").touch()
    return python


def main() -> int:
    """0 = the same, or left out; 1 = a fixture differs from what the library writes."""
    torch = wheel()
    if torch is None:
        print("left out: there is no CPU build of torch where pip looks for wheels")
        return 0
    stored = {name: json.loads((SHAPES / "shapes" / f"{name}.json").read_text(encoding="utf-8")) for name in (*NAMES, *QUANTIZED)}
    python = interpreter(torch, stored[NAMES[0]]["transformers"])
    with tempfile.TemporaryDirectory() as place:
        for script, names in (("make_shapes.py", NAMES), ("make_quantized.py", QUANTIZED)):
            subprocess.run([str(python), str(SHAPES / script), place, *names], check=True, capture_output=True)
        made = {name: json.loads((Path(place) / f"{name}.json").read_text(encoding="utf-8")) for name in stored}
    different = [name for name in stored if made[name]["tensors"] != stored[name]["tensors"]]
    print(f"different from what the writers write: {', '.join(different)}" if different else f"the same: {', '.join(stored)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
