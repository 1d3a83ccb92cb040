"""Each command on a given host: its product, its status, its JSON and its schema."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.render import jsonmodel

Run = Callable[..., tuple[int, str, str]]
MODEL = "Qwen/Qwen2.5-7B-Instruct"


def test_check_names_the_last_cuda_12_wheel_for_driver_535_and_what_keeps_newer_ones_out(envcheck: Run, a10: str) -> None:
    status, out, err = envcheck("--host", a10)
    assert (status, err) == (0, "")
    head = out.split("\n\n")[0]
    assert "vLLM 0.19.1" in head
    assert "1 x NVIDIA A10" in head
    assert "535.161.08" in head
    assert "580" in out.split("Why not")[1].split("\n\n")[0]
    assert "mirrors.aliyun.com" in out


def test_check_json_is_typed_and_carries_the_host(envcheck: Run, a10: str) -> None:
    status, out, _ = envcheck("--host", a10, "--json")
    answer = msgspec.json.decode(out, type=jsonmodel.CheckOut)
    assert status == 0
    assert answer.schema == "envcheck.check/1"
    assert answer.vllm == "0.19.1"
    assert answer.binding is not None
    assert (answer.binding.needed, answer.binding.present) == ("580", "535.161.08")
    assert json.loads(out)["host"]["driver"]["version"] == "535.161.08"


def test_a_report_of_check_is_a_host_again(envcheck: Run, a10: str, tmp_path: Path) -> None:
    _, first, _ = envcheck("--host", a10, "--json")
    again = tmp_path / "again.json"
    again.write_text(first, encoding="utf-8")
    assert envcheck("--host", str(again), "--json")[1] == first


def test_stated_facts_overrule(envcheck: Run, a10: str) -> None:
    status, out, _ = envcheck("--host", a10, "--set", "driver.version=470.161.03", "--set", "driver.cuda=11.4", "-q")
    assert status == 1
    assert out.startswith("BLOCKED")


def test_a_requested_release_is_judged(envcheck: Run, a10: str) -> None:
    status, out, _ = envcheck("--host", a10, "--vllm", "0.33.0")
    assert status == 1
    assert "0.33.0" in out.splitlines()[0]
    assert envcheck("--host", a10, "--vllm", "0.11.0")[0] == 0


def test_an_empty_host_is_unknown_and_says_which_facts_are_missing(envcheck: Run, tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_text("{}")
    status, out, _ = envcheck("--host", str(path))
    assert status == 3
    assert out.startswith("UNKNOWN")
    assert "--set" in out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("check", "check"), ("probe", "host"), ("plan", "plan"), ("plan -o x", "written"), ("size", "size"), ("explain", "explain"),
        ("batch", "batch"), ("matrix validate", "validate"),
    ],
)  # fmt: skip
def test_a_schema_names_its_version(envcheck: Run, words: str, named: str) -> None:
    document = json.loads(envcheck(*words.split(), "--schema")[1])
    assert document["title"] == f"envcheck.{named}/1"
    assert document["$defs"]


@pytest.mark.parametrize("words", ["check", "probe", "plan", "size", "explain", "batch", "matrix validate"])
def test_every_command_takes_the_common_options(envcheck: Run, words: str, tmp_path: Path) -> None:
    common = ["--format", "json", "--lang", "en", "--offline", "--matrix-dir", str(tmp_path), "-v", "-q", "--schema"]
    status, out, err = envcheck(*words.split(), *common)
    assert (status, err) == (0, "")
    assert "title" in json.loads(out)


def test_probe_json_is_a_host_document_that_check_takes(envcheck: Run, a10: str, tmp_path: Path) -> None:
    status, out, _ = envcheck("probe", "--host", a10, "--json")
    assert status == 0
    assert json.loads(out)["schema"] == "envcheck.host/1"
    path = tmp_path / "probed.json"
    path.write_text(out, encoding="utf-8")
    assert envcheck("--host", str(path), "-q")[0] == 0


def test_probe_text_has_a_row_a_fact(envcheck: Run, a10: str) -> None:
    _, out, _ = envcheck("probe", "--host", a10)
    assert any(line.split()[:2] == ["driver.version", "535.161.08"] for line in out.splitlines())


def test_plan_writes_scripts_that_the_plan_describes(envcheck: Run, a10: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    status, out, err = envcheck("plan", "--host", a10, "--model", MODEL, "-o", str(folder), "--offline")
    assert (status, err) == (0, "")
    assert sorted(os.listdir(folder)) == ["install.sh", "plan.json", "serve.sh"]
    assert all(str(folder / name) in out for name in os.listdir(folder))
    assert stat.S_IMODE((folder / "serve.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "plan.json").stat().st_mode) == 0o644
    serve = (folder / "serve.sh").read_text(encoding="utf-8")
    assert f"serve {MODEL}" in serve
    assert "--host 127.0.0.1" in serve
    assert "vllm==0.19.1" in (folder / "install.sh").read_text(encoding="utf-8")
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    assert plan["stack"]["vllm"] == "0.19.1"


def test_the_scripts_of_a_plan_pass_bash_and_shellcheck(processes: None, envcheck: Run, a10: str, tmp_path: Path) -> None:
    import shutil
    import sys

    envcheck("plan", "--host", a10, "--model", MODEL, "-o", str(tmp_path), "--offline", "--lang", "zh")
    shellcheck = shutil.which("shellcheck", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]) or "shellcheck"
    for name in ("serve.sh", "install.sh"):
        subprocess.run(["bash", "-n", str(tmp_path / name)], check=True)
        subprocess.run([shellcheck, str(tmp_path / name)], check=True)


def test_a_plan_is_written_again_over_itself_but_not_over_another_s_file(envcheck: Run, a10: str, tmp_path: Path) -> None:
    words = ("plan", "--host", a10, "--model", MODEL, "-o", str(tmp_path), "--offline")
    assert envcheck(*words)[0] == 0
    assert envcheck(*words)[0] == 0
    (tmp_path / "serve.sh").write_text("#!/bin/sh\necho mine\n")
    before = (tmp_path / "install.sh").stat().st_mtime_ns
    status, out, err = envcheck(*words)
    assert (status, out) == (2, "")
    assert "serve.sh" in err
    assert (tmp_path / "serve.sh").read_text() == "#!/bin/sh\necho mine\n"
    assert (tmp_path / "install.sh").stat().st_mtime_ns == before


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_a_plan_goes_through_no_link_pipe_or_folder(envcheck: Run, a10: str, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "plan.json"
    elsewhere = tmp_path / "elsewhere"
    if kind == "folder":
        target.mkdir()
    elif kind == "link":
        elsewhere.write_text("precious")
        target.symlink_to(elsewhere)
    else:
        os.mkfifo(target)
    status, _, err = envcheck("plan", "--host", a10, "-o", str(tmp_path))
    assert status == 2
    assert "plan.json" in err
    assert kind != "link" or elsewhere.read_text() == "precious"


def test_a_plan_into_a_file_or_a_place_not_writable_says_so(envcheck: Run, a10: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert envcheck("plan", "--host", a10, "-o", str(tmp_path / "file"))[0] == 2
    status, _, err = envcheck("plan", "--host", a10, "-o", "/proc/envcheck")
    assert status == 2
    assert "/proc/envcheck" in err
    assert "Traceback" not in err


def test_serve_arguments_of_the_user_are_kept(envcheck: Run, a10: str) -> None:
    _, out, _ = envcheck("plan", "--host", a10, "--model", MODEL, "--offline", "--json", "--max-model-len", "4096", "--enforce-eager")
    settings = {entry["flag"]: entry["value"] for entry in json.loads(out)["serve"]["settings"]}
    assert settings["--max-model-len"] == "4096"
    assert "--enforce-eager" in settings


def test_a_near_miss_of_an_option_is_not_taken_for_vllm_s(envcheck: Run, a10: str) -> None:
    status, _, err = envcheck("plan", "--host", a10, "--model", MODEL, "--ofline")
    assert status == 2
    assert "--offline" in err


def test_a_host_that_runs_nothing_has_no_plan(envcheck: Run, a10: str) -> None:
    words = ("plan", "--host", a10, "--set", "driver.version=390.157", "--set", "driver.cuda=9.1")
    status, out, _ = envcheck(*words, "--no-root")
    assert status == 1
    assert out.startswith("No plan")
    status, out, _ = envcheck(*words)
    assert status == 1
    assert "driver" in out.partition("\n\n")[0]  # with root a newer driver is the way


def test_size_fits_on_an_a10_and_a_ten_times_larger_model_does_not(envcheck: Run) -> None:
    status, out, _ = envcheck("size", MODEL, "--gpu", "NVIDIA A10", "--vllm", "0.19.1", "--offline", "--json", "--max-model-len", "8192")
    answer = msgspec.json.decode(out, type=jsonmodel.SizeOut)
    assert status == 0
    assert answer.verdict in ("fits", "tight")
    # 28 layers x 2 (key and value) x 4 heads x 128 x 2 bytes
    assert answer.kv.bytes_per_token == pytest.approx(28 * 2 * 4 * 128 * 2, rel=0.001)
    status, text, _ = envcheck("size", "Qwen/Qwen2.5-72B-Instruct", "--gpu", "A10", "--offline")
    assert status == 1
    assert text.startswith("DOES NOT FIT")


def test_size_counts_cards(envcheck: Run) -> None:
    one = json.loads(envcheck("size", MODEL, "--gpu", "A10", "--offline", "--json")[1])
    two = json.loads(envcheck("size", MODEL, "--gpu", "A10 x2", "--offline", "--json", "--tensor-parallel-size", "2")[1])
    assert two["per_gpu_gib"]["weights"] == pytest.approx(one["per_gpu_gib"]["weights"] / 2, rel=0.05)


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["size"], 2, "size MODEL"),
        (["size", "--max-model-len", "8"], 2, "size MODEL"),
        (["size", MODEL, "--gpu", "Voodoo 3"], 2, "Voodoo 3"),
        (["size", MODEL, "--gpu", "Fufu"], 2, "nvidia-smi -L"),
        (["size", MODEL, "--gpu", "A10 x99"], 2, "x99"),
        (["size", MODEL, "--gpu", "A10", "--host", "x.json"], 2, "--gpu"),
        (["size", MODEL, "--gpu", "A10", "stray"], 2, "stray"),
        (["size", "no/such-model", "--gpu", "A10", "--offline"], 3, "no/such-model"),
        (["size", "../../no-such", "--gpu", "A10", "--offline"], 2, "../../no-such"),
        (["size", MODEL, "--gpu", "A10", "--vllm", "99.9"], 2, "99.9"),
        (["plan", "--max-model-len", "8"], 2, "--model"),
        (["plan", "--host", "0.0.0.0"], 2, "serve.sh --host 0.0.0.0"),
        (["plan", "--host", "no-such.json"], 2, "probe --json"),
        (["check", "--vllm", "one two"], 2, "one two"),
        (["check", "--set", "driver.version"], 2, "KEY=VALUE"),
        (["check", "--set", "drivr.version=1"], 2, "drivr"),
        (["explain", "no-gup"], 2, "no-gpu"),
        (["--matrix-dir", "/nonexistent"], 4, "/nonexistent"),
        (["batch", "/nonexistent.ndjson"], 2, "/nonexistent.ndjson"),
    ],
)
def test_what_does_not_exist_is_one_clear_sentence(envcheck: Run, a10: str, words: list[str], status: int, said: str) -> None:
    if words[0] in ("check", "plan"):
        words = [words[0], "--host", a10, *words[1:]]
    got, out, err = envcheck(*words)
    assert (got, out) == (status, "")
    assert said in err
    assert err.startswith("envcheck: ")
    assert err.count("\n") == 1


def test_the_shipped_facts_are_valid(envcheck: Run) -> None:
    status, out, err = envcheck("matrix", "validate", "--json")
    assert (status, err) == (0, ""), out
    answer = json.loads(out)
    folder = Path(answer["directory"])
    assert answer["date"] == json.loads((folder / "matrix.json").read_text())["date"]


def test_a_fault_in_the_facts_is_shown_with_its_place(envcheck: Run, tmp_path: Path) -> None:
    import shutil

    from envcheck.matrix.locate import locate

    copy = tmp_path / "matrices"
    shutil.copytree(locate(), copy)
    torch = json.loads((copy / "torch.json").read_text())
    torch[0]["relased"] = torch[0].pop("released")
    (copy / "torch.json").write_text(json.dumps(torch))
    status, out, _ = envcheck("matrix", "validate", "--matrix-dir", str(copy), "--json")
    answer: dict[str, Any] = json.loads(out)
    assert status == 4
    assert answer["directory"] == str(copy)
    assert any(problem["file"].endswith("torch.json") and "relased" in problem["what"] for problem in answer["problems"])


def test_our_own_interpreter_is_not_taken_for_a_recorded_host_s(envcheck: Run, tmp_path: Path) -> None:
    import sys

    (tmp_path / "rootfs" / "etc").mkdir(parents=True)
    (tmp_path / "rootfs" / "etc" / "os-release").write_text("ID=debian\nVERSION_ID=12\n")
    namesake = tmp_path / "rootfs" / sys.executable.lstrip("/")
    namesake.parent.mkdir(parents=True)
    namesake.touch(0o755)
    host = json.loads(envcheck("probe", "--host", str(tmp_path), "--json")[1])
    assert host["os"]["id"] == "debian"
    assert sys.executable not in json.dumps(host)
    assert (host.get("python") or {}).get("version") is None


@pytest.mark.parametrize(("name", "status"), [("baremetal-ubuntu2404-h20x8-blocked", 1), ("baremetal-ubuntu2404-h20x8-ready", 0)])
def test_a_plan_for_a_host_to_be_repaired_first_is_status_1(envcheck: Run, name: str, status: int) -> None:
    recorded = Path(__file__).parents[1] / "hosts" / name
    found, out, _ = envcheck("plan", "--host", str(recorded), "--json")
    assert found == status
    assert json.loads(out)["stack"] is not None


def test_a_link_in_a_file_s_place_is_left_alone(envcheck: Run, a10: str, tmp_path: Path) -> None:
    words = ("plan", "--host", a10, "--model", MODEL, "--offline", "-o")
    assert envcheck(*words, str(tmp_path / "ours"))[0] == 0
    (tmp_path / "linked").mkdir()
    link = tmp_path / "linked" / "serve.sh"
    link.symlink_to(tmp_path / "ours" / "serve.sh")
    assert envcheck(*words, str(tmp_path / "linked"))[0] == 2
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "linked").iterdir()] == ["serve.sh"]
