"""Print the command that README.md shows under a mark: `readme_command.py NAME` for the block after `<!-- command: NAME -->`.

Exit status 1 with a sentence where the mark or the block after it is missing or not alone. Standard library only.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def command(readme: str, name: str) -> str:
    """The text of the fenced `sh` block that follows the mark. Raises ValueError."""
    marks = re.findall(rf"^<!-- command: {re.escape(name)} -->[ \t]*$", readme, re.MULTILINE)
    if len(marks) != 1:
        raise ValueError(f"README.md has {len(marks)} marks `<!-- command: {name} -->`, not one")
    found = re.search(rf"^<!-- command: {re.escape(name)} -->[ \t]*\n+```sh\n(.*?)\n```[ \t]*$", readme, re.MULTILINE | re.DOTALL)
    if not found or not found[1].strip() or "```" in found[1]:
        raise ValueError(f"no `sh` block follows the mark `<!-- command: {name} -->` of README.md")
    return found[1]


def main() -> int:
    """Print the command of the name given."""
    try:
        print(command((Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8"), sys.argv[1]))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
