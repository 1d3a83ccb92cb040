"""What `nvidia-smi` says: the questions put to it and pure readers of its answers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

# Each group is one query; a driver that does not know a field refuses the whole query, so then each field is asked for alone.
QUERY = (
    "index",
    "name",
    "uuid",
    "pci.bus_id",
    "driver_version",
    "memory.total",
    "memory.free",
    "compute_cap",
    "compute_mode",
    "persistence_mode",
    "display_active",
    "temperature.gpu",
    "enforced.power.limit",
    "power.default_limit",
    "pcie.link.gen.current",
    "pcie.link.gen.max",
    "pcie.link.width.current",
    "pcie.link.width.max",
    "ecc.mode.current",
    "ecc.errors.uncorrected.volatile.total",
    "retired_pages.pending",
    "mig.mode.current",
    "mig.mode.pending",
    "clocks_event_reasons.active",
    "fabric.state",
    "fabric.status",
)
OLDER_NAMES = {"clocks_event_reasons.active": "clocks_throttle_reasons.active"}
NOTHING = frozenset(
    {"", "n/a", "[n/a]", "not supported", "[not supported]", "[unknown error]", "requested functionality has been deprecated"}
)
Ask = Callable[[Sequence[str]], "tuple[int, str]"]  # arguments after `nvidia-smi` → exit status and standard output
Row = dict[str, "str | None"]


class Smi(NamedTuple):
    """All that was asked: a row a GPU by query field, a mapping a GPU from the XML report, both matrices of `topo`, links up by GPU.

    A field that this `nvidia-smi` does not know is missing; one that the board has not is None.
    """

    rows: list[Row]
    details: list[Row]
    cuda: str | None
    links: dict[tuple[int, int], str]
    p2p: dict[tuple[int, int], str]
    nvlinks: dict[int, int]
    processes: dict[int, set[int]]


def value(text: str | None) -> str | None:
    """A field's text, None where the board has no such thing."""
    return None if text is None or text.strip().lower() in NOTHING else text.strip()


def parse_csv(text: str, fields: Sequence[str]) -> list[Row]:
    """Rows of `--format=csv,noheader,nounits`: values are separated by a comma and a blank, and no value holds a comma."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    return [dict(zip(fields, map(value, cells), strict=True)) for cells in rows if len(cells) == len(fields)]


def query(ask: Ask, fields: Sequence[str] = QUERY) -> list[Row]:
    """Every field in one question, or one by one where the whole is refused."""
    status, text = ask([f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"])
    rows = parse_csv(text, fields) if status == 0 else []
    if rows or len(fields) == 1:
        return rows
    merged: list[Row] = []
    for field in fields:
        alone = query(ask, [field]) or [{field: row[older]} for older in [OLDER_NAMES.get(field)] if older for row in query(ask, [older])]
        merged = merged or [{} for _ in alone]
        for row, more in zip(merged, alone, strict=False):
            row.update(more)
    return merged


# Document name → path in the XML report of `-q -x`.
DETAILS = {
    "bar1": "bar1_memory_usage/total",
    "virtualization": "gpu_virtualization_mode/virtualization_mode",
    "remapped_corr": "remapped_rows/remapped_row_corr",
    "remapped_unc": "remapped_rows/remapped_row_unc",
    "remap_pending": "remapped_rows/remapped_row_pending",
    "remap_failed": "remapped_rows/remapped_row_failure",
}


def parse_xml(text: str) -> tuple[str | None, list[Row], dict[int, set[int]]]:
    """(CUDA level, details a GPU, process ids by GPU) of `nvidia-smi -q -x`; nothing where it is no XML."""
    try:
        root = ET.fromstring(text)  # what the driver's own tool printed
    except ET.ParseError:
        return None, [], {}
    # Since driver 610 the level of the user-mode driver has a name of its own.
    cuda = next((found for name in ("cuda_version", "cuda_umd_version") if (found := value(root.findtext(name)))), None)
    details: list[Row] = []
    processes: dict[int, set[int]] = {}
    for index, gpu in enumerate(root.findall("gpu")):
        # A section that is there without its parts says `N/A` as a whole.
        known = {name: path for name, path in DETAILS.items() if gpu.find(path.partition("/")[0]) is not None}
        details.append({name: value(gpu.findtext(path)) for name, path in known.items()})
        processes[index] = {int(node.text) for node in gpu.iterfind("processes/process_info/pid") if (node.text or "").strip().isdigit()}
    return cuda, details, processes


def parse_matrix(text: str) -> dict[tuple[int, int], str]:
    """The cells between GPUs of `topo -m` or `topo -p2p`, each pair once; other columns, colours and the legend are passed over."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in text.splitlines()]
    header = next((line for line in lines if re.match(r"\s*GPU0\b", line)), "")
    columns = [int(name[3:]) for name in header.split() if re.fullmatch(r"GPU\d+", name)]
    cells: dict[tuple[int, int], str] = {}
    for line in lines:
        words = line.split()
        if line is header or not words or not re.fullmatch(r"GPU\d+", words[0]) or len(words) <= len(columns):
            continue
        row = int(words[0][3:])
        cells.update({(row, column): cell for column, cell in zip(columns, words[1:], strict=False) if row < column})
    return cells


def parse_nvlinks(text: str) -> dict[int, int]:
    """How many links of each GPU are up, from `nvlink -s`: those with a speed."""
    found: dict[int, int] = {}
    gpu = -1
    for line in text.splitlines():
        if head := re.match(r"GPU (\d+):", line):
            gpu = int(head[1])
            found[gpu] = 0
        elif gpu >= 0 and re.match(r"\s*Link \d+:\s*[\d.]+ GB/s", line):
            found[gpu] += 1
    return found


def everything(ask: Ask) -> Smi:
    """All questions. `topo` and `nvlink` are asked only for what they print; a tool that refuses them leaves those empty."""

    def text(*arguments: str) -> str:
        status, out = ask(arguments)
        return out if status == 0 else ""

    rows = query(ask)
    cuda, details, processes = parse_xml(text("-q", "-x"))
    links = parse_matrix(text("topo", "-m")) if len(rows) > 1 else {}
    p2p = parse_matrix(text("topo", "-p2p", "r")) if len(rows) > 1 else {}
    return Smi(rows, details, cuda, links, p2p, parse_nvlinks(text("nvlink", "-s")), processes)


def number(text: str | None) -> float | None:
    """The number at a value's start, units passed over."""
    found = re.match(r"-?\d+(\.\d+)?", text or "")
    return float(found[0]) if found else None


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every leaf of a JSON document by its dotted path."""
    leaves: dict[str, Any] = {}
    for key, held in document.items():
        path = f"{prefix}{key}"
        if isinstance(held, Mapping):
            leaves.update(flat(held, path + "."))
        elif isinstance(held, list):
            leaves.update(flat({str(place): one for place, one in enumerate(held)}, path + "."))
        else:
            leaves[path] = held
    return leaves
