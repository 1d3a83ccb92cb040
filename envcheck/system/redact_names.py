"""Names of people and machines: learnt from where they stand for certain, then replaced wherever they are a word of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envcheck.system.redact_words import RESERVED, SHARED_ACCOUNTS

_MODEL = re.compile(r"[a-z]{0,3}\d{1,4}[a-z]{0,5}")  # a machine called `h100` or `rtx4090`
_STAND_IN = re.compile(r"(?:user|host)\d{1,6}")
_HOME = re.compile(r"((?:^|[^\w])(?:home|Users|homes)[/\\]{1,2})([^/\\\s:;,\"'<>|\0*?\[\]{}()$`]{1,64})")
_URL_HOST = re.compile(r"(?<=://)(?:[^/\s@\"'<>]*@)?([A-Za-z0-9][A-Za-z0-9.-]{0,252})")
_INNER = re.compile(r"\.(?:local|internal|intranet|lan|corp|home|private|localdomain|cluster\.local)$", re.IGNORECASE)
_INNER_NAME = re.compile(
    r"(?<![\w/@.-])\.?((?:[A-Za-z0-9-]{1,63}\.){0,6}[A-Za-z0-9-]{1,63}\.(?:corp|intranet|internal|lan))(?![\w-]|\.\w)", re.IGNORECASE
)
_EVERYBODYS = ("metadata.google.internal", "docker.internal", "containers.internal")
# What is mounted from where, as `/proc/self/mountinfo` has it.
_SERVER = re.compile(r" - (?:nfs4?|cifs|smb3|(?:fuse\.)?glusterfs|fuse\.sshfs) (?://([^/\s]{1,253})|(?:[^\s@:/]{1,64}@)?([\w.-]{1,253}):)")
_SHARE_USER = re.compile(r"[ ,]username=([^,\s]{1,64})")
_HOST_KEY = re.compile(r"\"(?:(?:local|public)[-_])?host-?name\"\s*:\s*\"([^\"\s]{1,253})\"")
_SET = re.compile(r"(?:^|[\0\n])(USER|LOGNAME|HOSTNAME)=([^\0\s]{1,253})")
_PASSWD = re.compile(r"^([^:\s]{1,64}):[^:\n]*:(\d{1,10}):\d{1,10}:([^:\n]*):([^:\n]*):[^:\n]*$", re.MULTILINE)
_MOST = 2048  # names learnt


def is_reserved(name: str) -> bool:
    """Whether the name may stand: an account everybody has, a word that facts are made of, a stand-in of ours."""
    lower = name.casefold()
    return (
        lower.rstrip("0123456789") in RESERVED
        or lower in RESERVED
        or lower.isdecimal()
        or len(lower) < 2
        or _MODEL.fullmatch(lower) is not None
        or _STAND_IN.fullmatch(lower) is not None
    )


class Names:
    """Stand-ins by name: `user1`, `host1`, … Every spelling of a name has the same one."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._strict: set[str] = set()  # replaced only where a name must stand
        self._taken: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def count(self, kind: str) -> int:
        """How many users or hosts have a stand-in."""
        return len({stand_in for stand_in in self._known.values() if stand_in.startswith(kind)})

    def learn_user(self, name: str) -> None:
        """A person's account."""
        self._learn(name, "user")

    def learn_host(self, name: str) -> None:
        """A machine's name, with and without its domain."""
        name = name.strip().rstrip(".")
        if re.fullmatch(r"[\d.:]+", name):
            return  # an address
        short = name.partition(".")[0]
        self._learn(short, "host")
        if short.casefold() in self._known and name.casefold() not in self._known and name != short:
            self._known[name.casefold()] = self._known[short.casefold()]
            self._pattern = None

    def learn_text(self, text: str) -> None:
        """Accounts with a home folder and machines of an inner network that the text names."""
        for found in _STAND_IN.finditer(text):
            self._taken.add(found[0])
        if "home" in text or "Users" in text:
            for home in _HOME.finditer(text):
                self.learn_user(home[2])
        for key in _HOST_KEY.finditer(text) if "host" in text else ():
            self.learn_host(key[1])
        for variable in _SET.finditer(text) if "NAME=" in text or "USER=" in text else ():
            (self.learn_host if variable[1] == "HOSTNAME" else self.learn_user)(variable[2])
        if "://" in text:
            for url in _URL_HOST.finditer(text):
                if ("." not in url[1] or _INNER.search(url[1])) and not url[1].startswith("metadata."):
                    self.learn_host(url[1])

        if " - " in text:
            self._learn_mounts(text)
        lower = text.lower()
        for inner in _INNER_NAME.finditer(text) if any(end in lower for end in (".corp", ".intranet", ".internal", ".lan")) else ():
            self._learn_inner(inner[1])

    def _learn_mounts(self, text: str) -> None:
        for server in _SERVER.finditer(text):
            self.learn_host(server[1] or server[2])
        for user in _SHARE_USER.finditer(text) if "username=" in text else ():
            self.learn_user(user[1])

    def _learn_inner(self, name: str) -> None:
        """A machine of an inner network, and the network's own name as a whole."""
        parts = name.split(".")
        if name.lower().endswith(_EVERYBODYS) or len(self._known) >= _MOST:
            return
        if len(parts) > 2:
            self.learn_host(name)
        domain = ".".join(parts[-2:])
        if domain.casefold() not in self._known:
            self._add(domain, self._next("host"))

    def learn_accounts(self, passwd: str) -> None:
        """People's accounts of a passwd file, and their full names."""
        for found in _PASSWD.finditer(passwd):
            if 1000 <= int(found[2]) < 60_000:
                self.learn_user(found[1])
                full = found[3].partition(",")[0].strip()
                if full and found[1].casefold() in self._known:
                    self._add(full, self._known[found[1].casefold()])

    def _learn(self, name: str, kind: str) -> None:
        name = name.strip()
        if not name or name.startswith(".") or name.casefold() in self._known or len(self._known) >= _MOST:
            return
        lower = name.casefold()
        if lower in SHARED_ACCOUNTS or lower == "localhost" or _STAND_IN.fullmatch(lower) or lower.startswith("lost+found"):
            return
        self._add(name, self._next(kind))

    def _next(self, kind: str) -> str:
        number = 1 + self.count(kind)
        while f"{kind}{number}" in self._taken:
            number += 1
        self._taken.add(f"{kind}{number}")
        return f"{kind}{number}"

    def _add(self, name: str, stand_in: str) -> None:
        lower = name.casefold()
        if lower in self._known:
            return
        self._known[lower] = stand_in
        if is_reserved(name) or (len(name) < 3 and name.isascii()):
            self._strict.add(lower)
        self._pattern = None

    def whole(self, value: str) -> str:
        """The stand-in of a value that is a name and nothing else."""
        return self._known.get(value.strip().casefold(), value)

    def words(self, text: str) -> str:
        """The text with every known name replaced."""
        if not self._known:
            return text
        if self._strict:
            text = _HOME.sub(lambda found: found[1] + self.whole(found[2]), text)
        if self._pattern is None:
            self._pattern = _any_of(name for name in self._known if name not in self._strict)
        return self._pattern.sub(lambda found: self._known.get(found[0].casefold(), "***"), text)

    def foreign(self, data: bytes) -> bytes:
        """Bytes with the names in other scripts overwritten, at the same length."""
        for name in self._known:
            if not name.isascii():
                data = data.replace(name.encode("utf-8", "surrogateescape"), b" " * len(name.encode("utf-8", "surrogateescape")))
        return data


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """Any of the names, longest first; letters and digits beside one make it another word, but scripts without spaces have no words."""
    ordered = sorted(names, key=len, reverse=True)
    plain = "|".join(re.escape(name) for name in ordered if name.isascii())
    other = "|".join(re.escape(name) for name in ordered if not name.isascii())
    parts = [rf"(?<![A-Za-z0-9])(?:{plain})(?![A-Za-z0-9])" if plain else "", other]
    return re.compile("|".join(part for part in parts if part) or r"(?!)", re.IGNORECASE)
