"""matrices/torch.json."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import re

from common import by_capability, read, record, sources, version_key, write
from packaging.requirements import Requirement

from envcheck.matrix.records import TorchRelease

LINUX = {"platform_system": "Linux", "platform_machine": "x86_64", "python_version": "3.11", "extra": ""}
# A variant's own words for how its list is known, as the facts spell them.
READ = re.compile(r"wheel\b|PYTORCH_RELEASES_CODE_CC|table in the")
GUESS = re.compile(r"not verified|assumed")


def pinned(requires, names):
    for name in names:
        for entry in requires.get(name, []):
            wanted = Requirement(f"{name}{entry}")
            if wanted.marker is None or wanted.marker.evaluate(LINUX):
                return re.sub(r"^(==|~=)", "", str(wanted.specifier)) or None
    return None


def basis(text):
    if GUESS.search(text) or "assum" in text:
        return "unverified"
    return "artefact" if READ.search(text) else "pipeline"


def archs(text):
    """'7.5;8.0;12.0+PTX (not verified)' -> (list, ptx)."""
    words = re.sub(r"\(.*\)", "", text).strip().split(";")
    return by_capability(word.replace("+PTX", "") for word in words), [word[:-4] for word in words if word.endswith("+PTX")]


def variant(name, listed, lists):
    """One CUDA variant of a minor; `listed` False = on the index's server but in no published list."""
    known = lists.get(name, {})
    code, ptx = {}, []
    for arch in ("x86_64", "aarch64"):
        if known.get(arch):
            code[arch], found = archs(known[arch])
            ptx = ptx or found
    digits = name[2:]
    doubtful = any("not verified" in (known.get(arch) or "") for arch in ("x86_64", "aarch64"))
    return {
        "variant": name,
        "cuda": f"{digits[:2]}.{digits[2:]}",
        "gpu_code": code,
        "ptx": ptx,
        "listed": listed,
        "basis": "unverified" if doubtful or not known else basis(known["source"]),
    }


def variants(minor):
    """Every CUDA variant named for x86_64 or aarch64, with the architectures it exists for."""
    named = {}
    for arch, key in (("x86_64", "index_variants_x86_64"), ("aarch64", "index_variants_aarch64_cuda")):
        for words in minor[key]:
            found = re.match(r"(cu\d{3})\s*(.*)", words)
            if found:
                entry = named.setdefault(found[1], {"listed": True, "archs": []})
                entry["archs"].append(arch)
                entry["listed"] &= not re.search(r"unlisted|test|in table", found[2])
    made = []
    for name, entry in sorted(named.items(), key=lambda item: int(item[0][2:])):
        one = variant(name, entry["listed"], minor["arch_list_by_variant"])
        one["archs"] = entry["archs"]
        made.append(one)
    return made


def release(row, minor):
    index_cuda, code, tags = {}, {}, {}
    for arch in ("x86_64", "aarch64"):
        wheel = row.get(arch)
        if not wheel:
            continue
        cuda = (wheel.get("version_py") or {}).get("cuda")
        index_cuda[arch] = None if cuda in (None, "None") else cuda
        lists = wheel.get("arch_list_in_libtorch_python") or []
        if lists:
            code[arch] = by_capability(f"{word[3:-1]}.{word[-1]}" for word in lists[0].split())
        tag = re.search(r"manylinux(?:_2_(\d+)|(\d+))_", wheel["wheel"])
        tags[arch] = f"2.{tag[1]}" if tag[1] else {"1": "2.5", "2014": "2.17"}[tag[2]]
    sizes = {}
    for wheel in row.get("wheels", []):
        if wheel["arch"] in tags and "manylinux" in wheel["platform_tag"] and wheel.get("size") and not wheel.get("yanked"):
            sizes[wheel["arch"]] = max(sizes.get(wheel["arch"], 0), round(wheel["size"] / 2**20))
    needs = row["x86_64"].get("requires", {})
    cpython = sorted({tag for tag in row["linux_pythons"]["x86_64"] if not tag.endswith("t")}, key=lambda tag: int(tag[3:]))
    return record(
        TorchRelease,
        sources=sources(f"{row['x86_64']['wheel']}: METADATA, torch/version.py, architectures in libtorch_python.so", minor["source"]),
        note=" ".join(sources(minor.get("note"))) or None,
        version=row["version"],
        released=row["upload"][:10],
        requires_python=row["requires_python"][0],
        pythons=[f"3.{tag[3:]}" for tag in cpython],
        index_cuda=index_cuda,
        index_gpu_code=code,
        glibc_tag=tags,
        size_mib=sizes,
        cudnn=pinned(needs, ["nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu11"]),
        nccl=pinned(needs, ["nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11"]),
        triton=pinned(needs, ["triton"]),
        variants=variants(minor),
    )


def make(target):
    minors = {row["torch"]: row for row in read("torch_cuda_variants.json")["releases"]}
    rows = sorted(read("torch_releases.json")["releases"], key=lambda row: version_key(row["version"]))
    records = [release(row, minors[".".join(row["version"].split(".")[:2])]) for row in rows]
    write(target / "torch.json", records)
