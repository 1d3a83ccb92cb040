"""Words that switch something off, as people type them and as a release calls them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envcheck.matrix.flags import Flags, has
from envcheck.matrix.release import Release
from envcheck.model.text import Text


def other_words(flags: Flags, new: Release, typed: Iterable[str], command: Iterable[str]) -> Iterator[Text]:
    """`--no-x` and `--disable-x` as typed that the command says by another word, or not at all. `command` = its words."""
    written = set(command)
    for word in dict.fromkeys(typed):
        name = word.replace("_", "-")[:80]
        flag = flags.negated(name) if name.startswith(("--no-", "--disable-")) else None
        if flag is None or name in written or not has(flag, new.version):
            continue
        other, form = flags.off_name(flag, new.version), flags.form(flag, new.version)
        if other is not None and other in written:
            key = "serve.note.argument-listed" if flags.negates(name, flag, new.version) else "serve.note.argument-replaced"
            yield Text(key, {"flag": name, "vllm": new.raw, "instead": other})
        elif form is None or form.default is False:
            yield Text("upgrade.off-untold" if form is None else "upgrade.off-by-itself", {"flag": name, "vllm": new.raw})
