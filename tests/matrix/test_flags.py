"""Arguments and variables of `vllm serve` by release. The ranges are those of a reading of the sources made apart from the records."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from envcheck.matrix.flags import Flags, deprecated, has, within
from envcheck.matrix.load import Matrix

FACTS = Path(__file__).parents[2] / "matrices"
RANGES = {
    "--max-model-len": ("0.2.0", None),
    "--max-num-seqs": ("0.0.1", None),
    "--kv-cache-memory-bytes": ("0.10.2", None),
    "--swap-space": ("0.0.1", "0.17.1"),
    "--max-context-len-to-capture": ("0.2.6", "0.6.3.post1"),
    "--max-seq-len-to-capture": ("0.4.3", "0.10.2"),
    "--cuda-graph-sizes": ("0.9.0", "0.12.0"),
    "--cudagraph-capture-sizes": ("0.11.1", None),
    "--num-scheduler-steps": ("0.5.5", "0.10.0"),
    "--use-v2-block-manager": ("0.4.0", "0.9.2"),
    "--device": ("0.3.1", "0.9.2"),
    "--task": ("0.6.4", "0.12.0"),
    "--runner": ("0.10.1", None),
    "--disable-mm-preprocessor-cache": ("0.6.6", "0.12.0"),
    "--mm-processor-cache-gb": ("0.10.1", None),
    "--speculative-model": ("0.4.1", "0.8.2"),
    "--speculative-config": ("0.8.2", None),
    "--attention-backend": ("0.13.0", None),
    "--enable-reasoning": ("0.7.1", "0.9.2"),
    "--log-level": ("0.31.0", None),
    "--language-model-only": ("0.17.0", None),
    "--calculate-kv-scales": ("0.7.0", "0.27.1"),
}
NEVER = ("--kv-cache-memory", "--mm-processor-cache-gbs", "--use-deepgemm", "--use-deep-gemm", "--truncate-prompt-tokens", "--max-tokens")
VARIABLES = {
    "VLLM_USE_V1": ("0.6.4", "0.11.0"),
    "VLLM_ATTENTION_BACKEND": ("0.4.2", "0.14.1"),
    "VLLM_USE_DEEP_GEMM": ("0.8.3", None),
    "VLLM_LOGGING_LEVEL": ("0.4.3", None),
    "VLLM_MM_INPUT_CACHE_GIB": ("0.8.0", "0.12.0"),
    "VLLM_ENABLE_CUDA_COMPATIBILITY": ("0.17.0", None),
}


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(FACTS)


@pytest.fixture(scope="module")
def flags(matrix: Matrix) -> Flags:
    return matrix.flags


@pytest.mark.parametrize("name", RANGES)
def test_a_release_has_an_argument_from_the_first_to_the_last(flags: Flags, matrix: Matrix, name: str) -> None:
    first, last = RANGES[name]
    flag = flags.flag(name)
    assert flag is not None
    for release in matrix.releases:
        inside = release.version >= Version(first) and (last is None or release.version <= Version(last))
        assert has(flag, release.version) is inside, release.raw


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_is_read_from_the_first_to_the_last(flags: Flags, matrix: Matrix, name: str) -> None:
    first, last = VARIABLES[name]
    ranges = flags.variable(name)
    assert ranges is not None
    for release in matrix.releases:
        inside = release.version >= Version(first) and (last is None or release.version <= Version(last))
        assert within(ranges, release.version) is inside, release.raw


def test_0_33_0_takes_the_opposite_of_each_enable_again(flags: Flags) -> None:
    flag = flags.flag("--disable-log-requests")
    assert flag is not None
    assert [has(flag, Version(release)) for release in ("0.16.0", "0.17.0", "0.32.0", "0.33.0")] == [True, False, False, True]


def test_names_that_circulate_and_that_no_release_has(flags: Flags) -> None:
    assert [name for name in NEVER if flags.flag(name)] == []
    assert flags.variable("VLLM_ALLOW_WORKSPACE_GROWTH") is None


def test_the_table_of_the_parsers_wins_over_the_static_reading(flags: Flags) -> None:
    # registered in a loop, which a reading of the source misses
    guided = flags.flag("--guided-decoding-backend")
    assert guided is not None
    assert has(guided, Version("0.11.2"))
    assert not has(guided, Version("0.12.0"))


def test_forms(flags: Flags) -> None:
    def form(name: str, release: str) -> tuple[bool, bool] | None:
        flag = flags.flag(name)
        found = flags.form(flag, Version(release)) if flag else None
        return (found.switch, found.off) if found else None

    assert form("--enforce-eager", "0.8.5") == (True, False)
    assert form("--enforce-eager", "0.9.2") == (True, True)
    assert form("--enable-prefix-caching", "0.33.0") == (True, True)  # listed there as --disable-prefix-caching
    assert form("--max-model-len", "0.33.0") == (False, False)


def test_short_names_are_those_of_the_long_one(flags: Flags) -> None:
    for short, long in (("-tp", "--tensor-parallel-size"), ("-pp", "--pipeline-parallel-size"), ("-q", "--quantization")):
        flag = flags.flag(short)
        assert flag is not None
        assert flag.name == long


def test_deprecated(flags: Flags) -> None:
    task = flags.flag("--task")
    assert task is not None
    assert deprecated(task, Version("0.12.0"))
    assert not deprecated(task, Version("0.9.2"))


def test_choices_of_a_release_whose_parser_was_not_run_are_those_of_its_source(flags: Flags) -> None:
    block = flags.flag("--block-size")
    assert block is not None
    form = flags.form(block, Version("0.2.0"))
    assert form is not None
    assert form.choices == [8, 16, 32]
    assert form.basis == "neighbour"


def test_what_stands_instead_exists_where_it_is_named(flags: Flags, matrix: Matrix) -> None:
    for entry in flags.file.replacements:
        for release in matrix.releases:
            if entry.instead is None or flags.replacement(entry.name, release.version) is not entry:
                continue
            name = entry.instead.split()[0]
            flag, variable = flags.flag(name), flags.variable(name)
            known = has(flag, release.version) if flag else variable is not None and within(variable, release.version)
            assert known, (entry.name, entry.instead, release.raw)
            old = flags.flag(entry.name)
            assert old is None or not has(old, release.version), (entry.name, release.raw)


def test_a_name_that_is_close_is_offered(flags: Flags) -> None:
    assert flags.nearest("--max-model-length", Version("0.33.0"))[0] == "--max-model-len"
    assert flags.nearest("--xyzzy", Version("0.33.0")) == []
