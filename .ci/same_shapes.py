"""Writes some of the checkpoint fixtures anew with the real `transformers` and compares; left out where pip finds no CPU build of torch."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
SHAPES = TOP / "tests" / "sizing"
NAMES = ("llama", "deepseek-v3", "llama-w4a16")
PLACE = Path.home() / ".cache" / "envcheck-ci" / "shapes"


def wheel() -> Path | None:
    """The CPU build of torch that pip would take for this Python."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    places = [Path(place) for place in os.environ.get("PIP_FIND_LINKS", "").split() if "://" not in place]
    return next((path for place in places for path in sorted(place.glob(f"torch-*+cpu-{tag}-*.whl"))), None)


def interpreter(torch: Path, transformers: str) -> Path:
    """A Python with that torch and that transformers, made once."""
    venv = PLACE / f"venv-{torch.name.split('-')[1]}-{transformers}"
    python = venv / "bin" / "python"
    if not (venv / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        wanted = [str(torch), f"transformers=={transformers}", "compressed-tensors", "accelerate"]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted], check=True)
        (venv / "complete").touch()
    return python


def main() -> int:
    """0 = the same, or left out; 1 = a fixture differs from what the library writes."""
    torch = wheel()
    if torch is None:
        print("left out: there is no CPU build of torch where pip looks for wheels")
        return 0
    stored = {name: json.loads((SHAPES / "shapes" / f"{name}.json").read_text(encoding="utf-8")) for name in NAMES}
    python = interpreter(torch, stored[NAMES[0]]["transformers"])
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([str(python), str(SHAPES / "make_shapes.py"), place, *NAMES], check=True, capture_output=True)
        made = {name: json.loads((Path(place) / f"{name}.json").read_text(encoding="utf-8")) for name in NAMES}
    different = [name for name in NAMES if made[name]["tensors"] != stored[name]["tensors"]]
    print(f"different from what transformers writes: {', '.join(different)}" if different else f"the same: {', '.join(NAMES)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
