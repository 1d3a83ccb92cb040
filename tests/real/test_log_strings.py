"""What a release logs when nothing is wrong raises no cause: every literal string of its `logger.debug/info/warning` calls as a line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from envcheck.diagnosis.diagnose import diagnose_text
from envcheck.matrix.load import load
from tests.real import environments
from tests.real.conftest import RELEASES

pytestmark = pytest.mark.real
LEVELS = {"debug": "DEBUG", "info": "INFO", "info_once": "INFO", "warning": "WARNING", "warning_once": "WARNING"}
MATRIX = load()


def package(release: str) -> Path:
    """The release's own Python files."""
    lib = environments.interpreter(release).parents[1] / "lib"
    return next(iter(lib.glob("python3*/site-packages/vllm")))


def literal(node: ast.expr) -> str | None:
    """The text of a literal, an f-string's holes and a format's `%s` filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("%s", "x").replace("%d", "3").replace("%r", "'x'").replace("%.2f", "1.50")
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return None


def logged(folder: Path) -> Iterator[tuple[str, str]]:
    """(level, text) of every call."""
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS and node.args:
                text = literal(node.args[0])
                if text and isinstance(node.func.value, ast.Name) and node.func.value.id in ("logger", "init_logger"):
                    yield LEVELS[node.func.attr], " ".join(text.split())


def named(level: str, text: str, form: str) -> list[str]:
    return [finding.code for finding in diagnose_text(form.format(level=level, text=text), MATRIX).findings]


@pytest.mark.parametrize(
    "form", ["(EngineCore pid=9) {level} 11-30 17:00:01 [core.py:1] {text}\n", "{level} 11-30 17:00:01 core.py:1] {text}\n"]
)
@pytest.mark.parametrize("release", RELEASES)
def test_what_a_healthy_release_logs_is_no_cause(release: str, form: str) -> None:
    lines = sorted(set(logged(package(release))))
    assert len(lines) >= 700, "the calls were not found"
    for levels, most in ((("DEBUG", "INFO"), 0.003), (("WARNING",), 0.02)):
        asked = [(level, text) for level, text in lines if level in levels]
        wrong = [(text, codes) for level, text in asked if (codes := named(level, text, form))]
        assert len(wrong) <= most * len(asked), wrong[:20]
