"""Every catalogue text that the code names exists, with the parameters that its sentence needs. Read from the source, by its syntax."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import envcheck

PACKAGE = Path(envcheck.__file__).parent
SENTENCES: dict[str, str] = json.loads((PACKAGE / "render" / "texts" / "en.json").read_text(encoding="utf-8"))
ERRORS = {"EnvcheckError", "UsageError", "CannotTellError", "InputError", "MatrixError"}
SEVERITIES = {"error", "warning", "info"}
SAID = {"say", "heading", "_error"}
OWN_PARAMETERS = {"indent", "role", "remedies", "root", "exit_code"}


class Use(NamedTuple):
    """A text named in the source; `given` None = parameters that only running tells."""

    place: str
    key: str
    given: frozenset[str] | None


def constant(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def constants(node: ast.expr) -> list[str]:
    """The texts an expression may be, of `"a" if x else "b"` both; none where only running tells."""
    if isinstance(node, ast.IfExp):
        return [*constants(node.body), *constants(node.orelse)]
    value = constant(node)
    return [value] if value else []


def keywords(call: ast.Call) -> frozenset[str] | None:
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    return frozenset(keyword.arg for keyword in call.keywords if keyword.arg)


def parameters_of_text(call: ast.Call) -> frozenset[str] | None:
    if len(call.args) < 2:
        return frozenset()
    params = call.args[1]
    if not isinstance(params, ast.Dict) or any(constant(key) is None for key in params.keys):
        return None
    return frozenset(str(constant(key)) for key in params.keys)


def uses_of(path: Path) -> Iterator[Use]:
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
        first = constant(call.args[0])
        second = constant(call.args[1]) if len(call.args) > 1 else None
        place = f"{path.relative_to(PACKAGE)}:{call.lineno}"
        if name in ERRORS and first:
            yield Use(place, first, keywords(call))
        elif name == "Text" and first:
            yield Use(place, first, parameters_of_text(call))
        elif name in SEVERITIES and first and path.parent.name == "rules":
            for variant in constants(call.args[1]) if len(call.args) > 1 else ["detail"]:
                yield Use(place, f"finding.{first}.{variant}", keywords(call))
        elif name == "remedy" and second:
            yield Use(place, f"remedy.{second}", keywords(call))
        elif name in SAID and first and "." in first:
            yield Use(place, first, keywords(call))
        elif name == "_error" and second and "." in second:
            yield Use(place, second, keywords(call))


USES = [use for path in sorted(PACKAGE.rglob("*.py")) for use in uses_of(path)]


def test_the_source_names_texts() -> None:
    assert len(USES) > 100


@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.place}-{use.key}")
def test_a_text_named_in_the_source_exists_with_its_parameters(use: Use) -> None:
    assert use.key in SENTENCES
    if use.given is not None:
        needed = set(re.findall(r"\{([a-z_][a-z0-9_]*)", SENTENCES[use.key]))
        assert needed <= use.given - OWN_PARAMETERS
