"""The scripts of a plan: accepted by bash and shellcheck, and doing what the plan says, whatever the names in it hold."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.model.plan import Plan, ServeConfig, Setting
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue
from envcheck.render.files import is_ours, plan_files
from envcheck.render.shell import comment, install_script, serve_script

SHELLCHECK = shutil.which("shellcheck", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]) or "shellcheck"
HOSTILE = [
    "it's",
    'a"b',
    "$(touch pwned)",
    "`touch pwned`",
    "a\nb; touch pwned",
    "-x",
    "--trust-remote-code",
    "模型/名",
    "a\\",
    "\x1b[2J",
    "#",
    "shellcheck disable=all",
    "!!",
    "~root",
    "*",
    "${HOME}",
    "a\rb",
    "0,1",
    "=b",
    "a+=b",
    "a=b",
    "do",
    "[a]=b",
    "",
]
ANY = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("'\"`$\n\\-# ()!")), min_size=1, max_size=40)
BASH = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VLLM = '#!/bin/sh\nprintf \'%s\\0\' "$@" > "$(dirname "$0")/../argv"\n'


def serving(plan: Plan, model: str, value: str, why: str = "why") -> Plan:
    reason = Text(why, {"model": model})
    config = ServeConfig(model, (Setting("--served-model-name", value, reason),), (Setting("CACHE", value, reason),))
    return msgspec.structs.replace(plan, serve=config)


def run(folder: Path, plan: Plan, lang: str = "en") -> list[str]:
    """Run serve.sh with a stand-in for vLLM; the arguments it was started with."""
    program = folder / plan.environment_dir / "bin" / "vllm"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(VLLM)
    program.chmod(0o755)
    script = folder / "serve.sh"
    script.write_bytes((serve_script(plan, Catalogue(lang), "1.0") or "").encode())
    subprocess.run(["bash", str(script)], cwd="/", check=True, capture_output=True)
    assert not (folder / "pwned").exists()
    return (program.parent.parent / "argv").read_bytes().decode().split("\0")[:-1]


def checked(script: str) -> None:
    subprocess.run(["bash", "-n"], input=script, text=True, check=True, capture_output=True)
    done = subprocess.run([SHELLCHECK, "-"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", HOSTILE)
def test_serve_script_passes_names_through_whole(processes: None, tmp_path: Path, plan: Plan, name: str) -> None:
    argv = run(tmp_path, serving(plan, name, name))
    assert argv[0] == "serve"
    assert argv[1] == (f"./{name}" if name.startswith("-") else name)
    assert argv[2:4] == ["--served-model-name", name]
    assert not Path("/pwned").exists()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_shellcheck_accepts_scripts_with_hostile_names(processes: None, plan: Plan, name: str, lang: str) -> None:
    script = serve_script(serving(plan, name, name, why=name), Catalogue(lang), "1.0")
    checked(script or "")


@BASH
@given(ANY, ANY)
def test_any_name_survives(processes: None, tmp_path: Path, plan: Plan, model: str, value: str) -> None:
    hostile = serving(plan, model, value.replace("\0", ""), why=value)
    checked(serve_script(hostile, Catalogue("en"), "1.0") or "")
    assert run(tmp_path, hostile)[3] == value.replace("\0", "")


def test_a_comment_is_lines_of_comment_only() -> None:
    for line in comment("a\nrm -rf /\r\n\u2028b " * 40):
        assert line.startswith("# ")
        assert line.isprintable()


def test_the_server_listens_on_this_host_only_unless_the_plan_says_otherwise(processes: None, tmp_path: Path, plan: Plan) -> None:
    assert run(tmp_path, plan)[-4:] == ["--host", "127.0.0.1", "--port", "8000"]
    assert plan.serve is not None
    given_host = msgspec.structs.replace(plan.serve, settings=(Setting("--host", "10.0.0.1", Text("why")),))
    argv = run(tmp_path, msgspec.structs.replace(plan, serve=given_host))
    assert argv.count("--host") == 1
    assert "127.0.0.1" not in argv


def test_every_setting_has_its_reason_above_it(plan: Plan) -> None:
    lines = (serve_script(plan, Catalogue("en"), "1.0") or "").splitlines()
    for needle, why in (("--max-model-len 8192", "why.len"), ("--enforce-eager", "why.eager"), ("export HF_ENDPOINT=", "why.hub")):
        position = next(index for index, line in enumerate(lines) if line.strip().startswith(needle))
        assert why in lines[position - 1]


def test_a_secret_is_never_written_down(plan: Plan) -> None:
    script = serve_script(plan, Catalogue("en"), "1.0") or ""
    assert "HF_TOKEN" in script
    assert "export HF_TOKEN" not in script


def test_a_hostile_variable_name_is_left_out(processes: None, plan: Plan) -> None:
    assert plan.serve is not None
    config = msgspec.structs.replace(plan.serve, environment=(Setting("X; touch pwned", "1", Text("why")),))
    script = serve_script(msgspec.structs.replace(plan, serve=config), Catalogue("en"), "1.0") or ""
    assert "touch" not in "".join(line for line in script.splitlines() if not line.startswith("#"))
    checked(script)


def test_install_script_prefers_uv_and_falls_back_to_pip(processes: None, tmp_path: Path, plan: Plan) -> None:
    script = tmp_path / "install.sh"
    script.write_text(install_script(plan, Catalogue("zh"), "1.0") or "", encoding="utf-8")
    checked(script.read_text(encoding="utf-8"))
    for tool, seen in (("uv", "uv venv --python 3.10 vllm-0.19.1"), ("python3", "python3 -m venv vllm-0.19.1")):
        tools = tmp_path / tool
        tools.mkdir()
        for name in ("bash", "dirname"):
            (tools / name).symlink_to(shutil.which(name) or name)
        (tools / tool).write_text(f'#!/bin/sh\necho "{tool} $*"\n')
        (tools / tool).chmod(0o755)
        done = subprocess.run(["bash", str(script)], env={"PATH": str(tools)}, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[0] == seen


def test_a_plan_that_serves_or_installs_nothing_has_no_script(plan: Plan) -> None:
    empty = msgspec.structs.replace(plan, serve=None, install=())
    assert serve_script(empty, Catalogue(), "1") is None
    assert install_script(empty, Catalogue(), "1") is None
    assert [file.name for file in plan_files(empty, Catalogue(), "1")] == ["plan.json"]


def test_files_are_known_as_ours_and_others_are_not(plan: Plan) -> None:
    files = plan_files(plan, Catalogue("zh"), "1.0")
    assert [(file.name, file.mode) for file in files] == [("install.sh", 0o755), ("serve.sh", 0o755), ("plan.json", 0o644)]
    assert all(is_ours(file.content) for file in files)
    assert not is_ours(b"#!/bin/bash\necho mine\n")
    assert not is_ours(b'{"schema": "something.else/1"}')


def test_plan_json_holds_every_setting(plan: Plan) -> None:
    document = json.loads(plan_files(plan, Catalogue("en"), "1.0")[-1].content)
    assert document["schema"] == "envcheck.plan/1"
    assert document["serve"]["settings"][0] == {"flag": "--max-model-len", "value": "8192", "why": "why.len (tokens=8192)"}
    assert document["install"][0]["steps"][0]["argv"] == ["uv", "venv", "--python", "3.10", "vllm-0.19.1"]
