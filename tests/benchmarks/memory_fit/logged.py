"""Logged runs as questions to the memory model, with what the server logged: cases from public reports, and records of `envcheck learn`.

A case file is a list of objects with `gpu`, `gpu_mem_gib`, `tp`, `pp`, `model`, `config_model`, `vllm_version`, `engine`, `args` and
`observed`; configurations are files named after the model. GiB throughout.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import Version

from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.sizing.inputs import SizingInputs
from envcheck.sizing.request import Sizer

# How a case says that its total is CUDA's, not the label's.
_CUDA_TOTALS = ("vllm_reported", "derived", "nominal usable", "typical", "from the OOM", "total capacity", "torch total")
# Formats whose size follows from the configuration; the others' weights are taken from the log.
_COMPUTABLE = {"fp8", "mxfp4", "w4a16", "awq", "gptq-int4", "int4 (compressed-tensors)"}
_RELEASE = re.compile(r"\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?(?:\.dev\d+)?")


class Run(msgspec.Struct, frozen=True):
    """What a log tells. `seen` = GiB by term (`kv`, `activation`, `non_torch`, `graphs`), those it tells; `group` = where it comes from."""

    id: str
    group: str
    total_gib: float
    weights_gib: float | None
    seen: Mapping[str, float]


class Logged(msgspec.Struct, frozen=True):
    """One run with the question it answers; `family` = the model's type."""

    run: Run
    inputs: SizingInputs
    family: str
    release: str

    @property
    def id(self) -> str:
        """Its name."""
        return self.run.id

    @property
    def seen(self) -> Mapping[str, float]:
        """GiB by term."""
        return self.run.seen


def logged_runs(paths: list[Path], configs: Path, sizer: Sizer) -> list[Logged]:
    """Every run of those files whose memory the log tells."""
    runs = []
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        of_learn = isinstance(content, dict)
        for entry in content["runs"] if of_learn else content:
            found = _learned(entry, configs, sizer) if of_learn else _case(entry, configs, sizer)
            if found is not None and found.seen:
                runs.append(found)
    return runs


def _case(case: dict[str, Any], configs: Path, sizer: Sizer) -> Logged | None:
    config = _config(configs, case.get("config_model"))
    release = case.get("version_to_use") or _first(_RELEASE, case.get("vllm_version") or "")
    if config is None or release is None or not case.get("gpu_mem_gib"):
        return None
    quant, observed = case.get("quant"), case["observed"]
    if case.get("config_model_note"):
        config = {key: value for key, value in config.items() if key not in ("quantization_config", "hf_quant_config")}
    told = case.get("give_weights") or (quant and (quant not in _COMPUTABLE or "multimodal" in case["tags"]))
    serve = {key: value for key, value in case["args"].items() if key.islower() and not key.endswith("_effective")}
    serve |= {"tensor_parallel_size": case["tp"] or 1, "pipeline_parallel_size": case["pp"] or 1}
    if quant and case.get("config_model_note"):
        serve.setdefault("quantization", quant)
    host = {
        "gpus": [_gpu(case, observed)] * (case["n_gpus"] or case["tp"] or 1),
        "environment": {key: str(value) for key, value in case["args"].items() if key.isupper()},
    }
    request = {
        "vllm": release,
        "model": case["model"],
        "engine": case["engine"],
        "serve_args": serve,
        "model_config": config,
        "weights_gib": observed["weights_gib"] if told else None,
        "first_start": False if case.get("compile_cache") == "warm" else None,
    }
    decides = bool((case.get("decidable") or {}).get("kv")) and (observed["kv_cache_gib"] or 0) > 0
    names = {"kv": "kv_cache_gib", "activation": "activation_gib", "non_torch": "non_torch_gib", "graphs": "cudagraph_gib"}
    seen = {term: observed[name] for term, name in names.items() if observed.get(name) is not None}
    if (seen.get("graphs") or 0) <= 0:  # older releases measured a difference of free memory, which others move too
        seen.pop("graphs", None)
    if not decides:
        seen.pop("kv", None)
    run = Run(case["id"], case["group"], case["gpu_mem_gib"], observed["weights_gib"], seen)
    return _logged(run, host, request, sizer)


def _learned(run: dict[str, Any], configs: Path, sizer: Sizer) -> Logged | None:
    memory, config = run["memory"], _config(configs, run.get("model"))
    if config is None or not run.get("vllm") or memory.get("total_gib") is None:
        return None
    host = {"gpus": [{"name": run.get("gpu") or "", "cuda_memory_mib": round(memory["total_gib"] * 1024)}] * (run.get("gpus") or 1)}
    request = {
        "vllm": run["vllm"],
        "model": run["model"],
        "engine": run.get("engine"),
        "serve_args": run["settings"],
        "model_config": config,
    }
    names = {"kv": "kv_gib", "activation": "peak_activation_gib", "non_torch": "non_torch_gib", "graphs": "graphs_gib"}
    seen = {term: memory[name] for term, name in names.items() if memory.get(name) is not None}
    return _logged(Run(run["log"], "learned", memory["total_gib"], memory.get("weights_gib"), seen), host, request, sizer)


def _logged(run: Run, host: Mapping[str, Any], request: Mapping[str, Any], sizer: Sizer) -> Logged:
    asked = msgspec.convert({key: value for key, value in request.items() if value is not None}, Request)
    inputs = sizer.inputs(msgspec.convert(host, HostReport), asked, None, Version(str(request["vllm"])), None)
    family = str(inputs.config.get("model_type") or inputs.config.get("text_config", {}).get("model_type") or "")
    return Logged(run, inputs, family, str(request["vllm"]))


def _gpu(case: Mapping[str, Any], observed: Mapping[str, Any]) -> dict[str, Any]:
    """The card; an 80 GB H100 whose label is all that is known has the memory that NVML shows of it."""
    mib = round(case["gpu_mem_gib"] * 1024)
    cuda = str(case.get("gpu_mem_source", "")).startswith(_CUDA_TOTALS)
    if not cuda and "H100" in (case["gpu"] or "") and mib == 81920:
        mib = 81559
    gpu: dict[str, Any] = {"name": case["gpu"] or "", "cuda_memory_mib" if cuda else "memory_mib": mib}
    failure = observed.get("failure") or {}
    free = failure.get("available_gib") if failure.get("kind") == "free_memory_below_utilization" else observed.get("free_at_start_gib")
    return gpu | ({"memory_free_mib": round(free * 1024)} if free else {})


def _config(folder: Path, model: str | None) -> dict[str, Any] | None:
    path = folder / f"{(model or '').replace('/', '__')}.json"
    if not model or not path.is_file():
        return None
    return {key: value for key, value in json.loads(path.read_text(encoding="utf-8")).items() if not key.startswith("_")}


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.match(text)
    return found.group(0) if found else None


def ranges(runs: list[Logged], steps: tuple[str, ...]) -> Iterator[tuple[str, list[Logged]]]:
    """The runs by release range; `steps` = the first release of each range but the oldest."""
    bounds = [Version(step) for step in steps]
    names = [f"<{steps[0]}", *(f"{old} to {new}" for old, new in pairwise(steps)), f">={steps[-1]}"]
    for place, name in enumerate(names):
        inside = [run for run in runs if sum(Version(run.release) >= bound for bound in bounds) == place]
        if inside:
            yield name, inside
