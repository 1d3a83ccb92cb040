"""The shell lines that pull an image and start it: nothing shared with the host but the GPUs, a port of the loopback, the hub's cache."""

from __future__ import annotations

import re
import shlex
from typing import Literal

import msgspec

from envcheck.model.ways import ImageUse

Engine = Literal["docker", "podman"]
PORT = 8000
_CACHE = "/root/.cache/huggingface"  # where the images keep what they download


class Run(msgspec.Struct, frozen=True):
    """How an image is started. `gpus` = their places, empty = all; `shm_mib` in MiB, 0 = the engine's own; `arguments` = of `vllm serve`.

    `environment` goes beside what the image itself needs. `model` "" = none was named yet.
    """

    engine: Engine = "docker"
    model: str = ""
    gpus: tuple[int, ...] = ()
    shm_mib: int = 0
    environment: dict[str, str] = {}
    arguments: tuple[str, ...] = ()


def commands(image: ImageUse, run: Run) -> tuple[str, ...]:
    """Pull, then start; two lines. What a user wrote is quoted, and a model that looks like an option is refused."""
    name = _full(image, run.engine)
    return f"{run.engine} pull {shlex.quote(name)}", " ".join(
        [f"{run.engine} run --rm --name vllm", *_options(image, run), *_served(name, run)]
    )


def _full(image: ImageUse, engine: Engine) -> str:
    """The name to pull by; podman takes no short ones without asking."""
    name = image.mirror or image.reference
    return f"docker.io/{name}" if engine == "podman" and image.mirror is None else name


def _options(image: ImageUse, run: Run) -> list[str]:
    found = _gpus(run)
    if run.shm_mib:
        found.append(f"--shm-size {run.shm_mib}m")
    # The server inside listens on all of the container's addresses; of the host's it gets the loopback alone.
    found += [f"-p 127.0.0.1:{PORT}:{PORT}", f'-v "$HOME/.cache/huggingface:{_CACHE}"']
    if run.model.startswith("/"):
        found.append(f"-v {shlex.quote(f'{run.model}:{run.model}:ro')}")
    both = {**image.environment, **run.environment}
    found += [f"--env {shlex.quote(f'{name}={value}')}" for name, value in both.items()]
    return found


def _gpus(run: Run) -> list[str]:
    if run.engine == "podman":
        named = [f"--device nvidia.com/gpu={place}" for place in run.gpus] or ["--device nvidia.com/gpu=all"]
        return [*named, "--security-opt label=disable"]  # SELinux refuses the device files otherwise
    # The engine reads a list with commas only within quotes of its own.
    return ["--gpus '\"device=" + ",".join(map(str, run.gpus)) + "\"'"] if run.gpus else ["--gpus all"]


def _served(name: str, run: Run) -> list[str]:
    """The entry points of the releases differ; `vllm serve` is in all of them."""
    model = shlex.quote(run.model) if run.model and not run.model.startswith("-") else '"${MODEL:?}"'
    return [f"--entrypoint vllm {shlex.quote(name)} serve {model}", *map(shlex.quote, run.arguments)]


def chosen_gpus(visible: str | None) -> tuple[int, ...]:
    """The places in CUDA_VISIBLE_DEVICES; empty where it names none, or not by place."""
    return tuple(map(int, visible.split(","))) if visible and re.fullmatch(r"\d{1,3}(,\d{1,3}){0,63}", visible) else ()
