"""What is known of vLLM's releases from elsewhere: their metadata, bug reports, the project's own announcements."""

from __future__ import annotations

import pytest
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Build, Release

VOLTA, BLACKWELL_100, BLACKWELL_120 = (7, 0), (10, 0), (12, 0)


def between(matrix: Matrix, first: str, last: str) -> list[Release]:
    return [release for release in matrix.releases if Version(first) <= release.version <= Version(last)]


def index_build(release: Release, arch: str = "x86_64") -> Build:
    build = release.build(arch)
    assert build is not None, release
    return build


def named(matrix: Matrix, version: str) -> Release:
    release = matrix.release(version)
    assert release is not None
    return release


def test_every_release_up_to_0_33_0(matrix: Matrix) -> None:
    assert len(matrix.releases) == 101
    assert (matrix.releases[0].raw, matrix.releases[-1].raw) == ("0.33.0", "0.0.1")
    assert [release.raw for release in matrix.releases if release.record.yanked] == ["0.2.1"]


def test_only_the_first_five_have_no_wheel(matrix: Matrix) -> None:
    """0.1.4 was the first release with wheels on the index."""
    without = [release.raw for release in matrix.releases if not release.builds]
    assert without == ["0.1.3", "0.1.2", "0.1.1", "0.1.0", "0.0.1"]
    assert all(release.build("x86_64") for release in between(matrix, "0.1.4", "0.33.0"))


def test_0_19_1_is_the_last_cuda_12_wheel_on_the_index(matrix: Matrix) -> None:
    """Its binaries want libcudart.so.12, those of 0.20.0 libcudart.so.13."""
    for arch in ("x86_64", "aarch64"):
        newest = next(release for release in matrix.releases if (build := release.build(arch)) and build.cuda_major == 12)
        assert newest.raw == "0.19.1"
    assert {index_build(release).cuda_major for release in between(matrix, "0.20.0", "0.33.0")} == {13}
    assert {index_build(release).cuda_major for release in between(matrix, "0.2.2", "0.19.1")} == {12}
    assert {index_build(release).cuda_major for release in between(matrix, "0.1.4", "0.2.1.post1")} == {11}


def test_cuda_12_wheels_after_it_are_those_of_the_release_page(matrix: Matrix) -> None:
    with_cu129 = {release.raw for release in between(matrix, "0.12.0", "0.33.0") if release.build("x86_64", "cu129")}
    assert with_cu129 == {release.raw for release in between(matrix, "0.20.0", "0.32.0")}


@pytest.mark.parametrize(
    ("variant", "first", "last", "gaps"),
    [
        # The release page lacks +cu118 for these three: vllm-project/vllm issues 9021, 9353, 10036; 0.6.4 has it again (10319).
        ("cu118", "0.2.2", "0.10.1.1", {"0.6.2", "0.6.3", "0.6.3.post1"}),
        ("cu121", "0.8.0", "0.8.5.post1", set()),
        ("cu126", "0.9.0", "0.10.0", set()),
        ("cu130", "0.11.1", "0.19.1", set()),
    ],
)
def test_variants_of_the_release_page(matrix: Matrix, variant: str, first: str, last: str, gaps: set[str]) -> None:
    found = {release.raw for release in matrix.releases if release.build("x86_64", variant)}
    assert found == {release.raw for release in between(matrix, first, last)} - gaps


def test_no_release_ever_had_a_cu128_wheel(matrix: Matrix) -> None:
    """vllm-project/vllm issues 37847 and 42756: the install page names them, the release page never had one."""
    assert not [release for release in matrix.releases for build in release.builds if build.variant == "cu128"]


@pytest.mark.parametrize(
    ("version", "variant", "arch", "file"),
    [
        ("0.8.5", "cu118", "x86_64", "vllm-0.8.5+cu118-cp38-abi3-manylinux1_x86_64.whl"),
        ("0.16.0", "cu130", "x86_64", "vllm-0.16.0+cu130-cp38-abi3-manylinux_2_35_x86_64.whl"),
        ("0.19.1", "cu130", "aarch64", "vllm-0.19.1+cu130-cp38-abi3-manylinux_2_35_aarch64.whl"),
        ("0.20.0", "cu129", "x86_64", "vllm-0.20.0+cu129-cp38-abi3-manylinux_2_31_x86_64.whl"),
        ("0.21.0", "cu129", "x86_64", "vllm-0.21.0+cu129-cp38-abi3-manylinux_2_34_x86_64.whl"),
        ("0.30.0", "cu129", "x86_64", "vllm-0.30.0+cu129-cp38-abi3-manylinux_2_28_x86_64.whl"),
        ("0.4.1", "cu118", "x86_64", "vllm-0.4.1+cu118-{python}-{python}-manylinux1_x86_64.whl"),
    ],
)
def test_files_of_the_release_page_as_install_scripts_name_them(matrix: Matrix, version: str, variant: str, arch: str, file: str) -> None:
    build = named(matrix, version).build(arch, variant)
    assert build is not None
    assert build.record.url == f"https://github.com/vllm-project/vllm/releases/download/v{version}/{file}"


def test_volta_has_code_up_to_0_19_1_and_never_after(matrix: Matrix) -> None:
    for release in between(matrix, "0.2.0", "0.19.1"):
        assert VOLTA in (index_build(release).gpu_code or ()), release
    for release in between(matrix, "0.20.0", "0.33.0"):
        for build in release.builds:
            assert VOLTA not in (build.gpu_code or ()), release


def test_nvcc_13_compiles_nothing_for_volta(matrix: Matrix) -> None:
    builds = [build for release in matrix.releases for build in release.builds if build.cuda_major == 13]
    assert builds
    assert not [build for build in builds if VOLTA in (build.gpu_code or ())]


def test_blackwell_code_came_with_0_9_0_and_0_9_2(matrix: Matrix) -> None:
    """The 0.9.0 wheel has no code for the RTX 50 series, the 0.9.2 wheel has."""
    oldest = {
        capability: [release.raw for release in matrix.releases if capability in (code_of(release) or ())][-1]
        for capability in (BLACKWELL_100, BLACKWELL_120)
    }
    assert oldest == {BLACKWELL_100: "0.9.0", BLACKWELL_120: "0.9.2"}


def code_of(release: Release) -> tuple[tuple[int, int], ...] | None:
    build = release.build("x86_64")
    return build.gpu_code if build else None


def test_every_index_wheel_since_0_2_0_says_what_code_it_holds(matrix: Matrix) -> None:
    for release in between(matrix, "0.2.0", "0.33.0"):
        for build in release.builds:
            assert build.gpu_code, (release, build.arch, build.variant)


def test_the_first_aarch64_wheels_hold_no_code_for_the_a100(matrix: Matrix) -> None:
    """Read in the 0.11.0 wheel: 8.7, 9.0, 10.0, 12.0 only."""
    assert index_build(named(matrix, "0.11.0"), "aarch64").gpu_code == ((8, 7), (9, 0), (10, 0), (12, 0))
    assert [release.raw for release in matrix.releases if release.build("aarch64")][-1] == "0.10.2"
    for release in between(matrix, "0.10.2", "0.19.1"):
        assert (8, 0) not in (index_build(release, "aarch64").gpu_code or ())


@pytest.mark.parametrize(
    ("version", "cuda"),
    [
        ("0.8.5.post1", None),  # machine code for 8.0 and 9.0, no PTX
        ("0.11.2", (12, 8)),  # H100 with driver 550 (CUDA 12.4) fails: vllm-project/vllm issue 31700
        ("0.14.1", (12, 9)),
        ("0.19.1", (12, 9)),
        ("0.20.2", (13, 0)),
        ("0.33.0", (13, 0)),
    ],
)
def test_flash_attention_2_is_translated_on_hopper_and_newer(matrix: Matrix, version: str, cuda: tuple[int, int] | None) -> None:
    kernels = index_build(named(matrix, version)).ptx_kernels
    assert [(kernel.cuda, kernel.needed_from) for kernel in kernels] == ([(cuda, (9, 0))] if cuda else [])


@pytest.mark.parametrize(
    ("version", "tag", "needed"),
    [
        ("0.5.1", (2, 5), (2, 14)),
        ("0.5.2", (2, 5), (2, 32)),  # the outlier of vllm-project/vllm issue 6562
        ("0.5.3", (2, 5), (2, 14)),
        ("0.8.5.post1", (2, 5), (2, 14)),
        ("0.9.0", (2, 5), (2, 29)),
        ("0.11.2", (2, 5), (2, 29)),
        ("0.19.1", (2, 31), (2, 29)),
        ("0.20.0", (2, 35), (2, 34)),
        ("0.21.0", (2, 24), (2, 14)),
        ("0.22.0", (2, 28), (2, 28)),
        ("0.33.0", (2, 28), (2, 28)),
    ],
)
def test_glibc_as_tagged_and_as_needed(matrix: Matrix, version: str, tag: tuple[int, int], needed: tuple[int, int]) -> None:
    build = index_build(named(matrix, version))
    assert (build.glibc_tag, build.glibc_needed) == (tag, needed)


def test_only_the_mixture_of_experts_extension_needs_the_newer_glibc_of_0_9_0(matrix: Matrix) -> None:
    assert index_build(named(matrix, "0.9.0")).record.glibc_needed_by == "vllm/_moe_C.abi3.so"


def test_the_cu129_wheel_of_0_20_0_needs_more_than_its_tag_says(matrix: Matrix) -> None:
    """vllm-project/vllm issue 41103: installs on Ubuntu 20.04 (2.31) and does not load there."""
    build = named(matrix, "0.20.0").build("x86_64", "cu129")
    assert build is not None
    assert (build.glibc_tag, build.glibc_needed) == ((2, 31), (2, 34))


@pytest.mark.parametrize(
    ("first", "last", "torch"),
    [
        ("0.2.1", "0.2.1.post1", "2.0.1"),
        ("0.2.6", "0.4.0.post1", "2.1.2"),
        ("0.4.1", "0.4.1", "2.2.1"),
        ("0.4.2", "0.5.1", "2.3.0"),
        ("0.5.2", "0.5.3.post1", "2.3.1"),
        ("0.5.4", "0.6.3.post1", "2.4.0"),
        ("0.6.4", "0.7.3", "2.5.1"),
        ("0.8.0", "0.8.5.post1", "2.6.0"),
        ("0.9.0", "0.9.2", "2.7.0"),
        ("0.10.0", "0.10.1.1", "2.7.1"),
        ("0.10.2", "0.11.0", "2.8.0"),
        ("0.11.1", "0.13.0", "2.9.0"),
        ("0.14.0", "0.16.0", "2.9.1"),
        ("0.17.0", "0.19.1", "2.10.0"),
        ("0.20.0", "0.26.0", "2.11.0"),
        ("0.27.0", "0.32.0", "2.13.0"),
        ("0.33.0", "0.33.0", "2.14.0"),
    ],
)
def test_torch_pins_of_the_project_files(matrix: Matrix, first: str, last: str, torch: str) -> None:
    """As pyproject.toml of the source distributions has them."""
    assert {release.torch_pin for release in between(matrix, first, last)} == {torch}
    assert matrix.torch(torch) is not None


@pytest.mark.parametrize(
    ("version", "accepted", "built_for"),
    [
        ("0.8.3", ((3, 9), (3, 13)), ((3, 9), (3, 12))),  # no upper bound: an installer accepts 3.13, which is not built for
        ("0.8.5", ((3, 9), (3, 12)), ((3, 9), (3, 12))),
        ("0.11.1", ((3, 10), (3, 13)), ((3, 10), (3, 13))),
        ("0.31.0", ((3, 10), (3, 14)), ((3, 10), (3, 14))),
        ("0.33.0", ((3, 11), (3, 14)), ((3, 11), (3, 14))),
    ],
)
def test_interpreters(matrix: Matrix, version: str, accepted: tuple[tuple[int, int], ...], built_for: tuple[tuple[int, int], ...]) -> None:
    release = named(matrix, version)
    assert release.python_minors[0] == accepted[0]
    assert set(accepted) <= set(release.python_minors)
    assert (release.built_for[0], release.built_for[-1]) == built_for


def test_python_3_10_ends_with_0_31_0(matrix: Matrix) -> None:
    assert next(release.raw for release in matrix.releases if (3, 10) in release.python_minors) == "0.31.0"


@pytest.mark.parametrize(
    ("version", "package", "bad", "good"),
    [
        ("0.5.0", "numpy", "2.1.0", "1.26.4"),
        ("0.8.5.post1", "transformers", "5.1.0", "4.51.3"),
        ("0.9.2", "transformers", "4.54.1", "4.53.3"),
        ("0.11.0", "transformers", "5.1.0", "4.57.0"),
        ("0.27.1", "transformers", "5.17.0", "5.14.1"),
    ],
)
def test_a_constraint_keeps_out_what_reports_say_breaks(matrix: Matrix, version: str, package: str, bad: str, good: str) -> None:
    """The metadata lets both in, so the constraint is what keeps the bad one out."""
    release = named(matrix, version)
    required = release.required(package)
    assert required is not None
    assert required.contains(bad)
    assert required.contains(good)
    from packaging.specifiers import SpecifierSet

    added = SpecifierSet(release.record.constraints[package])
    assert not added.contains(bad)
    assert added.contains(good)


def test_a_bound_that_the_metadata_states_is_not_added_again(matrix: Matrix) -> None:
    assert named(matrix, "0.11.1").record.constraints == {}
    assert named(matrix, "0.33.0").record.constraints == {}


@pytest.mark.parametrize(
    ("version", "default", "available", "switch"),
    [
        ("0.6.3.post1", "v0", ["v0"], "absent"),
        ("0.7.3", "v0", ["v0", "v1"], "selects"),
        ("0.8.0", "v1", ["v0", "v1"], "selects"),
        ("0.10.1.1", "v1", ["v0", "v1"], "selects"),
        ("0.10.2", "v1", ["v0", "v1"], "selects"),
        ("0.11.0", "v1", ["v1"], "zero-fails"),
        ("0.11.1", "v1", ["v1"], "ignored"),
        ("0.16.0", "v1", ["v1"], "ignored"),
        ("0.17.0", "v1", ["v1"], "warns"),
        ("0.33.0", "v1", ["v1"], "warns"),
    ],
)
def test_engines(matrix: Matrix, version: str, default: str, available: list[str], switch: str) -> None:
    engine = matrix.engine(named(matrix, version))
    assert engine is not None
    assert (engine.default, engine.available, engine.switch) == (default, available, switch)


def test_v1_refused_capabilities_below_8_0_until_0_10_1_1(matrix: Matrix) -> None:
    least = {version: engine.v1_min_capability for version in ("0.10.1.1", "0.10.2") if (engine := matrix.engine(named(matrix, version)))}
    assert least == {"0.10.1.1": "8.0", "0.10.2": "7.0"}


def test_every_release_lies_in_one_engine_range(matrix: Matrix) -> None:
    assert all(matrix.engine(release) for release in matrix.releases)
