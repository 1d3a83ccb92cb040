"""Every operation of the port × every fault × every probe: what was asked in vain is said, the rest stays, nothing fails.

A fault answers within the port's contract (types and limits as promised), as the real one does at its limits; what the content says is not
promised by anyone. The raising variant breaks the contract, to show that the guard holds even then.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host import HostReport
from envcheck.probes.collect import PROBES, Probe, collect, guarded
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.system import port
from envcheck.system.port import READ_LIMIT, CommandResult, DiskSpace, HttpAnswer, NvmlReport, System
from envcheck.system.rooted import RootedSystem

HOSTS = Path(__file__).parents[1] / "hosts"
RICH = ("aliyun-ubuntu2204-a10-torchcuda-ready", "baremetal-ubuntu2404-h20x8-blocked", "docker-ubuntu2404-t4-image033-ready")
BARE = "baremetal-debian12-none-blocked"
OPERATIONS = (
    *("read", "exists", "resolve", "glob", "run", "which", "env", "nvml", "libcuda_version"),
    *("disk", "writable", "uname", "libc", "http_get"),
)
MOST_CALLS = 25_000  # of one probe, whatever the host answers; a folder may list 4,096 packages with a few files each
LONGEST_WHY = 5_000  # a path of 4,096 characters and what is said of it
Answer = Callable[[int, Any, tuple[Any, ...]], Any]  # (how many calls before, the true answer, the arguments) → the false answer


def _forwarded(operation: str) -> Any:
    def method(self: FaultySystem, *arguments: Any) -> Any:
        return self._answer(operation, *arguments)

    return method


class FaultySystem(System):
    """Asks `inner`, and lets `fault` replace the answers of one operation; counts the calls."""

    def __init__(self, inner: System, operation: str = "", fault: Answer | None = None) -> None:
        self._inner, self._operation, self._fault = inner, operation, fault
        self.calls: Counter[str] = Counter()

    def _answer(self, operation: str, *arguments: Any) -> Any:
        before = self.calls[operation]
        self.calls[operation] += 1
        if sum(self.calls.values()) > 4 * MOST_CALLS:
            raise AssertionError("a probe that asks without end")
        true = getattr(self._inner, operation)(*arguments)
        return self._fault(before, true, arguments) if self._fault and operation == self._operation else true

    def read(self, path: str, limit: int = READ_LIMIT) -> Fact[bytes]:
        fact: Fact[bytes] = self._answer("read", path, limit)
        return Found(fact.value[:limit], fact.source) if isinstance(fact, Found) else fact

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        return tuple(islice(self._answer("glob", pattern, limit), limit))

    def http_get(self, url: str, *arguments: Any, **choices: Any) -> Fact[HttpAnswer]:
        raise AssertionError("a probe asked the network")

    exists, resolve, which, run, disk, writable = map(_forwarded, ("exists", "resolve", "which", "run", "disk", "writable"))
    env, nvml, libcuda_version, uname, libc = map(_forwarded, ("env", "nvml", "libcuda_version", "uname", "libc"))


# What others may write where a probe looks for something else.
TEXTS = tuple(
    line.encode("ascii").decode("unicode_escape")
    for line in r"""
\x20\n\t\n
\0\0\0\0\0\0\0\0
\x1b[31m\x07\r\x08
\ufffd\ufffd\ufffd \u0663\u0664
-1\n
-9223372036854775808 kB\n
nan
1e309
0x
NaN: inf kB\n
99999999999999999999999999999999999999999999999999999999
9999999999999999999999999.9999999999999999999999.999999
=
= = =\n= =\n=
:::::
/../../../..
%s%n{0}{x}
{}
[]
null
{"cuda": []}
{"cuda": {"version": 12}}
{"v1": 3, "ds": {"meta_data": []}}
{"runtimes": "x", "default-runtime": 5, "exec-opts": {}}
MemTotal: 99999999999999999999999999 kB\nMemAvailable: -5 kB\n
0::/../../..\n1:memory\n:::\n
Version: \nName: \n\nName: x\n
PCI_ID=10DE:\nPCI_CLASS=zz\n
Kernel Module  999999.99999999.9999999999\n
NVRM: Xid (PCI:): , \nNVRM: Xid (PCI:zzzz): 99999999999999999999, pid\n
Max open files  -1  99999999999999999999999  files\nSeccomp:\t-7\nUid:\n
""".splitlines()
) + tuple(sign * 3_000 for sign in "[(-9")
BYTES = (*(text.encode() for text in TEXTS), bytes(range(256)) * 8, b"\xff\xfe" * 500, b"\xed\xa0\x80", b"\x7fELF" + b"\0" * 60)
SIGNS = ("A", "1", "\n", " ", ":", "=", "/", ".", "-", '"', "(", "1.", "a=b\n", "a: 1\n", "0::/x\n", "{", "NVRM: ")
HUGE = tuple((sign * 65_536)[:65_536] for sign in SIGNS)
WORDS = (*(text[:4_096] for text in TEXTS if "\0" not in text), "x" * 4_095)
VARIABLES = ("HOME", "PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CUDA_HOME", "TMPDIR", "HF_HOME", "CC", "CUDA_VISIBLE_DEVICES")
LISTS = ("LD_LIBRARY_PATH", "PATH", "LD_PRELOAD", "PYTHONPATH")
MANY = {f"VLLM_{number}": "x" * 9 for number in range(20_000)}
NUMBERS = (0, 1, 2**31, 2**63 - 1, 2**64 - 1)  # what NVML counts has no sign


def gaps(absent: str) -> dict[str, list[Answer]]:
    """Missing, refused, and what the port answers at its time limit, for an operation that answers with a fact."""
    return {
        "missing": [lambda *_: Absent(absent)],
        "denied": [lambda *_: Unreadable("permission denied")],
        "hang": [lambda *_: Unreadable("timed out after 2 s")],
    }


def constants(values: Sequence[Any], source: str = "somewhere") -> list[Answer]:
    return [lambda _, __, arguments, value=value: Found(value, arguments[0] if arguments else source) for value in values]  # type: ignore[misc]


def plain(missing: Any, *others: Any) -> dict[str, list[Answer]]:
    """The same for an operation that answers with a plain value, and so cannot tell why it has none."""
    return {"missing": [lambda *_: missing], "garbage": [lambda *_, value=value: value for value in others]}  # type: ignore[misc]


def flickering(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> list[Answer]:
    """Changes while it is read: every other answer is another."""
    return [
        lambda before, true, _: (first if before % 2 else second)(true),
        lambda before, true, _: (second if before % 2 else first)(true),
    ]


def same(true: Any) -> Any:
    return true


def bad_gpu(number: int, word: str) -> port.NvmlGpu:
    """A device whose every reading is odd."""
    numeric = {
        name: number
        for name in port.NvmlGpu.__struct_fields__
        if name.endswith(("_bytes", "_mw", "_mask", "_width", "_max", "_rows", "_uncorrected"))
    }
    parts = [port.NvmlMigDevice(word, word, number, number, {"memory": word})] * 3
    asked = dict.fromkeys(("name", "uuid", "pci_bus_id", "fabric_state", "fabric_status", "virtualization"), word)
    lists: dict[str, Any] = {"mig_devices": parts, "nvlink_peers": [word] * 20, "processes": [port.NvmlProcess(number, number)] * 9}
    more: dict[str, Any] = {"compute_capability": (number, number), "numa_node": number, "compute_mode": number, "temperature_c": number}
    return port.NvmlGpu(number, mig_current=True, mig_pending=False, errors={word: word}, **numeric, **asked, **lists, **more)


def bad_report(number: int, word: str) -> NvmlReport:
    pairs = [port.NvmlPair(number, number, number, number, number, {word: word})] * 9
    asked = {"detail": word, "driver_version": word, "nvml_version": word, "library_path": word}
    return NvmlReport(
        "ok", cuda_version=number, gpus=[bad_gpu(number, word)] * 3, gpu_count=number, pairs=pairs, errors={word: word}, **asked
    )


STATUSES = (
    "LibraryNotFound",
    "NoPermission",
    "DriverNotLoaded",
    "LibRmVersionMismatch",
    "GpuIsLost",
    "Unknown",
    "Crashed",
    "ForkFailed",
    "",
)
SPACES = [DiskSpace(total, free) for total, free in ((0, 0), (2**64 - 1, 2**64 - 1), (0, 5))]
FAULTS: dict[str, dict[str, list[Answer]]] = {
    "read": {
        **gaps("no such file"),
        "garbage": constants(BYTES),
        "huge": constants([text.encode() for text in HUGE]),
        "changes": [*flickering(same, lambda _: Found(b"\0\xff", "x")), *flickering(same, lambda _: Absent("no such file"))],
    },
    "exists": {**plain(False, True), "changes": flickering(lambda _: True, lambda _: False)},
    "resolve": {
        **gaps("no such file"),
        "garbage": constants(WORDS),
        "huge": constants(["/" + "x/" * 2_047, "/" * 4_095]),  # a path holds no more
        "changes": flickering(same, lambda _: Found("/elsewhere", "/elsewhere")),
    },
    "glob": {
        **plain((), ("",), ("/",), ("relative", "/\x1b", "//", "/a-b.dist-info"), ("/torch-9.dist-info", "/~orch-9.dist-info")),
        "huge": [lambda _, __, a: (f"{a[0].replace('*', str(number))}" for number in range(100_000))],
        "changes": flickering(same, lambda _: ("/gone",)),
    },
    "run": {
        **gaps("no such command"),
        "garbage": [*constants([CommandResult(number, text, text) for number, text in enumerate(TEXTS, -9)], "x")],
        "huge": constants([CommandResult(status, text, text) for status in (0, 1) for text in HUGE]),
        "changes": flickering(same, lambda _: Found(CommandResult(139, "", ""), "x")),
    },
    "which": {**plain(None, *WORDS), "changes": flickering(same, lambda _: None)},
    "env": {
        **plain({}, *(dict.fromkeys(VARIABLES, word) for word in WORDS)),
        "huge": [lambda *_: MANY, lambda *_: dict.fromkeys(VARIABLES, "/x:" * 1_365), lambda *_: dict.fromkeys(LISTS, "/x:" * 40_000)],
    },
    "nvml": {
        "missing": [lambda *_: NvmlReport("LibraryNotFound")],
        "denied": [lambda *_: NvmlReport("NoPermission")],
        "hang": [
            lambda *_: NvmlReport("Timeout", gpu_count=8),
            lambda _, true, __: msgspec.structs.replace(true, status="Timeout", gpu_count=99),
        ],
        "garbage": [lambda *_, n=n, w=w: bad_report(n, w) for n in NUMBERS for w in WORDS[:24:3]]
        + [lambda *_, s=s: NvmlReport(s) for s in STATUSES],  # type: ignore[misc]
        "huge": [lambda *_: NvmlReport("ok", gpus=[port.NvmlGpu(index) for index in range(5_000)], gpu_count=2**40)],
        "changes": flickering(same, lambda _: NvmlReport("GpuIsLost")),
    },
    "libcuda_version": {
        **gaps("no such library"),
        "garbage": [lambda *_, n=n, w=w: Found(n, w) for n in (-1, *NUMBERS) for w in ("", "/x", "\x1b", "x" * 4_095)],
    },  # type: ignore[misc]
    "disk": {**gaps("no such file"), "garbage": constants(SPACES), "changes": flickering(same, lambda _: Unreadable("no answer for 1 s"))},
    "writable": {**gaps("no such file"), "garbage": constants([True, False])},
    "uname": {**gaps("no names"), "garbage": constants([(word[:64],) * 3 for word in WORDS])},
    "libc": {**gaps("no library"), "garbage": constants([(name, word) for word in WORDS for name in ("glibc", "musl", word)])},
    "http_get": {"missing": [lambda *_: Absent("nobody asks")]},
}


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(Path(__file__).parents[2] / "matrices")


@pytest.fixture(params=[*RICH, BARE], scope="module")
def recorded(request: pytest.FixtureRequest) -> System:
    return RootedSystem(HOSTS / request.param)


@pytest.fixture(params=OPERATIONS)
def operation(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def visit(system: System, matrix: Matrix) -> Look:
    return Look(system, matrix.cloud_matchers(), matrix.maker_signs(), full=True)


def test_the_table_has_every_operation_and_fault() -> None:
    assert {name for name in vars(System) if not name.startswith("_")} == set(OPERATIONS) == set(FAULTS)
    assert {fault for faults in FAULTS.values() for fault in faults} == {"missing", "denied", "hang", "garbage", "huge", "changes"}


def test_a_fault_costs_what_was_asked_of_it_and_nothing_else(recorded: System, operation: str, matrix: Matrix) -> None:
    wrong: list[str] = []
    for probe in PROBES:
        clean = FaultySystem(recorded)
        expected = probe.run(visit(clean, matrix))
        for fault, answers in FAULTS[operation].items():
            # Where nothing asks, one answer of a kind shows as much as all.
            for place, answer in enumerate(answers if operation == "env" or clean.calls[operation] else answers[:1]):
                system = FaultySystem(recorded, operation, answer)
                name = f"{probe.name} × {operation} × {fault}[{place}]"
                wrong += [f"{name}: {text}" for text in faulty(probe, system, operation, expected, matrix)]
    assert wrong[:20] == []


def faulty(probe: Probe, system: FaultySystem, operation: str, expected: Facts, matrix: Matrix) -> Iterator[str]:
    """What is wrong with the facts of a probe that met a fault."""
    look = visit(system, matrix)
    asked = system.calls[operation]
    try:
        facts = probe.run(look)
    except Exception as error:
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
        yield f"{type(error).__name__}: {str(error)[:120]} ({where})"
        return
    if operation != "env" and system.calls[operation] == asked and facts != expected:
        yield "other facts, although it did not ask"
    if sum(system.calls.values()) > MOST_CALLS:
        yield f"asked {sum(system.calls.values())} times"
    yield from (f"no answer for {path}" for path in probe.fields if path not in facts)
    for path, fact in facts.items():
        yield from (f"{path[:60]}: {text}" for text in implausible(fact))


def implausible(fact: Fact[Any]) -> Iterator[str]:
    """What no fact may be, whatever the host says."""
    why = fact.source if isinstance(fact, Found) else fact.why
    if not why or len(why) > LONGEST_WHY:
        yield f"a reason or source of {len(why)} characters"
    if isinstance(fact, Found):
        for value in leaves(msgspec.to_builtins(fact.value)):
            if isinstance(value, int | float) and not 0 <= value < math.inf:
                yield f"the number {value}"
            if isinstance(value, str) and len(value) > READ_LIMIT:
                yield f"a text of {len(value)} characters"
        if msgspec.json.decode(msgspec.json.encode(fact.value)) != msgspec.to_builtins(fact.value):
            yield "a value that JSON does not carry"


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


def test_the_report_is_whole_and_survives_json(recorded: System, operation: str, matrix: Matrix) -> None:
    for fault, answers in FAULTS[operation].items():
        for answer in answers[:: max(1, len(answers) // 3)]:
            report = collect(FaultySystem(recorded, operation, answer), matrix.cloud_matchers(), matrix.maker_signs())
            whys = [f"{path}: {entry.why}" for path, entry in report.provenance.items()]
            assert [why for why in whys if ": internal" in why] == [], fault
            assert msgspec.json.decode(msgspec.json.encode(report), type=HostReport) == report


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), ValueError("x" * 9_000)])
def test_an_operation_that_raises_costs_only_those_who_asked(recorded: System, operation: str, matrix: Matrix, error: Exception) -> None:
    """No port raises; should one do so all the same, the guard names the error and the other probes answer as before."""

    def raising(*_: Any) -> Any:
        raise error

    for probe in PROBES if operation != "env" else ():  # the environment is asked for before any probe
        clean = FaultySystem(recorded)
        expected = guarded(probe, visit(clean, matrix))
        facts = guarded(probe, visit(FaultySystem(recorded, operation, raising), matrix))
        if not clean.calls[operation]:
            assert facts == expected
        else:
            assert set(probe.fields) <= set(facts)
            assert all(len(fact.why) <= LONGEST_WHY for fact in facts.values() if not isinstance(fact, Found))
