"""Asks a release about commands: runs in the release's environment; a question as JSON on stdin, the answer as JSON on stdout.

In: `{"ram_mib": N, "options": bool, "commands": [{"argv": [...], "environment": {...}, "model": FOLDER or null}]}`; `argv` is what follows
`vllm serve`.
A command is parsed and validated as `vllm serve` does; with a folder that holds the model's config.json, the engine's configuration is
made of it too. Out: `{"release", "platform", "options"?: {option: {...}}, "commands": [{"stage", "message", "values", "changed",
"warnings", "configuration"}]}`; `stage` is `accepted` or where it failed, with the release's own words.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import enum
import importlib
import io
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pretend_cuda

PARSERS = ("vllm.utils.argparse_utils", "vllm.utils")
OF_SCHEDULER = ("max_num_seqs", "max_num_batched_tokens", "async_scheduling")
OF_CACHE = ("block_size", "cache_dtype", "gpu_memory_utilization", "enable_prefix_caching")
OF_PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel")
OF_MODEL = ("max_model_len", "dtype", "quantization", "enforce_eager")
WORDS = 2000


class Failed(Exception):
    """A command failed at a stage, with the release's own words."""


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it; what it has no form for, by its name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if depth > 6:
        return repr(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name, None), depth + 1) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner, depth + 1) for inner in value]
    return repr(value)


def parser_class() -> Any:
    """The release's own class of parser."""
    for name in PARSERS:
        with contextlib.suppress(ImportError, AttributeError):
            return importlib.import_module(name).FlexibleArgumentParser
    raise Failed("no FlexibleArgumentParser in " + " or ".join(PARSERS))


class Release:
    """The parser of `vllm serve`, built as the release's own command builds it."""

    def __init__(self) -> None:
        sys.argv = ["vllm"]  # the name that errors begin with
        self.top = parser_class()(description="vLLM CLI")
        commands = self.top.add_subparsers(required=False, dest="subparser")
        self.command = importlib.import_module("vllm.entrypoints.cli.serve").cmd_init()[0]
        self.parser = self.command.subparser_init(commands)
        self.parser.set_defaults(dispatch_function=None)

    def options(self) -> dict[str, dict[str, Any]]:
        """Every option string with what the parser says of it."""
        return {
            option: {
                "dest": action.dest,
                "choices": plain(list(action.choices)) if action.choices else None,
                "default": plain(action.default),
                "nargs": action.nargs,
                "deprecated": bool(getattr(action, "deprecated", False)),
            }
            for action in self.parser._actions
            for option in action.option_strings
        }

    def parse(self, argv: list[str]) -> argparse.Namespace:
        """What the parser makes of a command; SystemExit where it refuses."""
        sys.argv = ["vllm", "serve", *argv]
        parsed: argparse.Namespace = self.top.parse_args(["serve", *argv])
        if getattr(parsed, "model_tag", None):
            parsed.model = parsed.model_tag
        self.command.validate(parsed)
        return parsed

    def changed(self, parsed: argparse.Namespace) -> dict[str, Any]:
        """What differs from the parser's defaults."""
        defaults = {action.dest: plain(self.parser.get_default(action.dest)) for action in self.parser._actions}
        values = {key: plain(value) for key, value in vars(parsed).items() if key not in ("subparser", "dispatch_function")}
        return {key: value for key, value in values.items() if key not in defaults or defaults[key] != value}


def configure(parsed: argparse.Namespace, folder: str) -> dict[str, Any]:
    """The engine's configuration of a parsed command, as the server makes it, for the model in a folder."""
    parsed.model = folder
    if getattr(parsed, "model_tag", None):
        parsed.model_tag = folder
    registry = importlib.import_module("vllm.model_executor.models.registry")
    if hasattr(registry, "_run_in_subprocess"):
        registry._run_in_subprocess = lambda function: function()  # 15 s less for each architecture
    arguments = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs.from_cli_args(parsed)
    usage = importlib.import_module("vllm.usage.usage_lib").UsageContext.OPENAI_API_SERVER
    made = arguments.create_engine_config(usage)
    parts = (
        (made.scheduler_config, OF_SCHEDULER),
        (made.cache_config, OF_CACHE),
        (made.parallel_config, OF_PARALLEL),
        (made.model_config, OF_MODEL),
    )
    found = {name: plain(getattr(part, name, None)) for part, names in parts for name in names}
    graphs = made.compilation_config
    sizes = getattr(graphs, "cudagraph_capture_sizes", None) or [0]
    chunked = getattr(made.scheduler_config, "enable_chunked_prefill", None)
    mode = getattr(graphs, "cudagraph_mode", None)
    return {
        **found,
        "prefix_caching": found.pop("enable_prefix_caching"),
        "kv_cache_dtype": found.pop("cache_dtype"),
        "chunked_prefill": plain(chunked),
        "cudagraph_mode": getattr(mode, "name", None),
        "cudagraph_max": max(sizes),
        "architectures": plain(made.model_config.architectures),
    }


class Heard(logging.Handler):
    """Collects the sentences of warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.sentences: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one sentence."""
        self.sentences.append(record.getMessage()[:300])


@contextlib.contextmanager
def listening(environment: dict[str, str]) -> Iterator[list[str]]:
    """Variables set for the time of one command; the warnings that were logged or raised meanwhile."""
    before, argv, heard = dict(os.environ), sys.argv, Heard()
    os.environ.update(environment)
    logger = logging.getLogger("vllm")
    logger.addHandler(heard)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield heard.sentences
        heard.sentences += [str(one.message)[:300] for one in caught if not issubclass(one.category, ResourceWarning)]
    finally:
        logger.removeHandler(heard)
        sys.argv = argv
        os.environ.clear()
        os.environ.update(before)


def refusal(said: str) -> str:
    """The parser's error out of what it printed: usage comes first, hints may follow."""
    found = re.search(r"[^\n]*: error: .*", said, re.DOTALL)
    return (found[0] if found else said).strip()[:WORDS]


def answer(release: Release, command: dict[str, Any]) -> dict[str, Any]:
    """One command's answer."""
    told: dict[str, Any] = {"stage": "parse", "message": None, "values": {}, "changed": {}, "configuration": None}
    said = io.StringIO()
    with listening(command.get("environment") or {}) as sentences:
        try:
            with contextlib.redirect_stderr(said):
                parsed = release.parse(command["argv"])
            told["changed"] = release.changed(parsed)
            told["values"] = {key: plain(value) for key, value in vars(parsed).items() if key != "dispatch_function"}
            told["stage"] = "configuration"
            if command.get("model"):
                told["configuration"] = configure(parsed, command["model"])
            told["stage"] = "accepted"
        except SystemExit:
            told["message"] = refusal(said.getvalue())
        except Exception as error:
            told["message"] = f"{type(error).__name__}: {error}"[:WORDS]
            logging.exception("refused at the stage of %s", told["stage"])
    return {**told, "warnings": list(dict.fromkeys(sentences))}


def main() -> None:
    """Answer the question on stdin. What vLLM prints goes to stderr."""
    asked = json.load(sys.stdin)
    out = os.dup(1)
    os.dup2(2, 1)
    os.environ.update(HF_HUB_OFFLINE="1", VLLM_NO_USAGE_STATS="1", VLLM_DO_NOT_TRACK="1", VLLM_TARGET_DEVICE="cuda")
    pretend_cuda.pretend(asked["ram_mib"])
    release = Release()
    pretend_cuda.lend_triton(importlib.import_module("vllm.triton_utils"))
    found: dict[str, Any] = {
        "release": importlib.import_module("vllm").__version__,
        "platform": type(importlib.import_module("vllm.platforms").current_platform).__name__,
        "commands": [answer(release, command) for command in asked["commands"]],
    }
    if asked.get("options"):
        found["options"] = release.options()
    os.write(out, json.dumps(found).encode())


if __name__ == "__main__":
    main()
