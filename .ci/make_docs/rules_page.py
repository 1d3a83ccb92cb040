"""The table of rules: what the registry, the explain pages and the facts say of them, as Markdown in both languages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from envcheck.matrix.load import Matrix
from envcheck.render.catalogue import LANGUAGES, Catalogue, Lang
from envcheck.render.explain_page import explain_out
from envcheck.render.themes import THEMES
from envcheck.rules.registry import ENVIRONMENT_RULES, HOST_RULES, JUDGE_CODES, LAST_RULES, Rule

NAMES: dict[Lang, str] = {"en": "rules.md", "zh": "rules.zh-CN.md"}
WORDS: dict[Lang, dict[str, str]] = {
    "en": {
        "title": "The rules",
        "other": "[中文](rules.zh-CN.md)",
        "made": "Made by `python .ci/make_docs` from the registry of rules, the explain pages and the facts; not edited by hand.",
        "more": "`envcheck explain CODE` shows a code in full: cause, how to check, what to do, what not to do, sources.",
        "codes": "Codes",
        "codes-head": "code | finding | can be | follows from it",
        "order": "Rules in causal order",
        "order-text": "What stands first explains what stands below it. A rule is silent where the facts that it reads are not known.",
        "order-head": "rule | codes | facts of the host that it reads",
        "host": "The host",
        "environment": "The installed packages",
        "environment-text": "Where vLLM is to go into a fresh environment, these are warnings at most.",
        "last": "Once the stack itself is right",
        "judge": "The judge, the survey of wheels, the engine's choice, advisories",
        "seen": "What was seen to work outweighs a table",
        "seen-text": "Where the host says so, these findings are notes.",
        "seen-head": "seen on the host | findings that it settles",
        "figures": "Figures that rules compare with",
        "figures-text": "They stand in `matrices/judgement.json`.",
        "figures-head": "figure | value | compared in | from",
    },
    "zh": {
        "title": "规则",
        "other": "[English](rules.md)",
        "made": "本页由 `python .ci/make_docs` 根据规则登记表、说明页和数据生成，请勿手工修改。",
        "more": "`envcheck explain 代码` 显示全文：原因、如何确认、解决办法、不要做什么、来源。",
        "codes": "代码",
        "codes-head": "代码 | 结论 | 可能的级别 | 它的后果",
        "order": "按因果顺序排列的规则",
        "order-text": "前面的解释后面的。所读信息未知时，规则不作声。",
        "order-head": "规则 | 代码 | 读取的主机信息",
        "host": "主机",
        "environment": "已安装的软件包",
        "environment-text": "若要把 vLLM 装进全新环境，这些最多是警告。",
        "last": "软件栈本身没有问题之后",
        "judge": "总判断、wheel 筛选、引擎选择、安全公告",
        "seen": "实际观察优先于表格",
        "seen-text": "主机信息表明可以工作时，以下结论只是提示。",
        "seen-head": "在主机上观察到 | 因此降为提示的结论",
        "figures": "规则用来比较的数值",
        "figures-text": "数值保存在 `matrices/judgement.json`，依据保留原文。",
        "figures-head": "名称 | 取值 | 使用处 | 依据",
    },
}


def pages(root: Path) -> dict[str, str]:
    """File name → Markdown, one a language."""
    matrix = Matrix(root / "matrices")
    return {NAMES[lang]: _page(lang, matrix, root) for lang in LANGUAGES}


def _page(lang: Lang, matrix: Matrix, root: Path) -> str:
    words, catalogue = WORDS[lang], Catalogue(lang)
    parts = [f"# {words['title']}", words["other"], words["made"], words["more"], f"## {words['codes']}"]
    for theme, codes in THEMES:
        parts += [f"### {catalogue.say(f'theme.{theme}')}", _table(words["codes-head"], (_code(code, catalogue, matrix) for code in codes))]
    parts += [f"## {words['order']}", words["order-text"]]
    for name, rules in (("host", HOST_RULES), ("environment", ENVIRONMENT_RULES), ("last", LAST_RULES)):
        parts += [f"### {words[name]}", *([words[f"{name}-text"]] if f"{name}-text" in words else [])]
        parts.append(_table(words["order-head"], (_rule(rule) for rule in rules)))
    judged = ((f"`{code}`", _list(reads)) for code, reads in JUDGE_CODES.items())
    parts += [f"### {words['judge']}", _table(words["order-head"].split(" | ", 1)[1], judged)]
    seen = ((f"`observed.{name}`", _list(sorted(codes))) for name, codes in matrix.observations.items())
    parts += [f"## {words['seen']}", words["seen-text"], _table(words["seen-head"], seen)]
    parts += [f"## {words['figures']}", words["figures-text"], _table(words["figures-head"], _figures(root))]
    return "\n\n".join(parts) + "\n"


def _table(head: str, rows: Iterable[Sequence[str]]) -> str:
    names = head.split(" | ")
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _code(code: str, catalogue: Catalogue, matrix: Matrix) -> tuple[str, ...]:
    page = explain_out(code, catalogue, matrix)
    if page is None:
        raise LookupError(code)
    severities = catalogue.listed([catalogue.say(f"severity.{kind}") for kind in page.severity])
    return f"`{code}`", page.title, severities, _list(page.explains)


def _rule(rule: Rule) -> tuple[str, ...]:
    return f"`{rule.name}`", _list(rule.codes), _list(rule.reads)


def _figures(root: Path) -> Iterable[tuple[str, ...]]:
    files = [path for floor in ("rules", "planning") for path in sorted((root / "envcheck" / floor).glob("*.py"))]
    users = {path.stem: path.read_text(encoding="utf-8") for path in files}
    for record in json.loads((root / "matrices" / "judgement.json").read_text(encoding="utf-8"))["thresholds"]:
        used = [name for name, source in users.items() if f'"{record["id"]}"' in source]
        note = f" {record['note']}" if "note" in record else ""
        yield f"`{record['id']}`", f"{record['value']:g} {record['unit']}", _list(used), "; ".join(record["sources"]) + "." + note
