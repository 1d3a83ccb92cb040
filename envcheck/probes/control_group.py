"""Control groups of both versions: the folders that hold the limits of this process."""

from __future__ import annotations

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.look import Look
from envcheck.probes.mounts import Mount, inside, mounts

GROUPS = "/proc/self/cgroup"
_USUAL = "/sys/fs/cgroup"
_DEPTH = 32


class Hierarchy(msgspec.Struct, frozen=True):
    """The groups a process is in: `version` 1 or 2; `folders` = its own group's first, the outermost visible one last.

    A limit of any of them holds. `group` = the path the kernel names.
    """

    version: int
    group: str
    folders: tuple[str, ...]


def own_groups(look: Look) -> Fact[str]:
    """The text of `/proc/self/cgroup`; for `look.once`."""
    return look.text(GROUPS)


def parse_cgroup(text: str, controller: str = "memory") -> tuple[str | None, str | None]:
    """(path in the controller's version 1 hierarchy, path in the version 2 hierarchy) of `/proc/self/cgroup`."""
    first: str | None = None
    second: str | None = None
    for line in text.splitlines()[:100]:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        # Outside its own namespace's root a path begins with `/..` and cannot be followed.
        path = "/" if ".." in path.split("/") else path
        if number == "0" and not controllers:
            second = path
        elif controller in controllers.split(","):
            first = path
    return first, second


def hierarchy(look: Look, controller: str, first: str | None, second: str | None) -> Hierarchy | None:
    """Where the controller's files lie; None where the process is in no group of it.

    A controller belongs to one version only: in a hybrid host the paths of version 2 hold none that version 1 has.
    """
    fact = look.once(mounts)
    every = fact.value if isinstance(fact, Found) else ()
    if first is not None:
        held = [one for one in every if one.file_system == "cgroup" and controller in one.options.split(",")]
        return _at(1, first, held, f"{_USUAL}/{controller}")
    if second is not None:
        return _at(2, second, [one for one in every if one.file_system == "cgroup2"], _USUAL)
    return None


def _at(version: int, group: str, held: list[Mount], usual: str) -> Hierarchy:
    """A container may see only its own part mounted: then the mount's root, not the hierarchy's, is where the path starts."""
    mount = next((one for one in held if inside(one.point, _USUAL)), held[0] if held else None)
    point, root = (mount.point, mount.root) if mount else (usual, "/")
    relative = group[len(root) :] if root != "/" and inside(group, root) else group
    parts = [part for part in relative.split("/") if part][:_DEPTH]
    return Hierarchy(version, group, tuple("/".join([point, *parts[:count]]) for count in range(len(parts), -1, -1)))


def unseen(look: Look, found: Hierarchy, contained: bool) -> Absent | Unreadable:
    """What it means that no folder of the hierarchy holds the limit's file; `contained` = this process runs in a container."""
    if look.system.exists(found.folders[-1]):
        return Absent(f"no limit under {found.folders[-1]}")
    if found.group == "/" and not contained:
        return Absent(f"{GROUPS}: in the outermost group, which has no limit")
    return Unreadable(f"{found.folders[-1]}: control groups are not visible here")
