"""Mounted file systems of this process, by `/proc/self/mountinfo` (proc_pid_mountinfo(5))."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.probes.look import Look

MOUNTINFO = "/proc/self/mountinfo"
_LIMIT_BYTES = 1 << 20  # a node with hundreds of containers needs a few hundred KiB
_OPTIONS = 4096  # characters; an overlay of a hundred layers names each of them

# Their server can be lost, their files are shared between hosts, their locks and memory maps are slow.
NETWORK = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs"),
        *("lustre", "beegfs", "beegfs_nodev", "ceph", "gpfs", "glusterfs", "pvfs2", "orangefs", "wekafs", "panfs", "gfs2", "ocfs2", "yrfs"),
        *("fuse.ceph", "fuse.ceph-fuse", "fuse.glusterfs", "fuse.juicefs", "fuse.lustre", "fuse.moosefs", "fuse.sshfs", "fuse.rclone"),
        *("fuse.s3fs", "fuse.goofys", "fuse.ossfs", "fuse.ossfs2", "fuse.cosfs", "fuse.obsfs", "fuse.gcsfuse", "fuse.blobfuse"),
        *("fuse.blobfuse2", "fuse.mountpoint-s3", "fuse.alluxio-fuse", "fuse.curvefs", "fuse.cubefs", "fuse.chubaofs", "fuse.hdfs"),
    )
)
# FUSE names its program; these few keep their files on this host.
_LOCAL_FUSE = frozenset(("fuse.lxcfs", "fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.squashfuse", "fuse.squashfuse_ll", "fuse.portal"))
_ESCAPE = r"\\([0-3][0-7]{2})"


class Mount(msgspec.Struct, frozen=True):
    """One mount: where, which folder of its file system, its type, the options of the superblock as text of at most 4,096 characters.

    `parent` = the number of the mount it lies on; `source` = what was mounted, a device or a server's name.
    """

    parent: str
    root: str
    point: str
    file_system: str
    source: str
    options: str
    read_only: bool

    @property
    def network(self) -> bool | None:
        """Whether a server stands behind it; None where the type does not tell. A host's share (9p, virtiofs) is none."""
        name = self.file_system
        if name in NETWORK:
            return True
        undecided = name == "autofs" or (name.startswith("fuse") and name not in ("fuseblk", "fuse-overlayfs") and name not in _LOCAL_FUSE)
        return None if undecided else False


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Every mount, in the order of the file; lines that are none are left out."""
    return tuple(_parsed(text.splitlines()[:20_000]))


def _parsed(lines: Iterable[str]) -> Iterator[Mount]:
    for line in lines:
        first, _, second = line.partition(" - ")
        place, device = first.split(" ", 6), second.split(" ", 2)
        if len(place) < 6 or len(device) < 3 or not place[4].startswith("/"):
            continue
        options = device[2][:_OPTIONS]
        closed = "ro" in place[5].split(",") or options.startswith("ro,") or options == "ro"
        yield Mount(place[1], _plain(place[3]), _plain(place[4]), device[0], _plain(device[1]), options, closed)


def _plain(text: str) -> str:
    """Blanks, tabs, line ends and backslashes are written as octal numbers."""
    return re.sub(_ESCAPE, lambda found: chr(int(found[1], 8)), text) if "\\" in text else text


def mounts(look: Look) -> Fact[tuple[Mount, ...]]:
    """The mounts of this process; for `look.once`."""
    fact = look.text(MOUNTINFO, _LIMIT_BYTES)
    if not isinstance(fact, Found):
        return fact
    if len(fact.value) >= _LIMIT_BYTES:
        return Unreadable(f"{MOUNTINFO} is longer than 1 MiB")
    return Found(parse_mountinfo(fact.value), MOUNTINFO)


def mount_of(every: Iterable[Mount], path: str) -> Mount | None:
    """The mount a path lies on: the longest mount point, the later of two at one place; links in the path are not followed."""
    holding = [mount for mount in every if inside(path, mount.point)]
    best: Mount | None = None
    for index, mount in enumerate(holding):
        if (best is None or len(mount.point) >= len(best.point)) and not _hidden(mount, holding[index + 1 :]):
            best = mount
    return best


def inside(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return folder in ("/", path) or path.startswith(folder + "/")


def _hidden(mount: Mount, later: list[Mount]) -> bool:
    """Covered by a later mount on a folder above it, on the same mount; one listed later need not be newer otherwise."""
    return any(other.parent == mount.parent and len(other.point) < len(mount.point) for other in later)
