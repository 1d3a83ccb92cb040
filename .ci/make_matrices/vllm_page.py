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
# Releases whose file name was seen; the others have their neighbours' pattern.
SEEN = set(
    "0.2.2 0.3.3 0.4.0 0.4.1 0.5.3 0.5.3.post1 0.5.4 0.5.5 0.6.0 0.6.1 0.6.1.post1 0.6.1.post2 0.6.4 0.6.4.post1 0.6.5 0.6.6 "
    "0.6.6.post1 0.7.0 0.7.1 0.7.2 0.7.3 0.8.0 0.8.1 0.8.2 0.8.3 0.8.4 0.8.5 0.8.5.post1 0.9.0 0.9.0.1 0.9.1 0.9.2 0.10.0 0.10.1 "
    "0.10.1.1 0.10.2 0.11.0 0.11.1 0.11.2 0.12.0 0.13.0 0.14.0 0.14.1 0.15.0 0.15.1 0.16.0 0.17.1 0.18.0 0.19.0 0.19.1 0.20.0 0.20.1 "
    "0.20.2 0.21.0 0.22.0 0.23.0 0.24.0 0.25.1 0.26.0 0.27.1 0.28.0 0.29.0 0.30.0 0.31.0".split()
)
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
                "url_basis": "artefact" if version in SEEN else "neighbour",
                "glibc_tag": tag,
            }
            for arch in archs
        ]
    return made
