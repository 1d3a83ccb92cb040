"""Text as it may leave a host: no person, machine, address, serial number or key in it, and the same stand-in wherever one stood.

Pure: nothing is read here. First `learn` what names there are, then replace; the order of learning numbers the stand-ins.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any

from envcheck.system.redact_addresses import addresses, names_version
from envcheck.system.redact_names import Names
from envcheck.system.redact_tokens import identities, secrets
from envcheck.system.secret_values import HIDDEN, hides, redacted_urls
from envcheck.system.stand_ins import StandIns

_PEOPLE = frozenset({"USER", "LOGNAME", "USERNAME", "SUDO_USER"})
_MACHINES = frozenset({"HOSTNAME", "HOST", "COMPUTERNAME", "NODE_NAME", "NODENAME"})
_IDENTITY = re.compile(
    r"(?:(?:POD|ENDPOINT|TASK|WORKLOAD|INSTANCE|CONTAINER|JOB|ACCOUNT|PROJECT|USER|MACHINE|NODE|VM|SESSION|TENANT|SUBSCRIPTION|TEAM)_?ID"
    r"|UUID|CONTAINERLABEL|NAMESPACE)$"
)
_SERIAL_FILES = ("_serial", "_asset_tag", "/serial", "/serial_number")
_HOSTNAME_FILES = ("/etc/hostname", "/proc/sys/kernel/hostname", "/etc/HOSTNAME")
_VERSION_FILES = ("/version", "/osrelease", "/version.txt", "_version")
_AZURE = "7783-7084-3265-9085-8269-3286-77"  # the same on every machine of Azure
_SHOWN = 2000  # characters that a fact shows of a value
_SHORTEST_KEY = 8  # a shorter value may be a word
_QUAD = re.compile(r"\d+(?:\.\d+){3}")
_RUN = re.compile(rb"[\x20-\x7e]{4,}")
_MAPS = ("environment",)  # keys are names of variables


class Redactor:
    """Replaces what identifies a host; one a recording, so that the same original has one stand-in everywhere."""

    def __init__(self) -> None:
        self.names = Names()
        self._stand_ins = StandIns()
        self._keys: tuple[str, ...] = ()  # values of secret variables, wherever else they stand
        self._hidden: set[int] = set()  # hashes of the texts that held a secret

    def learn(self, text: str) -> None:
        """What a text tells of people and machines, and the stand-ins it holds already."""
        self.names.learn_text(text)
        self._stand_ins.learn(text)

    def learn_environment(self, env: Mapping[str, str]) -> None:
        """The account and the machine that variables name."""
        for name in (*_PEOPLE, *_MACHINES):
            if name in env:
                (self.names.learn_user if name in _PEOPLE else self.names.learn_host)(env[name])
        home = env.get("HOME", "").rstrip("/")
        if home.count("/") > 1:
            self.names.learn_user(posixpath.basename(home))
        for value in env.values():
            self.learn(value)
        keys = {value for name, value in env.items() if len(value) >= _SHORTEST_KEY and hides(name, value) and not value.startswith("/")}
        self._keys = tuple(sorted(keys, key=len, reverse=True))

    def learn_devices(self, identifiers: Iterable[str]) -> None:
        """GPUs in the order in which they are to be numbered, before anything names one by the beginning of its identifier."""
        for identifier in identifiers:
            self.text(identifier)

    def counts(self) -> dict[str, int]:
        """How many of each kind were replaced."""
        count = self._stand_ins.count
        return {
            "users": self.names.count("user"),
            "hosts": self.names.count("host"),
            "addresses": count("ipv4", "ipv6", "hardware", "guid", "mail"),
            "identifiers": count("device", "uuid", "hex", "instance", "account", "serial", "label"),
            "secrets": len(self._hidden),
        }

    def text(self, text: str, *, version: bool = False) -> str:
        """A text; `version` = it is the value of something that holds a version."""
        kept = text
        for key in self._keys:
            kept = kept.replace(key, HIDDEN)
        kept = secrets(kept)
        if kept.count(HIDDEN) > text.count(HIDDEN):
            self._hidden.add(hash(text))
        kept = identities(kept, self._stand_ins.rename)
        return self.names.words(addresses(kept, self._stand_ins.rename, version=version))

    def variable(self, name: str, value: str) -> str:
        """The value of a variable of the environment."""
        if hides(name, value):
            if value != HIDDEN:
                self._hidden.add(hash(value))
            return HIDDEN
        if name.upper() in _PEOPLE or name.upper() in _MACHINES:
            value = self.names.whole(value)
        elif _IDENTITY.search(name.upper()) and value and not (value.isdecimal() and len(value) < 6):
            return self._stand_ins.rename("label", value)
        head, rest = value[:_SHOWN], value[_SHOWN:]  # an address without a scheme is told only where the value begins with it
        return self.text(redacted_urls(head) + rest, version=names_version(name))

    def content(self, path: str, data: bytes) -> bytes:
        """What a file holds; bytes that are no text stay, and a program's file keeps its length."""
        if data[:4] == b"\x7fELF":
            return self._program(data)
        text = data.decode("utf-8", "surrogateescape")
        return self._file(path, text).encode("utf-8", "surrogateescape")

    def _file(self, path: str, text: str) -> str:
        if path.endswith("/environ"):
            pairs = (entry.partition("=") for entry in text.split("\0"))
            return "\0".join(f"{self.text(name)}{sign}{self.variable(name, value)}" for name, sign, value in pairs)
        if path in _HOSTNAME_FILES:
            return text.replace(text.strip(), self.names.whole(text)) if text.strip() else text
        if path.endswith(_SERIAL_FILES):
            return self._serial(text)
        return self.text(text, version=path.endswith(_VERSION_FILES))

    def _serial(self, text: str) -> str:
        """A word without digits names the maker; so does what stands before the number of a machine at Google."""
        number = text.strip()
        if _AZURE in number or not any(char.isdigit() for char in number):
            return text
        known = self.text(number)
        if known != number:
            return text.replace(number, known)
        head, dash, rest = number.rpartition("-") if number.startswith("GoogleCloud-") else ("", "", number)
        return text.replace(number, f"{head}{dash}{self._stand_ins.rename('serial', rest)}")

    def _program(self, data: bytes) -> bytes:
        def run(found: re.Match[bytes]) -> bytes:
            text = found[0].decode("ascii")
            kept = self.text(text)
            return found[0] if kept == text else kept.encode("utf-8")[: len(text)].ljust(len(text), b" ")

        return self.names.foreign(_RUN.sub(run, data))

    def value(self, value: Any, name: str = "") -> Any:
        """A value as JSON has it, keys and texts redacted; `name` is the key it stands under."""
        if isinstance(value, str):
            return self.text(value, version=names_version(name) or _QUAD.fullmatch(value) is not None)
        if isinstance(value, Mapping):
            if name in _MAPS:
                return {self.text(key): self.variable(key, item) if isinstance(item, str) else item for key, item in value.items()}
            return {self.text(key) if isinstance(key, str) else key: self.value(item, str(key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item, name) for item in value]
        return value
