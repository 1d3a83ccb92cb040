"""The CUDA wheels of the project's release page: which exist, and what their files are called.

Read in the page's asset lists as public repositories quote them (unslothai/unsloth tests/…vllm wheel hints, a snapshot of the releases
interface; a list of all wheels up to 0.15.0; install scripts that name single files). The pipeline builds more than the page offers:
no +cu118 for 0.6.2-0.6.3.post1 (vllm-project/vllm #9021, #9353, #10319), no +cu126 after 0.10.0, no +cu128 ever (#37847).
"""

from packaging.version import Version

BASE = "https://github.com/vllm-project/vllm/releases/download"
BOTH = ("x86_64", "aarch64")
# first, last release; variant; machines; Python part of the file's name; platform part, glibc of that tag
ASSETS = [
    ("0.2.2", "0.6.1.post2", "cu118", ("x86_64",), "{python}-{python}", "manylinux1", "2.5"),
    ("0.6.4", "0.10.1.1", "cu118", ("x86_64",), "cp38-abi3", "manylinux1", "2.5"),
    ("0.8.0", "0.8.5.post1", "cu121", ("x86_64",), "cp38-abi3", "manylinux1", "2.5"),
    ("0.9.0", "0.10.0", "cu126", ("x86_64",), "cp38-abi3", "manylinux1", "2.5"),
    ("0.10.2", "0.11.2", "cu129", ("x86_64",), "cp38-abi3", "manylinux1", "2.5"),
    ("0.11.1", "0.11.2", "cu130", ("x86_64",), "cp38-abi3", "manylinux1", "2.5"),
    ("0.12.0", "0.12.0", "cu130", ("x86_64",), "cp38-abi3", "manylinux_2_31", "2.31"),
    ("0.13.0", "0.19.1", "cu130", BOTH, "cp38-abi3", "manylinux_2_35", "2.35"),
    ("0.20.0", "0.20.2", "cu129", BOTH, "cp38-abi3", "manylinux_2_31", "2.31"),
    ("0.21.0", "0.21.0", "cu129", BOTH, "cp38-abi3", "manylinux_2_34", "2.34"),
    ("0.22.0", "0.32.0", "cu129", BOTH, "cp38-abi3", "manylinux_2_28", "2.28"),
]
# Releases whose file name was not seen: they have their neighbours' pattern.
UNSEEN = {
    "0.2.3",
    "0.2.4",
    "0.2.5",
    "0.2.6",
    "0.2.7",
    "0.3.0",
    "0.3.1",
    "0.3.2",
    "0.4.0.post1",
    "0.4.2",
    "0.4.3",
    "0.5.0",
    "0.5.0.post1",
    "0.5.1",
    "0.5.2",
    "0.17.0",
    "0.18.1",
    "0.22.1",
    "0.25.0",
    "0.27.0",
    "0.32.0",
}
SOURCE = "asset names of the release page (github.com/vllm-project/vllm/releases), as public repositories list them"


def assets(version):
    """The wheels of a release as plain objects; cuda of cu129 is 12.9."""
    made = []
    for first, last, variant, archs, python, platform, tag in ASSETS:
        if not Version(first) <= Version(version) <= Version(last):
            continue
        made += [
            {
                "arch": arch,
                "variant": variant,
                "cuda": f"{variant[2:4]}.{variant[4:]}",
                "platform_tags": [f"{platform}_{arch}"],
                "url": f"{BASE}/v{version}/vllm-{version}+{variant}-{python}-{platform}_{arch}.whl",
                "url_basis": "neighbour" if version in UNSEEN else "artefact",
                "glibc_tag": tag,
            }
            for arch in archs
        ]
    return made
