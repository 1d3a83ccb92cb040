"""The commands that install a stack into a fresh virtual environment, for uv and for pip."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.plan import InstallRecipe, MirrorChoice, Step
from envcheck.model.stack import Stack
from envcheck.model.text import Param, Text
from envcheck.planning.mirrors import mirror_url

TORCH_PACKAGES = ("torch", "torchvision", "torchaudio")  # the packages that torch's own index serves by CUDA variant
CHECK = "import torch, vllm; print(vllm.__version__, torch.__version__, torch.cuda.is_available())"


class _Sources(msgspec.Struct, frozen=True):
    """Where packages come from. None = the installer's configured default; `torch_flat` = the torch mirror is a flat listing."""

    index: str | None
    torch: str | None
    torch_flat: bool
    torch_upstream: str | None
    python_builds: str | None


def recipes(
    stack: Stack, matrix: Matrix, mirrors: tuple[MirrorChoice, ...], directory: str, executable: str | None, *, managed: bool = False
) -> tuple[InstallRecipe, ...]:
    """How to install a stack; `directory` is the environment to make, `executable` the host's interpreter where the plan keeps it.

    `managed` = uv is to bring an interpreter of the same version: the host's own lacks something.
    """
    release = matrix.release(stack.vllm)
    if release is None:
        return ()
    sources = _sources(matrix, mirrors, stack.torch_variant)
    return (_uv(stack, release, sources, directory, managed), _pip(stack, release, sources, directory, executable))


def _sources(matrix: Matrix, mirrors: tuple[MirrorChoice, ...], variant: str) -> _Sources:
    chosen = next((choice for choice in mirrors if choice.kind == "torch-wheels"), None)
    record = next((mirror for mirror in matrix.mirrors("torch-wheels") if chosen and mirror.id == chosen.id), None)
    upstream = next((mirror.url.replace("{variant}", variant) for mirror in matrix.mirrors("torch-wheels") if mirror.upstream), None)
    return _Sources(
        index=mirror_url(mirrors, "python-index"),
        torch=chosen.url if chosen else None,
        torch_flat=record is not None and record.layout == "flat",
        torch_upstream=upstream,
        python_builds=mirror_url(mirrors, "python-builds"),
    )


def requirements(stack: Stack, release: Release) -> tuple[str, ...]:
    """What is asked of the installer besides torch: the exact wheel, and the bounds that its metadata lacks."""
    wheel = f"vllm @ {stack.url}" if stack.url else f"vllm=={stack.vllm}"
    return (wheel, *(f"{package}{bound}" for package, bound in sorted(release.record.constraints.items())))


def torch_requirements(stack: Stack, release: Release) -> tuple[str, ...]:
    """Torch and its companions with their CUDA label, where they do not come from the package index."""
    if not stack.torch_variant:
        return ()
    pinned = {package: release.record.requires.get(package, "") for package in TORCH_PACKAGES}
    return tuple(f"{package}{pin}+{stack.torch_variant}" for package, pin in pinned.items() if pin.startswith("=="))


def _python(directory: str) -> str:
    return f"{directory}/bin/python"


def _check(directory: str) -> Step:
    return Step((_python(directory), "-c", CHECK), Text("plan.step.check"))


def _why_wheel(stack: Stack) -> Text:
    params = {"vllm": stack.vllm, "variant": stack.variant, "cuda": stack.cuda, "torch": stack.torch, "torch_variant": stack.torch_variant}
    if stack.variant:
        return Text("plan.step.wheel-variant", params)
    return Text("plan.step.wheel-torch" if stack.torch_variant else "plan.step.wheel", params)


def _why_torch(stack: Stack) -> Text:
    return Text("plan.step.torch", {"torch": stack.torch, "variant": stack.torch_variant})


def _uv_environment(stack: Stack, sources: _Sources, directory: str, managed: bool) -> Iterator[Step]:
    """The interpreter, where it comes from a mirror, and the environment."""
    python: dict[str, Param] = {"python": stack.python}
    if (stack.new_python or managed) and sources.python_builds:
        fetch = ("uv", "python", "install", "--mirror", sources.python_builds, stack.python)
        yield Step(fetch, Text("plan.step.python-mirror", python))
    why = "new-python" if stack.new_python else "managed" if managed else ""
    own = ("--managed-python",) if managed else ()
    argv = ("uv", "venv", "--allow-existing", *own, "--python", stack.python, directory)
    yield Step(argv, Text(f"plan.step.venv-{why}" if why else "plan.step.venv", python))


def _uv(stack: Stack, release: Release, sources: _Sources, directory: str, managed: bool) -> InstallRecipe:
    steps = list(_uv_environment(stack, sources, directory, managed))
    install = ("uv", "pip", "install", "--python", _python(directory))
    index = ("--default-index", sources.index) if sources.index else ()
    wanted, torch = requirements(stack, release), torch_requirements(stack, release)
    # --torch-backend knows the upstream index only, so beside a mirror the exact labels choose the build.
    if torch and sources.torch and sources.torch_flat:
        steps.append(Step((*install, *index, "--find-links", sources.torch, *torch, *wanted), _why_wheel(stack)))
    elif torch and sources.torch:
        # Two steps, since uv takes a package from the first index that has it, and torch's has old releases of many.
        steps.append(Step((*install, "--default-index", sources.torch, *torch), _why_torch(stack)))
        steps.append(Step((*install, *index, *wanted), _why_wheel(stack)))
    else:
        backend = (f"--torch-backend={stack.torch_variant}",) if stack.torch_variant else ()
        steps.append(Step((*install, *index, *backend, *wanted), _why_wheel(stack)))
    return InstallRecipe("uv", (*steps, _check(directory)))


def _pip(stack: Stack, release: Release, sources: _Sources, directory: str, executable: str | None) -> InstallRecipe:
    python = executable if executable and not stack.new_python else f"python{stack.python}"
    why = "plan.step.venv-needs-python" if stack.new_python else "plan.step.venv"
    steps = [Step((python, "-m", "venv", directory), Text(why, {"python": stack.python}))]
    install = (_python(directory), "-m", "pip", "install")
    index = ("--index-url", sources.index) if sources.index else ()
    steps.append(Step((*install, *index, "--upgrade", "pip"), Text("plan.step.pip")))
    wanted, torch = requirements(stack, release), torch_requirements(stack, release)
    if torch and sources.torch and sources.torch_flat:
        steps.append(Step((*install, *index, "--find-links", sources.torch, *torch, *wanted), _why_wheel(stack)))
        return InstallRecipe("pip", (*steps, _check(directory)))
    if torch:
        # Two steps, since pip merges indexes: with --extra-index-url the build would be chosen by version number alone.
        origin = sources.torch or sources.torch_upstream or ""
        steps.append(Step((*install, "--index-url", origin, *torch), _why_torch(stack)))
    steps.append(Step((*install, *index, *wanted), _why_wheel(stack)))
    return InstallRecipe("pip", (*steps, _check(directory)))
