"""System memory: RAM, the control group's limit and use, swap, /dev/shm. MiB."""

from __future__ import annotations

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.units import KIB, MIB
from envcheck.probes.container import kind
from envcheck.probes.control_group import Hierarchy, hierarchy, own_groups, parse_cgroup, unseen
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look

FIELDS = (
    *("memory.ram_mib", "memory.ram_available_mib", "memory.shm_mib"),
    *("memory.cgroup_limit_mib", "memory.cgroup_used_mib", "memory.swap_mib"),
)
_NO_LIMIT_BYTES = 1 << 60  # version 1 writes 2**63 less a page where nothing was set
# By version: the limit, the use, and in memory.stat the pages that are given back without harm when memory is short.
_NAMES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


class Limited(msgspec.Struct, frozen=True, order=True):
    """A group with a memory limit, bytes; `version` of control groups."""

    limit_bytes: int
    folder: str
    version: int

    @property
    def source(self) -> str:
        """The file that states the limit."""
        return f"{self.folder}/{_NAMES[self.version][0]}"


def probe(look: Look) -> Facts:
    """All facts under `memory`."""
    return {
        "memory.ram_mib": look.once(total_mib),
        "memory.ram_available_mib": usable_mib(look),
        "memory.shm_mib": shm_mib(look),
        "memory.cgroup_limit_mib": cgroup_limit_mib(look),
        "memory.cgroup_used_mib": cgroup_used_mib(look),
        "memory.swap_mib": _size(look, "SwapTotal"),
    }


def parse_meminfo(text: str) -> dict[str, float]:
    """The sizes of `/proc/meminfo` in MiB (its kB are KiB); lines without that unit are counts and left out."""
    sizes: dict[str, float] = {}
    for line in text.splitlines()[:200]:
        key, _, value = line.partition(":")
        number, _, unit = value.strip().partition(" ")
        if unit == "kB" and number.isdecimal() and len(number) < 20:
            sizes[key] = int(number) * KIB / MIB
    return sizes


def _meminfo(look: Look) -> Fact[dict[str, float]]:
    fact = look.text("/proc/meminfo")
    # A kernel without it has memory all the same.
    return Found(parse_meminfo(fact.value), fact.source) if isinstance(fact, Found) else Unreadable(fact.why)


def _size(look: Look, key: str) -> Fact[float]:
    fact = look.once(_meminfo)
    if not isinstance(fact, Found):
        return fact
    return Found(fact.value[key], fact.source) if key in fact.value else Unreadable(f"no {key} in {fact.source}")


def total_mib(look: Look) -> Fact[float]:
    """RAM the kernel manages."""
    return _size(look, "MemTotal")


def available_mib(look: Look) -> Fact[float]:
    """RAM the whole host could give without swapping, limits of control groups aside."""
    return _size(look, "MemAvailable")


def usable_mib(look: Look) -> Fact[float]:
    """RAM a new program of this process could have: what the host has, at most what every limit leaves."""
    free, limited = look.once(available_mib), look.once(limited_groups)
    if not isinstance(free, Found) or isinstance(limited, Absent):
        return free
    if isinstance(limited, Unreadable):
        return limited
    least = free
    for group, used in zip(limited.value, look.once(_uses), strict=True):
        if not isinstance(used, Found):
            return Unreadable(used.why)
        left = max(group.limit_bytes / MIB - used.value, 0.0)
        least = Found(left, f"{group.source} less {used.source}") if left < least.value else least
    return least


def shm_mib(look: Look) -> Fact[float]:
    """Size of `/dev/shm`, through which the workers of one server talk."""
    if not look.system.exists("/dev/shm"):  # noqa: S108 - asked about, never written to
        return Absent("no /dev/shm")
    space = look.system.disk("/dev/shm")  # noqa: S108
    return Found(space.value.total_bytes / MIB, "/dev/shm") if isinstance(space, Found) else space  # noqa: S108


def parse_limit(text: str) -> int | None:
    """Bytes of `memory.max` or `memory.limit_in_bytes`; None for `max` and for the largest number."""
    number = text.strip()
    limit = int(number) if number.isascii() and number.isdecimal() and len(number) < 20 else _NO_LIMIT_BYTES
    return limit if limit < _NO_LIMIT_BYTES else None


def parse_stat(text: str, name: str) -> int | None:
    """A number of bytes of `memory.stat`."""
    for line in text.splitlines()[:200]:
        key, _, number = line.partition(" ")
        if key == name and number.isdecimal() and len(number) < 20:
            return int(number)
    return None


def _hierarchy(look: Look) -> Fact[Hierarchy]:
    groups = look.once(own_groups)
    if not isinstance(groups, Found):
        return groups
    found = hierarchy(look, "memory", *parse_cgroup(groups.value))
    return Found(found, groups.source) if found else Absent(f"no group of the memory controller in {groups.source}")


def limited_groups(look: Look) -> Fact[tuple[Limited, ...]]:
    """The groups around this process that have a limit, the smallest first; absent where none has one."""
    fact = look.once(_hierarchy)
    if not isinstance(fact, Found):
        return fact
    name = _NAMES[fact.value.version][0]
    limits: list[Limited] = []
    answers = [(folder, look.line(f"{folder}/{name}")) for folder in fact.value.folders]
    for folder, answer in answers:
        limit = parse_limit(answer.value) if isinstance(answer, Found) else None
        if limit is not None:
            limits.append(Limited(limit, folder, fact.value.version))
    if limits:
        return Found(tuple(sorted(limits)), limits[0].source)
    refused = next((answer for _, answer in answers if isinstance(answer, Unreadable)), None)
    looked_at = any(isinstance(answer, Found) for _, answer in answers)
    return refused or (Absent("no memory limit set") if looked_at else unseen(look, fact.value, isinstance(look.once(kind), Found)))


def cgroup_limit_mib(look: Look) -> Fact[float]:
    """The smallest limit from this group up to the root; absent where none is set."""
    fact = look.once(limited_groups)
    return Found(fact.value[0].limit_bytes / MIB, fact.value[0].source) if isinstance(fact, Found) else fact


def cgroup_used_mib(look: Look) -> Fact[float]:
    """What the group with the smallest limit uses of it, file pages that can be dropped left out; absent without a limit."""
    fact = look.once(limited_groups)
    return look.once(_uses)[0] if isinstance(fact, Found) else fact


def _uses(look: Look) -> tuple[Fact[float], ...]:
    """What each limited group uses, MiB, in their order."""
    fact = look.once(limited_groups)
    return tuple(_used_mib(look, group) for group in fact.value) if isinstance(fact, Found) else ()


def _used_mib(look: Look, group: Limited) -> Fact[float]:
    _, usage, inactive = _NAMES[group.version]
    line = look.line(f"{group.folder}/{usage}")
    if not isinstance(line, Found):
        return Unreadable(line.why)
    used = parse_limit(line.value)
    if used is None:
        return Unreadable(f"{line.source} is no size")
    stat = look.text(f"{group.folder}/memory.stat")
    droppable = parse_stat(stat.value, inactive) if isinstance(stat, Found) else None
    return Found(max(used - (droppable or 0), 0) / MIB, line.source)
