"""Make `docs/` from the code and the facts: `python .ci/make_docs [DOCS]`. Run again, it changes nothing."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import rules_page  # noqa: E402

TARGET = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"

TARGET.mkdir(exist_ok=True)
for name, text in rules_page.pages(ROOT).items():
    (TARGET / name).write_text(text, encoding="utf-8")
