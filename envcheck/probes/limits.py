"""Limits and privileges of this process, by `/proc/self` (proc_pid_limits(5), proc_pid_status(5), user_namespaces(7))."""

from __future__ import annotations

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.units import MIB
from envcheck.probes.facts import Facts, all_of
from envcheck.probes.look import Look

FIELDS = (
    *("limits.memlock_mib", "limits.open_files", "limits.processes"),
    *("limits.seccomp", "limits.no_new_privileges", "limits.root"),
)
LIMITS = "/proc/self/limits"
STATUS = "/proc/self/status"
UID_MAP = "/proc/self/uid_map"


def probe(look: Look) -> Facts:
    """All facts under `limits`; the soft limits, which are those that hold."""
    return {
        **_counts(look),
        "limits.seccomp": _flag(look, "Seccomp"),
        "limits.no_new_privileges": _flag(look, "NoNewPrivs"),
        "limits.root": root(look),
    }


def parse_limits(text: str) -> dict[str, int | None]:
    """The soft limits of `/proc/self/limits` by name, such as `Max open files`; None = unlimited."""
    found: dict[str, int | None] = {}
    for line in text.splitlines()[1:40]:
        words = line[26:].split()
        if not words or not line.startswith("Max "):
            continue
        soft = words[0]
        if soft == "unlimited" or (soft.isdecimal() and len(soft) < 20):
            found[line[:26].strip()] = None if soft == "unlimited" else int(soft)
    return found


def _counts(look: Look) -> Facts:
    paths = {"limits.memlock_mib": "Max locked memory", "limits.open_files": "Max open files", "limits.processes": "Max processes"}
    fact = look.text(LIMITS, 8192)
    if not isinstance(fact, Found):
        return all_of(paths, Unreadable(fact.why))
    soft = parse_limits(fact.value)
    return {path: _limit(soft, name, MIB if path == "limits.memlock_mib" else 1) for path, name in paths.items()}


def _limit(soft: dict[str, int | None], name: str, unit: int) -> Fact[float]:
    if name not in soft:
        return Unreadable(f"no {name} in {LIMITS}")
    value = soft[name]
    if value is None:
        return Absent(f"{LIMITS}: {name} unlimited")
    return Found(value if unit == 1 else value / unit, LIMITS)


def parse_status(text: str) -> dict[str, str]:
    """The entries of `/proc/self/status`."""
    pairs = (line.partition(":") for line in text.splitlines()[:200])
    return {name: value.strip() for name, colon, value in pairs if colon}


def status(look: Look) -> Fact[dict[str, str]]:
    """The entries of `/proc/self/status`; for `look.once`."""
    fact = look.text(STATUS, 16384)
    return Found(parse_status(fact.value), fact.source) if isinstance(fact, Found) else Unreadable(fact.why)


def _flag(look: Look, name: str) -> Fact[bool]:
    fact = look.once(status)
    if not isinstance(fact, Found):
        return fact
    value = fact.value.get(name)
    if value is None:
        return Absent(f"the kernel has no {name}")
    return Found(value != "0", STATUS) if value.isdecimal() else Unreadable(f"{name} in {STATUS} is no number")


def user_id(look: Look) -> int | None:
    """The effective user's number; None where it could not be read."""
    fact = look.once(status)
    words = fact.value.get("Uid", "").split() if isinstance(fact, Found) else []
    return int(words[1]) if len(words) > 1 and words[1].isdecimal() and len(words[1]) < 12 else None


def root(look: Look) -> Fact[bool]:
    """Whether this is the host's root: number 0, and not one that a user namespace made of somebody else."""
    fact = look.once(status)
    if not isinstance(fact, Found):
        return fact
    user = look.once(user_id)
    if user is None:
        return Unreadable(f"no user in {STATUS}")
    if user != 0:
        return Found(False, STATUS)
    table = look.text(UID_MAP, 4096)
    if isinstance(table, Unreadable):
        return table
    if isinstance(table, Absent):  # a kernel without user namespaces
        return Found(True, STATUS)
    return Found(parse_root_outside(table.value), UID_MAP)


def parse_root_outside(text: str) -> bool:
    """Whether number 0 of a user namespace is number 0 outside of it, by its `uid_map`: inside, outside, how many."""
    rows = (line.split() for line in text.splitlines()[:400])
    return any(len(row) == 3 and row[:2] == ["0", "0"] for row in rows)
