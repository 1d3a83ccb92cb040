import pytest
from msgspec import UNSET

from envcheck.model.fact import Absent, Unreadable
from envcheck.probes import cuda_home, toolkits
from envcheck.probes.toolkits import parse_nvcc, parse_version_json, parse_version_txt

VERSION_JSON = """{
   "cuda" : {
      "name" : "CUDA SDK",
      "version" : "12.1.20230228"
   },
   "cuda_nvcc" : {
      "name" : "CUDA NVCC",
      "version" : "12.1.66"
   }
}
"""
NVCC = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2021 NVIDIA Corporation
Built on Thu_Nov_18_09:45:30_PST_2021
Cuda compilation tools, release 11.5, V11.5.119
Build cuda_11.5.r11.5/compiler.30672275_0
"""


def test_version_files():
    assert parse_version_json(VERSION_JSON) == "12.1.20230228"
    assert parse_version_txt("CUDA Version 10.2.89\n") == "10.2.89"
    assert parse_nvcc(NVCC) == "11.5.119"
    assert parse_nvcc("Cuda compilation tools, release 9.0\n") == "9.0"


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"cuda": {"version": 12}}', '{"cuda": {"version": "x"}}', "{" * 2000, "\udcff"[:0] + "{"]
)
def test_a_broken_version_file_is_no_version(text):
    assert parse_version_json(text) is None


def test_one_toolkit_under_three_names_is_one(look):
    visit = look(
        files={"/usr/local/cuda-12.1/bin/nvcc": b"\x7fELF", "/usr/local/cuda-12.1/version.json": VERSION_JSON},
        links={"/usr/local/cuda": "cuda-12.1", "/usr/local/cuda-12": "cuda-12.1"},
        env={"CUDA_HOME": "/usr/local/cuda/", "CUDA_PATH": "/usr/local/cuda-12"},
        which={"nvcc": "/usr/local/cuda/bin/nvcc"},
    )
    facts = toolkits.probe(visit)
    assert [(one.version, one.path) for one in facts["toolkits"].value] == [("12.1.20230228", "/usr/local/cuda-12.1")]
    assert visit.system.started == []


def test_a_folder_without_nvcc_is_a_runtime_not_a_toolkit(look):
    assert toolkits.probe(look(files={"/usr/local/cuda-12.4/compat/libcuda.so.1": b""}))["toolkits"].value == []


def test_the_folders_name_where_no_file_answers(look):
    found = toolkits.probe(look(files={"/usr/local/cuda-13.0/bin/nvcc": b""}))["toolkits"].value
    assert [(one.version, one.path) for one in found] == [("13.0", "/usr/local/cuda-13.0")]


def test_a_wrapper_of_a_toolkit_found_is_not_started(look):
    files = {"/usr/local/cuda-13.0/bin/nvcc": b"", "/usr/local/bin/nvcc": '#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n'}
    visit = look(files=files, which={"nvcc": "/usr/local/bin/nvcc"})
    assert len(toolkits.probe(visit)["toolkits"].value) == 1
    assert visit.system.started == []


def test_the_distributions_nvcc_is_asked_on_request_only(look):
    host = {
        "files": {"/usr/bin/nvcc": b"\x7fELF"},
        "which": {"nvcc": "/usr/bin/nvcc"},
        "commands": {"/usr/bin/nvcc --version": (0, NVCC)},
    }
    found = toolkits.probe(look(full=True, **host))["toolkits"].value
    assert [(one.version, one.path, one.origin) for one in found] == [("11.5.119", "/usr/bin/nvcc", "distribution")]
    visit = look(**host)
    facts = toolkits.probe(visit)
    assert facts["toolkits"].value[0].version is UNSET
    assert facts["toolkits./usr/bin/nvcc"].why == "not looked at; `envcheck probe` does"
    assert visit.system.started == []


HEADER = "#ifndef __cuda_cuda_h__\n#define __cuda_cuda_h__\n#define CUDA_VERSION 11050\n#ifdef __cplusplus\n"


def test_the_distributions_toolkit_behind_its_wrapper(look):
    files = {
        "/usr/bin/nvcc": '#!/bin/sh\nexec /usr/lib/nvidia-cuda-toolkit/bin/nvcc "$@"\n',
        "/usr/lib/nvidia-cuda-toolkit/bin/nvcc": b"\x7fELF",
        "/usr/include/cuda.h": HEADER,
    }
    visit = look(files=files, which={"nvcc": "/usr/bin/nvcc"}, env={"CUDA_HOME": "/usr"})
    found = toolkits.probe(visit)["toolkits"].value
    assert [(one.version, one.path, one.origin, one.selected_by) for one in found] == [
        ("11.5", "/usr/lib/nvidia-cuda-toolkit", "distribution", ["PATH", "CUDA_HOME"])
    ]
    assert visit.system.started == []


@pytest.mark.parametrize("text", ["", "#define CUDA_VERSION\n", "#define CUDA_VERSION 12040abc\n", "// #define CUDA_VERSION 12040\n"])
def test_a_header_that_does_not_tell(text):
    assert toolkits.parse_header(text) is None


def test_pips_nvcc_and_what_its_wheel_says(look):
    site = "/srv/venv/lib/python3.12/site-packages"
    files = {
        "/srv/venv/bin/python": b"",
        "/srv/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.12.3\n",
        f"{site}/nvidia/cu13/bin/nvcc": b"",
        f"{site}/nvidia/cublas/lib/libcublas.so.12": b"",
        f"{site}/nvidia_cuda_nvcc-13.0.88.dist-info/METADATA": "Name: nvidia-cuda-nvcc\nVersion: 13.0.88\n\n",
    }
    found = toolkits.probe(look(files=files, env={"VIRTUAL_ENV": "/srv/venv"}))["toolkits"].value
    assert [(one.version, one.path, one.origin, one.selected_by) for one in found] == [("13.0.88", f"{site}/nvidia/cu13", "pip", [])]


def test_who_selects_which_toolkit(look):
    files = {f"/usr/local/cuda-{release}/bin/nvcc": b"" for release in ("11.8", "12.4", "12.8")} | {"/opt/conda/bin/nvcc": b""}
    files["/opt/conda/conda-meta/cuda-nvcc-12.6.20-0.json"] = "{}"
    visit = look(
        files=files,
        links={"/usr/local/cuda": "cuda-12.4"},
        which={"nvcc": "/opt/conda/bin/nvcc"},
        env={"CUDA_HOME": "/usr/local/cuda-12.8/", "CUDA_PATH": "/usr/local/cuda", "CONDA_PREFIX": "/opt/conda"},
    )
    found = {one.path: (one.origin, one.selected_by) for one in toolkits.probe(visit)["toolkits"].value}
    assert found == {
        "/usr/local/cuda-11.8": ("system", []),
        "/usr/local/cuda-12.4": ("system", ["CUDA_PATH", "/usr/local/cuda"]),
        "/usr/local/cuda-12.8": ("system", ["CUDA_HOME"]),
        "/opt/conda": ("conda", ["PATH"]),
    }


def test_a_toolkit_that_does_not_tell_is_listed_without_a_version(look):
    facts = toolkits.probe(look(files={"/opt/cuda/bin/nvcc": b""}, env={"CUDA_HOME": "/opt/cuda"}))
    assert [one.path for one in facts["toolkits"].value] == ["/opt/cuda"]
    assert isinstance(facts["toolkits./opt/cuda"], Unreadable)


def test_condas_toolkit_by_its_record(look):
    files = {"/opt/conda/bin/nvcc": b"", "/opt/conda/conda-meta/cuda-nvcc-12.4.131-0.json": "{}"}
    found = toolkits.probe(look(files=files, env={"CONDA_PREFIX": "/opt/conda"}))["toolkits"].value
    assert [one.version for one in found] == ["12.4.131"]


@pytest.mark.parametrize(
    ("value", "exists", "nvcc"),
    [
        ("/usr/local/cuda-12.4", True, True),
        ("/usr/local/cuda-12.4/", True, True),
        ("/usr/local/cuda-12.4/bin", True, False),
        ("/usr/local/cuda-12.4/bin/nvcc", True, False),
        ("/usr/local/cuda-11.8", False, False),
        ("/usr/local/cuda-12.4:/usr/local/cuda-11.8", False, False),
        ('"/usr/local/cuda-12.4"', False, False),
        ("~/cuda", False, False),
    ],
)
def test_what_cuda_home_leads_to(look, value, exists, nvcc):
    files = {"/usr/local/cuda-12.4/bin/nvcc": b"", "/usr/local/cuda-12.4/include/cuda.h": HEADER}
    facts = cuda_home.probe(look(files=files, env={"CUDA_HOME": value, "CUDA_PATH": "/elsewhere"}))
    assert {path: fact.value for path, fact in facts.items()} == {
        "cuda_home.variable": "CUDA_HOME",
        "cuda_home.value": value,
        "cuda_home.exists": exists,
        "cuda_home.nvcc": nvcc,
    }


def test_a_relative_cuda_home_leads_nobody_knows_where(look):
    facts = cuda_home.probe(look(env={"CUDA_PATH": "cuda"}))
    assert (facts["cuda_home.variable"].value, facts["cuda_home.value"].value) == ("CUDA_PATH", "cuda")
    assert isinstance(facts["cuda_home.exists"], Unreadable)
    assert isinstance(facts["cuda_home.nvcc"], Unreadable)


@pytest.mark.parametrize("env", [{}, {"CUDA_HOME": ""}])
def test_no_cuda_home(look, env):
    assert all(isinstance(fact, Absent) for fact in cuda_home.probe(look(env=env)).values())
