"""Logs as bytes: gzip, cut short, without an end, hostile."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from envcheck.matrix.load import load
from envcheck.readers.log_stream import LINE_LIMIT, log_chunks
from envcheck.readers.startup_log import read_startup_log

FACTS = load().log_lines


LOADED = "INFO vLLM API server version 0.19.0\nINFO x Model loading took 14.99 GiB memory and 1.0 seconds\n"


def test_gzip_and_several_members_of_it_are_read_as_they_come() -> None:
    whole = gzip.compress(LOADED.encode()) + gzip.compress(b"INFO x Available KV cache memory: 58.11 GiB\n")
    found = read_startup_log(log_chunks(BytesIO(whole).read), FACTS, "x.gz").runs
    assert [(run.memory.weights_gib, run.memory.kv_gib) for run in found] == [(14.99, 58.11)]


def test_of_a_gzip_cut_short_what_came_before_is_read() -> None:
    whole = zlib.compressobj(0, wbits=31)
    data = whole.compress(LOADED.encode()) + whole.flush()
    (found,) = read_startup_log(log_chunks(BytesIO(data[:-12]).read), FACTS, "x.gz").runs
    assert found.vllm == "0.19.0"


def test_a_line_without_an_end_is_held_to_a_bound() -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 100_000

    source = endless()
    chunks = list(log_chunks(lambda _: next(source, b"")))
    assert max(map(len, chunks)) <= LINE_LIMIT + 100_000
    assert list(log_chunks(BytesIO(b"a\n" * 100).read, limit=10)) == [b"a\n" * 5]


@given(st.binary(max_size=400), st.lists(st.sampled_from([line.marker for line in FACTS.lines]), max_size=6))
def test_nothing_in_a_log_makes_it_fail(noise: bytes, markers: list[str]) -> None:
    data = b"\n".join([noise, *(marker.encode() + noise[:50] for marker in markers)])
    read_startup_log(log_chunks(BytesIO(data).read), FACTS, "x")
