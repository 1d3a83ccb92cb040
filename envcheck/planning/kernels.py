"""Kernels that a planned release would have compiled here without an nvcc that can: switched off, or, without a serve command, named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import UNSET

from envcheck.matrix.load import Matrix
from envcheck.model.plan import Setting
from envcheck.model.stack import Stack
from envcheck.model.text import Param, Text
from envcheck.rules.situation import Situation

if TYPE_CHECKING:
    from envcheck.matrix.toolchain import KernelCompilation


def missing_kernels(situation: Situation, matrix: Matrix, stack: Stack | None, *, installed: bool) -> tuple[KernelCompilation, ...]:
    """Those of a planned stack, the first for each variable; `installed` = it is there already and served as it is."""
    release = matrix.release(stack.vllm) if stack else None
    if release is None or situation.host.toolkits is UNSET:
        return ()
    from envcheck.rules.nvcc import missing_nvcc  # noqa: PLC0415  # plain documents do not say which toolkits there are

    found = missing_nvcc(situation, matrix, release, installed=installed)
    return tuple({entry.variable: entry for entry in reversed(found) if entry.variable}.values())


def switched_off(kernels: tuple[KernelCompilation, ...], vllm: str) -> Iterator[Setting]:
    """The variables of a server without them; one that only asks for kernels has no such value, and is a matter of a note."""
    for entry in kernels:
        if entry.variable and entry.off is not None:
            yield Setting(entry.variable, entry.off, Text("plan.env.without-kernel", _told(entry, vllm)))


def kernel_notes(kernels: tuple[KernelCompilation, ...], vllm: str, *, served: bool) -> Iterator[Text]:
    """What whoever starts the server must set; `served` = the plan's serve command sets what can be set."""
    for entry in kernels:
        if entry.off is None:
            yield Text("plan.note.unset-kernel", {**_told(entry, vllm), "command": f"unset {entry.variable}"})
        elif not served:
            yield Text("plan.note.without-kernel", {**_told(entry, vllm), "command": f"export {entry.variable}={entry.off}"})


def _told(entry: KernelCompilation, vllm: str) -> dict[str, Param]:
    return {"vllm": vllm, "package": entry.package, "kernel": entry.id}
