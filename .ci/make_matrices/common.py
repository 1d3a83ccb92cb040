"""Reading the collected facts and writing the records."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import json
import re
from pathlib import Path

import msgspec
from packaging.version import Version

from envcheck.matrix.canonical import canonical

FACTS = Path()


def read(name):
    return json.loads((FACTS / name).read_text(encoding="utf-8"))


def record(cls, **fields):
    """A record, through the same decoder as the loader's, so that a bad value stops the conversion."""
    return msgspec.convert({key: value for key, value in fields.items() if value is not None}, cls)


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = canonical(value)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)
        print("wrote", path)


def version_key(text):
    return Version(text)


def sm(number):
    """120 -> '12.0'."""
    return f"{number // 10}.{number % 10}"


def by_capability(values):
    return sorted(set(values), key=lambda text: tuple(int(part) for part in text.split(".")))


DROPPED = [
    r"\s*\((?:text copy in a public repo|seen in public repositories|commit [0-9a-f]+, via search)[^()]*\)",
    r"[;,]?\s*\(?(?:find_string|stored)? ?(?:file )?ids? \d{6,}(?:(?:,| and) \d{6,})*\)?",
    r"\s*\(?stored file \d{6,}\)?",
    r"host report in(?: file id \d+)?: ?",
    r",? \d{9,}\b",
    r"; this machine|: a public repository file|; a public repository file",
]


def source(text):
    """A source as a reader can use it: without numbers that only the collector's own store knows."""
    for pattern in DROPPED:
        text = re.sub(pattern, "", text)
    text = text.replace("the PyPI", "the package index").replace("PyPI", "package index")
    text = re.sub(r"\b(?:own|general) knowledge(?:, not looked up)?", "common knowledge, not looked up", text)
    return re.sub(r"\s+", " ", text).strip(" ;,:")


def sources(*texts):
    return [cleaned for text in texts if text and (cleaned := source(text))]
