"""Copies of cuDNN and NCCL, and which of them a process of the target environment gets."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import cudnn, nccl
from envcheck.probes.cudnn import parse_header
from envcheck.probes.elf import search_tag

V = "/srv/v/lib/python3.10/site-packages"
VENV = {"/srv/v/bin/python": b"", "/srv/v/pyvenv.cfg": "home = /usr/bin\nversion = 3.10.12\n", f"{V}/x.pth": ""}
ENV = {"VIRTUAL_ENV": "/srv/v"}
CUDNN_H = """#ifndef CUDNN_VERSION_H_
#define CUDNN_VERSION_H_

#define CUDNN_MAJOR 8
#define CUDNN_MINOR 9
#define CUDNN_PATCHLEVEL 7

#define CUDNN_VERSION (CUDNN_MAJOR * 1000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)
"""
NCCL_H = """#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""

#define NCCL_VERSION_CODE 22809
#define NCCL_VERSION(X,Y,Z) (((X) <= 2 && (Y) <= 8) ? (X) * 1000 + (Y) * 100 + (Z) : (X) * 10000 + (Y) * 100 + (Z))
"""
TORCH = {f"{V}/torch/version.py": "__version__ = '2.8.0+cu128'\ncuda: str = '12.8'\nhip = None\n"}
GLOBAL_DEPS = f"{V}/torch/lib/libtorch_global_deps.so"


def dist(name, version):
    return {f"{V}/{name.replace('-', '_')}-{version}.dist-info/METADATA": f"Name: {name}\nVersion: {version}\n"}


def elf(*tags):
    """A shared library of the System V ABI with these tags in its dynamic section, and nothing else."""
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 176, 176, 4096)
    dynamic = struct.pack("<IIQQQQQQ", 2, 6, 176, 176, 176, 16 * (len(tags) + 1), 16 * (len(tags) + 1), 8)
    return header + load + dynamic + b"".join(struct.pack("<QQ", tag, 1) for tag in (*tags, 0))


RPATH, RUNPATH = elf(1, 15, 5), elf(1, 29, 5)


@pytest.mark.parametrize(
    ("data", "tag"),
    [
        (RPATH, "rpath"),
        (RUNPATH, "runpath"),
        (elf(15, 29), "runpath"),
        (elf(1, 5), None),
        (b"", None),
        (RPATH[:100], None),
        (b"\x7fELF\x01" + RPATH[5:], None),
    ],
)
def test_search_paths_of_libraries(data, tag):
    assert search_tag(data) == tag


@given(st.integers(0, 255), st.lists(st.tuples(st.integers(0, 239), st.integers(0, 255)), max_size=20))
def test_no_bytes_of_a_library_raise(length, changes):
    data = bytearray(RPATH)
    for place, value in changes:
        data[place % len(data)] = value
    search_tag(bytes(data[:length]))
    search_tag(bytes(data))


def test_headers():
    assert parse_header(CUDNN_H) == "8.9.7"
    assert parse_header("#define CUDNN_MAJOR 9\n") is None
    assert nccl.parse_header(NCCL_H) == "2.28.9"
    assert nccl.parse_header("#define NCCL_MAJOR 2\n") is None


def copies(facts, part):
    return [(copy.path, copy.version or None, copy.origin, copy.wins) for copy in facts[f"{part}.copies"].value]


PIP = dist("nvidia-cudnn-cu12", "9.10.2.21") | {f"{V}/nvidia/cudnn/lib/libcudnn.so.9": b""}
OTHER = {"/opt/cudnn/lib/libcudnn.so.9.1.0": b""}
OTHER_LINK = {"/opt/cudnn/lib/libcudnn.so.9": "libcudnn.so.9.1.0"}
IN_FRONT = ENV | {"LD_LIBRARY_PATH": "/opt/cudnn/lib"}


def test_the_pip_package_before_the_systems(look):
    files = VENV | TORCH | PIP | {"/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7": b""}
    links = {"/usr/lib/x86_64-linux-gnu/libcudnn.so.8": "libcudnn.so.8.9.7"}
    facts = cudnn.probe(look(files=files, links=links, env=ENV))
    assert facts["cudnn.version"] == Found("9.10.2.21", f"{V}/nvidia_cudnn_cu12-9.10.2.21.dist-info")
    assert facts["cudnn.path"].value == f"{V}/nvidia/cudnn/lib/libcudnn.so.9"
    assert copies(facts, "cudnn") == [
        (f"{V}/nvidia/cudnn/lib/libcudnn.so.9", "9.10.2.21", "pip", True),
        ("/usr/lib/x86_64-linux-gnu/libcudnn.so.8", "8.9.7", "system", False),
    ]


@pytest.mark.parametrize(
    ("library", "version", "wins"),
    [(RPATH, "9.10.2.21", [True, False]), (RUNPATH, "9.1.0", [False, True]), (b"", None, [None, None])],
)
def test_who_comes_first_on_the_library_path_the_torch_build_decides(look, library, version, wins):
    files = VENV | TORCH | PIP | OTHER | {GLOBAL_DEPS: library}
    facts = cudnn.probe(look(files=files, links=OTHER_LINK, env=IN_FRONT))
    assert [None if copy.wins is UNSET else copy.wins for copy in facts["cudnn.copies"].value] == wins
    assert getattr(facts["cudnn.version"], "value", None) == version
    assert isinstance(facts["cudnn.path"], Found if version else Unreadable)


def test_another_major_on_the_library_path_is_never_taken(look):
    files = VENV | TORCH | PIP | {"/opt/cudnn/lib/libcudnn.so.8.9.7": b"", GLOBAL_DEPS: RUNPATH}
    facts = cudnn.probe(look(files=files, links={"/opt/cudnn/lib/libcudnn.so.8": "libcudnn.so.8.9.7"}, env=IN_FRONT))
    assert facts["cudnn.version"].value == "9.10.2.21"
    assert [copy.wins for copy in facts["cudnn.copies"].value] == [True, False]


def test_the_library_path_that_names_the_pip_folder_is_no_second_copy(look):
    facts = cudnn.probe(look(files=VENV | TORCH | PIP, env=ENV | {"LD_LIBRARY_PATH": f"{V}/nvidia/cudnn/lib"}))
    assert len(facts["cudnn.copies"].value) == 1


def test_preloading_wins_over_all(look):
    env = ENV | {"LD_PRELOAD": "/opt/cudnn/lib/libcudnn.so.9"}
    facts = cudnn.probe(look(files=VENV | TORCH | PIP | OTHER | {GLOBAL_DEPS: RPATH}, links=OTHER_LINK, env=env))
    assert facts["cudnn.version"] == Found("9.1.0", "LD_PRELOAD")


@pytest.mark.parametrize(("cuda", "version"), [("12.8", "9.1.0.70"), ("13.0", "9.13.0.50"), (None, "9.13.0.50")])
def test_of_two_majors_that_of_torch(look, cuda, version):
    torch = {f"{V}/torch/version.py": f"__version__ = '2.9.0'\ncuda = '{cuda}'\n"} if cuda else {}
    both = dist("nvidia-cudnn-cu12", "9.1.0.70") | dist("nvidia-cudnn-cu13", "9.13.0.50")
    assert cudnn.probe(look(files=VENV | torch | both, env=ENV))["cudnn.version"].value == version


def test_two_majors_over_one_another_by_the_header_that_is_there(look):
    both = dist("nvidia-nccl-cu12", "2.27.5") | dist("nvidia-nccl-cu13", "2.28.9") | {f"{V}/nvidia/nccl/lib/libnccl.so.2": b""}
    header = {f"{V}/nvidia/nccl/include/nccl.h": NCCL_H}
    assert nccl.probe(look(files=VENV | TORCH | both | header, env=ENV))["nccl.version"] == Found(
        "2.28.9", f"{V}/nvidia/nccl/include/nccl.h"
    )
    assert nccl.probe(look(files=VENV | TORCH | both, env=ENV))["nccl.version"].value == "2.27.5"


def test_a_folder_of_cuda_13(look):
    files = dist("nvidia-nccl-cu13", "2.28.9") | {f"{V}/nvidia/cu13/lib/libnccl.so.2": b""}
    assert nccl.probe(look(files=VENV | TORCH | files, env=ENV))["nccl.path"].value == f"{V}/nvidia/cu13/lib/libnccl.so.2"


def test_a_copy_inside_of_torch(look):
    files = VENV | TORCH | {f"{V}/torch/lib/libcudnn.so.9": b"", f"{V}/torch/lib/libcudnn_ops.so.9": b""}
    facts = cudnn.probe(look(files=files, env=ENV))
    assert copies(facts, "cudnn") == [(f"{V}/torch/lib/libcudnn.so.9", None, "vendored", True)]
    assert isinstance(facts["cudnn.version"], Unreadable)


def test_the_systems_by_name_and_by_header(look):
    visit = look(files={"/usr/lib64/libcudnn.so.9.1.0": b""}, links={"/usr/lib64/libcudnn.so.9": "libcudnn.so.9.1.0"})
    assert cudnn.probe(visit)["cudnn.version"].value == "9.1.0"
    plain = {"/usr/lib64/libcudnn.so.8": b"", "/usr/include/cudnn_version.h": CUDNN_H}
    facts = cudnn.probe(look(files=plain))
    assert (facts["cudnn.version"].value, facts["cudnn.path"].value) == ("8.9.7", "/usr/lib64/libcudnn.so.8")
    other = {"/usr/lib64/libcudnn.so.9": b"", "/usr/include/cudnn_version.h": CUDNN_H}  # the header of another release says nothing of it
    assert isinstance(cudnn.probe(look(files=other))["cudnn.version"], Unreadable)


def test_a_header_alone_is_what_is_known(look):
    facts = cudnn.probe(look(files=VENV | {"/usr/include/cudnn_version.h": CUDNN_H}, env=ENV))
    assert facts["cudnn.version"] == Found("8.9.7", "/usr/include/cudnn_version.h")


def test_nothing_anywhere(look):
    assert all(isinstance(fact, Absent) for fact in cudnn.probe(look(files=VENV, env=ENV)).values())
    assert all(isinstance(fact, Absent) for fact in nccl.probe(look(files=VENV, env=ENV)).values())


CONDA = {"/c/bin/python": b"", "/c/conda-meta/history": "", "/c/conda-meta/python-3.10.14-h955ad1f_1.json": "{}"}
CONDA_TORCH = {"/c/lib/python3.10/site-packages/torch/version.py": "__version__ = '2.3.0'\ncuda = '12.1'\n"}
IN_CONDA = {"CONDA_PREFIX": "/c"}


def test_builds_of_torchs_own_conda_channel_carry_both_inside(look):
    record = "/c/conda-meta/pytorch-2.3.0-py3.10_cuda12.1_cudnn8.9.2_0.json"
    visit = look(files=CONDA | CONDA_TORCH | {record: "{}"}, env=IN_CONDA)
    assert nccl.probe(visit)["nccl.linked_statically"] == Found(True, record)
    assert cudnn.probe(visit)["cudnn.version"] == Found("8.9.2", record)


def test_condas_libraries(look):
    files = CONDA | CONDA_TORCH | {"/c/lib/libnccl.so.2.21.5": b""}
    facts = nccl.probe(look(files=files, links={"/c/lib/libnccl.so.2": "libnccl.so.2.21.5"}, env=IN_CONDA))
    assert copies(facts, "nccl") == [("/c/lib/libnccl.so.2", "2.21.5", "conda", True)]
    assert facts["nccl.linked_statically"].value is False


NCCL_PIP = dist("nvidia-nccl-cu12", "2.27.3") | {f"{V}/nvidia/nccl/lib/libnccl.so.2": b""}


def test_the_copy_named_to_vllm_comes_first(look):
    files = VENV | TORCH | NCCL_PIP | {"/opt/nccl/libnccl.so.2.19.3": b""}
    facts = nccl.probe(look(files=files, env=ENV | {"VLLM_NCCL_SO_PATH": "/opt/nccl/libnccl.so.2.19.3"}))
    assert facts["nccl.version"] == Found("2.19.3", "VLLM_NCCL_SO_PATH")
    assert [copy.wins for copy in facts["nccl.copies"].value] == [True, False]
    gone = nccl.probe(look(files=VENV | TORCH | NCCL_PIP, env=ENV | {"VLLM_NCCL_SO_PATH": "/gone.so"}))
    assert gone["nccl.version"].value == "2.27.3"


def test_the_copy_that_old_vllm_releases_put_into_the_home_folder(look):
    place = "/root/.config/vllm/nccl/cu12/libnccl.so.2.18.1"
    env = ENV | {"HOME": "/root"}
    files = VENV | TORCH | NCCL_PIP | {place: b""}
    assert nccl.probe(look(files=files, env=env))["nccl.version"].value == "2.27.3"  # nobody asks for it any more
    old = files | dist("vllm-nccl-cu12", "2.18.1.0.4.0")
    assert nccl.probe(look(files=old, env=env))["nccl.path"].value == place


@pytest.mark.parametrize(
    ("torch", "kind"),
    [
        ("__version__ = '2.8.0+cpu'\ncuda: str = None\n", Absent),
        ("__version__ = '2.8.0+cu128'\ncuda: str = '12.8'\n", Unreadable),
        ("garbage", Unreadable),
    ],
)
def test_what_cannot_be_said_of_torchs_linking(look, torch, kind):
    facts = nccl.probe(look(files=VENV | {f"{V}/torch/version.py": torch}, env=ENV))
    assert isinstance(facts["nccl.linked_statically"], kind)
