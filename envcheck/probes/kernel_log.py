"""What the kernel said of the GPUs since boot. Asked only on request or where a GPU does not work: each source is a process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.model.host_parts import KernelLog, Xid
from envcheck.probes.container import kind
from envcheck.probes.driver import kernel_version
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.kernel_modules import NOT_LOOKED
from envcheck.probes.look import Look, nvml
from envcheck.probes.pci_bus import nvidia

FIELDS = ("kernel_log.xids", "kernel_log.events")
_CUT = 64_000  # bytes: the port keeps about this much of an output's beginning, so that a longer one has lost its end
_LINE = 500
_MOST_XIDS = 64
# The command, and what to add when its output is too long: the notices of start-up are many, and below what matters.
_COMMANDS = (
    (("dmesg",), ("--level=emerg,alert,crit,err,warn,notice",)),
    (("journalctl", "-k", "-b", "--no-pager", "-n", "2000"), ("-p", "notice")),
)
# Event → words of which all stand in one line. Messages of several lines are known by the line that tells them from others.
_SIGNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("api-mismatch", ("NVRM: API mismatch",)),
    ("bar-not-mapped", ("PCI I/O region assigned to your NVIDIA device is invalid",)),
    ("bar-not-mapped", ("NVRM: BAR", " is 0M @ 0x0")),
    ("open-module-required", ("requires use of the NVIDIA open kernel modules",)),
    ("unsupported-gpu", ("installed in this system is not supported by",)),
    ("unsupported-gpu", ("installed in this system is supported through", "Legacy")),
    ("module-signature-refused", ("Loading of ", "module", " is rejected")),
    ("module-signature-refused", ("Lockdown: ", "unsigned module loading is restricted")),
    ("module-signature-refused", ("nvidia", "Key was rejected by service")),
    ("module-signature-refused", ("nvidia", "Required key not available")),
    ("fell-off-the-bus", ("NVRM", "fallen off the bus")),
    ("firmware-failed", ("NVRM", "RmInitAdapter failed")),
    ("firmware-failed", ("NVRM", "Cannot initialize GSP firmware")),
    ("firmware-failed", ("NVRM", "waiting for RPC from GSP")),
    ("firmware-failed", ("NVRM", "waiting for RPC response from GPU", "GSP")),
    ("firmware-failed", ("NVRM", "GSP-CrashCat Report")),
    ("firmware-failed", ("NVRM", "No firmware image found")),
    ("firmware-failed", ("nvidia 0", "firmware load for nvidia/", "failed")),
    ("nouveau-conflict", ("NVRM: nouveau, ",)),
)
EVENTS = (*dict.fromkeys(event for event, _ in _SIGNS), "out-of-memory-kill")
_REFUSALS = ("operation not permitted", "permission denied", "insufficient permissions")  # quoted without the host's paths and names
_SERVERS = ("python", "vllm", "VLLM", "ray::", "pt_main_thread")


def probe(look: Look) -> Facts:
    """All facts under `kernel_log`."""
    if not look.full and not suspect(look):
        return all_of(FIELDS, NOT_LOOKED)
    log = first_found(_logs(look))
    if not isinstance(log, Found):
        return all_of(FIELDS, log)
    return {"kernel_log.xids": Found(log.value.xids, log.source), "kernel_log.events": Found(log.value.events, log.source)}


def suspect(look: Look) -> bool:
    """Whether a GPU of this host does not work: NVML fails, a GPU is lost, or NVML shows fewer than the bus."""
    report, cards = look.once(nvml), [card for card in nvidia(look, "gpu") if card.driver != "vfio-pci"]
    if report.status != "ok":
        return bool(cards) or isinstance(look.once(kernel_version), Found)
    if any(gpu.lost for gpu in report.gpus):
        return True
    fewer = report.gpu_count is not None and report.gpu_count < len(cards)
    return fewer and not isinstance(look.once(kind), Found)  # a container is given the GPUs it may use


def _logs(look: Look) -> Iterator[Fact[KernelLog]]:
    for argv, narrower in _COMMANDS:
        fact = _said(look, argv)
        if isinstance(fact, Found) and len(fact.value) >= _CUT:
            fact = _with_the_end(fact, _said(look, (*argv, *narrower)))
        yield Found(read_log(fact.value), fact.source) if isinstance(fact, Found) else fact


def _with_the_end(cut: Found[str], rest: Fact[str]) -> Found[str]:
    """A cut log, less its last line, and what the narrower one adds to it."""
    lines = cut.value.splitlines()[:-1]
    seen = set(lines)
    if isinstance(rest, Found):
        lines += [line for line in rest.value.splitlines() if line not in seen]
    return Found("\n".join(lines), rest.source if isinstance(rest, Found) else f"{cut.source} (its beginning)")


def _said(look: Look, argv: Sequence[str]) -> Fact[str]:
    """A command's output; where it says nothing, or journald has nothing to show, this user may not read the log."""
    command = " ".join(argv)
    answer = look.system.run(argv)
    if not isinstance(answer, Found):
        return Unreadable(f"{command}: {answer.why}")
    out, status = answer.value.stdout, answer.value.status
    if status or not out.strip() or "-- No entries --" in out[:300]:
        said = answer.value.stderr.lower()
        known = next((words for words in _REFUSALS if words in said), f"ended with {status}" if status else "shows nothing to this user")
        return Unreadable(f"{command}: {known}")
    return Found(out, command)


def read_log(text: str) -> KernelLog:
    """The Xids and events in a kernel log, whatever stands before its messages; events in the order of their names' list."""
    counts: dict[tuple[int, str | None], int] = {}
    found: set[str] = set()
    for line in text.splitlines():
        short = line[:_LINE]
        xid = parse_xid(short)
        if xid and (xid in counts or len(counts) < _MOST_XIDS):
            counts[xid] = counts.get(xid, 0) + 1
        found.update(event for event, words in _SIGNS if all(word in short for word in words))
        if killed(short):
            found.add("out-of-memory-kill")
    xids = [Xid(number, msgspec.UNSET if place is None else place, count) for (number, place), count in counts.items()]
    return KernelLog(xids=xids, events=[event for event in EVENTS if event in found])


def parse_xid(line: str) -> tuple[int, str | None] | None:
    """(number, address as `/sys` writes it) of a line like `NVRM: Xid (PCI:0000:3b:00): 79, …`; its address may be of another form."""
    at = line.find("NVRM: Xid (")
    found = re.match(r"([^)]{0,60})\): (\d{1,4})\b", line[at + 11 :]) if at >= 0 else None
    if not found:
        return None
    place = re.match(r"(?:PCI:)?(?:[0-9a-fA-F]{4})?([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(\.\d)?(?: |$)", found[1])
    return int(found[2]), f"{place[1].lower()}{place[2] or '.0'}" if place else None


def killed(line: str) -> bool:
    """Whether the kernel ended a process that may be a server for want of memory."""
    if "oom-kill:" in line:
        task = re.search(r"\btask=([^,]{1,40})", line)
        return task is not None and task[1].startswith(_SERVERS)
    victim = re.search(r"Killed process \d{1,9}\b[^(]{0,40}\(([^)]{1,40})", line)
    return victim is not None and victim[1].startswith(_SERVERS)
