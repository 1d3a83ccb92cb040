"""Cross-references of releases: vLLM to torch, to CUDA, to its engine ranges, to its own file."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from envcheck.matrix.problem import Loaded, Problem, is_date, is_specifier, is_version
from envcheck.matrix.records import PtxIsa, TorchRelease, VllmBuild, VllmRelease
from envcheck.matrix.release import Release, engine_of


def release_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of vLLM and torch releases and of the ranges over them."""
    torch = {record.version: record for record in loaded.value("torch.json")}
    toolkits = {record.cuda for record in loaded.value("cuda.json").toolkits}
    ptx = loaded.value("cuda.json").ptx
    for file, place, record in loaded.releases():
        where = f"$[{place}]"
        if not is_version(record.version):
            yield loaded.problem(file, f"{where}.version", f"`{record.version}` is no version")
            continue
        for path, what in (
            *_of_release(file, record, loaded.value("matrix.json").date),
            *_of_torch_pin(record, torch),
            *_of_builds(record, torch.get(_pin(record) or ""), toolkits, ptx),
            *_of_engine(record, loaded),
        ):
            yield loaded.problem(file, where + path, what)
    for place, record in enumerate(loaded.value("torch.json")):
        for path, what in _of_torch(record, toolkits, loaded.value("matrix.json").date):
            yield loaded.problem("torch.json", f"$[{place}]{path}", what)
    yield from _of_ranges(loaded)


Found = Iterator[tuple[str, str]]


def _pin(record: VllmRelease) -> str | None:
    return Release(record, Version("0")).torch_pin


def _of_release(file: str, record: VllmRelease, today: str) -> Found:
    version = Version(record.version)
    if file != f"vllm/{version.release[0]}.{version.release[1]}.json":
        yield ".version", f"{record.version} belongs into another file"
    if not is_date(record.released) or record.released > today:
        yield ".released", f"`{record.released}` is no date up to {today}"
    wanted = {"requires_python": record.requires_python, **record.requires, **record.constraints}
    yield from ((f".{name}", f"`{text}` is no specifier") for name, text in wanted.items() if not is_specifier(text))
    accepted = Release(record, version).python_minors
    for text in record.pythons:
        major, _, minor = text.partition(".")
        if major != "3" or not minor.isdigit() or (3, int(minor)) not in accepted:
            yield ".pythons", f"{text} is not accepted by {record.requires_python}"


def _of_torch_pin(record: VllmRelease, torch: dict[str, TorchRelease]) -> Found:
    pin = _pin(record)
    if pin is not None and pin not in torch:
        yield ".requires.torch", f"torch {pin} is not in torch.json"


def _of_builds(record: VllmRelease, torch: TorchRelease | None, toolkits: set[str], ptx: list[PtxIsa]) -> Found:
    seen = set()
    for index, build in enumerate(record.builds):
        where = f".builds[{index}]"
        if (build.arch, build.variant) in seen:
            yield where, f"a second {build.arch} wheel `{build.variant}`"
        seen.add((build.arch, build.variant))
        yield from ((where + path, what) for path, what in _of_build(build, torch, toolkits, ptx))


def _of_build(build: VllmBuild, torch: TorchRelease | None, toolkits: set[str], ptx: list[PtxIsa]) -> Found:
    if build.cuda is not None:
        if build.cuda not in toolkits:
            yield ".cuda", f"CUDA {build.cuda} is not among the toolkits of cuda.json"
        if build.cuda_major != int(build.cuda.split(".")[0]):
            yield ".cuda_major", f"{build.cuda_major} is not the major of {build.cuda}"
        if build.variant and build.variant != "cu" + build.cuda.replace(".", ""):
            yield ".variant", f"{build.variant} does not name CUDA {build.cuda}"
    if bool(build.variant) != bool(build.url):
        yield ".url", "a wheel of the release page has a variant and a URL, one of the package index neither"
    if build.url and not (build.url.startswith("https://") and f"+{build.variant}-" in build.url):
        yield ".url", "no https URL of this variant's file"
    if build.gpu_code == []:
        yield ".gpu_code", "no code at all; leave it out where it is not known"
    known = {record.isa: record.cuda for record in ptx}
    for index, kernel in enumerate(build.ptx_kernels):
        if known.get(kernel.isa) != kernel.cuda:
            yield f".ptx_kernels[{index}]", f"PTX ISA {kernel.isa} did not come with CUDA {kernel.cuda}"
    if torch is not None:
        yield from _of_pairing(build, torch)


def _of_pairing(build: VllmBuild, torch: TorchRelease) -> Found:
    """The torch a wheel runs on: its variant must exist, and the CUDA majors must be the same."""
    if build.torch_variant:
        found = next((variant for variant in torch.variants if variant.variant == build.torch_variant), None)
        cuda = found.cuda if found and build.arch in found.archs else None
        if cuda is None:
            yield ".torch_variant", f"torch {torch.version} has no {build.torch_variant} for {build.arch}"
            return
    else:
        cuda = torch.index_cuda.get(build.arch)
        if cuda is None:
            yield ".torch_variant", f"torch {torch.version} of the package index has no CUDA for {build.arch}"
            return
    if build.cuda_major is not None and int(cuda.split(".")[0]) != build.cuda_major:
        yield ".cuda_major", f"CUDA {build.cuda_major}, but its torch {torch.version} has CUDA {cuda}"


def _of_engine(record: VllmRelease, loaded: Loaded) -> Found:
    version = Version(record.version)
    ranges = [entry for entry in loaded.value("engines.json") if is_specifier(entry.releases)]
    matches = [entry for entry in ranges if engine_of(version, (entry,))]
    if len(matches) != 1:
        yield ".version", f"{record.version} lies in {len(matches)} ranges of engines.json"


def _of_torch(record: TorchRelease, toolkits: set[str], today: str) -> Found:
    if not is_date(record.released) or record.released > today:
        yield ".released", f"`{record.released}` is no date up to {today}"
    if not is_specifier(record.requires_python):
        yield ".requires_python", f"`{record.requires_python}` is no specifier"
    for arch, cuda in record.index_cuda.items():
        if cuda is not None and (cuda not in toolkits or arch not in record.index_gpu_code):
            yield f".index_cuda.{arch}", f"CUDA {cuda} without a toolkit or without GPU code"
    for index, variant in enumerate(record.variants):
        if variant.variant != "cu" + variant.cuda.replace(".", "") or variant.cuda not in toolkits:
            yield f".variants[{index}]", f"{variant.variant} and CUDA {variant.cuda} do not agree with cuda.json"
        if not set(variant.gpu_code) <= set(variant.archs):
            yield f".variants[{index}].gpu_code", "code for a machine it is not built for"


def _of_ranges(loaded: Loaded) -> Iterator[Problem]:
    """Ranges of releases in engines, traits and images, and the release named by the policy."""
    named = [("engines.json", f"$[{place}].releases", entry.releases) for place, entry in enumerate(loaded.value("engines.json"))]
    named += [("traits.json", f"$[{place}].releases", entry.releases) for place, entry in enumerate(loaded.value("traits.json"))]
    named += [
        ("images.json", f"$.releases[{place}].releases", entry.releases) for place, entry in enumerate(loaded.value("images.json").releases)
    ]
    yield from (loaded.problem(file, path, f"`{text}` is no specifier") for file, path, text in named if text and not is_specifier(text))
    policy = loaded.value("policy.json")
    if policy.oldest_planned not in {record.version for _, _, record in loaded.releases()}:
        yield loaded.problem("policy.json", "$.oldest_planned", f"there is no release {policy.oldest_planned}")
