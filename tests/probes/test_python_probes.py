import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import packages, python_env, torch
from envcheck.probes.interpreter import parse_pyvenv, path_version, target
from envcheck.probes.look import OwnInterpreter
from envcheck.probes.package_names import split_folder
from envcheck.probes.packages import parse_metadata
from envcheck.probes.torch import TorchVersion, parse_version_py

VENV = """home = /usr/bin
include-system-site-packages = false
version = 3.10.12
executable = /usr/bin/python3.10
command = /usr/bin/python3 -m venv /srv/venv
"""
UV = """home = /root/.local/share/uv/python/cpython-3.12.8-linux-x86_64-gnu/bin
implementation = CPython
uv = 0.5.14
version_info = 3.12.8
include-system-site-packages = false
prompt = srv
"""
SITE = "/srv/venv/lib/python3.10/site-packages"
IN_VENV = {"/srv/venv/bin/python": b"", "/srv/venv/pyvenv.cfg": VENV, f"{SITE}/_virtualenv.pth": ""}
ACTIVE = {"VIRTUAL_ENV": "/srv/venv"}


def metadata(name, version):
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: x\n\nVersion: 9.9 is what the README says\n"


def dist(name, version, site=SITE):
    return {f"{site}/{name.replace('-', '_')}-{version}.dist-info/METADATA": metadata(name, version)}


def test_pyvenv_of_venv_and_uv():
    assert parse_pyvenv(VENV)["version"] == "3.10.12"
    assert parse_pyvenv(UV)["version_info"] == "3.12.8"


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("/usr/bin/python3.10", "3.10"),
        ("/root/.pyenv/versions/3.11.7/bin/python3.11", "3.11.7"),
        ("/root/.local/share/uv/python/cpython-3.12.8-linux-x86_64-gnu/bin/python3.12", "3.12.8"),
        ("/opt/3.9.1/bin/python3.12", "3.12"),
        ("/usr/bin/python3.13t", "3.13"),
        ("/opt/pypy3.10-v7.3.15-linux64/bin/pypy3.10", "3.10"),
        ("/usr/bin/python3", None),
    ],
)
def test_versions_in_paths(path, version):
    assert path_version(path) == version


def test_the_active_environment_is_read_not_started(look):
    visit = look(files=IN_VENV, env=ACTIVE, which={"python3": "/usr/bin/python3"})
    fact = target(visit)
    assert fact.source == "VIRTUAL_ENV"
    assert (fact.value.version, fact.value.environment, fact.value.base) == ("3.10.12", "venv", "/usr")
    assert fact.value.sites == (SITE, "/srv/venv/lib64/python3.10/site-packages")
    assert visit.system.started == []


def test_uv_environments_and_their_headers(look):
    base = "/root/.local/share/uv/python/cpython-3.12.8-linux-x86_64-gnu"
    files = {"/srv/.venv/bin/python": b"", "/srv/.venv/pyvenv.cfg": UV, f"{base}/include/python3.12/Python.h": ""}
    facts = python_env.probe(look(files=files, python="/srv/.venv"))
    assert facts["python.environment"] == Found("uv", "--python")
    assert facts["python.executable"].value == "/srv/.venv/bin/python"
    assert facts["python.headers"] == Found(True, f"{base}/include/python3.12/Python.h")


def test_the_systems_interpreter_by_its_real_name(look):
    files = {"/usr/bin/python3.10": b"", "/usr/include/python3.10/Python.h": ""}
    visit = look(files=files, links={"/usr/bin/python3": "python3.10"}, which={"python3": "/usr/bin/python3"}, env={"HOME": "/root"})
    fact = target(visit)
    assert (fact.value.version, fact.value.environment, fact.value.prefix) == ("3.10", "system", "/usr")
    assert fact.value.sites[0] == "/root/.local/lib/python3.10/site-packages"
    assert "/usr/lib/python3/dist-packages" in fact.value.sites
    assert "/usr/lib64/python3.10/site-packages" in fact.value.sites
    assert visit.system.started == []


def test_conda_by_its_own_records(look):
    files = {
        "/opt/conda/bin/python": b"",
        "/opt/conda/conda-meta/history": "",
        "/opt/conda/conda-meta/python-3.10.14-h955ad1f_1.json": "{}",
    }
    fact = target(look(files=files, env={"CONDA_PREFIX": "/opt/conda"}))
    assert (fact.value.version, fact.value.environment) == ("3.10.14", "conda")


def test_pyenvs_shim_is_followed_not_started(look):
    files = {
        "/root/.pyenv/shims/python3": "#!/usr/bin/env bash\n",
        "/root/.pyenv/version": "3.11.7\n3.12.1\n",
        "/root/.pyenv/versions/3.11.7/bin/python3.11": b"",
    }
    visit = look(
        files=files,
        links={"/root/.pyenv/versions/3.11.7/bin/python3": "python3.11"},
        which={"python3": "/root/.pyenv/shims/python3"},
    )
    assert target(visit).value.version == "3.11.7"
    assert visit.system.started == []


def test_an_interpreter_that_no_file_tells_of_is_asked(look):
    question = "/usr/bin/python3 -I -c import sys; print('%d.%d.%d' % sys.version_info[:3])"
    host = {"files": {"/usr/bin/python3": b""}, "which": {"python3": "/usr/bin/python3"}}
    assert target(look(**host, commands={question: (0, "3.9.18\n")})).value.version == "3.9.18"
    for answer in ((0, "3.9.18; rm -rf /\n"), (1, ""), Unreadable("timed out after 2 s")):
        facts = python_env.probe(look(**host, commands={question: answer}))
        assert isinstance(facts["python.version"], Unreadable)
        assert isinstance(facts["python.headers"], Unreadable)


def test_our_own_interpreter_needs_no_looking_up(look):
    own = OwnInterpreter("/srv/venv/bin/python3", "3.10.12", "/srv/venv", "/usr")
    visit = look(files={"/srv/venv/bin/python3": b"", "/srv/venv/pyvenv.cfg": "home = /usr/bin\n"}, own=own)
    assert target(visit).value.version == "3.10.12"
    assert visit.system.started == []


def test_no_interpreter_and_a_wrong_one(look):
    assert isinstance(target(look()), Absent)
    assert isinstance(target(look(python="/nowhere/python")), Unreadable)
    facts = python_env.probe(look())
    assert isinstance(facts["python.version"], Absent)


@pytest.mark.parametrize(
    ("files", "links", "env", "which", "expected"),
    [
        ({"/usr/bin/x86_64-linux-gnu-gcc-11": b""}, {"/usr/bin/gcc": "x86_64-linux-gnu-gcc-11"}, {}, {"gcc": "/usr/bin/gcc"}, "gcc 11"),
        ({"/usr/bin/gcc": b"", "/usr/lib/gcc/x86_64-redhat-linux/8/x": ""}, {}, {}, {"gcc": "/usr/bin/gcc"}, "gcc 8"),
        ({"/usr/bin/gcc": b"", "/usr/lib/gcc/x86_64-redhat-linux/4.8.5/x": ""}, {}, {}, {"gcc": "/usr/bin/gcc"}, "gcc 4.8.5"),
        ({"/opt/x/bin/my-cc": b""}, {}, {"CC": "/opt/x/bin/my-cc -O2"}, {"gcc": "/usr/bin/gcc"}, "my-cc"),
        ({"/usr/lib/llvm-14/bin/clang": b""}, {"/usr/bin/clang": "../lib/llvm-14/bin/clang"}, {}, {"clang": "/usr/bin/clang"}, "clang"),
    ],
)
def test_the_compiler_by_names_alone(look, files, links, env, which, expected):
    visit = look(files=files, links=links, env=env, which=which)
    assert python_env.compiler(visit).value == expected
    assert visit.system.started == []


def test_no_compiler(look):
    assert isinstance(python_env.compiler(look()), Absent)


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("torch-2.4.0+cu121.dist-info", ("torch", "2.4.0+cu121")),
        ("flash_attn-2.7.4.post1.dist-info", ("flash-attn", "2.7.4.post1")),
        ("nvidia_cudnn_cu12-9.1.0.70.dist-info", ("nvidia-cudnn-cu12", "9.1.0.70")),
        ("nvidia-ml-py-12.560.30.dist-info", ("nvidia-ml-py", "12.560.30")),
        ("numpy-1.21.5-py3.10.egg-info", ("numpy", "1.21.5")),
        ("~orch-2.4.0.dist-info", None),
        ("torch.dist-info", None),
        ("torch-2.4.0", None),
    ],
)
def test_metadata_folders(folder, expected):
    assert split_folder(folder) == expected


def test_metadata_ends_where_the_description_begins():
    assert parse_metadata(metadata("Flash_Attn", "2.7.4")) == ("flash-attn", "2.7.4")
    assert parse_metadata("Name: x\n\nVersion: 1\n") is None


def test_packages_that_decide_and_those_known_to_be_missing(look):
    files = IN_VENV | dist("vllm", "0.6.3") | dist("numpy", "1.26.4") | dist("requests", "2.32.0") | dist("nvidia-ml-py", "12.560.30")
    facts = packages.probe(look(files=files, env=ACTIVE))
    found = facts["packages"].value
    assert {name: version for name, version in found.items() if version} == {
        "vllm": "0.6.3",
        "numpy": "1.26.4",
        "nvidia-ml-py": "12.560.30",
    }
    assert found["torch"] is None
    assert facts["packages.vllm"] == Found("0.6.3", f"{SITE}/vllm-0.6.3.dist-info")
    assert isinstance(facts["packages.torch"], Absent)


def test_the_earlier_folder_wins_as_in_an_import(look):
    home, system = "/root/.local/lib/python3.10/site-packages", "/usr/lib/python3/dist-packages"
    files = {"/usr/bin/python3.10": b""} | dist("numpy", "2.1.0", home) | dist("numpy", "1.21.5", system)
    visit = look(files=files, links={"/usr/bin/python3": "python3.10"}, which={"python3": "/usr/bin/python3"}, env={"HOME": "/root"})
    assert packages.probe(visit)["packages"].value["numpy"] == "2.1.0"


def test_nothing_is_known_of_packages_without_a_folder_of_them(look):
    bare = {"/srv/venv/bin/python": b"", "/srv/venv/pyvenv.cfg": VENV}
    assert isinstance(packages.probe(look(files=bare, env=ACTIVE))["packages"], Unreadable)


TORCH_PLAIN = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']
__version__ = '2.4.0+cu121'
debug = False
cuda = '12.1'
git_version = 'd990dada86a8ad94882b5c23e859b88c0c255bda'
hip = None
"""
TORCH_ANNOTATED = """__version__ = '2.8.0+cu128'
debug = False
cuda: Optional[str] = '12.8'
git_version = 'ba56102387ef21a3b04b357e5b183d48f0afefc7'
hip: Optional[str] = None
xpu: Optional[str] = None
"""
TORCH_CPU = "__version__ = '2.5.1+cpu'\ndebug = False\ncuda: Optional[str] = None\nhip: Optional[str] = None\n"
TORCH_ROCM = "__version__ = '2.5.1+rocm6.2'\ncuda = None\nhip = '6.2.41133-dd7f95766'\n"
TORCH_XPU = "__version__ = '2.6.0+xpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\nxpu: Optional[str] = '20250000'\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TORCH_PLAIN, TorchVersion("2.4.0+cu121", "12.1", None, True)),
        (TORCH_ANNOTATED, TorchVersion("2.8.0+cu128", "12.8", None, True)),
        (TORCH_CPU, TorchVersion("2.5.1+cpu", None, None, True)),
        (TORCH_ROCM, TorchVersion("2.5.1+rocm6.2", None, "6.2.41133-dd7f95766", True)),
        (TORCH_XPU, TorchVersion("2.6.0+xpu", None, None, True, "20250000")),
        ("", TorchVersion(None, None, None, False)),
    ],
)
def test_torch_version_files(text, expected):
    assert parse_version_py(text) == expected


def torch_facts(look, text, version):
    files = IN_VENV | {f"{SITE}/torch/version.py": text} | dist("torch", version)
    return torch.probe(look(files=files, env=ACTIVE))


@pytest.mark.parametrize(
    ("text", "metadata_version", "version"),
    [
        (TORCH_PLAIN, "2.4.0", "2.4.0+cu121"),
        ("__version__ = '2.4.0'\ncuda = '12.1'\n", "2.4.0+cu121", "2.4.0+cu121"),
        (TORCH_PLAIN, "2.3.0", "2.4.0+cu121"),
    ],
)
def test_torch_from_its_file_and_its_metadata(look, text, metadata_version, version):
    facts = torch_facts(look, text, metadata_version)
    assert facts["torch.version"].value == version
    assert facts["torch.cuda"].value == "12.1"


def test_two_torches_over_one_another_are_told(look):
    assert "2.3.0" in torch_facts(look, TORCH_PLAIN, "2.3.0")["torch.version"].source


def test_a_cpu_build_has_no_cuda_and_a_torn_file_says_nothing(look):
    assert isinstance(torch_facts(look, TORCH_CPU, "2.5.1+cpu")["torch.cuda"], Absent)
    assert isinstance(torch_facts(look, "__version__ = '2.5.1'\n", "2.5.1")["torch.cuda"], Unreadable)


@pytest.mark.parametrize(("text", "word"), [(TORCH_CPU, "CPU"), (TORCH_ROCM, "ROCm"), (TORCH_XPU, "XPU")])
def test_other_builds_are_named(look, text, word):
    fact = torch_facts(look, text, "2.5.1")["torch.cuda"]
    assert isinstance(fact, Absent)
    assert word in fact.why


def test_no_torch(look):
    assert all(isinstance(fact, Absent) for fact in torch.probe(look(files=IN_VENV, env=ACTIVE)).values())
