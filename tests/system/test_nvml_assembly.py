from __future__ import annotations

import msgspec
import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.system import nvml
from envcheck.system.forked import Outcome
from envcheck.system.nvml import DeviceRead, LibcudaSeen, Message, Opened, visit
from envcheck.system.port import NvmlGpu, NvmlReport

OPENED = Opened(NvmlReport("ok", driver_version="580.95.05", gpu_count=2))


def outcome(monkeypatch: pytest.MonkeyPatch, end: str, *messages: Message | bytes, detail: str = "") -> nvml.NvmlVisit:
    sent = [message if isinstance(message, bytes) else msgspec.msgpack.encode(message) for message in messages]
    monkeypatch.setattr(nvml, "forked", lambda work, stall_s, total_s: Outcome(sent, end, detail))  # type: ignore[arg-type]
    return visit()


def test_devices_join_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = [NvmlGpu(index=0, errors={"mig": "NotSupported"}), NvmlGpu(index=1, lost="GpuIsLost")]
    seen = outcome(monkeypatch, "done", LibcudaSeen("x", 13000), OPENED, *map(DeviceRead, gpus))
    assert seen.report == NvmlReport("ok", driver_version="580.95.05", gpu_count=2, gpus=gpus)
    assert seen.libcuda_version == Found(13000, "x")


def test_a_child_that_died_before_its_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = outcome(monkeypatch, "crashed", detail="signal 9")
    assert (seen.report.status, seen.report.detail) == ("Crashed", "signal 9 (loading libcuda)")
    assert seen.libcuda_version == Unreadable("crashed: signal 9")


def test_a_deadline_after_the_first_device(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = outcome(monkeypatch, "timeout", LibcudaSeen("none", absent=True), OPENED, DeviceRead(NvmlGpu(index=0)))
    assert (seen.report.status, seen.report.driver_version) == ("Timeout", "580.95.05")
    assert (seen.report.gpu_count, len(seen.report.gpus)) == (2, 1)
    assert seen.libcuda_version == Absent("none")


def test_a_libcuda_that_does_not_tell_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(monkeypatch, "done", LibcudaSeen("error 34"), OPENED).libcuda_version == Unreadable("error 34")


def test_a_report_that_ended_without_an_answer_is_not_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(monkeypatch, "done", LibcudaSeen("none", absent=True)).report.status == "Crashed"


@pytest.mark.parametrize("garbage", [b"", b"\xff", b"\xc1", msgspec.msgpack.encode({"type": "device", "gpu": {"index": "one"}})])
def test_a_garbled_answer_is_a_crash_and_keeps_nothing_false(monkeypatch: pytest.MonkeyPatch, garbage: bytes) -> None:
    report = outcome(monkeypatch, "done", LibcudaSeen("none", absent=True), OPENED, garbage).report
    assert report.status == "Crashed"
    assert "garbled" in (report.detail or "")


def test_no_child_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: object, stall_s: float, total_s: float) -> Outcome:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(nvml, "forked", refuse)
    seen = visit()
    assert (seen.report.status, seen.report.detail) == ("ForkFailed", "Resource temporarily unavailable")
    assert seen.libcuda_version == Unreadable("no child process: Resource temporarily unavailable")
