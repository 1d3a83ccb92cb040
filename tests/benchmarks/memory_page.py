"""The page `docs/memory.md` and its Chinese sister, out of the scoreboard's figures."""

from __future__ import annotations

from typing import Any

_RULES = {
    "envcheck": ("its own weights, from `config.json`", "自行由 `config.json` 计算权重"),
    "envcheck, weights as logged": ("the same, given the weights that the server logged", "同上，但使用日志中的实际权重"),
    "llm-d planner": (
        "U·T − W − activation (dense 5.5, experts 8.0, multimodal 2.5) − 0.15 (one rank) or 0.6",
        "U·T − W − 激活（稠密 5.5、专家 8.0、多模态 2.5）− 0.15（单卡）或 0.6",
    ),
    "GPUStack": ("U·T − (1.2·W + 2)", "U·T − (1.2·W + 2)"),
    "env-doctor": ("T − 1.2·W", "T − 1.2·W"),
    "weights only": ("U·T − W", "U·T − W"),
}
_WORDS = {
    "en": {
        "title": "# Memory: how near the figures come",
        "other": "[中文](memory.zh-CN.md)",
        "made": "Made by `python -m tests.benchmarks.memory_scoreboard --configs FOLDER --docs docs CASES.json`; not edited by hand.",
        "what": (
            "`envcheck size` says what vLLM will leave for the KV cache before it is started. Here its figures stand "
            "beside those of other "
            "tools' published rules, on the same {n} start-up logs from public reports (releases {oldest} to {newest}, "
            "cards of {smallest:.0f} to {largest:.0f} GiB; {sweep} are one sweep of 0.19.0 on H100). Every "
            "rule but the first is given the weights that the server itself logged. U = `gpu_memory_utilization`, T = "
            "the GPU's memory, W = "
            "weights on a GPU; GiB."
        ),
        "board": "| rule | KV memory it promises | of the KV: median error | 90 % below | of the GPU: median | 90 % below | too much |",
        "promised": '"Too much" counts the runs where over 2 % of the GPU\'s memory was promised that was not there.',
        "unseen": "## On runs it has not seen",
        "unseen_what": (
            "The model's constants (bytes a logit in the sampler, memory outside torch, CUDA graphs, a first start) "
            "are fitted to logged runs. "
            "Below they are fitted again without each of {families} model families in turn, and without each of "
            "{ranges} release ranges, and "
            "asked about the runs left out. A constant that only those runs decide is taken from the nearest record "
            "that has others; what communicators over links take as the largest of such records, since too little "
            "promised is the smaller harm. "
            "*Inside* = the logged figure lies in the interval that `envcheck size` gives."
        ),
        "unseen_head": "| fitted to | of the GPU: median error | 90 % below | worst | inside the interval | half its width | too much |",
        "rows": ("all runs", "other families", "other release ranges"),
        "why": (
            "Left-out releases get the wide interval of a release of which there is no log. That is the hard case: "
            "what NCCL takes changes from release to release "
            "(0.55 GiB on linked "
            "H100s with 0.11 to 0.17, 2.07 GiB with 0.18 and 0.19), and so do the sampler's kernels. Of a release "
            "without logs `envcheck size` plans for the most that a logged one took. A log settles it."
        ),
        "again": "## With your own logs",
        "again_what": (
            "```\nenvcheck learn server.log --output learned.json\n"
            "python -m tests.benchmarks.memory_fit --configs FOLDER CASES.json learned.json\n```\n\n"
            "`envcheck learn` reads the memory lines of any release's start-up log (plain, gzip or standard input) "
            "into a record: release, "
            "engine, GPU, total, weights, memory outside torch, activation peak, CUDA graphs, KV memory and tokens, "
            "and the settings that "
            "matter; it says what the log does not tell. `VLLM_LOGGING_LEVEL=DEBUG` makes vLLM print most. Keys, "
            "people and machines are not "
            "kept. FOLDER holds each model's `config.json`, named after the model with `__` for `/`."
        ),
    },
    "zh": {
        "title": "# 显存：估算有多准",
        "other": "[English](memory.md)",
        "made": ("由 `python -m tests.benchmarks.memory_scoreboard --configs FOLDER --docs docs CASES.json` 生成，请勿手工修改。"),
        "what": (
            "`envcheck size` 在 vLLM 启动之前就给出将留给 KV 缓存的显存。下表在同样的 {n} 份公开启动日志上（版本 {oldest} 至 {newest}，"
            "显卡 {smallest:.0f} 至 {largest:.0f} GiB，其中 {sweep} 份出自 0.19.0 在 H100 上的同一批测试）"
            "把它与其他工具公布的规则并列比较。除第一行外，每条规则都使用服务日志中的实际权重。U = "
            "`gpu_memory_utilization`，T = 显存总量，"
            "W = 单卡权重，单位 GiB。"
        ),
        "board": "| 规则 | 所承诺的 KV 显存 | 误差 / KV，中位数 | 90 % 的运行低于 | 误差 / 显存，中位数 | 90 % 的运行低于 | 承诺过多 |",
        "promised": "“承诺过多”指承诺的显存比实际多出显存总量 2 % 以上的运行次数。",
        "unseen": "## 对从未见过的运行",
        "unseen_what": (
            "模型的常数（采样器每个 logit 的字节数、torch 之外的显存、CUDA 图、首次启动）由日志拟合得到。下表依次去掉 "
            "{families} 个模型家族、"
            "{ranges} 段版本区间中的每一个，重新拟合后再预测被去掉的运行。只由这些运行决定的常数取自最接近的、另有依据的记录；"
            "互联卡上的通信占用取此类记录中最大的，因为少承诺的害处更小。"
            "“落在区间内”指日志数值位于 `envcheck size` 给出的区间之中。"
        ),
        "unseen_head": "| 拟合所用 | 误差 / 显存，中位数 | 90 % 的运行低于 | 最大 | 落在区间内 | 区间半宽，中位数 | 承诺过多 |",
        "rows": ("全部运行", "其他家族", "其他版本区间"),
        "why": (
            "被去掉的版本采用“没有日志的版本”所用的宽区间。这是最难的情形："
            "NCCL 占用逐版本变化（互联的 H100 在 0.11 至 0.17 为 0.55 GiB，0.18、0.19 为 "
            "2.07 GiB），采样器的内核"
            "也是如此。对没有日志的版本，`envcheck size` 按已有日志中的最大值计划。只要有一份日志即可确定。"
        ),
        "again": "## 使用自己的日志",
        "again_what": (
            "```\nenvcheck learn server.log --output learned.json\n"
            "python -m tests.benchmarks.memory_fit --configs FOLDER CASES.json learned.json\n```\n\n"
            "`envcheck learn` 把任何版本启动日志（文本、gzip 或标准输入）中的显存信息读成一条记录：版本、引擎、GPU、"
            "总量、权重、torch 之外的显存、"
            "激活峰值、CUDA 图、KV 显存与 token 数，以及有关的设置；日志没有写明的也会指出。设 "
            "`VLLM_LOGGING_LEVEL=DEBUG` 时 vLLM 打印得最全。"
            "密钥、人名与主机名不会保留。FOLDER 中放各模型的 `config.json`，文件名为模型名，其中 `/` 写作 `__`。"
        ),
    },
}


def page(board: dict[str, Any], lang: str) -> str:
    """The page in a language, `en` or `zh`."""
    words: dict[str, Any] = _WORDS[lang]
    parts = [words["title"], words["other"], words["made"], _what(board, words)]
    parts += [_board(board, words["board"], 0 if lang == "en" else 1), words["promised"], words["unseen"]]
    parts += [words["unseen_what"].format(families=board["families"], ranges=len(board["releases"])), _unseen(board, words)]
    parts += [words["why"], words["again"], words["again_what"]]
    return "\n\n".join(parts) + "\n"


def _what(board: dict[str, Any], words: dict[str, Any]) -> str:
    span, n = board["span"], board["rules"]["envcheck"]["n"]
    cards = {"smallest": span["smallest_gib"], "largest": span["largest_gib"]}
    text: str = words["what"].format(n=n, oldest=span["oldest"], newest=span["newest"], sweep=span["sweep"], **cards)
    return text


def _board(board: dict[str, Any], head: str, place: int) -> str:
    lines = [head, "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, row in board["rules"].items():
        shares = " | ".join(_percent(row[key]) for key in ("median_of_kv", "p90_of_kv", "median_of_gpu", "p90_of_gpu"))
        lines.append(f"| {name} | {_RULES[name][place]} | {shares} | {row['over_promised']} / {row['n']} |")
    return "\n".join(lines)


def _unseen(board: dict[str, Any], words: dict[str, Any]) -> str:
    lines = [words["unseen_head"], "| --- | --- | --- | --- | --- | --- | --- |"]
    for key, label in zip(("as_it_is", "families_left_out", "releases_left_out"), words["rows"], strict=True):
        row = board[key]
        shares = " | ".join(_percent(row[name]) for name in ("median_share", "p90_share", "worst_share"))
        width = f"{row['median_half_width_gib']:.2f} GiB"
        lines.append(f"| {label} | {shares} | {row['inside']:.0%} | {width} | {row['over_promised']} / {row['n']} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{share:.2%}" if share < 0.1 else f"{share:.0%}"
