"""The memory of a plan is that of the settings it serves with; what does not fit as asked for stays unfit, and is said early."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
LONG = "meta-llama/Llama-3.1-8B-Instruct"  # its own context does not fit an A10, a shorter one does


def test_a_plan_that_shortens_the_context_fits(envcheck: Run, a10: str) -> None:
    status, out, _ = envcheck("plan", "--host", a10, "--model", LONG, "--offline", "--json")
    plan = json.loads(out)
    planned = {entry["flag"]: entry["value"] for entry in plan["serve"]["settings"]}["--max-model-len"]
    assert status == 0
    assert plan["size"]["verdict"] in ("fits", "tight")
    assert plan["size"]["kv"]["max_concurrency"] >= 1
    assert plan["size"]["kv"]["tokens"] >= int(planned)
    why = next(entry["why"] for entry in plan["serve"]["settings"] if entry["flag"] == "--max-model-len")
    assert "131072" in why


def test_a_plan_over_eight_cards_counts_the_memory_of_one_of_eight(envcheck: Run, a10: str) -> None:
    cards = json.dumps([{"index": index, "name": "NVIDIA H20", "compute_capability": "9.0", "memory_mib": 97871} for index in range(8)])
    words = ("plan", "--host", a10, "--set", "driver.version=580.95.05", "--set", f"gpus={cards}", "--offline", "--json")
    status, out, _ = envcheck(*words, "--model", "deepseek-ai/DeepSeek-R1")
    assert status == 0
    assert json.loads(out)["size"]["per_gpu_gib"]["weights"] < 95


def test_what_does_not_fit_as_asked_for_is_not_said_to_fit(envcheck: Run, a10: str) -> None:
    status, out, _ = envcheck("plan", "--host", a10, "--model", LONG, "--offline", "--json", "--max-model-len", "131072")
    assert status == 1
    assert json.loads(out)["size"]["verdict"] == "does-not-fit"


def test_a_model_that_no_setting_makes_fit_blocks_the_check(envcheck: Run, a10: str) -> None:
    status, out, _ = envcheck("check", "--host", a10, "--model", "Qwen/Qwen3-32B", "--offline", "--json")  # 61 GiB of weights, 22 GiB there
    answer = json.loads(out)
    assert (status, answer["verdict"], answer["findings"][0]["code"]) == (1, "blocked", "oom-weights")
    assert envcheck("check", "--host", a10, "--model", "Qwen/Qwen3-32B", "--offline")[1].startswith("BLOCKED: Qwen/Qwen3-32B does not fit")
    assert envcheck("check", "--host", a10, "--model", "Qwen/Qwen2.5-7B-Instruct", "--offline")[0] == 0


def test_a_serve_script_of_an_earlier_plan_does_not_stay(envcheck: Run, a10: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    envcheck("plan", "--host", a10, "--model", "Qwen/Qwen2.5-7B-Instruct", "--offline", "-o", str(folder))
    assert (folder / "serve.sh").exists()
    envcheck("plan", "--host", a10, "--offline", "-o", str(folder))
    assert sorted(path.name for path in folder.iterdir()) == ["install.sh", "plan.json"]
    (folder / "serve.sh").write_text("echo mine\n", encoding="utf-8")
    envcheck("plan", "--host", a10, "--offline", "-o", str(folder))
    assert (folder / "serve.sh").read_text(encoding="utf-8") == "echo mine\n"


def test_a_way_out_is_sized_by_its_own_release(envcheck: Run, a10: str) -> None:
    words = ("plan", "--host", a10, "--set", "driver.version=470.161.03", "--set", "driver.cuda=11.4", "--offline", "--json")
    _, out, _ = envcheck(*words, "--model", "Qwen/Qwen2.5-7B-Instruct")
    plan = json.loads(out)
    assert plan["stack"] is None
    assert plan["ways_out"][0]["vllm"] == "0.10.1.1"
    settings = {entry["flag"]: entry["value"] for entry in plan["serve"]["settings"]}
    # Its default, which need not be written; newer releases have 0.92.
    assert "--gpu-memory-utilization" not in settings
    assert plan["size"]["per_gpu_gib"]["budget"] / plan["size"]["per_gpu_gib"]["total"] == pytest.approx(0.9, abs=0.001)


def test_a_plan_in_a_batch_is_the_one_of_the_command(envcheck: Run, a10: str, tmp_path: Path) -> None:
    host = json.loads(Path(a10).read_text(encoding="utf-8"))
    question = tmp_path / "question.ndjson"
    question.write_text(json.dumps({"id": 1, "host": host, "request": {"model": LONG}, "want": ["plan"]}) + "\n", encoding="utf-8")
    alone = json.loads(envcheck("plan", "--host", a10, "--model", LONG, "--offline", "--json")[1])
    together = json.loads(envcheck("batch", str(question))[1])["plan"]
    assert together["serve"] == alone["serve"]
    assert together["size"]["verdict"] == alone["size"]["verdict"]


@pytest.mark.parametrize(
    ("executable", "command"),
    [("/root/vllm/bin/python", "/root/vllm/bin/vllm"), ("/usr/bin/python3", "/usr/local/bin/vllm"), ("python3", "vllm-env/bin/vllm")],
)
def test_an_installed_vllm_is_served_from_where_it_is(envcheck: Run, a10: str, executable: str, command: str) -> None:
    installed = ("--set", 'packages={"vllm": "0.19.1", "torch": "2.10.0"}', "--set", 'torch={"version": "2.10.0+cu129", "cuda": "12.9"}')
    words = ("plan", "--host", a10, *installed, "--set", f"python.executable={executable}", "--model", "Qwen/Qwen3-8B", "--offline")
    status, out, _ = envcheck(*words)
    assert status == 0
    assert "nothing to install" in out
    assert f"\n  {command} serve Qwen/Qwen3-8B" in out


def test_a_fresh_environment_is_served_from_itself(envcheck: Run, a10: str) -> None:
    words = ("plan", "--host", a10, "--set", "python.executable=/root/vllm/bin/python", "--model", "Qwen/Qwen3-8B", "--offline")
    assert "\n  vllm-env/bin/vllm serve Qwen/Qwen3-8B" in envcheck(*words)[1]


def test_tokens_are_reckoned_on_the_planned_context(envcheck: Run, a10: str) -> None:
    words = ("plan", "--host", a10, "--model", "Qwen/Qwen2.5-7B-Instruct", "--vllm", "0.10.2", "--offline", "--json")
    _, out, _ = envcheck(*words, "--max-model-len", "4096", "--prompt-tokens", "3600", "--output-tokens", "1000")
    tokens = json.loads(out)["tokens"]
    assert (tokens["context"], tokens["max_tokens"], tokens["longest_prompt"]) == (4096, 496, 3096)
    assert "tokens" not in json.loads(envcheck(*words)[1])
    assert envcheck("plan", "--host", a10, "--prompt-tokens", "3600", "--offline")[0] == 2  # of which model?


def test_a_release_that_knows_the_model_is_planned(envcheck: Run, a10: str, tmp_path: Path) -> None:
    """Aquila left after 0.24.0: newer releases run on this host, and do not know it."""
    config = {"model_type": "aquila", "architectures": ["AquilaForCausalLM"], "hidden_size": 1024, "num_hidden_layers": 4}
    config |= {"num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 32000, "max_position_embeddings": 4096}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    words = (
        "plan",
        "--host",
        a10,
        "--set",
        "driver.version=580.95.05",
        "--set",
        "driver.cuda=13.0",
        "--model",
        str(tmp_path),
        "--offline",
        "--json",
    )
    alone = json.loads(envcheck(*words)[1])
    assert alone["stack"]["vllm"] == "0.24.0"
    codes = [finding["code"] for finding in json.loads(envcheck(*words, "--vllm", "0.33.0")[1])["findings"]]
    assert "model-unsupported-by-release" in codes
    host = json.loads(Path(a10).read_text(encoding="utf-8"))
    host["driver"] |= {"version": "580.95.05", "cuda": "13.0"}
    question = tmp_path / "question.ndjson"
    question.write_text(json.dumps({"id": 1, "host": host, "request": {"model_config": config}, "want": ["plan"]}) + "\n", encoding="utf-8")
    assert json.loads(envcheck("batch", str(question))[1])["plan"]["stack"]["vllm"] == "0.24.0"
