import pytest

from envcheck.model.fact import Unreadable
from envcheck.probes import toolkits
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


def test_the_distributions_nvcc_is_asked(look):
    visit = look(files={"/usr/bin/nvcc": b"\x7fELF"}, which={"nvcc": "/usr/bin/nvcc"}, commands={"/usr/bin/nvcc --version": (0, NVCC)})
    found = toolkits.probe(visit)["toolkits"].value
    assert [(one.version, one.path) for one in found] == [("11.5.119", "/usr/bin/nvcc")]


def test_a_toolkit_that_does_not_tell_is_listed_without_a_version(look):
    facts = toolkits.probe(look(files={"/opt/cuda/bin/nvcc": b""}, env={"CUDA_HOME": "/opt/cuda"}))
    assert [one.path for one in facts["toolkits"].value] == ["/opt/cuda"]
    assert isinstance(facts["toolkits./opt/cuda"], Unreadable)


def test_condas_toolkit_by_its_record(look):
    files = {"/opt/conda/bin/nvcc": b"", "/opt/conda/conda-meta/cuda-nvcc-12.4.131-0.json": "{}"}
    found = toolkits.probe(look(files=files, env={"CONDA_PREFIX": "/opt/conda"}))["toolkits"].value
    assert [one.version for one in found] == ["12.4.131"]
