from envcheck.model.fact import Unreadable
from envcheck.probes import tools

V = "/srv/v/lib/python3.10/site-packages"
VENV = {"/srv/v/bin/python": b"", "/srv/v/pyvenv.cfg": "home = /usr/bin\nversion = 3.10.12\n", f"{V}/x.pth": ""}
ENV = {"VIRTUAL_ENV": "/srv/v", "PATH": "/usr/bin"}


def test_what_is_on_path_and_what_is_not(look):
    visit = look(files={}, which={"uv": "/root/.local/bin/uv", "nvidia-smi": "/usr/bin/nvidia-smi"}, env={"PATH": "/usr/bin"})
    facts = tools.probe(visit)
    assert facts["tools"].value["uv"] == "/root/.local/bin/uv"
    assert facts["tools"].value["docker"] is None
    assert "kubectl" not in facts["tools"].value
    assert isinstance(facts["tools.kubectl"], Unreadable)
    assert visit.system.started == []


def test_everything_where_everything_is_asked(look):
    facts = tools.probe(look(which={"kubectl": "/usr/bin/kubectl"}, env={"PATH": "/usr/bin"}, full=True))
    assert facts["tools"].value["kubectl"] == "/usr/bin/kubectl"
    assert facts["tools"].value["zypper"] is None
    assert set(facts) == {"tools"}


def test_without_a_path_absence_is_not_known(look):
    assert tools.probe(look(which={"git": "/usr/bin/git"}))["tools"].value == {"git": "/usr/bin/git", "ptxas": None}


def test_a_path_of_thousands_is_refused(look):
    fact = tools.probe(look(env={"PATH": ":".join(f"/p/{number}" for number in range(5000))}))["tools"]
    assert fact == Unreadable("PATH names 5000 folders")


def test_tritons_assembler_and_the_one_named_instead(look):
    inside = f"{V}/triton/backends/nvidia/bin/ptxas"
    files = VENV | {inside: b"", "/opt/ptxas": b""}
    on_path = {"ptxas": "/usr/local/cuda/bin/ptxas"}
    assert tools.probe(look(files=files, env=ENV, which=on_path))["tools"].value["ptxas"] == inside
    assert tools.probe(look(files=files, env=ENV | {"TRITON_PTXAS_PATH": "/opt/ptxas"}))["tools"].value["ptxas"] == "/opt/ptxas"
    assert tools.probe(look(files=VENV, env=ENV, which=on_path))["tools"].value["ptxas"] == "/usr/local/cuda/bin/ptxas"
    old = VENV | {f"{V}/triton/third_party/cuda/bin/ptxas": b""}
    assert tools.probe(look(files=old, env=ENV))["tools"].value["ptxas"] == f"{V}/triton/third_party/cuda/bin/ptxas"
