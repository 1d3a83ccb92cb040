"""The files written by hand or nearly so: engines, policy, matrix."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

from common import record, write

from envcheck.matrix.records import EngineRange, MatrixInfo, Policy

ENVS = "vllm/envs.py and vllm/engine/arg_utils.py of the source distributions"
ENGINES = [
    ("<0.6.4", "v0", ["v0"], "absent", "7.0", None, None),
    (">=0.6.4,<0.8.0", "v0", ["v0", "v1"], "selects", "7.0", None, "V1 by VLLM_USE_V1=1 only, and not complete."),
    (
        ">=0.8.0,<0.10.2",
        "v1",
        ["v0", "v1"],
        "selects",
        "7.0",
        "8.0",
        "V0 is taken below 8.0 and for options V1 lacks; VLLM_USE_V1=1 then raises NotImplementedError.",
    ),
    (">=0.10.2,<0.11.0", "v1", ["v0", "v1"], "selects", "7.0", "7.0", "Last release with V0; V1 no longer refuses below 8.0."),
    (">=0.11.0,<0.11.1", "v1", ["v1"], "zero-fails", None, "7.0", "VLLM_USE_V1=0 raises ValueError."),
    (">=0.11.1,<0.17.0", "v1", ["v1"], "ignored", None, "7.0", None),
    (">=0.17.0,<0.20.0", "v1", ["v1"], "warns", None, "7.0", "An error with --fail-on-environ-validation."),
    (
        ">=0.20.0",
        "v1",
        ["v1"],
        "warns",
        None,
        "7.5",
        "An error with --fail-on-environ-validation. The install page states 7.5, and the wheels hold no code below it.",
    ),
]


def engines():
    return [
        record(
            EngineRange,
            sources=[ENVS],
            note=note,
            releases=releases,
            default=default,
            available=available,
            v0_min_capability=v0,
            v1_min_capability=v1,
            switch=switch,
        )
        for releases, default, available, switch, v0, v1, note in ENGINES
    ]


def make(target):
    write(target / "matrix.json", MatrixInfo(schema=1, date="2026-11-30"))
    write(target / "engines.json", engines())
    policy = record(
        Policy,
        sources=["a choice of this project"],
        note="Releases before oldest_planned are two years old and unpatched; they are planned only when asked for by name. "
        "Interpreters before oldest_python get no fixes any more. "
        "Branch 580 is the oldest that runs CUDA 13 and the last that serves Volta, with fixes until 2028-06.",
        oldest_planned="0.6.3",
        planned_python="3.12",
        oldest_python="3.10",
        planned_driver_branch=580,
    )
    write(target / "policy.json", policy)
