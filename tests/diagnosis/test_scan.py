"""Which line is the cause: order, wrappers, symptoms, warnings, ranks, what stands before; blocks that end anywhere; hostile bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcheck.diagnosis.causes import diagnosis_of
from envcheck.diagnosis.index import Index
from envcheck.diagnosis.scan import Scan, cleaned, level_of, scanned
from envcheck.matrix.load import load
from envcheck.matrix.signatures import Role, Signature
from envcheck.model.diagnosis import Diagnosis


def signature(name: str, code: str, line: str, role: Role = "cause", before: tuple[str, ...] = (), *, warns: bool = False) -> Signature:
    return Signature(
        sources=["https://docs.vllm.ai/"], id=name, code=code, lines=[line], role=role, before=list(before), warns=warns, examples=[line]
    )


INDEX = Index(
    [
        signature("oom", "oom-runtime", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size:num} GiB"),
        signature("oom-sampler", "oom-sampler-warmup", "CUDA out of memory", before=("_dummy_sampler_run",)),
        signature("symbol", "torch-vllm-mismatch", "undefined symbol: {symbol:word}"),
        signature("port", "port-in-use", "[Errno 98] error while attempting to bind on address"),
        signature("wrapper", "cuda-init-failed", "Engine core initialization failed. See root cause above", role="wrapper"),
        signature("died", "startup-timeout", "Worker proc {name:word} died unexpectedly", role="symptom"),
        signature("disk", "disk-full", "is over 95% full, available space: {left:int}", warns=True),
        signature("nccl", "nccl-misconfigured", "NCCL WARN Call to ibv_reg_mr failed with error {what:text}"),
    ]
)
MATRIX = load()


def scan(text: str, size: int = 1 << 16) -> Scan:
    data = text.encode()
    return scanned((data[at : at + size] for at in range(0, len(data), size)), INDEX)


def found(text: str) -> Diagnosis:
    return diagnosis_of(scan(text), MATRIX)


def codes(text: str) -> list[str]:
    return [finding.code for finding in found(text).findings]


CHAIN = """INFO 11-30 17:00:01 [api_server.py:1] vLLM API server version 0.28.0
(Worker pid=7) ERROR 11-30 17:00:09 [worker.py:1] ImportError: /a/b/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEi
(Worker pid=7) ERROR 11-30 17:00:09 [worker.py:1]
(Worker pid=7) ERROR 11-30 17:00:09 [worker.py:1] The above exception was the direct cause of the following exception:
(EngineCore pid=6) ERROR 11-30 17:00:10 [core.py:1] Worker proc VllmWorker-0 died unexpectedly (exit code: 1)
(APIServer pid=5) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def test_the_first_cause_stands_alone_before_symptoms_and_wrappers() -> None:
    answer = found(CHAIN)
    assert [finding.code for finding in answer.findings] == ["torch-vllm-mismatch"]
    assert answer.status == "cause"
    assert answer.seen[0].number == 2
    assert answer.findings[0].evidence["symbol"] == "_ZN3c104cuda9SetDeviceEi"


def test_the_same_from_all_ranks_is_said_once() -> None:
    ranks = "".join(
        f"(Worker_TP{rank} pid={rank}) ERROR 11-30 17:00:09 [w.py:1] ImportError: x.so: undefined symbol: _Z{rank}\n" for rank in range(8)
    )
    assert codes(ranks + CHAIN) == ["torch-vllm-mismatch"]


def test_a_log_cut_off_anywhere_names_the_cause_once_its_line_is_there() -> None:
    end = CHAIN.index("SetDeviceEi") + len("SetDeviceEi")
    for cut in range(end, len(CHAIN)):
        assert codes(CHAIN[:cut])[:1] == ["torch-vllm-mismatch"], cut
    for cut in range(CHAIN.index("undefined symbol")):
        assert codes(CHAIN[:cut]) == [], cut


def test_without_a_cause_a_symptom_counts_and_a_wrapper_says_only_that_something_failed() -> None:
    lines = CHAIN.splitlines(keepends=True)
    assert codes("".join(lines[4:])) == ["startup-timeout"]
    last = found(lines[5])
    assert last.status == "unknown"
    assert last.findings == ()


def test_what_stands_before_decides_between_two_that_fit() -> None:
    line = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB\n"
    frame = '  File "gpu_model_runner.py", line 3, in _dummy_sampler_run\n'
    assert codes(line) == ["oom-runtime"]
    assert codes(frame + line) == ["oom-sampler-warmup"]
    assert codes(frame + "x" * 79 + "\n" * 1 + "filler line of a log\n" * 1000 + line) == ["oom-runtime"]  # too far before


def test_what_stands_before_may_be_in_the_block_before() -> None:
    line = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB\n"
    text = '  File "gpu_model_runner.py", line 3, in _dummy_sampler_run\n' + "  frame\n" * 20 + line
    for size in (1, 7, 64, 100, 1000):
        assert [hit.fit.signature.id for hit in scan(text, size).hits] == ["oom-sampler"], size


@pytest.mark.parametrize("level", ["INFO", "DEBUG", "WARNING"])
def test_what_was_logged_as_information_or_a_warning_is_no_cause(level: str) -> None:
    assert codes(f"(APIServer pid=1) {level} 11-30 17:00:53 [u.py:2] a client sent: undefined symbol: foo\n") == []
    assert (
        found(f"{level} 11-30 17:00:53 [u.py:2] This can cause errors like `OSError: [Errno 24] Too many open files`\n").status == "nothing"
    )


def test_a_warning_that_is_one_counts_where_its_signature_says_so() -> None:
    assert codes("WARNING 11-30 17:00:53 [ray.py:2] /tmp/ray is over 95% full, available space: 6042\n") == ["disk-full"]


@pytest.mark.parametrize(
    "wrap",
    [
        "2026-11-30T17:00:09.123456789Z stderr F {}",
        "Nov 30 17:00:09 host vllm[4711]: {}",
        "vllm-server-1  | {}",
        "\x1b[1;36m(EngineCore pid=1)\x1b[0;0m \x1b[31m{}\x1b[0m",
        "    > {}",
        "报错信息：{} 请帮忙看看",
        '{{"log":"{}\\n","stream":"stderr","time":"2026-11-30T17:00:09Z"}}',
        "[rank3]: {}",
        "(RayWorkerWrapper pid=9, ip=10.0.0.2) {}",
    ],
)
def test_what_collects_logs_may_put_something_around_a_line(wrap: str) -> None:
    answer = found(wrap.format("ImportError: x.so: undefined symbol: _ZN3c10") + "\n")
    assert [finding.code for finding in answer.findings] == ["torch-vllm-mismatch"]
    assert "\x1b" not in answer.seen[0].text


def test_line_numbers_are_those_of_the_file_whatever_the_blocks() -> None:
    text = "one\ntwo\n" * 500 + "x: undefined symbol: foo\n" + "three\n" * 3
    for size in (3, 50, 4096, 1 << 20):
        assert [hit.number for hit in scan(text, size).hits] == [1001], size
        assert scan(text, size).lines == 1004


def test_levels() -> None:
    assert level_of("(EngineCore pid=1) ERROR 11-30 17:00:09 [core.py:1] x") == "ERROR"
    assert level_of("WARN 11-30 x") == "WARNING"
    assert level_of("ValueError: INFORMATION missing") is None
    assert level_of("x.so: undefined symbol: foo") is None


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=3000), st.integers(1, 500))
def test_any_bytes_in_any_blocks_are_answered_alike(data: bytes, size: int) -> None:
    whole = scanned((data,), INDEX)
    parts = scanned((data[at : at + size] for at in range(0, len(data), size)), INDEX)
    assert whole.hits == parts.hits
    assert whole.lines == parts.lines
    diagnosis_of(whole, MATRIX)


def test_a_line_of_ten_mebibytes_is_looked_at_where_it_begins() -> None:
    text = "x.so: undefined symbol: foo" + " y" * (5 << 20) + "\nlast: undefined symbol: bar\n"
    answer = scan(text)
    assert [(hit.number, hit.fit.values["symbol"]) for hit in answer.hits] == [(1, "foo"), (2, "bar")]


def test_nothing_of_a_line_can_act_on_a_terminal() -> None:
    line = cleaned(b"\x1b]0;title\x07\x1b[2J\x00err\x9bor\x7f undefined symbol: \xff\xfe")
    assert "undefined symbol" in line
    assert all(char.isprintable() for char in line)


def test_the_middle_of_a_long_log_is_looked_at_for_the_plainest_words_and_its_end_for_all() -> None:
    """`[Errno 98]` holds none of those, and an exception's name does."""
    filler = "INFO 11-30 17:00:01 [loggers.py:1] Avg generation throughput: 512.0 tokens/s, Running: 8 reqs\n" * 60_000
    assert len(filler) > 5 << 20
    quiet, plain = "[Errno 98] error while attempting to bind on address\n", "ImportError: x.so: undefined symbol: foo\n"
    strange = "x.so: undefined symbol: bar\n"
    for size in (1 << 18, 100_003):
        assert [hit.fit.signature.id for hit in scan(filler + plain + filler + filler, size).hits] == ["symbol"]
        ends = scan(filler + filler + strange + "INFO 11-30 17:00:01 [a.py:1] ready\n" * 100 + quiet, size)
        assert [hit.fit.signature.id for hit in ends.hits] == ["symbol", "port"]
        assert [hit.number for hit in ends.hits] == [120_001, 120_102]
        assert ends.lines == 120_102


def test_of_equal_fits_the_same_one_wins_in_any_order() -> None:
    line = "x.so: undefined symbol: foo\n"
    twins = [
        signature("b-twin", "nccl-mismatch", "undefined symbol: {symbol:word}"),
        signature("a-twin", "disk-full", "undefined symbol: {name:word}"),
    ]
    found = [scanned((line.encode(),), Index(order)).hits[0].fit.signature.id for order in (twins, twins[::-1])]
    assert found == ["a-twin", "a-twin"]
