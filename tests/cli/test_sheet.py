"""`envcheck sheet`: what stands on it is the release's own; the HTML is one page that needs nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]


def sheet(envcheck: Run, vllm: str) -> Any:
    status, out, _ = envcheck("sheet", "--vllm", vllm, "--json")
    assert status == 0
    return json.loads(out)


def row(document: Any, setting: str) -> list[str | None]:
    return next(one["values"] for one in document["defaults"] if one["setting"] == setting)


def written(document: Any) -> list[str]:
    return [knob["written"] for knob in document["knobs"]]


def test_v0_beside_v1_where_a_release_has_both(envcheck: Run) -> None:
    document = sheet(envcheck, "0.8.5")
    assert document["columns"] == [{"engine": engine, "gib": gib} for engine in ("v0", "v1") for gib in (24, 96)]
    assert row(document, "max_num_seqs") == ["256", "256", "256", "1024"]
    assert row(document, "max_num_batched_tokens") == ["2048", "2048", "2048", "8192"]
    assert row(document, "chunked_prefill") == ["False", "False", "True", "True"]
    assert row(document, "gpu_memory_utilization") == ["0.9"] * 4
    assert document["needs"]["torch"] == "2.6.0"


def test_v1_alone(envcheck: Run) -> None:
    document = sheet(envcheck, "0.33.0")
    assert {column["engine"] for column in document["columns"]} == {"v1"}
    assert row(document, "gpu_memory_utilization") == ["0.92", "0.92"]
    assert "--vllm 0.10.2" in document["engine"]
    assert row(document, "async_scheduling") == ["True", "True"]


@pytest.mark.parametrize(
    ("vllm", "there", "not_there"),
    [
        ("0.8.4", "--limit-mm-per-prompt image=1", "--limit-mm-per-prompt '{\"image\": 1}'"),
        ("0.10.0", "--limit-mm-per-prompt '{\"image\": 1}'", "--limit-mm-per-prompt image=1"),
        ("0.17.1", "--swap-space 0", "--log-level DEBUG"),
        ("0.18.0", "VLLM_LOGGING_LEVEL=DEBUG", "--swap-space 0"),
        ("0.31.0", "--log-level DEBUG", "VLLM_LOGGING_LEVEL=DEBUG"),
        ("0.12.0", "VLLM_ATTENTION_BACKEND=FLASHINFER", "--attention-backend FLASHINFER"),
        ("0.13.0", "--attention-backend FLASHINFER", "VLLM_ATTENTION_BACKEND=FLASHINFER"),
        ("0.10.2", "--kv-cache-memory-bytes 8589934592", ""),
        ("0.10.1", "--kv-cache-dtype fp8", "--kv-cache-memory-bytes 8589934592"),
    ],
)
def test_arguments_as_the_release_takes_them(envcheck: Run, vllm: str, there: str, not_there: str) -> None:
    found = written(sheet(envcheck, vllm))
    assert there in found
    assert not_there not in found


class Page(HTMLParser):
    """Open tags that were closed in order, and what would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [str(value) for name, value in attrs if name in ("src", "href", "srcset", "data")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_html_is_whole_and_fetches_nothing(envcheck: Run, lang: str, tmp_path: Path) -> None:
    path = tmp_path / "sheet.html"
    status, out, _ = envcheck("sheet", "--vllm", "0.8.5", "--format", "html", "--lang", lang, "-o", str(path))
    assert (status, out) == (0, "")
    text = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert (page.open, page.fetched) == ([], [])
    assert "url(" not in text
    assert "@import" not in text
    assert "size: A4" in text
    assert "Python &lt;3.13" in text  # escaped
    assert ("参数表" in text) == (lang == "zh")


def test_markdown_tables_have_as_many_cells_in_each_line(envcheck: Run) -> None:
    out = envcheck("sheet", "--vllm", "0.8.5", "--format", "markdown")[1]
    assert out.startswith("# vLLM 0.8.5")
    widths = [line.count("|") for line in out.splitlines() if line.startswith("|")]
    assert set(widths) == {6, 3}  # five columns of defaults, two of arguments


def test_text_fits_a_terminal(envcheck: Run) -> None:
    for vllm in ("0.2.0", "0.8.5", "0.33.0"):
        out = envcheck("sheet", "--vllm", vllm)[1]
        assert max(len(line) for line in out.splitlines()) <= 80


def test_a_place_that_cannot_be_written_is_said(envcheck: Run, tmp_path: Path) -> None:
    status, out, err = envcheck("sheet", "-o", str(tmp_path / "none" / "sheet.txt"))
    assert status != 0
    assert out == ""
    assert "cannot write" in err


def test_the_schema_is_the_answer_s(envcheck: Run) -> None:
    schema = json.loads(envcheck("sheet", "--schema")[1])
    assert schema["title"] == "envcheck.sheet/1"
    assert set(sheet(envcheck, "0.33.0")) == set(schema["$defs"]["SheetOut"]["properties"])
