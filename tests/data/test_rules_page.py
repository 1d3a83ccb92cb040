"""The table of rules in `docs/` is what the registry, the explain pages and the facts say now."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from envcheck.matrix.load import Matrix
from envcheck.rules.registry import rules

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("rules_page", TOP / ".ci" / "make_docs" / "rules_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: Callable[[Path], dict[str, str]] = module.pages
    return pages(TOP)


@pytest.mark.parametrize("name", ["rules.md", "rules.zh-CN.md"])
def test_the_page_is_current(made: dict[str, str], name: str) -> None:
    kept = (TOP / "docs" / name).read_text(encoding="utf-8")
    assert kept == made[name], "run `python .ci/make_docs`"


def test_the_page_names_every_code_rule_and_figure(made: dict[str, str]) -> None:
    matrix = Matrix(TOP / "matrices")
    for page in made.values():
        assert [code for code in matrix.codes if f"\n| `{code}` | " not in page] == []
        assert [rule for rule in rules() if f"`{rule.name}` |" not in page] == []
        assert [name for name in matrix.thresholds if f"| `{name}` | " not in page] == []


def test_every_figure_is_compared_with_somewhere(made: dict[str, str]) -> None:
    figures = made["rules.md"].rpartition("\n## ")[2]
    unused = [row for row in figures.splitlines() if row.startswith("| `") and not row.split(" | ")[2]]
    assert unused == []
