"""A host whose own Python is not enough: no Python.h, no way to make an environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

PlanFor = Callable[..., Any]
HostOf = Callable[..., dict[str, Any]]
H200 = ("NVIDIA H200", "9.0", "580.95.05")
UBUNTU = {"name": "Ubuntu 24.04.2 LTS", "id": "ubuntu", "version": "24.04", "arch": "x86_64", "glibc": "2.39"}
TENCENT = {"provider": "tencent", "region": "ap-guangzhou"}


@pytest.fixture
def plan_of(plan_for: PlanFor, host_of: HostOf) -> PlanFor:
    """`plan_of(python, **more)` plans for an H200 under Ubuntu 24.04 whose Python 3.12 says these things of itself."""

    def planned(python: dict[str, Any], /, vllm: str | None = None, **more: Any) -> Any:
        host = host_of(*H200, **{"os": UBUNTU, **more})
        own = {"version": "3.12.3", "executable": "/usr/bin/python3", "environment": "system", "prefix": "/usr"}
        return plan_for({**host, "python": {**own, **python}}, vllm=vllm)

    return planned


def notes(planned: Any) -> dict[str, Any]:
    return {note.key: note.params for note in planned.plan.notes if note.key.startswith(("plan.note.headers", "plan.note.no-venv"))}


def test_uv_brings_an_interpreter_where_the_host_s_has_no_headers(plan_of: PlanFor) -> None:
    planned = plan_of({"headers": False})
    assert planned.argv("uv")[0] == ("uv", "venv", "--allow-existing", "--managed-python", "--python", "3.12", "vllm-env")
    assert planned.recipe("uv").steps[0].why.key == "plan.step.venv-managed"
    assert planned.argv("pip")[0] == ("/usr/bin/python3", "-m", "venv", "vllm-env")


@pytest.mark.parametrize("python", [{"headers": True}, {}, {"headers": None}])
def test_an_interpreter_with_headers_or_one_that_does_not_tell_is_kept(plan_of: PlanFor, python: dict[str, Any]) -> None:
    planned = plan_of(python)
    assert "--managed-python" not in planned.argv("uv")[0]
    assert notes(planned) == {}


def test_an_interpreter_that_is_replaced_anyway_needs_no_headers(plan_of: PlanFor) -> None:
    planned = plan_of({"version": "3.8.10", "headers": False, "can_make_venv": False})
    assert planned.plan.stack.new_python
    assert "--managed-python" not in planned.argv("uv")[0]
    assert notes(planned) == {}


def test_behind_a_mirror_that_interpreter_comes_from_one(plan_of: PlanFor) -> None:
    planned = plan_of({"headers": False}, cloud=TENCENT)
    first, second = planned.argv("uv")[:2]
    assert first[:4] == ("uv", "python", "install", "--mirror")
    assert first[4:] == (next(mirror.url for mirror in planned.plan.mirrors if mirror.kind == "python-builds"), "3.12")
    assert "--managed-python" in second
    kept = plan_of({"headers": True}, cloud=TENCENT)
    assert "python-builds" not in {mirror.kind for mirror in kept.plan.mirrors}


@pytest.mark.parametrize(
    ("system", "command"),
    [
        (UBUNTU, "apt-get install -y python3-dev"),  # 3.12 is the distribution's own
        ({**UBUNTU, "id": "rocky", "name": "Rocky Linux 9.5", "version": "9.5"}, "dnf install -y python3.12-devel"),  # 3.9 is
    ],
)
def test_for_pip_the_distribution_s_package_is_named(plan_of: PlanFor, system: dict[str, str], command: str) -> None:
    planned = plan_of({"headers": False}, os=system, tools={"uv": None})
    assert notes(planned)["plan.note.headers"] == {"python": "3.12", "command": f"sudo {command}"}


def test_of_an_interpreter_that_is_not_the_distribution_s_no_command_is_told(plan_of: PlanFor) -> None:
    planned = plan_of({"headers": False, "environment": "conda", "prefix": "/opt/conda", "executable": "/opt/conda/bin/python"})
    assert notes(planned) == {"plan.note.headers-unnamed": {"python": "3.12"}}


@pytest.mark.parametrize("more", [{"tools": {"uv": "/usr/local/bin/uv"}}, {}])
def test_with_uv_at_hand_nothing_comes_before(plan_of: PlanFor, more: dict[str, Any]) -> None:
    python = {"headers": False, "can_make_venv": False, **({} if more else {"environment": "uv"})}
    assert notes(plan_of(python, **more)) == {}


def test_without_ensurepip_the_package_is_named_and_uv_by_pip(plan_of: PlanFor) -> None:
    planned = plan_of({"can_make_venv": False}, tools={"uv": None, "pip": None, "pip3": "/usr/bin/pip3"})
    told = notes(planned)["plan.note.no-venv-pip"]
    assert told["command"] == "/usr/bin/python3 -m pip install --user uv"


def test_uv_comes_from_the_mirror_that_the_plan_uses(plan_of: PlanFor) -> None:
    planned = plan_of({"can_make_venv": False}, cloud=TENCENT)
    index = next(mirror.url for mirror in planned.plan.mirrors if mirror.kind == "python-index")
    told = notes(planned)["plan.note.no-venv-pip"]
    assert told["command"] == f"/usr/bin/python3 -m pip install --user --index-url {index} uv"


@pytest.mark.parametrize(
    ("python", "tools"),
    [
        ({"externally_managed": True}, {"pip": "/usr/bin/pip"}),  # there pip refuses
        ({}, {"uv": None, "pip": None, "pip3": None}),
    ],
)
def test_where_pip_cannot_bring_uv_only_the_package_is_named(plan_of: PlanFor, python: dict[str, Any], tools: dict[str, Any]) -> None:
    assert notes(plan_of({"can_make_venv": False, **python}, tools=tools)) == {"plan.note.no-venv": {"python": "3.12"}}


def test_a_hostile_interpreter_stays_one_word_of_the_command(plan_of: PlanFor) -> None:
    planned = plan_of({"can_make_venv": False, "executable": "/tmp/a b; reboot #/python"})
    assert notes(planned)["plan.note.no-venv-pip"]["command"].startswith("'/tmp/a b; reboot #/python' -m pip ")


def test_what_is_installed_and_served_needs_no_interpreter(plan_of: PlanFor) -> None:
    installed = {"packages": {"vllm": "0.33.0"}, "torch": {"version": "2.14.0+cu130", "cuda": "13.0"}}
    planned = plan_of({"can_make_venv": False}, **installed)
    assert planned.plan.install == ()
    assert notes(planned) == {}


@pytest.mark.usefixtures("processes")
def test_uv_knows_the_option_and_takes_no_interpreter_of_the_host(plan_of: PlanFor, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "VIRTUAL_ENV"))}
    none = {**kept, "UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_PYTHON_INSTALL_DIR": str(tmp_path / "none")}
    argv = plan_of({"headers": False}).argv("uv")[0]
    done = subprocess.run([find_uv_bin(), *argv[1:]], cwd=tmp_path, env=none, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "managed installations" in done.stderr  # with none of its own and none to fetch there is none, whatever the host has
