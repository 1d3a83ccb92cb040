"""Files of a plan whose first way is an image, a setting, or a change of the host: what bash does with them, whatever the names hold."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.model.finding import Remedy, Verdict
from envcheck.model.plan import Plan, ServeConfig, Setting
from envcheck.model.text import Text
from envcheck.model.ways import Cost, ImageUse, Way
from envcheck.planning.ways.image_commands import Run, commands
from envcheck.render.catalogue import Catalogue
from envcheck.render.commands import laid, words
from envcheck.render.files import NAMES, is_ours, plan_files
from envcheck.render.host_steps import host_steps
from envcheck.render.jsonmodel import PlanOut
from envcheck.render.jsonout import plan_out
from envcheck.render.shell import install_script, run_script, safe_setting, serve_script

EN = Catalogue("en")
SHELLCHECK = shutil.which("shellcheck", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]) or "shellcheck"
REFERENCE = "vllm/vllm-openai:v0.33.0"
ANY = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("'\"`$\n\\-# ()!\x1b\u202e")), min_size=1, max_size=40)
BASH = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ENGINE = '#!/bin/sh\n[ "$1" = run ] || exit 0\nprintf \'%s\\0\' "$@" > "$HOME/argv"\n'
HOSTILE = ["$(touch pwned)", "`touch pwned`", "a;touch pwned", "'; touch pwned; '", "x && touch pwned", '"$(touch pwned)"']


def image_way(run: Run, environment: dict[str, str] | None = None) -> Way:
    image = ImageUse(REFERENCE, "0.33.0", "13.0", environment=environment or {})
    title = Text("way.image", {"image": REFERENCE, "vllm": "0.33.0", "cuda": "13.0"})
    return Way(
        kind="image", title=title, commands=commands(image, run), image=image, proof=Verdict.READY, why=(Text("way.why.image-inside"),)
    )


def image_plan(plan: Plan, run: Run, serve: ServeConfig | None = None, environment: dict[str, str] | None = None) -> Plan:
    return msgspec.structs.replace(plan, stack=None, serve=serve, install=(), ways=(image_way(run, environment),))


def started(folder: Path, script: str, arguments: Sequence[str] = (), **environment: str) -> list[str]:
    """What the container engine was started with; nothing else may have happened."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    for name in ("docker", "podman"):
        (tools / name).write_text(ENGINE)
        (tools / name).chmod(0o755)
    path = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    subprocess.run(["bash", "-c", script, "run.sh", *arguments], cwd=folder, env=path | environment, check=True, capture_output=True)
    assert not (folder / "pwned").exists()
    return (folder / "argv").read_bytes().decode().split("\0")[:-1]


def checked(script: str) -> None:
    done = subprocess.run([SHELLCHECK, "-"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_an_image_is_run_by_a_script_of_its_own_and_nothing_is_installed(processes: None, plan: Plan, tmp_path: Path) -> None:
    serve = plan.serve
    files = {file.name: file for file in plan_files(image_plan(plan, Run(model="Qwen/X"), serve), EN, "1.0")}
    assert list(files) == ["run.sh", "plan.json"]
    assert files["run.sh"].mode == 0o755
    assert is_ours(files["run.sh"].content)
    script = files["run.sh"].content.decode()
    checked(script)
    argv = started(tmp_path, script, ["--seed", "1"])
    assert argv[argv.index(REFERENCE) :] == [REFERENCE, "serve", "Qwen/X", "--max-model-len", "8192", "--enforce-eager", "--seed", "1"]
    assert "127.0.0.1:8000:8000" in argv


def test_the_settings_of_the_plan_stand_in_it_with_their_reasons_but_not_its_address(plan: Plan) -> None:
    given_host = ServeConfig("X", (Setting("--host", "0.0.0.0", Text("why.host")), Setting("--seed", "1", Text("why.seed"))))
    script = run_script(image_plan(plan, Run(model="X"), given_host), EN, "1.0") or ""
    assert "  # why.seed\n  --seed 1\n" in script
    assert "0.0.0.0" not in script


def test_without_a_model_it_is_asked_for(processes: None, plan: Plan, tmp_path: Path) -> None:
    script = run_script(image_plan(plan, Run()), EN, "1.0") or ""
    checked(script)
    with pytest.raises(subprocess.CalledProcessError):
        started(tmp_path, script)
    argv = started(tmp_path, script, MODEL="a b")
    assert argv[-2:] == ["serve", "a b"]


@pytest.mark.parametrize("engine", ["docker", "podman"])
@BASH
@given(ANY, ANY)
def test_any_name_reaches_the_container_whole(processes: None, plan: Plan, tmp_path: Path, engine: str, name: str, value: str) -> None:
    name, value = name.replace("\0", "") or "x", value.replace("\0", "")
    serve = ServeConfig("X", (Setting("--served-model-name", value, Text(value, {value: value})),))
    run = Run(engine=engine, model="X", environment={"A": name})  # type: ignore[arg-type]
    script = run_script(image_plan(plan, run, serve), EN, "1.0")
    if script is None:  # the engine's line holds what a terminal would act on: no script is better than another one
        assert not name.isprintable()
        return
    checked(script)
    argv = started(tmp_path, script)
    assert argv[argv.index("--env") + 1] == f"A={name}"
    assert argv[-2:] == ["--served-model-name", value]


@pytest.mark.parametrize("hostile", [*HOSTILE, "serve", "a'b \\"])
@pytest.mark.parametrize("planned", [True, False])
def test_a_hostile_model_reaches_the_container_whole(processes: None, plan: Plan, tmp_path: Path, hostile: str, planned: bool) -> None:
    run = Run(model=hostile, arguments=("--seed", hostile))
    script = run_script(image_plan(plan, run, ServeConfig(hostile, ()) if planned else None), EN, "1.0") or ""
    checked(script)
    argv = started(tmp_path, script)
    assert argv[argv.index(REFERENCE) + 1 :] == ["serve", hostile, *(() if planned else ("--seed", hostile))]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_setting_of_a_way_does_nothing_in_a_script(processes: None, plan: Plan, tmp_path: Path, hostile: str) -> None:
    lines = (f"export A={hostile}", f"unset {hostile}", f"export {hostile}=1", hostile, f"export GOOD=1 {hostile}")
    way = Way(kind="setting", title=Text("x"), commands=lines, first=(Remedy("setting", Text("y"), lines),))
    script = serve_script(msgspec.structs.replace(plan, ways=(way,)), EN, "1.0") or ""
    program = tmp_path / plan.environment_dir / "bin" / "vllm"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "serve.sh").write_text(script)
    subprocess.run(["bash", "serve.sh"], cwd=tmp_path, check=True, capture_output=True)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("export CUDA_VISIBLE_DEVICES=0,1", "export CUDA_VISIBLE_DEVICES=0,1"),
        ("export A=1 B=2", "export A=1 B=2"),
        ("export A='it is'", "export A='it is'"),
        ("unset LD_LIBRARY_PATH VLLM_USE_V1", "unset LD_LIBRARY_PATH VLLM_USE_V1"),
        (
            "export LD_LIBRARY_PATH=/usr/local/cuda-13.0/compat${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
            "export LD_LIBRARY_PATH=/usr/local/cuda-13.0/compat${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
        ),
        ("export A=$(id)", None),
        ("export A=`id`", None),
        ("export A=1; id", None),
        ("export A", None),
        ("unset A=1", None),
        ("export A='", None),
        ("export -n A=1", None),
        ("export A=1\nid", None),
    ],
)
def test_a_setting_is_written_down_only_where_it_does_no_more(told: str, kept: str | None) -> None:
    assert safe_setting(told) == kept


def test_a_setting_of_the_way_is_set_for_the_server(processes: None, plan: Plan, tmp_path: Path) -> None:
    way = Way(kind="setting", title=Text("x"), commands=("export SEEN='a b'", "unset GONE"))
    script = serve_script(msgspec.structs.replace(plan, ways=(way,)), EN, "1.0") or ""
    checked(script)
    program = tmp_path / plan.environment_dir / "bin" / "vllm"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s,%s" "$SEEN" "${GONE-none}" > seen\n')
    program.chmod(0o755)
    (tmp_path / "serve.sh").write_text(script)
    subprocess.run(["bash", "serve.sh"], cwd=tmp_path, env={"PATH": os.environ["PATH"], "GONE": "x"}, check=True)
    assert (tmp_path / "seen").read_text() == "a b,none"


def test_the_install_asks_cuda_as_the_server_will(processes: None, plan: Plan) -> None:
    script = (
        install_script(msgspec.structs.replace(plan, ways=(Way(kind="setting", title=Text("x"), commands=("export A=1",)),)), EN, "1") or ""
    )
    checked(script)
    assert script.index("\nexport A=1\n") < script.index("uv venv")


def test_what_is_done_by_hand_is_a_text_that_nothing_executes(plan: Plan) -> None:
    way = Way(
        kind="driver",
        title=Text("way.driver.host", {"branch": 580, "flavour": "open", "vllm": "0.33.0"}),
        commands=("sudo apt-get install -y nvidia-driver-580-open", "sudo reboot"),
        cost=Cost(root=True, reboot=True),
        why=(Text("way.why.shared-driver"),),
    )
    files = {file.name: file for file in plan_files(msgspec.structs.replace(plan, ways=(way,)), EN, "1.0")}
    assert list(files) == ["HOST-STEPS.txt", "install.sh", "serve.sh", "plan.json"]
    assert set(files) < set(NAMES)  # else an outdated one would stay
    steps = files["HOST-STEPS.txt"]
    assert steps.mode == 0o644
    assert is_ours(steps.content)
    text = steps.content.decode()
    assert (
        text.index("sudo reboot") < text.index("everyone on this machine stops") < text.index("ask again") < text.index("bash install.sh")
    )
    assert not any("reboot" in file.content.decode() for name, file in files.items() if name.endswith(".sh"))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANY)
def test_names_do_not_break_out_of_the_text(plan: Plan, name: str) -> None:
    steps = (Remedy("service", Text(name), (name,), True),)
    way = Way(kind="service", title=Text(name, {name: name}), commands=(name,), first=steps, why=(Text(name),))
    text = host_steps(msgspec.structs.replace(plan, ways=(way,)), EN, "1.0", ("install.sh",)) or ""
    assert all(line.isprintable() for line in text.split("\n"))


@given(st.text(st.sampled_from("ab '\"\\$()`#;|"), max_size=30))
def test_words_of_a_shell_line_are_the_line(line: str) -> None:
    assert "".join(words(line)).replace(" ", "") == line.replace(" ", "")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20), min_size=1, max_size=8))
def test_a_line_that_is_continued_is_the_same_command(processes: None, arguments: list[str]) -> None:
    line = "printf '%s\\n' " + shlex.join(arguments)
    broken = "\n".join(laid(words(line), width=24))
    done = subprocess.run(["bash", "-c", broken], capture_output=True, check=True)
    assert done.stdout.decode() == "".join(f"{argument}\n" for argument in arguments)


def test_an_export_stays_with_its_variable() -> None:
    line = "export LD_LIBRARY_PATH=/usr/local/cuda-13.0/compat${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    assert laid(words(line), width=40, indent="    ") == ["    " + line]
    assert laid(["/opt/vllm-env/bin/python", "-c", "import-this"], width=30) == ["/opt/vllm-env/bin/python \\", "    -c import-this"]


def test_the_json_holds_all_of_a_way(plan: Plan) -> None:
    way = msgspec.structs.replace(
        image_way(Run(), {"A": "1"}),
        first=(Remedy("container", Text("remedy.x"), ("sudo x",), True),),
        cost=Cost(root=True, download_mib=9000, lost=(Text("lost.x"),)),
        after={"container": {"kind": "docker"}, "torch": None},
        asks="0.33.0",
        breaks=("torch",),
    )
    document = json.loads(msgspec.json.encode(plan_out(msgspec.structs.replace(plan, ways=(way,), choice=(Text("choice.x"),)), EN)))
    assert document["choice"] == ["choice.x"]
    (found,) = document["ways"]
    assert set(found) == set(Way.__struct_fields__)
    assert set(found["cost"]) == set(Cost.__struct_fields__)
    assert set(found["image"]) == set(ImageUse.__struct_fields__)
    assert found["after"] == {"container": {"kind": "docker"}, "torch": None}
    assert (found["kind"], found["proof"], found["asks"], found["breaks"]) == ("image", "ready", "0.33.0", ["torch"])
    assert found["first"] == [{"kind": "container", "commands": ["sudo x"], "needs_root": True, "note": "remedy.x"}]
    assert found["cost"]["lost"] == ["lost.x"]
    assert found["title"].startswith("Run the container image vllm/vllm-openai:v0.33.0")
    assert msgspec.convert(document, PlanOut).ways[0].commands == list(way.commands)


def test_the_schema_knows_ways() -> None:
    defined = msgspec.json.schema(PlanOut)["$defs"]
    assert {"WayOut", "CostOut", "ImageOut"} <= set(defined)
    assert {"ways", "choice"} <= set(defined["PlanOut"]["properties"])
