"""Processors this process may use."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.control_group import Hierarchy, hierarchy, own_groups, parse_cgroup, unseen
from envcheck.probes.facts import Facts, first_found
from envcheck.probes.limits import STATUS, status
from envcheck.probes.look import Look

FIELDS = ("cpu.model", "cpu.count", "cpu.flags", "cpu.numa_nodes")
CPUINFO = "/proc/cpuinfo"
_CPUINFO_BYTES = 8192  # the first processor; a host with 256 writes half a megabyte
_NODES = "/sys/devices/system/node"
_MOST = 65_536  # processors; the kernel's own bound is 8,192
# What wheels and CPU fallbacks choose their code by: x86 first, then Arm.
_DECIDING = (
    *("avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8"),
    *("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "svebf16"),
)


def probe(look: Look) -> Facts:
    """All facts under `cpu`."""
    return {"cpu.model": model(look), "cpu.count": count(look), "cpu.flags": flags(look), "cpu.numa_nodes": numa_nodes(look)}


def parse_cpuinfo(text: str) -> dict[str, str]:
    """The entries of the first processor in `/proc/cpuinfo`."""
    found: dict[str, str] = {}
    for line in text.splitlines()[:100]:
        name, colon, value = line.partition(":")
        if not line.strip() and found:
            break
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def _first(look: Look) -> Fact[dict[str, str]]:
    fact = look.text(CPUINFO, _CPUINFO_BYTES)
    return Found(parse_cpuinfo(fact.value), fact.source) if isinstance(fact, Found) else Unreadable(fact.why)


def model(look: Look) -> Fact[str]:
    """The name; Arm writes numbers instead, which are given as they are."""
    fact = look.once(_first)
    if not isinstance(fact, Found):
        return fact
    entries = fact.value
    name = entries.get("model name") or entries.get("Model Name") or entries.get("cpu")
    if not name and "CPU part" in entries:
        name = f"implementer {entries.get('CPU implementer', '?')}, part {entries['CPU part']}"
    return Found(name[:200], CPUINFO) if name else Unreadable(f"{CPUINFO} names no model")


def flags(look: Look) -> Fact[list[str]]:
    """Those instruction sets of the first processor that decide anything."""
    fact = look.once(_first)
    if not isinstance(fact, Found):
        return fact
    named = fact.value.get("flags") or fact.value.get("Features")
    if named is None:
        return Unreadable(f"{CPUINFO} names no instruction sets")
    have = set(named.split())
    return Found([flag for flag in _DECIDING if flag in have], CPUINFO)


def parse_ranges(text: str) -> int | None:
    """How many numbers a list such as `0-3,8` holds; None where it is no such list."""
    total = 0
    for part in text.strip().split(",")[:1024]:
        first, dash, last = part.strip().partition("-")
        ends = (first, last if dash else first)
        if not all(end.isdecimal() and len(end) < 7 for end in ends) or int(ends[1]) < int(ends[0]):
            return None
        total += int(ends[1]) - int(ends[0]) + 1
    return min(total, _MOST)


def count(look: Look) -> Fact[int]:
    """Processors this process may run on: its affinity, and what a control group's time allows, rounded up."""
    allowed = first_found(_allowed(look))
    if not isinstance(allowed, Found):
        return allowed
    quota = quota_cpus(look)
    if isinstance(quota, Unreadable):
        return quota
    least = -int(-quota.value // 1) if isinstance(quota, Found) else allowed.value
    return Found(max(least, 1), quota.source) if isinstance(quota, Found) and least < allowed.value else allowed


def _allowed(look: Look) -> Iterator[Fact[int]]:
    fact = look.once(status)
    text = fact.value.get("Cpus_allowed_list") if isinstance(fact, Found) else None
    yield _ranges(text, STATUS) if text else Unreadable(f"no Cpus_allowed_list in {STATUS}")
    online = look.line("/sys/devices/system/cpu/online")
    yield _ranges(online.value, online.source) if isinstance(online, Found) else Unreadable(online.why)


def _ranges(text: str, source: str) -> Fact[int]:
    number = parse_ranges(text)
    return Found(number, source) if number else Unreadable(f"{source} holds no list of numbers")


def parse_quota(quota: str, period: str) -> float | None:
    """Processors' worth of time, quota over period (both microseconds); None = unlimited (`max`, `-1`)."""
    if not all(number.isdecimal() and len(number) < 16 for number in (quota, period)) or int(period) == 0 or int(quota) == 0:
        return None
    return int(quota) / int(period)


def quota_cpus(look: Look) -> Fact[float]:
    """The smallest quota from this group up to the root, in processors; absent where none is set."""
    groups = look.once(own_groups)
    if not isinstance(groups, Found):
        return groups
    found = hierarchy(look, "cpu", *parse_cgroup(groups.value, "cpu"))
    if found is None:
        return Absent(f"no group of the cpu controller in {groups.source}")
    return _smallest(look, found)


def _smallest(look: Look, found: Hierarchy) -> Fact[float]:
    name = "cpu.max" if found.version == 2 else "cpu.cfs_quota_us"
    answers = [look.line(f"{folder}/{name}") for folder in found.folders]
    quotas: list[tuple[float, str]] = []
    for answer in answers:
        if not isinstance(answer, Found):
            continue
        quota, _, period = answer.value.partition(" ")
        if found.version == 1 and quota.isdecimal():
            period = _period(look, answer.source)
        cpus = parse_quota(quota, period.strip())
        if cpus is not None:
            quotas.append((cpus, answer.source))
    if quotas:
        return Found(*min(quotas))
    refused = next((answer for answer in answers if isinstance(answer, Unreadable)), None)
    looked_at = any(isinstance(answer, Found) for answer in answers)
    return refused or (Absent("no quota set") if looked_at else unseen(look, found, isinstance(look.once(kind), Found)))


def _period(look: Look, quota_file: str) -> str:
    fact = look.line(quota_file.replace("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    return fact.value if isinstance(fact, Found) else ""


def numa_nodes(look: Look) -> Fact[int]:
    """Nodes with processors; where the kernel does not tell them apart, all nodes, of which a GPU's memory may be one."""
    return first_found(_nodes(look))


def _nodes(look: Look) -> Iterator[Fact[int]]:
    line = look.line(f"{_NODES}/has_cpu")
    yield _ranges(line.value, line.source) if isinstance(line, Found) else line
    folders = look.system.glob(f"{_NODES}/node[0-9]*", 1024)
    if folders:
        yield Found(len(folders), f"{_NODES}/node*")
    elif look.system.exists("/sys/devices/system"):
        yield Absent(f"no {_NODES}: a kernel without NUMA")
    else:
        yield Unreadable("/sys/devices/system is not visible")
