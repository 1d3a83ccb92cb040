"""Signatures: lines by which a failure is told in a log, what they mean, and what is done about it."""

from typing import Literal

import msgspec

from envcheck.matrix.records import Record
from envcheck.model.finding import RemedyKind

Role = Literal["cause", "symptom", "wrapper"]


class Fix(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One way out. Its sentence is the text `signature.<id>.fix`, that of the second one `signature.<id>.fix-2`, and so on.

    `commands` may name what the lines capture, as `{name}`; what is put in is quoted for the shell.
    """

    kind: RemedyKind
    commands: list[str] = []
    root: bool = False


class Signature(Record, frozen=True, kw_only=True):
    """One failure as logs tell it; its sentence is the text `signature.<id>`, with what the lines capture as parameters.

    `code` = the finding. `lines` = templates, any of which a line may hold: literal text with holes, `{name:int}`, `{name:num}`,
    `{name:word}`, `{name:text}`, and `{}` for what does not matter. `before` = plain texts, one of which stands in the 16 KiB before the
    line, a frame of its traceback for instance; where it does, the signature comes before those that ask for nothing.
    `unless` = plain texts, none of which stands in the line: what names the library itself, for instance, tells more.
    `role`: a cause; a symptom, which counts where no cause is found; a wrapper, which only says that something failed elsewhere.
    `warns` = a line that was logged as information or as a warning counts as well. `releases` = those that print it ("" = not bound).
    `others` = codes that the same line can stand for, by what is known of the host: see the rule that decides.
    `examples` = lines of that form; `near` = lines that look alike and mean something else.
    """

    id: str
    code: str
    severity: Literal["error", "warning", "info"] = "error"
    role: Role = "cause"
    lines: list[str]
    before: list[str] = []
    unless: list[str] = []
    warns: bool = False
    releases: str = ""
    others: list[str] = []
    fixes: list[Fix] = []
    examples: list[str]
    near: list[str] = []
