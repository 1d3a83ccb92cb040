"""The commands that are asked of real releases: hosts, models and wishes, and what `envcheck plan` makes of them."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

TOP = Path(__file__).resolve().parents[2]
PROFILES = TOP / "tests" / "profiles"
# Old and new releases run with it on every GPU below; vLLM itself reads no driver's release.
DRIVER = {"version": "580.95.05", "cuda": "13.0", "nvml": "ok"}
# What the matrix's configurations leave out, as the models' own files have it. Models that see are only parsed: they need torchvision.
ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
NGRAM = '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}'
# The fewest words that a reasoning parser asks the tokenizer for.
WORDS = {"<unk>": 0, "<think>": 1, "</think>": 2}
TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [
        {"id": number, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for word, number in WORDS.items()
    ],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "<unk>"},
}
REFUSED = frozenset({"flag-not-in-release", "flag-value-invalid"})
SECONDS = 60


class Wish(NamedTuple):
    """A model on a host, the host named by its profile, with the arguments that a person adds."""

    host: str
    model: str
    arguments: str = ""


WISHES = (
    Wish("rtx4090", "Qwen/Qwen3-8B"),
    Wish("rtx4090", "Qwen/Qwen3-8B", "--kv-cache-dtype fp8 --enable-auto-tool-choice --tool-call-parser hermes"),
    Wish("rtx4090", "Qwen/Qwen3-0.6B", "--max-num-seqs 64 --no-enable-prefix-caching --enforce-eager"),
    Wish("rtx4090", "openai/gpt-oss-20b"),
    Wish("rtx4090", "meta-llama/Meta-Llama-3.1-8B", f"--speculative-config '{NGRAM}'"),
    Wish("rtx4090", "Qwen/Qwen3-8B", "--swap-space 0"),
    Wish("rtx4090", "Qwen/Qwen3-8B", "--disable-log-requests"),
    Wish("rtx4090", "Qwen/Qwen3-8B", "--max-model-len 8k --served-model-name first --mm-processor-cache-gb 0"),
    Wish("h20x8", "deepseek-ai/DeepSeek-V3"),
    Wish("h20x8", "Qwen/Qwen3-235B-A22B-FP8", "--enable-expert-parallel"),
    Wish("h20x8", "meta-llama/Meta-Llama-3.1-70B", "--max-num-batched-tokens 16384 --max-seq-len-to-capture 8192"),
    Wish("h20x8", "Qwen/Qwen3-32B", "--pipeline-parallel-size 2 --tensor-parallel-size 4"),
    Wish("h20x8", "Qwen/Qwen3-30B-A3B", "--data-parallel-size 8 --async-scheduling"),
    Wish("h20x8", "Qwen/Qwen2.5-VL-7B-Instruct", """--limit-mm-per-prompt '{"image": 2}'"""),
    Wish("h20x8", "Qwen/Qwen2.5-VL-7B-Instruct", "--limit-mm-per-prompt image=2"),
    Wish("h20x8", "Qwen/Qwen3-8B", "--reasoning-parser qwen3 --max-logprobs 20 --seed 7 --disable-log-stats"),
    Wish("t4_470", "Qwen/Qwen2.5-1.5B-Instruct"),
    Wish("t4_470", "Qwen/Qwen3-0.6B", "--dtype half --max-num-seqs 16"),
    Wish("t4_470", "Qwen/Qwen3-0.6B", "--guided-decoding-backend xgrammar"),
    Wish("t4_470", "Qwen/Qwen3-0.6B", "--attention-backend TRITON_ATTN"),
)


class Command(NamedTuple):
    """A planned command: what follows `vllm serve`, the settings it is made of, what was found fault with, and what is said of it."""

    wish: Wish
    argv: list[str]
    environment: dict[str, str]
    settings: dict[str, str | None]
    codes: frozenset[str]
    errors: frozenset[str]
    notes: str


def host(profile: str) -> dict[str, Any]:
    """The host document of a stand-in's profile, on an ordinary Ubuntu with enough of everything."""
    read = configparser.ConfigParser(interpolation=None, comment_prefixes=("#", ";"), inline_comment_prefixes=("#", ";"))
    read.read(PROFILES / f"{profile}.ini", encoding="utf-8")
    board = read["gpu"]
    memory_mib = int(board["memory_total"].split()[0])
    gpu = {"name": board["name"], "compute_capability": board["cc"], "memory_mib": memory_mib, "memory_free_mib": memory_mib - 600}
    return {
        "schema": "envcheck.host/1",
        "os": {"name": "Ubuntu 22.04.5 LTS", "id": "ubuntu", "version": "22.04", "arch": "x86_64", "glibc": "2.35", "wsl": False},
        "python": {
            "version": "3.12.11",
            "executable": "/usr/bin/python3.12",
            "environment": "system",
            "headers": True,
            "compiler": "gcc 11.4.0",
        },
        "driver": DRIVER,
        "gpus": [{"index": index, **gpu} for index in range(int(read["system"]["gpus"]))],
        "memory": {"ram_mib": 2048000, "ram_available_mib": 2000000, "shm_mib": 1024000},
        "disk": [{"path": "~/.cache/huggingface", "free_mib": 8000000}],
    }


def plan(wish: Wish, release: str) -> Command | None:
    """What the command line makes of a wish; None where this release is not planned for it, with a finding."""
    asked = ["plan", "--host", "-", "--model", wish.model, "--vllm", release, "--offline", "--json", *shlex.split(wish.arguments)]
    done = subprocess.run(
        [sys.executable, "-m", "envcheck", *asked],
        input=json.dumps(host(wish.host)),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=TOP,
    )
    if done.returncode not in (0, 1, 3):
        raise AssertionError(f"{wish} on {release}: exit status {done.returncode}: {done.stderr[-2000:]}")
    told = json.loads(done.stdout)
    served = told["serve"]
    if served is None or (told["stack"] or {}).get("vllm") != release:
        assert told["findings"] or told["ways_out"] or told["not_possible"], f"{wish} on {release}: no command and no reason"
        return None
    words = shlex.split(served["command"])
    names = [re.fullmatch(r"(\w+)=(.*)", word, re.DOTALL) for word in words[: words.index("vllm")]]
    return Command(
        wish,
        words[words.index("vllm") + 2 :],
        {found[1]: found[2] for found in names if found},
        {setting["flag"]: setting["value"] for setting in served["settings"]},
        frozenset(finding["code"] for finding in told["findings"]),
        frozenset(finding["code"] for finding in told["findings"] if finding["severity"] == "error"),
        "\n".join([*told["notes"], *(finding["detail"] for finding in told["findings"] if finding["code"] in REFUSED)]),
    )


def model_folder(model: str, place: Path, **other: Any) -> Path | None:
    """A folder with the model's config.json as the matrix has it, made in `place`; None where it lacks what vLLM asks for.

    `other` = fields in place of the model's own.
    """
    record = next(record for record in json.loads((TOP / "matrices" / "models.json").read_text(encoding="utf-8")) if record["id"] == model)
    config = {**(record.get("config") or {}), **other}
    architecture = ARCHITECTURES.get(config.get("model_type", ""))
    if architecture:
        config.setdefault("architectures", [architecture])
    if "architectures" not in config or record.get("partial"):
        return None
    folder = place / model.replace("/", "--")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}), encoding="utf-8")
    return folder
