"""System memory: RAM, the control group's limit, /dev/shm. MiB."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.units import KIB, MIB
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look

FIELDS = ("memory.ram_mib", "memory.ram_available_mib", "memory.shm_mib", "memory.cgroup_limit_mib")
_NO_LIMIT_BYTES = 1 << 60  # version 1 writes 2**63 less a page where nothing was set
_DEPTH = 32


def probe(look: Look) -> Facts:
    """All facts under `memory`."""
    return {
        "memory.ram_mib": look.once(total_mib),
        "memory.ram_available_mib": look.once(available_mib),
        "memory.shm_mib": shm_mib(look),
        "memory.cgroup_limit_mib": cgroup_limit_mib(look),
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
    return Found(parse_meminfo(fact.value), fact.source) if isinstance(fact, Found) else fact


def _size(look: Look, key: str) -> Fact[float]:
    fact = look.once(_meminfo)
    if not isinstance(fact, Found):
        return fact
    return Found(fact.value[key], fact.source) if key in fact.value else Unreadable(f"no {key} in {fact.source}")


def total_mib(look: Look) -> Fact[float]:
    """RAM the kernel manages."""
    return _size(look, "MemTotal")


def available_mib(look: Look) -> Fact[float]:
    """RAM a new program could have without swapping."""
    return _size(look, "MemAvailable")


def shm_mib(look: Look) -> Fact[float]:
    """Size of `/dev/shm`, through which the workers of one server talk."""
    if not look.system.exists("/dev/shm"):  # noqa: S108 - asked about, never written to
        return Absent("no /dev/shm")
    space = look.system.disk("/dev/shm")  # noqa: S108
    return Found(space.value.total_bytes / MIB, "/dev/shm") if isinstance(space, Found) else space  # noqa: S108


def parse_cgroup(text: str) -> tuple[str | None, str | None]:
    """(path in the version 1 memory hierarchy, path in the version 2 hierarchy) of `/proc/self/cgroup`."""
    first: str | None = None
    second: str | None = None
    for line in text.splitlines()[:100]:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        # Outside its own namespace's root a path begins with `/..` and cannot be followed.
        path = "/" if ".." in path.split("/") else path
        if number == "0" and not controllers:
            second = path
        elif "memory" in controllers.split(","):
            first = path
    return first, second


def parse_limit(text: str) -> int | None:
    """Bytes of `memory.max` or `memory.limit_in_bytes`; None for `max` and for the largest number."""
    number = text.strip()
    limit = int(number) if number.isdecimal() and len(number) < 20 else _NO_LIMIT_BYTES
    return limit if limit < _NO_LIMIT_BYTES else None


def _ancestors(path: str) -> Iterator[str]:
    """The group and every group around it; the root last, which is what a container sees of its own group."""
    parts = [part for part in path.split("/") if part][:_DEPTH]
    for count in range(len(parts), -1, -1):
        yield "/".join(["", *parts[:count]])


def cgroup_limit_mib(look: Look) -> Fact[float]:
    """The smallest limit from this group up to the root; absent where none is set."""
    groups = look.text("/proc/self/cgroup")
    if not isinstance(groups, Found):
        return groups
    first, second = parse_cgroup(groups.value)
    files = [f"/sys/fs/cgroup{group}/memory.max" for group in _ancestors(second)] if second is not None else []
    files += [f"/sys/fs/cgroup/memory{group}/memory.limit_in_bytes" for group in _ancestors(first)] if first is not None else []
    limits: list[tuple[int, str]] = []
    refused: Unreadable | None = None
    for path in files:
        fact = look.line(path)
        if isinstance(fact, Unreadable):
            refused = refused or fact
        elif isinstance(fact, Found) and (limit := parse_limit(fact.value)) is not None:
            limits.append((limit, path))
    if limits:
        limit, path = min(limits)
        return Found(limit / MIB, path)
    return refused or Absent("no memory limit set")
