"""The NVML facade: one visit to NVML and libcuda in a forked child with a deadline, told as a value.

This module stays light: `ctypes` and `pynvml` are imported in the child only, and `pynvml` only where the library exists.
"""

import gc
from collections.abc import Callable
from typing import Literal

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.forked import Child, Outcome, Send, forked, start
from envcheck.system.port import NvmlGpu, NvmlPair, NvmlReport

STALL_S = 2.0  # a driver that says nothing for so long is hung
TOTAL_S = 4.0  # without persistence mode every GPU takes its time to wake, so answers extend the first deadline up to here


class NvmlVisit(msgspec.Struct, frozen=True):
    """What NVML said, and `cuDriverGetVersion` of the libcuda.so.1 that the loader takes."""

    report: NvmlReport
    libcuda_version: Fact[int]


class LibcudaSeen(msgspec.Struct, frozen=True, tag="libcuda"):
    """First message of the child: libcuda answers without touching the device, so a hung driver does not cost us this.

    Flat, for the decoder of a generic type takes half a millisecond to make: `said` is the source of a version, else the reason of none.
    """

    said: str
    version: int | None = None
    absent: bool = False

    def fact(self) -> Fact[int]:
        """The version as a fact."""
        if self.version is not None:
            return Found(self.version, self.said)
        return Absent(self.said) if self.absent else Unreadable(self.said)


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """NVML answered, with or without success; the devices follow."""

    report: NvmlReport


class DeviceRead(msgspec.Struct, frozen=True, tag="device"):
    """One device."""

    gpu: NvmlGpu


class PairsRead(msgspec.Struct, frozen=True, tag="pairs"):
    """The last message: what lies between the devices."""

    pairs: list[NvmlPair]


Message = LibcudaSeen | Opened | DeviceRead | PairsRead
Tell = Callable[[Message], None]


def collect(stall_s: float = STALL_S, total_s: float = TOTAL_S) -> NvmlReport:
    """NVML's report; never raises, never takes longer than about `total_s` seconds."""
    return visit(stall_s, total_s).report


def begin() -> Child | None:
    """Send the child on its visit; None where none can be had, which `visit` will say."""
    try:
        return start(_child, TOTAL_S)
    except OSError:
        return None


def visit(stall_s: float = STALL_S, total_s: float = TOTAL_S, begun: Child | None = None) -> NvmlVisit:
    """NVML's report and libcuda's version from one child; never raises, never takes longer than about `total_s` seconds.

    `begun` = a child that is under way already.
    """
    try:
        outcome = begun.finish(stall_s, total_s) if begun else forked(_child, stall_s, total_s)
    except OSError as error:
        why = error.strerror or type(error).__name__
        return NvmlVisit(NvmlReport("ForkFailed", why), Unreadable(f"no child process: {why}"))
    return _assemble(outcome, stall_s)


def _child(send: Send) -> None:  # pragma: no cover - runs in the child only
    gc.disable()  # a collection would copy every page of the parent's objects, for a process that ends in a moment
    from envcheck.system.nvml_child import read_all

    encoder = msgspec.msgpack.Encoder()
    read_all(lambda message: send(encoder.encode(message)))


def _assemble(outcome: Outcome, stall_s: float) -> NvmlVisit:
    """The visit from the child's messages, however far it came."""
    libcuda: Fact[int] | None = None
    report: NvmlReport | None = None
    gpus: list[NvmlGpu] = []
    pairs: list[NvmlPair] = []
    try:
        for message in _decoded(outcome.messages):
            if isinstance(message, LibcudaSeen):
                libcuda = message.fact()
            elif isinstance(message, Opened):
                report = message.report
            elif isinstance(message, DeviceRead):
                gpus.append(message.gpu)
            else:
                pairs = message.pairs
    except msgspec.MsgspecError as error:
        outcome = Outcome([], "crashed", f"garbled answer: {error}")
    version = libcuda
    if version is None:
        version = Unreadable("did not answer in time" if outcome.end == "timeout" else f"crashed: {outcome.detail}")
    if outcome.end == "done" and report is not None:
        return NvmlVisit(msgspec.structs.replace(report, gpus=gpus, pairs=pairs), version)
    status: Literal["Timeout", "Crashed"] = "Timeout" if outcome.end == "timeout" else "Crashed"
    reason = f"no answer for {stall_s:g} s" if outcome.end == "timeout" else outcome.detail
    stage = f"{len(gpus)} of {report.gpu_count} GPUs read" if report else "loading libcuda" if libcuda is None else "nvmlInit"
    cut_short = msgspec.structs.replace(report or NvmlReport(status), status=status, detail=f"{reason} ({stage})", gpus=gpus)
    return NvmlVisit(cut_short, version)


def _decoded(messages: list[bytes]) -> list[Message]:
    decoder = msgspec.msgpack.Decoder(Message)
    return [decoder.decode(message) for message in messages]
