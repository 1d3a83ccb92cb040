"""Make `matrices/` from a folder of collected facts: `python .ci/make_matrices FACTS [MATRICES]`. Run again, it changes nothing."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import common  # noqa: E402

common.FACTS = Path(sys.argv[1])
TARGET = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "matrices"

import make_advisories  # noqa: E402
import make_cuda  # noqa: E402
import make_flags  # noqa: E402
import make_gpus  # noqa: E402
import make_images  # noqa: E402
import make_knowledge  # noqa: E402
import make_models  # noqa: E402
import make_places  # noqa: E402
import make_quantization  # noqa: E402
import make_rest  # noqa: E402
import make_torch  # noqa: E402
import make_vllm  # noqa: E402

STEPS = (
    make_vllm,
    make_torch,
    make_cuda,
    make_gpus,
    make_places,
    make_models,
    make_quantization,
    make_knowledge,
    make_advisories,
    make_flags,
    make_rest,
    make_images,
)
for step in STEPS:
    step.make(TARGET)
