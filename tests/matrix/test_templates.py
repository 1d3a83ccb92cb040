"""Templates of log lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcheck.matrix.template import template


@pytest.mark.parametrize(
    ("text", "line", "values"),
    [
        ("version {v:word} is too old", "a: version 12.30, is too old", {"v": "12.30"}),
        ("found version {v:int}", "too old (found version 12080). Please", {"v": 12080}),
        (
            "max seq len ({need:int}) is larger than {}({have:int})",
            "The max seq len (8192) is larger than the KV (4096).",
            {"need": 8192, "have": 4096},
        ),
        ("max seq len ({need:int}) is larger than {}({have:int})", "The max seq len (many) is larger than the KV (4096).", None),
        ("version `{v:word}' not found", "libc.so.6: version `GLIBC_2.30' not found (required by", {"v": "GLIBC_2.30"}),
        ("needed {n:num} GiB", "needed 2.50 GiB, there", {"n": 2.5}),
        ("needs {n:num}", "needs 2.", {"n": 2.0}),
        ("undefined symbol: {s:word}", "x.so: undefined symbol: _ZN3c10, version", {"s": "_ZN3c10"}),
        ("No module named '{m:word}'", "ModuleNotFoundError: No module named 'a b'", None),
        ("brace {{x}} {n:int}", "brace {x} 7", {"n": 7}),
        ("again {n:int} end", "again x end, again 5 end", {"n": 5}),
        ("far {} apart", "far " + "x" * 500 + " apart", None),
    ],
)
def test_what_fits(text: str, line: str, values: dict[str, object] | None) -> None:
    assert template(text).match(line) == values


@pytest.mark.parametrize(
    "text", ["{a:int} first", "ab{}{}", "two {a:int}{b:int} holes", "bad {a:float} kind", "odd {a!r} hole", "open {", "{}", ""]
)
def test_what_is_no_template(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        template(text)


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_line_is_answered(line: str) -> None:
    for text in ("abc {a:int} b {c:num} d {e:word}", "x y {a:text}", "the {} end"):
        found = template(text).match(line)
        assert found is None or isinstance(found, dict)


def test_time_grows_with_the_line_and_not_faster() -> None:
    """Text made of the literals alone is what a pattern with gaps is slowest on."""
    made = template("aaa {} aaa {} aaa {} aaa {x:int} aab")

    def seconds(size: int) -> float:
        line = "aaa " * size
        best = 9.0
        for _ in range(5):
            start = time.process_time()
            for _ in range(20):
                assert made.match(line) is None
            best = min(best, time.process_time() - start)
        return best

    assert seconds(8000) < 100 * seconds(80) + 0.05
