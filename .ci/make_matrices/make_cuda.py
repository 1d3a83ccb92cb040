"""matrices/cuda.json."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import re

from common import read, record, sources, write

from envcheck.matrix.records import CudaFile

# End of life by month, and whether it lies before the day the facts were collected; the collected words are prose.
LIFE = {
    470: ("LTSB", "2024-07", True),
    535: ("LTSB", "2026-06", True),
    570: ("PB", "2026-02", True),
    580: ("LTSB", "2028-06", False),
    590: ("NFB", None, True),
    595: ("PB", "2027-03", False),
    610: ("NFB", "2026-08", True),
    615: ("NFB", None, None),
    620: ("LTSB", "2029-09", False),
}
ENDED = (510, 515, 520, 525, 530, 545, 550, 555, 560, 565, 575)
NOTES = {
    470: "End month not looked up; the vendor's legacy list names the branch as no longer maintained.",
    580: "Last branch for Maxwell, Pascal and Volta. An earlier copy of the page said August 2028.",
    590: "Not listed any more.",
    615: "Short-lived; its pages are dated September 2026.",
}
ARCHITECTURES = [
    ("Kepler", ["3.0", "3.2"], 10, 470, None),
    ("Kepler", ["3.5", "3.7"], 11, 470, None),
    ("Maxwell", ["5.0", "5.2", "5.3"], 12, 580, None),
    ("Pascal", ["6.0", "6.1", "6.2"], 12, 580, "6.2 is Jetson TX2."),
    ("Volta", ["7.0", "7.2"], 12, 580, "7.2 is Jetson Xavier, whose driver comes with JetPack."),
    ("Turing", ["7.5"], None, None, None),
    ("Ampere", ["8.0", "8.6", "8.7"], None, None, "8.7 is Jetson Orin."),
    ("Ada", ["8.9"], None, None, None),
    ("Hopper", ["9.0"], None, None, None),
    ("Blackwell", ["10.0", "12.0"], None, None, "nvcc 12.8 and later."),
    ("Blackwell Ultra", ["10.3"], None, None, "nvcc 12.9 and later."),
    ("Blackwell (GB10)", ["12.1"], None, None, "nvcc 12.9 and later."),
    ("Blackwell (Thor)", ["11.0"], None, None, "nvcc 13.0 and later; it was 10.1 before."),
    ("Rubin", ["10.7"], None, None, "nvcc 13.4 and driver 615 or later."),
]
MATRIX_PAGE = "docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html"


def toolkits(rows):
    made = []
    for row in rows:
        update = re.search(r"Update (\d+)", row["toolkit"])
        made.append(
            {
                "sources": sources(row["source"]),
                "cuda": row["cuda"],
                "update": f"Update {update[1]}" if update else "GA",
                "bundled_driver": row["toolkit_driver_linux_x86_64"],
            }
        )
    return sorted(made, key=lambda row: (*map(int, row["cuda"].split(".")), row["update"] != "GA", row["update"]))


def ptx(rule):
    made = []
    for isa, cuda in rule["ptx_isa_to_cuda"].items():
        made.append({"sources": ["PTX ISA release notes; code sections of the wheels"], "isa": isa, "cuda": cuda.split("/")[0]})
    return sorted(made, key=lambda row: tuple(map(int, row["isa"].split("."))))


def branches(facts):
    shown = {int(row["branch"]): row for row in facts["branch_to_nvidia_smi_cuda"]}
    life = {int(row["branch"]): row for row in facts["branch_lifecycle"] if row["branch"].isdigit()}
    ended_source = next(row["source"] for row in facts["branch_lifecycle"] if "/" in row["branch"])
    made = []
    for branch in sorted({*shown, *LIFE, *ENDED}):
        kind, end, ended = LIFE.get(branch, (None, None, True if branch in ENDED or branch < 470 or branch == 495 else None))
        texts = [life[branch]["source"] if branch in life else ended_source]
        if branch in shown:
            texts.append(shown[branch]["source"])
        made.append(
            {
                "sources": sources(*texts),
                "note": NOTES.get(branch),
                "branch": branch,
                "kind": kind,
                "end_of_life": end,
                "ended": ended,
                "max_cuda": shown[branch]["max_cuda_shown"] if branch in shown else None,
            }
        )
    return [{key: value for key, value in row.items() if value is not None} for row in made]


# GPUs of systems on a chip (Jetson TX1, TX2, Xavier, Orin; Thor), by NVIDIA's table of CUDA GPUs.
INTEGRATED = {"5.3", "6.2", "7.2", "8.7", "11.0"}


FIRST_CUDA = {"Rubin": ("13.4", "vllm 0.29.0 to 0.33.0: CMakeLists.txt names 10.7 for nvcc 13.4 only; installation page")}


def make(target):
    facts = read("cuda_drivers.json")
    majors = [
        {
            "sources": sources(row["source"]),
            "major": row["cuda_major"],
            "min_driver": row["min_driver_linux"].split(" ")[0],
            **({"note": row["min_driver_linux"]} if " " in row["min_driver_linux"] else {}),
        }
        for row in sorted(facts["minor_version_compat"], key=lambda row: row["cuda_major"])
    ]
    architectures = [
        {"sources": [MATRIX_PAGE, *([FIRST_CUDA[name][1]] if name in FIRST_CUDA else [])], "architecture": name, "capabilities": ccs}
        | ({"integrated": [cc for cc in ccs if cc in INTEGRATED]} if INTEGRATED.intersection(ccs) else {})
        | ({"first_cuda": FIRST_CUDA[name][0]} if name in FIRST_CUDA else {})
        | ({"last_cuda_major": major} if major else {})
        | ({"last_branch": branch} if branch else {})
        | ({"note": note} if note else {})
        for name, ccs, major, branch, note in ARCHITECTURES
    ]
    value = record(
        CudaFile,
        majors=majors,
        toolkits=toolkits(facts["toolkit_to_driver"]),
        ptx=ptx(facts["ptx_rule"]),
        branches=branches(facts),
        architectures=architectures,
    )
    write(target / "cuda.json", value)
