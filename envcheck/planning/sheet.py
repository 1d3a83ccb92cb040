"""The parameter sheet of a release: what it needs, its defaults side by side, the arguments to turn in the order in which to turn them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from envcheck.matrix.flags import ServeFlag, deprecated, has, within
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.memoryfacts import Engine
from envcheck.model.text import Text
from envcheck.model.units import GIB
from envcheck.planning.effective import values
from envcheck.sizing.inputs import Card
from envcheck.sizing.release import MemoryTable

_SMALL_GIB, _LARGE_GIB = 24, 96  # either side of the memory at which defaults change
_CHOICES = 8  # an argument with more is better looked up
# In the order in which they are turned when memory runs out, then the rest of what people ask for.
_KNOBS = (
    "--max-num-seqs",
    "--max-model-len",
    "--max-num-batched-tokens",
    "--gpu-memory-utilization",
    "--kv-cache-dtype",
    "--enforce-eager",
    "--limit-mm-per-prompt",
    "--mm-processor-kwargs",
    "--tensor-parallel-size",
    "--cpu-offload-gb",
    "--kv-cache-memory-bytes",
    "--swap-space",
    "--quantization",
    "--enable-prefix-caching",
    "--attention-backend",
    "--speculative-config",
    "--log-level",
)
_VALUES = {  # an example where the form alone does not show what to write
    "--max-num-seqs": "64",
    "--max-model-len": "8192",
    "--max-num-batched-tokens": "2048",
    "--gpu-memory-utilization": "0.85",
    "--kv-cache-dtype": "fp8",
    "--attention-backend": "FLASHINFER",
    "--mm-processor-kwargs": "'{\"max_pixels\": 1003520}'",
    "--tensor-parallel-size": "2",
    "--cpu-offload-gb": "4",
    "--kv-cache-memory-bytes": "8589934592",
    "--swap-space": "0",
    "--quantization": "fp8",
    "--speculative-config": '\'{"method": "ngram", "num_speculative_tokens": 4}\'',
    "--log-level": "DEBUG",
}


class Column(msgspec.Struct, frozen=True):
    """A column of defaults: an engine on a GPU of so much memory, GiB."""

    engine: str
    gib: int


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One setting and its default in each column; None = the release has it not there, or it is not known."""

    setting: str
    values: tuple[str | None, ...]


class Knob(msgspec.Struct, frozen=True, kw_only=True):
    """What to write in this release, its choices where it has few, and what it does."""

    name: str
    written: str
    choices: tuple[str, ...]
    why: Text


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """`needs` = key and value; `engine` = how the release chooses; `warned` = arguments on their way out; `arguments` = how many it has."""

    vllm: str
    released: str | None
    needs: tuple[tuple[str, str], ...]
    engine: Text
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    knobs: tuple[Knob, ...]
    warned: tuple[str, ...]
    arguments: int


def make_sheet(matrix: Matrix, release: Release) -> Sheet:
    """The sheet of a release; one with both engines shows both. Sources: the release's records, flags and defaults."""
    entry = matrix.engine(release)
    engines: tuple[Engine, ...] = tuple(entry.available) if entry else ("v1",)
    columns = tuple(Column(engine, gib) for engine in engines for gib in (_SMALL_GIB, _LARGE_GIB))
    warned = [flag.name for flag in matrix.flags.file.flags if has(flag, release.version) and deprecated(flag, release.version)]
    return Sheet(
        vllm=release.raw,
        released=release.record.released,
        needs=tuple(_needs(matrix, release)),
        engine=_engine(matrix, release),
        columns=columns,
        rows=tuple(_rows(matrix, release, columns)),
        knobs=tuple(_knobs(matrix, release)),
        warned=tuple(warned),
        arguments=len(matrix.flags.names(release.version)),
    )


def _needs(matrix: Matrix, release: Release) -> Iterator[tuple[str, str]]:
    build = release.build("x86_64")
    major = build.cuda_major if build else None
    floor = matrix.cuda_floor(major) if major else None
    image = next(iter(matrix.images.table.tags(release.raw, "x86_64")), None)
    cuda = ".".join(str(part) for part in build.cuda) if build and build.cuda else None
    for key, value in (
        ("python", release.record.requires_python),
        ("torch", release.torch_pin),
        ("cuda", cuda),
        ("driver", floor.raw if floor else None),
        ("image", image.reference if image else None),
    ):
        if value:
            yield key, value


def _engine(matrix: Matrix, release: Release) -> Text:
    entry = matrix.engine(release)
    if entry is None:
        return Text("sheet.engine-unknown")
    both = next((other.raw for other in matrix.releases if (found := matrix.engine(other)) and "v0" in found.available), release.raw)
    return Text(f"sheet.engine-{entry.switch}", {"engine": entry.default.upper(), "both": both})


def _rows(matrix: Matrix, release: Release, columns: tuple[Column, ...]) -> Iterator[Row]:
    floor = matrix.capability_trait("bfloat16-min-capability")
    table = MemoryTable(matrix.memory, floor)
    found = []
    for column in columns:
        engine: Engine = "v0" if column.engine == "v0" else "v1"
        card = Card(total_bytes=column.gib * GIB, capability=floor)
        found.append({name: value for name, (value, _) in values(matrix, table, release, card, engine=engine).items()})
    for name in dict.fromkeys(name for one in found for name in one):
        if name != "engine":
            yield Row(setting=name, values=tuple(None if (value := one.get(name)) is None else str(value) for one in found))


def _knobs(matrix: Matrix, release: Release) -> Iterator[Knob]:
    """The arguments that the release has, written as it takes them; where a variable does the work, that."""
    flags, version = matrix.flags, release.version
    for name in _KNOBS:
        why = Text(f"sheet.knob{name[1:]}")
        flag = flags.flag(name)
        if flag is not None and has(flag, version):
            form = flags.form(flag, version)
            choices = tuple(str(choice) for choice in (form.choices or ()) if choice is not None) if form else ()
            few = choices if len(choices) <= _CHOICES else ()
            yield Knob(name=name, written=_written(matrix, release, flag, choices), choices=few, why=why)
            continue
        found = flags.replacement(name, version)
        read = flags.variable(found.instead) if found and found.instead else None
        if found and found.instead and read and within(read, version):
            yield Knob(name=name, written=f"{found.instead}={_VALUES.get(name, '...')}", choices=(), why=why)


def _written(matrix: Matrix, release: Release, flag: ServeFlag, choices: tuple[str, ...]) -> str:
    form = matrix.flags.form(flag, release.version)
    if form is not None and form.switch:
        return flag.name
    if flag.name == "--limit-mm-per-prompt":
        pairs = within(matrix.flags.file.pairs, release.version) and not within(matrix.flags.file.objects, release.version)
        return f"{flag.name} " + ("image=1" if pairs else f"'{json.dumps({'image': 1})}'")
    example = _VALUES.get(flag.name) or next(iter(choices), "...")
    return f"{flag.name} {example}"
