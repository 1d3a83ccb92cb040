"""What stands in a recording for an address, a serial number or an identifier: the same for the same original, of the same form."""

from __future__ import annotations

import re

_ZEROS = "00000000-0000-0000-0000-"
_EXAMPLES = ("192.0.2", "198.51.100", "203.0.113")  # RFC 5737; then 198.18.0.0/15 (RFC 2544)
# A stand-in stays as it is, so that recording a recording changes nothing.
_OURS = {
    "device": re.compile(r"(?:GPU|MIG)-0{4,8}(?:-.*)?"),
    "uuid": re.compile(r"(?:00000000|ec200000)-0000-0000-0000-\d{12}"),
    "hex": re.compile(r"0{20}\d+"),
    "instance": re.compile(r"(?:[a-z]+-0{3}\d+|ocid1\.0{6}\d+)"),
    "account": re.compile(r"0{6}\d{6}"),
    "serial": re.compile(r"serial\d+"),
    "label": re.compile(r"id\d+"),
    "hardware": re.compile(r"(?:[0:]*)00:00:5e:.*"),
    "guid": re.compile(r"0000:0000:0000:[0-9a-f]{4}"),
}
_MARK = re.compile(r"(?:00000000|ec200000)([-_])0000\10000\10000\1(\d{12})")


class StandIns:
    """Numbers the originals of each kind in the order in which they are met."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}

    def count(self, *kinds: str) -> int:
        """How many originals of these kinds were replaced."""
        return sum(kind in kinds for kind, _ in self._known)

    def learn(self, text: str) -> None:
        """Leave out the numbers of identifiers that are stand-ins already."""
        for found in _MARK.finditer(text):
            self._numbers["id"] = max(self._numbers.get("id", 0), int(found[2]))

    def rename(self, kind: str, original: str) -> str:
        """The stand-in of an original."""
        ours = _OURS.get(kind)
        if ours and ours.fullmatch(original):
            return original
        if (kind, original) not in self._known:
            earlier = self._longer(original) if kind == "device" else None
            self._known[kind, original] = earlier or self._make(kind, original)
        return self._known[kind, original]

    def _longer(self, short: str) -> str | None:
        """CUDA takes the beginning of a GPU's identifier for the whole, as long as only one begins so."""
        return next((stand_in for (kind, whole), stand_in in self._known.items() if kind == "device" and whole.startswith(short)), None)

    def _next(self, kind: str) -> int:
        self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return self._numbers[kind]

    def _make(self, kind: str, original: str) -> str:
        if kind in {"device", "uuid"}:
            number = f"{_ZEROS}{self._next('id'):012d}"
            if kind == "device":
                return f"{original[:4]}{number}"
            return number.replace("00000000", "ec200000", 1) if original.startswith("ec2") else number  # how AWS is told
        number_of = self._next(kind)
        made = {
            "ipv4": lambda: _ipv4(number_of),
            "ipv6": lambda: f"2001:db8::{number_of:x}",
            "hardware": lambda: _hardware(number_of, original.count(":") + 1),
            "guid": lambda: f"0000:0000:0000:{number_of % 65536:04x}",
            "mail": lambda: f"mail{number_of}@example.com",
            "hex": lambda: f"{number_of:0{len(original)}d}",
            "account": lambda: f"{number_of:012d}",
            "instance": lambda: _instance(original, number_of),
            "label": lambda: f"id{number_of}",
        }.get(kind)
        return made() if made else f"{kind}{number_of}"


def _ipv4(number: int) -> str:
    block, place = divmod(number - 1, 254)
    if block < len(_EXAMPLES):
        return f"{_EXAMPLES[block]}.{place + 1}"
    return f"198.18.{number // 256 % 256}.{number % 256}"


def _hardware(number: int, parts: int) -> str:
    """Of the block that RFC 7042 sets aside for documents."""
    return "00:" * (parts - 6) + f"00:00:5e:{number >> 8 & 255:02x}:53:{number & 255:02x}"


def _instance(original: str, number: int) -> str:
    head, dash, rest = original.partition("-")
    return f"{head}-{number:0{len(rest)}d}" if dash and head.isalpha() else f"ocid1.{number:07d}"
