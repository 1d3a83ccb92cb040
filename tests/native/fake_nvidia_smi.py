"""An `nvidia-smi` for hosts without a GPU: prints what a stand-in's profile says in the tool's own forms.

Reads ENVCHECK_NVML_PROFILE, or FAKE_SMI_PROFILE where that is set, so that it can say something else than the library. It shares no code
with either: the profile is read again, and every value is formed from the profile's keys.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

Section = dict[str, str]
NONE = "[N/A]"
SWITCH = {"0": "Disabled", "1": "Enabled"}
YES = {"0": "No", "1": "Yes"}
COMPUTE_MODES = {"0": "Default", "2": "Prohibited", "3": "Exclusive_Process"}
FABRIC = {"0": "Not Supported", "1": "Not Started", "2": "In Progress", "3": "Completed"}
VIRTUALIZATION = {"0": "None", "1": "Pass-Through", "2": "VGPU", "3": "Host VGPU", "4": "Host VSGA"}
ANCESTORS = {"0": "PSB", "10": "PIX", "20": "PXB", "30": "PHB", "40": "NODE", "50": "SYS"}
P2P = {"0": "OK", "1": "CNS", "2": "GNS", "3": "TNS", "4": "DR", "5": "NS", "6": "U"}


def read_profile(text: str) -> dict[str, Section]:
    """Sections of a profile; a later line wins."""
    sections: dict[str, Section] = {"system": {}}
    current = sections["system"]
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), {})
        elif line and line[0] not in "#;" and "=" in line:
            key, _, held = line.partition("=")
            current[key.strip()] = held.strip()
    return sections


def mib(text: str) -> int:
    """A size of the profile, MiB."""
    number, _, unit = text.partition(" ")
    return int(number) * {"": 0, "KiB": 0, "MiB": 1, "GiB": 1024}[unit]


class Host:
    """The profile's host."""

    def __init__(self, text: str) -> None:
        self.sections = read_profile(text)
        self.system = self.sections["system"]
        self.gpus = [self._gpu(index) for index in range(int(self.system["gpus"]))]

    def _gpu(self, index: int) -> Section:
        merged = {**self.sections.get("gpu", {}), **self.sections.get(f"gpu{index}", {}), "index": str(index)}
        return {key: held.replace("{i}", f"{index:x}") for key, held in merged.items()}

    def pair(self, first: int, second: int, key: str) -> str | None:
        """A key of a pair, else of the system."""
        a, b = sorted((first, second))
        return self.sections.get(f"pair{a}-{b}", {}).get(key, self.system.get(key))


def _part(gpu: Section, key: str, place: int) -> str | None:
    return gpu[key].split()[place] if key in gpu else None


def _watts(gpu: Section, key: str) -> str:
    return f"{int(gpu[key]) / 1000:.2f}" if key in gpu else NONE


def _free(gpu: Section) -> str:
    if "memory_total" not in gpu:
        return NONE
    return str(mib(gpu["memory_total"]) - mib(gpu.get("memory_used", "0")) - mib(gpu.get("memory_reserved", "0")))


def _named(names: dict[str, str], key: str | None) -> str:
    return NONE if key is None else names[key]


FIELDS: dict[str, Callable[[Section], str | None]] = {
    "index": lambda gpu: gpu["index"],
    "name": lambda gpu: gpu["name"],
    "uuid": lambda gpu: gpu["uuid"],
    "pci.bus_id": lambda gpu: "0000" + gpu["pci"].upper(),
    "memory.total": lambda gpu: str(mib(gpu["memory_total"])) if "memory_total" in gpu else None,
    "memory.free": _free,
    "compute_cap": lambda gpu: gpu["cc"],
    "compute_mode": lambda gpu: _named(COMPUTE_MODES, gpu.get("compute_mode")),
    "persistence_mode": lambda gpu: _named(SWITCH, gpu.get("persistence")),
    "display_active": lambda gpu: _named(SWITCH, gpu.get("display")),
    "temperature.gpu": lambda gpu: gpu.get("temperature"),
    "enforced.power.limit": lambda gpu: _watts(gpu, "power_limit"),
    "power.default_limit": lambda gpu: _watts(gpu, "power_default"),
    "pcie.link.gen.current": lambda gpu: _part(gpu, "pcie", 0),
    "pcie.link.width.current": lambda gpu: _part(gpu, "pcie", 1),
    "pcie.link.gen.max": lambda gpu: _part(gpu, "pcie", 2),
    "pcie.link.width.max": lambda gpu: _part(gpu, "pcie", 3),
    "ecc.mode.current": lambda gpu: _named(SWITCH, _part(gpu, "ecc", 0)),
    "ecc.errors.uncorrected.volatile.total": lambda gpu: gpu.get("ecc_uncorrected"),
    "retired_pages.pending": lambda gpu: _named(YES, gpu.get("retired_pending")),
    "mig.mode.current": lambda gpu: _named(SWITCH, _part(gpu, "mig", 0)),
    "mig.mode.pending": lambda gpu: _named(SWITCH, _part(gpu, "mig", 1)),
    "clocks_event_reasons.active": lambda gpu: f"0x{int(gpu['throttle'], 16):016X}" if "throttle" in gpu else NONE,
    "fabric.state": lambda gpu: _named(FABRIC, _part(gpu, "fabric", 0)),
    "fabric.status": lambda gpu: "Success" if "fabric" in gpu else NONE,
}
NEWER = frozenset({"clocks_event_reasons.active", "fabric.state", "fabric.status"})  # than branch 470


def query(host: Host, fields: Sequence[str]) -> tuple[int, str]:
    """`--query-gpu`: one line a GPU; an unknown field refuses the whole question."""
    old = host.system["driver"].startswith("470.")
    reads: dict[str, Callable[[Section], str | None]] = {**FIELDS, "driver_version": lambda gpu: host.system["driver"]}
    if old:
        reads = {name: read for name, read in reads.items() if name not in NEWER}
        reads["clocks_throttle_reasons.active"] = FIELDS["clocks_event_reasons.active"]
    unknown = [field for field in fields if field not in reads]
    if unknown:
        return 2, f'Field "{unknown[0]}" is not a valid field to query.\n\n'
    lines = [", ".join(reads[field](gpu) or NONE for field in fields) for gpu in host.gpus]
    return 0, "".join(line + "\n" for line in lines)


def report(host: Host) -> str:
    """`-q -x`: the parts that are read of it."""
    cuda = int(host.system["cuda"])
    parts = ['<?xml version="1.0" ?>', "<nvidia_smi_log>", f"<cuda_version>{cuda // 1000}.{cuda % 1000 // 10}</cuda_version>"]
    for gpu in host.gpus:
        rows = gpu["remapped"].split() if "remapped" in gpu else None
        parts += [
            f'<gpu id="{escape(FIELDS["pci.bus_id"](gpu) or "")}">',
            f"<bar1_memory_usage><total>{gpu.get('bar1_total', 'N/A')}</total></bar1_memory_usage>",
            "<gpu_virtualization_mode><virtualization_mode>"
            f"{VIRTUALIZATION.get(gpu.get('virtualization', ''), 'N/A')}</virtualization_mode></gpu_virtualization_mode>",
            _remapped(rows),
            "<processes>",
            *(f"<process_info><pid>{pid}</pid></process_info>" for pid in _pids(gpu)),
            "</processes></gpu>",
        ]
    return "\n".join([*parts, "</nvidia_smi_log>", ""])


def _remapped(rows: list[str] | None) -> str:
    if rows is None:
        return "<remapped_rows>N/A</remapped_rows>"
    names = ("remapped_row_corr", "remapped_row_unc", "remapped_row_pending", "remapped_row_failure")
    values = [*rows[:2], *(YES[flag] for flag in rows[2:])]
    inner = "".join(f"<{name}>{held}</{name}>" for name, held in zip(names, values, strict=True))
    return f"<remapped_rows>{inner}</remapped_rows>"


def _pids(gpu: Section) -> list[str]:
    lists = [gpu.get(key, "") for key in ("processes", "graphics")]
    return list(dict.fromkeys(re.findall(r"(\d+):", ",".join(lists))))


def matrix(host: Host, cell: Callable[[int, int], str]) -> str:
    """A table as `topo` prints it, with another column and a legend after it."""
    count = range(len(host.gpus))
    head = "\t" + "\t".join(f"\x1b[4mGPU{index}" for index in count) + "\tCPU Affinity\tNUMA Affinity\x1b[0m"
    rows = ["\t".join([f"GPU{a}", *(" X " if a == b else cell(a, b) for b in count), "0-31", "0"]) for a in count]
    return "\n".join([head, *rows, "", "Legend:", "", "  X    = Self", "  SYS  = the interconnect between processors", ""])


def answer(argv: Sequence[str], text: str) -> tuple[int, str]:
    """Exit status and output for these arguments on the host of this profile."""
    host = Host(text)

    def link(a: int, b: int) -> str:
        if host.pair(a, b, "p2p_nvlink") == "0" and "nvlinks" in host.gpus[a]:
            return "NV" + host.gpus[a]["nvlinks"].split("/")[0]
        return ANCESTORS[host.pair(a, b, "ancestor") or "50"]

    if argv[0].startswith("--query-gpu="):
        return query(host, argv[0].partition("=")[2].split(","))
    if list(argv) == ["-q", "-x"]:
        return 0, report(host)
    if list(argv) == ["topo", "-m"]:
        return 0, matrix(host, link)
    if list(argv) == ["topo", "-p2p", "r"]:
        return 0, matrix(host, lambda a, b: P2P[host.pair(a, b, "p2p_read") or "5"])
    if list(argv) == ["nvlink", "-s"]:
        return 0, nvlinks(host)
    return 2, f"Invalid combination of input arguments: {' '.join(argv)}\n"


def nvlinks(host: Host) -> str:
    """`nvlink -s`: every link with its speed or `<inactive>`."""
    lines = []
    for gpu in host.gpus:
        up, total = map(int, gpu.get("nvlinks", "0/0").split("/"))
        lines.append(f"GPU {gpu['index']}: {gpu['name']} (UUID: {gpu['uuid']})")
        lines += [f"\t Link {link}: {'26.562 GB/s' if link < up else '<inactive>'}" for link in range(total)]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    path = os.environ.get("FAKE_SMI_PROFILE") or os.environ["ENVCHECK_NVML_PROFILE"]
    status, out = answer(sys.argv[1:], Path(path).read_text(encoding="utf-8"))
    sys.stdout.write(out)
    sys.exit(status)
