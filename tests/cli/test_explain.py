"""`envcheck explain`: one page, the list, words, what does not exist, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

from envcheck.matrix.load import load

Run = Callable[..., tuple[int, str, str]]


def test_a_page_has_every_part_in_both_languages(envcheck: Run) -> None:
    status, english, _ = envcheck("explain", "driver-too-old-for-cuda")
    assert status == 0
    heads = ["What it is", "Why it happens", "How grave it is", "How envcheck finds it", "How to check", "What to do", "What not to do"]
    places = [english.index(f"\n{head}\n") for head in (*heads, "Related", "Sources")]
    assert places == sorted(places)
    chinese = envcheck("explain", "driver-too-old-for-cuda", "--lang", "zh")[1]
    assert "不要这样做" in chinese
    assert "来源" in chinese


def test_a_page_warns_of_the_common_wrong_advice(envcheck: Run) -> None:
    _, out, _ = envcheck("explain", "driver-too-old-for-cuda")
    assert "conda install cudatoolkit" in out[out.index("What not to do") :]


def test_the_json_of_a_page_has_every_field(envcheck: Run) -> None:
    document = json.loads(envcheck("explain", "shm-too-small", "--json")[1])
    assert document["schema"] == "envcheck.explain/1"
    assert list(document["severity"]) == ["error", "warning", "info"]
    assert document["detected_by"] == ["facts", "request"]
    assert "memory.shm_mib" in document["reads"]
    assert document["settled_by"] == ["observed.vllm_serves"]
    assert "--shm-size" in document["fix"]
    assert "--ipc=host" in document["avoid"]
    assert document["theme"] == "several"
    assert document["sources"]


def test_the_memory_budget_is_named_as_the_way_of_finding(envcheck: Run) -> None:
    assert json.loads(envcheck("explain", "oom-weights", "--json")[1])["detected_by"] == ["memory-budget"]


def test_without_a_code_and_with_list_the_vocabulary_is_shown_by_theme(envcheck: Run) -> None:
    status, out, _ = envcheck("explain")
    assert status == 0
    assert {line.split()[0] for line in out.splitlines() if line.startswith("  ") and line[2] != " "} == set(load().codes)
    assert "\nDriver\n" in out
    assert envcheck("explain", "--list")[1] == out


def test_the_json_of_the_list_is_every_page(envcheck: Run) -> None:
    pages = json.loads(envcheck("explain", "--list", "--json")[1])
    assert {page["code"] for page in pages} == set(load().codes)


def test_a_word_that_one_code_has_explains_it(envcheck: Run) -> None:
    status, out, _ = envcheck("explain", "shm")
    assert status == 0
    assert out.startswith("shm-too-small: ")


def test_a_code_s_words_need_no_hyphens(envcheck: Run) -> None:
    assert envcheck("explain", "Driver", "too", "old", "for", "CUDA")[1] == envcheck("explain", "driver-too-old-for-cuda")[1]


def test_words_of_several_codes_list_them(envcheck: Run) -> None:
    status, out, _ = envcheck("explain", "nvml")
    assert status == 0
    assert "nvml-not-loadable" in out
    assert "nvml-driver-library-mismatch" in out
    assert {page["code"] for page in json.loads(envcheck("explain", "nvml", "--json")[1])} >= {"nvml-not-loadable"}


def test_an_error_s_number_finds_its_page(envcheck: Run) -> None:
    assert envcheck("explain", "803")[1].startswith("cuda-compat-shadowing: ") or "cuda-compat-shadowing" in envcheck("explain", "803")[1]


def test_a_near_miss_is_a_usage_error_that_suggests(envcheck: Run) -> None:
    status, out, err = envcheck("explain", "no-gup")
    assert (status, out) == (2, "")
    assert "no-gpu" in err


def test_a_hostile_question_is_answered_in_one_line(envcheck: Run) -> None:
    status, out, err = envcheck("explain", "\x1b[2J{code}" + "x" * 100_000)
    assert (status, out) == (2, "")
    assert len(err) < 400
    assert "\x1b" not in err


def test_the_schema_is_that_of_one_page_or_several(envcheck: Run) -> None:
    one, every, _ = json.loads(envcheck("explain", "--schema")[1])["anyOf"]
    assert every == {"type": "array", "items": one}
