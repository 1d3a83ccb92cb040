"""The wheels of each release: those of the package index, and the CUDA variants of the project's release page."""

# ruff: noqa: D103, D403  # a conversion script: its steps are small and named, and are called from one place

import re

from common import by_capability, read, sm
from packaging.version import Version
from vllm_page import assets

FA2_SCANNED = {"0.9.2", "0.11.2", "0.14.1", "0.19.1", "0.20.2", "0.33.0"}


def between(version, first, last):
    return Version(first) <= Version(version) <= Version(last)


def cuda_of(text):
    return re.match(r"\d+\.\d+", text)[0] if text else None


def scans():
    """(version, arch) -> machine code as capabilities, and PTX that every kernel has."""
    found = {}
    for entry in read("vllm_wheel_gpu_code.json")["entries"]:
        counts = entry["counts"]
        per_arch = {int(key[5:].split("@")[0]): n for key, n in counts.items() if key.startswith("sass_")}
        ptx = {int(key[4:].split("@")[0]): n for key, n in counts.items() if key.startswith("ptx_")}
        complete = [sm(arch) for arch, n in ptx.items() if n >= max(per_arch.values())]
        found[entry["version"], entry["arch"]] = ([sm(arch) for arch in per_arch], complete)
    return found


def compilable(sdist, cuda):
    """The architectures that the release's CMakeLists.txt allows for this nvcc, or None where it has no such list."""
    if not sdist:
        return None
    for rule in sdist["cmake_cuda_supported_archs"] or []:
        least = rule["if_nvcc_ge"]
        if least is None or Version(cuda) >= Version(least):
            return rule["archs"].split(";")
    return sdist["setup_supported_archs"] or None


def pipeline_list(text, sdist, cuda):
    """An architecture list of the release pipeline, cut to what this nvcc compiles.

    `+PTX` at its end is dropped: no scanned wheel carries such PTX (vLLM's CMake replaces the list by one of its own per file).
    """
    listed = [word.replace("+PTX", "") for word in text.replace("(Dockerfile default)", "").split()]
    allowed = compilable(sdist, cuda)
    return [word for word in listed if allowed is None or word in allowed]


def pipeline(sdist, arch):
    """cuda -> architecture list of the pipeline's wheels for this machine."""
    if not sdist:
        return {}
    return {
        cuda_of(build["cuda"]): build["torch_cuda_arch_list"]
        for build in sdist["release_builds"]
        if build["kind"] == "wheel" and build["arch"] == arch
    }


def fa2(version, cuda, indexed, arch):
    """FlashAttention 2 holds machine code for 8.0 only, so newer devices translate its PTX."""
    if Version(version) < Version("0.9.2") or cuda is None or Version(cuda) < Version("12.0"):
        return []
    isa = {"12.6": ("8.5", "12.5"), "12.8": ("8.7", "12.8"), "12.9": ("8.8", "12.9"), "13.0": ("9.0", "13.0")}[cuda]
    scanned = indexed and arch == "x86_64" and version in FA2_SCANNED
    return [
        {
            "component": "flash-attn 2",
            "compute": "8.0",
            "isa": isa[0],
            "cuda": isa[1],
            "needed_from": "9.0",
            "basis": "artefact" if scanned else "neighbour",
        }
    ]


def glibc(version, arch, floors):
    entry = floors.get((version, arch))
    if not entry:
        return {}
    top = entry["glibc_max"]
    members = [member for member, needs in entry["per_member_glibc"].items() if needs == top]
    whole = any(member.startswith(("vllm/_C.", "vllm/attention_ops")) for member in members)
    return {
        "glibc_needed": top.removeprefix("GLIBC_"),
        "glibc_needed_by": None if whole or len(members) == len(entry["per_member_glibc"]) else ", ".join(members),
        "libstdcxx_needed": entry["glibcxx_max"],
        "glibc_basis": "artefact",
    }


def index_cuda(version, arch, row):
    """nvcc of the index wheel; the aarch64 wheels of 0.10.2-0.11.2 are the pipeline's 12.9 build."""
    if arch == "aarch64" and between(version, "0.10.2", "0.11.2"):
        return "12.9"
    return cuda_of(row["main_cuda_version"])


def index_torch_variant(version, arch):
    """torch on the index has no CUDA for aarch64 up to 2.10.0; cu129 (2.8) and cu128 (2.9, 2.10) are its listed CUDA builds there."""
    if arch != "aarch64" or not between(version, "0.10.2", "0.19.1"):
        return None
    return "cu129" if between(version, "0.10.2", "0.11.0") else "cu128"


def index_code(version, arch, cuda, sdist, scanned):
    """(gpu_code, basis, ptx) where this release itself says; None where only its neighbours can."""
    listed = pipeline(sdist, arch).get(cuda)
    declared = pipeline_list(listed, sdist, cuda) if listed else None
    if declared is None and sdist and arch == "x86_64" and Version(version) >= Version("0.2.0"):
        declared = compilable(sdist, cuda or "11.8")
    if (version, arch) in scanned:
        code, ptx = scanned[version, arch]
        # Kernels that were compiled without an architecture list leave stray code (5.2, 8.7) that covers a few kernels only.
        return [word for word in code if declared is None or word in declared], "artefact", ptx
    return (declared, "pipeline", []) if declared else None


def index_build(version, arch, row, raw, sdist, scanned, floors):
    wheels = [wheel for wheel in raw["wheels"] if wheel["arch"] == arch]
    if not wheels:
        return None
    cuda = index_cuda(version, arch, row)
    code = index_code(version, arch, cuda, sdist, scanned)
    return {
        "arch": arch,
        "cuda": cuda,
        "cuda_major": row["pypi_cuda_major"],
        "torch_variant": index_torch_variant(version, arch),
        "size_mib": round(max(wheel["size"] for wheel in wheels) / 2**20) if all(wheel.get("size") for wheel in wheels) else None,
        "platform_tags": sorted({wheel["platform_tag"] for wheel in wheels}),
        "python_tags": sorted({wheel["python_tag"] for wheel in wheels}, key=lambda tag: (len(tag), tag)),
        "glibc_tag": wheels[0]["tag_glibc_floor"],
        **glibc(version, arch, floors),
        **({"gpu_code": by_capability(code[0]), "gpu_code_basis": code[1], "gpu_code_ptx": code[2]} if code else {}),
        "ptx_kernels": fa2(version, cuda, True, arch),
    }


def fill_from_neighbours(ordered, made):
    """A release without a statement of its own takes what its nearest neighbours on both sides agree on."""
    for arch in ("x86_64", "aarch64"):
        line = [build for version in ordered for build in made[version] if build["arch"] == arch and not build.get("variant")]
        known = [i for i, build in enumerate(line) if build.get("gpu_code") and build["gpu_code_basis"] != "neighbour"]
        for i, build in enumerate(line):
            before = max((k for k in known if k < i), default=None)
            after = min((k for k in known if k > i), default=None)
            if before is None or after is None or i in known:
                continue
            if line[before]["gpu_code"] == line[after]["gpu_code"]:
                build["gpu_code"] = line[before]["gpu_code"]
                build["gpu_code_basis"] = "neighbour"
        scanned = [i for i, build in enumerate(line) if build.get("gpu_code_basis") == "artefact"]
        for i, build in enumerate(line):
            before = max((k for k in scanned if k < i), default=None)
            after = min((k for k in scanned if k > i), default=None)
            if i not in scanned and before is not None and after is not None:
                shared = [ptx for ptx in line[before]["gpu_code_ptx"] if ptx in line[after]["gpu_code_ptx"]]
                build["gpu_code_ptx"] = shared


def page_glibc(asset, index):
    """(glibc needed, member) of a release-page wheel, which was not scanned.

    Built on the index wheel's base, it needs what that does. The exceptions were built on Ubuntu 22.04, as 0.20.x was, whose binaries
    need 2.34 whatever their tag says (vllm-project/vllm #41103): every +cu130, and +cu129 of 0.20.x and 0.21.0.
    """
    newer_base = asset["variant"] == "cu130" or asset["glibc_tag"] in ("2.31", "2.34")
    return ("2.34", None) if newer_base else (index.get("glibc_needed"), index.get("glibc_needed_by"))


def page_build(version, asset, index, row, sdist, neighbour):
    """One wheel of the release page; its architectures are the pipeline's."""
    source = sdist or neighbour
    listed = pipeline(source, asset["arch"]).get(asset["cuda"])
    code = pipeline_list(listed, source, asset["cuda"]) if listed else index.get("gpu_code")
    glibc_needed, member = page_glibc(asset, index)
    # torch 2.6, which 0.8.x pins, has no cu121 build: the index's 12.4 has the same major.
    own_torch = asset["variant"] != "cu121"
    per_python = "{python}" in asset["url"]
    return asset | {
        "cuda_major": int(asset["cuda"].split(".")[0]),
        "torch_variant": asset["variant"] if own_torch else None,
        "python_tags": [f"cp{text.replace('.', '')}" for text in row["pythons"]] if per_python else index["python_tags"],
        "glibc_needed": glibc_needed,
        "glibc_needed_by": member,
        "libstdcxx_needed": index.get("libstdcxx_needed"),
        "glibc_basis": "neighbour",
        "gpu_code": by_capability(code) if code else None,
        "gpu_code_basis": "pipeline" if listed and sdist else "neighbour",
        "ptx_kernels": fa2(version, asset["cuda"], False, asset["arch"]),
    }


def builds(ordered, rows, raws, sdists):
    """version -> builds as plain objects, index wheels first."""
    scanned = scans()
    floors = {}
    for entry in read("wheel_glibc_floor.json")["vllm"]:
        floors[entry["version"], "aarch64" if "aarch64" in entry["wheel"] else "x86_64"] = entry
    made = {}
    for version in ordered:
        row, raw, sdist = rows[version], raws[version], sdists.get(version)
        found = (index_build(version, arch, row, raw, sdist, scanned, floors) for arch in ("x86_64", "aarch64"))
        made[version] = [build for build in found if build]
    fill_from_neighbours(ordered, made)
    for place, version in enumerate(ordered):
        sdist = sdists.get(version)
        neighbour = sdist or next((sdists[v] for v in reversed(ordered[:place]) if v in sdists), None)
        indexed = {build["arch"]: build for build in made[version]}
        for asset in assets(version):
            made[version].append(page_build(version, asset, indexed[asset["arch"]], rows[version], sdist, neighbour))
        made[version] = [{key: value for key, value in build.items() if value is not None} for build in made[version]]
        made[version].sort(key=lambda build: (build.get("variant", ""), build["arch"] != "x86_64"))
    return made
