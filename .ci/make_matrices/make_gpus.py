"""matrices/gpus.json."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import re

from common import read, record, sources, write

from envcheck.matrix.records import GpuModel

# 8-GPU boards of these carry NVSwitches, so they need the fabric manager; PCIe and NVL forms do not.
SWITCHED = re.compile(r"NVIDIA (A100-SXM4-[48]0GB|A800-SXM4-[48]0GB|H100 80GB HBM3|H200|H800|H20|H20-3e|B100|B200|B300 SXM6 AC)$")
BOARD = "8-GPU boards of this module carry NVSwitches; boards of 2 or 4 do not."
UNSURE_BOARD = {
    "NVIDIA L20X": "Whether its boards carry NVSwitches is not known.",
    "NVIDIA H20 NVL16": "Whether its boards carry NVSwitches is not known.",
    "Tesla V100-SXM3-32GB": "Its 16-GPU boards carry NVSwitches; not looked up.",
}
# Compute capability of driver-list names that the catalogue lacks, by generation in the name; the first match counts.
GENERATIONS = [
    (r"HGX GB200", "10.0", "Blackwell", "data-center"),
    (r"H100 80GB HBM2e", "9.0", "Hopper", "data-center"),
    (r"A100-PG509|PG506-|PG509-|A800 |AX800", "8.0", "Ampere", "data-center"),
    (r"CMP [345]0HX", "7.5", "Turing", "mining"),
    (r"CMP [79]0HX", "8.6", "Ampere", "mining"),
    (r"Blackwell|GeForce RTX 50\d0", "12.0", "Blackwell", None),
    (r"Ada Generation", "8.9", "Ada", None),
    (r"RTX A\d+|GeForce RTX 30\d0|GeForce RTX 2050|MX570", "8.6", "Ampere", None),
    (r"GTX 16|GeForce RTX 20\d0|MX[45]50|Quadro RTX|Quadro T\d|NVIDIA T\d+", "7.5", "Turing", None),
]


def kind_of(name):
    if re.search(r"Laptop|Max-Q Design|GeForce MX", name):
        return "laptop"
    return "consumer" if "GeForce" in name else "workstation"


def known(row, listed):
    pci = [device.lower() for device in row.get("pci_device_ids") or (listed or {}).get("pci_device_ids", [])]
    name = row["nvml_name"]
    switched = bool(SWITCHED.match(name))
    notes = [*sources(row.get("note")), BOARD if switched else UNSURE_BOARD.get(name)]
    seen = row["nvml_total_source"]
    if row["nvml_total_mib"] and "knowledge" in seen:
        notes.append("Memory as NVML counts it: common knowledge, not seen in a log.")
    return record(
        GpuModel,
        sources=sources(row["source"]),
        note=" ".join(text if text.endswith(".") else f"{text}." for text in notes if text) or None,
        name=name,
        aliases=[*row["aliases"], *EXTRA_ALIASES.get(name, [])],
        kind=row["class"],
        compute_capability=row["compute_capability"],
        architecture=row["architecture"],
        memory_mib=row["nvml_total_mib"],
        memory_gb=row["memory_gb_marketing"],
        unified_memory=row["unified_memory"],
        host_arch=row["host_arch"],
        mainland_variant=row["china_market"],
        nvlink=row["nvlink_gb_s"] is not None,
        nvswitch_board=switched,
        bandwidth_gb_s=row["bandwidth_gb_s"],
        forward_compatibility=row["forward_compat_eligible"],
        first_driver=row.get("first_driver_per_branch") or (listed or {}).get("first_per_branch", {}),
        last_branch=int(row["last_driver_branch"]) if row["last_driver_branch"] else None,
        pci_ids=pci,
    )


# Names that say the model and not the board: what all boards of it share. Memory in MiB where the name tells it.
FAMILIES = [
    ("Tesla V100", ["V100"], "Tesla V100", None, False),
    ("Tesla V100-16GB", ["V100-16GB", "V100 16GB", "Tesla V100 16GB"], "Tesla V100", 16384, False),
    ("Tesla V100-32GB", ["V100-32GB", "V100 32GB", "Tesla V100 32GB"], "Tesla V100", 32768, False),
    ("Tesla P100", ["P100"], "Tesla P100", None, False),
    ("Tesla M40", ["M40"], "Tesla M40 24GB", None, False),
    ("NVIDIA A100", ["A100"], "NVIDIA A100", None, False),
    ("NVIDIA A100 40GB", ["A100 40GB", "A100-40GB"], "NVIDIA A100", 40960, False),
    ("NVIDIA A100 80GB", ["A100 80GB", "A100-80GB"], "NVIDIA A100", 81920, False),
    ("NVIDIA A100-SXM", ["A100-SXM", "A100 SXM", "A100 SXM4"], "NVIDIA A100-SXM4", None, True),
    ("NVIDIA A800", ["A800"], "NVIDIA A800", None, False),
    ("NVIDIA A800 80GB", ["A800 80GB", "A800-80GB"], "NVIDIA A800", 81920, False),
    ("NVIDIA A800-SXM", ["A800-SXM", "A800 SXM", "A800 SXM4"], "NVIDIA A800-SXM4", None, True),
    ("NVIDIA H100 80GB", ["H100 80GB", "H100-80GB"], "NVIDIA H100 80GB", 81559, False),
    ("NVIDIA GH200", ["GH200"], "NVIDIA GH200", None, False),
    ("NVIDIA RTX PRO 6000 Blackwell", ["RTX PRO 6000", "RTX PRO 6000 Blackwell"], "NVIDIA RTX PRO 6000 Blackwell", 97887, False),
]


def family(name, aliases, prefix, memory_mib, switched, members):
    """A record of what every board whose name begins with `prefix` has in common."""
    boards = [gpu for gpu in members if gpu.name.startswith(prefix)]

    def shared(field):
        values = {getattr(gpu, field) for gpu in boards}
        return values.pop() if len(values) == 1 else None

    return record(
        GpuModel,
        sources=[f"what the boards named {prefix}... have in common"],
        note="The name does not say which board." if not switched else BOARD,
        name=name,
        aliases=aliases,
        kind=shared("kind") or "data-center",
        compute_capability=shared("compute_capability"),
        architecture=shared("architecture"),
        memory_mib=memory_mib,
        memory_gb=shared("memory_gb"),
        host_arch=shared("host_arch") or "any",
        mainland_variant=shared("mainland_variant") or False,
        nvlink=switched,
        nvswitch_board=switched,
        forward_compatibility=shared("forward_compatibility") or False,
        last_branch=shared("last_branch"),
    )


EXTRA_ALIASES = {
    "NVIDIA H100 80GB HBM3": ["H100 SXM", "H100-SXM", "H100 SXM5", "H100-SXM5-80GB", "H100 SXM5 80GB", "H100-SXM5"],
    "NVIDIA B300 SXM6 AC": ["B300", "NVIDIA B300"],
    "NVIDIA RTX 6000 Ada Generation": ["RTX 6000 Ada", "NVIDIA RTX 6000 Ada"],
    "Orin (nvgpu)": ["Orin", "NVIDIA Orin", "Jetson AGX Orin", "NVIDIA Jetson AGX Orin", "Jetson Orin", "NVIDIA Jetson Orin"],
    "Xavier": ["Jetson AGX Xavier", "NVIDIA Jetson AGX Xavier", "Jetson Xavier", "NVIDIA Xavier"],
    "NVIDIA Thor": ["Jetson AGX Thor", "NVIDIA Jetson AGX Thor", "Jetson Thor", "NVIDIA Jetson Thor", "NVIDIA Thor (nvgpu)"],
    "NVIDIA GB10": ["DGX Spark", "NVIDIA DGX Spark"],
    # Boards as their virtual GPUs are named (NVIDIA's virtual GPU software guide, tables of types): GRID A100D-40C.
    "NVIDIA A100 80GB PCIe": ["A100D", "A100DX"],
    "NVIDIA H100 PCIe": ["H100XM", "H100L"],
    "Tesla V100-PCIE-32GB": ["V100D", "V100DX", "V100L"],
    "Tesla V100-PCIE-16GB": ["V100X"],
}


def unknown(listed):
    name = listed["name"]
    found = next((entry for entry in GENERATIONS if re.search(entry[0], name)), None)
    if not found:
        return None
    _, capability, architecture, kind = found
    return record(
        GpuModel,
        sources=sources(listed["source"]),
        note="Named in the driver's list only; compute capability by its generation, memory not known.",
        name=name,
        aliases=[name.removeprefix("NVIDIA ")] if name.startswith("NVIDIA ") else [f"NVIDIA {name}"],
        kind=kind or kind_of(name),
        compute_capability=capability,
        architecture=architecture,
        host_arch="aarch64" if "GB200" in name else "any",
        forward_compatibility=kind == "data-center",
        first_driver=listed["first_per_branch"],
        pci_ids=[device.lower() for device in listed["pci_device_ids"]],
    )


def make(target):
    rows = read("gpu_catalogue.json")["gpus"]
    listed = {entry["name"].lower(): entry for entry in read("driver_gpu_support.json")["gpus"]}
    taken = {name.lower() for row in rows for name in (row["nvml_name"], *row["aliases"])}
    records = [known(row, listed.get(row["nvml_name"].lower())) for row in rows]
    extra = [made for key, entry in listed.items() if key not in taken and (made := unknown(entry))]
    families = [family(*row, records) for row in FAMILIES]
    write(target / "gpus.json", sorted([*records, *extra, *families], key=lambda gpu: gpu.name))
