"""Cross-references of the images' tags: to CUDA's start gates, to releases, and among each other."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envcheck.matrix.images import ImagesFile
from envcheck.matrix.problem import Loaded, is_specifier, is_version


def image_problems(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Faults as (path, what): a CUDA release without a gate, no specifier, a label of another CUDA, one tag described twice."""
    file: ImagesFile = loaded.value("images.json")
    gates = {gate.cuda for gate in file.gates}
    for index, entry in enumerate(file.releases):
        if entry.cuda not in gates:
            yield f"$.releases[{index}].cuda", f"there is no gate for CUDA {entry.cuda}"
    for index, record in enumerate(file.tags):
        where = f"$.tags[{index}]"
        if not is_specifier(record.releases):
            yield f"{where}.releases", f"`{record.releases}` is no specifier"
        if record.cuda not in gates:
            yield f"{where}.cuda", f"there is no gate for CUDA {record.cuda}"
        if record.label and record.label != "cu" + record.cuda.replace(".", ""):
            yield f"{where}.label", f"{record.label} does not name CUDA {record.cuda}"
        if not record.gpu_code or not all(record.gpu_code.values()):
            yield f"{where}.gpu_code", "no machine, or a machine without code"
    if file.tags and not file.repository:
        yield "$.repository", "tags without a repository"
    yield from _twice(loaded, file)


def _twice(loaded: Loaded, file: ImagesFile) -> Iterator[tuple[str, str]]:
    """A tag of one machine may be described by one record only."""
    releases = [Version(record.version) for _, _, record in loaded.releases() if is_version(record.version)]
    seen: dict[tuple[Version, str, str, str], int] = {}
    for index, record in enumerate(file.tags):
        if not is_specifier(record.releases):
            continue
        wanted = SpecifierSet(record.releases, prereleases=True)
        for release in releases:
            for arch in record.gpu_code if release in wanted else ():
                first = seen.setdefault((release, record.label, record.flavour, arch), index)
                if first != index:
                    yield f"$.tags[{index}]", f"{release} for {arch} is described by $.tags[{first}] too"
