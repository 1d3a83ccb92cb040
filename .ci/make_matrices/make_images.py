"""The part `tags` of matrices/images.json: which images of the project exist, from the release pipelines; the rest of the file stays."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import json

import msgspec
from common import by_capability, read, record, version_key, write
from vllm_builds import between, cuda_of, pipeline_list

from envcheck.matrix.image_tags import ImageTags
from envcheck.matrix.images import ImagesFile

FIRST = "0.6.5"  # the first release whose pipeline builds an image
PIPELINE = "vllm source distributions: .buildkite release pipeline (build arguments of the images), docker/Dockerfile"
NAMED = {  # first and last release whose sources name the tags of a label or flavour; the others have it by their neighbours
    ("", ""): [("0.9.2", "0.33.0")],
    ("cu130", ""): [("0.18.1", "0.19.1")],
    ("cu129", ""): [("0.20.0", "0.32.0")],
}
MAIN = (("0.9.0", "12.8"), ("0.11.1", "12.9"), ("0.20.0", "13.0"))


def main_cuda(version):
    """The CUDA release of the tag without a label."""
    if version_key(version) < version_key("0.8.0"):
        return "12.1"
    return next((cuda for first, cuda in reversed(MAIN) if version_key(version) >= version_key(first)), "12.4")


def ubuntu(sdist, flavour):
    if flavour:
        return "24.04"
    base = sdist["dockerfile"]
    stated = base.get("UBUNTU_VERSION")
    last = base.get("FINAL_BASE_IMAGE") or (base["from"] or [""])[-1]
    return stated or last.rpartition("ubuntu")[2] or None


def images(sdist):
    """(label, flavour) -> what is in the images of one release. Rubin's (CUDA 13.4) are built for nightly tags only."""
    version, found = sdist["version"], {}
    for build in sdist["release_builds"]:
        cuda = cuda_of(build["cuda"])
        if build["kind"] != "image" or cuda == "13.4":
            continue
        flavour = "ubuntu2404" if "24.04" in build["label"] else ""
        # The aarch64 images of 0.10.2 and 0.11.0 are CUDA 12.9 behind the same tag as the x86_64 ones of 12.8.
        plain = cuda == main_cuda(version) or between(version, "0.10.2", "0.11.0")
        label = "" if plain else "cu" + cuda.replace(".", "")
        key = (label, flavour, cuda)
        entry = found.setdefault(key, {"cuda": cuda, "label": label, "flavour": flavour, "gpu_code": {}})
        entry["gpu_code"][build["arch"]] = by_capability(pipeline_list(build["torch_cuda_arch_list"], sdist, cuda))
        entry["os_version"] = ubuntu(sdist, flavour)
        entry["python"] = sdist["dockerfile"].get("PYTHON_VERSION")
        entry["arch_tags"] = version_key(version) >= version_key("0.10.2")
        named = any(between(version, first, last) for first, last in NAMED.get((label, flavour), ()))
        # 0.33.0 has no `-ubuntu2404`: its plain images stand on Ubuntu 24.04.
        entry["basis"] = "pipeline" if named or (not label and not flavour) else "neighbour"
    return found


def runs(ordered, made):
    """Consecutive releases with equal entries, as (first, last, entry)."""
    keys = sorted({key for found in made.values() for key in found}, key=lambda key: (key[1], key[0] != "", key[0], key[2]))
    for key in keys:
        current = None
        for version in ordered:
            entry = made[version].get(key)
            if current and entry == current[2]:
                current[1] = version
                continue
            if current:
                yield tuple(current)
            current = [version, version, entry] if entry else None
        if current:
            yield tuple(current)


def make(target):
    sdists = {row["version"]: row for row in read("vllm_builds.json")["releases"]}
    named = (row["version"] for row in read("vllm_matrix.json")["releases"])
    ordered = sorted((version for version in named if version_key(version) >= version_key(FIRST)), key=version_key)
    glibc = {entry["version"]: entry["glibc"] for entry in read("distros.json")["distros"] if entry["id"] == "ubuntu"}
    made, before = {}, {}
    for version in ordered:
        if version in sdists:
            before = images(sdists[version])
            made[version] = before
        else:  # no source distribution: as its neighbours on both sides, which agree
            made[version] = {key: {**entry, "basis": "neighbour"} for key, entry in before.items()}
    tags = [
        record(
            ImageTags,
            sources=[PIPELINE],
            releases=f"=={first}" if first == last else f">={first},<={last}",
            **entry,
            glibc=glibc.get(entry["os_version"]),
        )
        for first, last, entry in runs(ordered, made)
    ]
    path = target / "images.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    unverified = [entry for entry in kept.get("tags", []) if entry["basis"] == "unverified"]
    write(path, record(ImagesFile, **{**kept, "tags": [*unverified, *map(msgspec.to_builtins, tags)]}))
