"""How clouds and rental platforms are told, and what tells type and region of the machine: the matrix holds it, the probe applies it."""

from typing import Literal

import msgspec

Take = Literal["whole", "last-part", "zone", "type", "arn-region"]
# Words of paths under which metadata services keep keys, start scripts and names of people: never asked for.
PRIVATE = (
    "credential",
    "user-data",
    "userdata",
    "custom",
    "token",
    "secret",
    "password",
    "ssh",
    "service-accounts",
    "attributes",
    "vendor",
)


class CloudSign(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One sign of a provider: a file at `path`, or a variable `name`; with `value`, the text there must match it.

    `match` says how, whatever the case and without the blanks around: the text equals it, starts with it, or contains it.
    Of a file, the first 64 KiB count.
    """

    kind: Literal["file", "env"]
    path: str | None = None
    name: str | None = None
    value: str | None = None
    match: Literal["equals", "starts", "contains"] = "equals"
    confidence: str

    def fits(self, text: str) -> bool:
        """Whether a text is the one that this sign wants."""
        if self.value is None:
            return True
        wanted, found = self.value.lower(), text.strip("\0 \t\r\n").lower()
        if self.match == "equals":
            return found == wanted
        return found.startswith(wanted) if self.match == "starts" else wanted in found


class CloudTell(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Where a host of a provider tells a fact of itself: a file at `path`, or a variable `name`.

    `key` = dotted key of a JSON text. `take` = which part of the text it is: all of it, what follows the last slash, a zone's region
    (its last letter cut off), a type with a dot and no blank, or the region in an Amazon resource name. `means` = spellings → what they
    stand for; no others count.
    """

    fact: Literal["instance_type", "region", "provider"]
    kind: Literal["file", "env"]
    path: str | None = None
    name: str | None = None
    key: str | None = None
    take: Take = "whole"
    means: dict[str, str] = {}


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A path of a metadata service whose answer is one line, and the host fact it is."""

    path: str
    fact: Literal["instance_type", "region"]
    take: Take = "whole"


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A path of a metadata service whose answer begins in a way that no other provider's does."""

    path: str
    begins: str


class Metadata(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A provider's metadata service: `base` an http URL of a literal link-local address, without a slash at the end.

    `proof` tells it from the others that share its address.
    """

    base: str
    headers: dict[str, str] = {}
    questions: tuple[Question, ...]
    proof: Proof | None = None


class CloudMatcher(msgspec.Struct, frozen=True):
    """A provider's id, its level, its signs, and where it tells more.

    `level`: host = the machine's maker; platform = a service on top of a host; guest = a virtual machine whose owner the sign leaves open.
    `generic` = a platform that others build on, so any other sign says more. `provider` = the maker of a platform's machines.
    """

    id: str
    level: Literal["host", "platform", "guest"]
    signs: tuple[CloudSign, ...]
    generic: bool = False
    provider: str | None = None
    tells: tuple[CloudTell, ...] = ()
    metadata: Metadata | None = None


def is_private(path: str) -> bool:
    """Whether a path of a metadata service is one that is never asked for."""
    lower = path.lower()
    return any(word in lower for word in PRIVATE)
