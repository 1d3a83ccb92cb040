import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes.mounts import mount_of, mounts, parse_mountinfo

# A GPU server with a local scratch disk, a home on a file server, a cluster store, an object store and a folder with a blank.
SERVER = """\
22 29 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:13 - proc proc rw
23 29 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
27 22 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64
29 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
31 22 0:29 / /proc/sys/fs/binfmt_misc rw,relatime shared:14 - autofs systemd-1 rw,fd=29,pgrp=1,timeout=0,minproto=5,maxproto=5,direct
90 29 0:50 / /home rw,relatime shared:40 - nfs4 10.0.0.5:/export/home rw,vers=4.2,hard,proto=tcp,addr=10.0.0.5
91 29 0:51 / /lustre rw,relatime - lustre 10.0.0.6@o2ib:/fs rw,flock
92 29 0:52 / /models ro,relatime - fuse.juicefs JuiceFS:models ro,user_id=0,group_id=0
93 29 259:3 / /scratch\\040disk rw,relatime - xfs /dev/nvme1n1 rw,prjquota
94 29 0:53 / /mnt/unknown rw,relatime - fuse.somethingnew x rw
95 29 0:54 /sub /host rw,relatime - virtiofs share rw
"""


@pytest.fixture
def server():
    return parse_mountinfo(SERVER)


@pytest.mark.parametrize(
    ("path", "file_system", "network", "read_only"),
    [
        ("/var/lib", "ext4", False, False),
        ("/", "ext4", False, False),
        ("/home/me/.cache", "nfs4", True, False),
        ("/homework", "ext4", False, False),
        ("/lustre/x", "lustre", True, False),
        ("/models", "fuse.juicefs", True, True),
        ("/scratch disk/x", "xfs", False, False),
        ("/mnt/unknown/x", "fuse.somethingnew", None, False),
        ("/host", "virtiofs", False, False),
        ("/dev/shm", "tmpfs", False, False),
    ],
)
def test_what_a_path_lies_on(server, path, file_system, network, read_only):
    mount = mount_of(server, path)
    assert (mount.file_system, mount.network, mount.read_only) == (file_system, network, read_only)


def test_a_superblock_may_be_read_only_beneath_an_open_mount():
    (mount,) = parse_mountinfo("29 1 259:2 / /data rw,relatime - squashfs /dev/loop0 ro,errors=continue\n")
    assert mount.read_only is True
    (alone,) = parse_mountinfo("29 1 259:2 / /data rw,relatime - iso9660 /dev/sr0 ro\n")
    assert alone.read_only is True
    (name,) = parse_mountinfo("29 1 259:2 / /data rw,relatime - overlay overlay rw,lowerdir=/ro,upperdir=/x\n")
    assert name.read_only is False


def test_the_later_of_two_mounts_at_one_place_holds():
    text = SERVER + "99 29 259:9 / /data rw - ext4 /dev/a rw\n100 99 0:60 / /data rw - nfs server:/x rw\n"
    assert mount_of(parse_mountinfo(text), "/data/x").file_system == "nfs"


def test_a_mount_above_an_older_one_covers_it():
    text = "29 1 259:2 / / rw - ext4 /dev/a rw\n40 29 0:60 / /data/models rw - nfs server:/x rw\n41 29 259:3 / /data rw - xfs /dev/b rw\n"
    assert mount_of(parse_mountinfo(text), "/data/models/x").file_system == "xfs"
    within = text.replace("40 29", "40 41")  # the file server is mounted on the new disk
    assert mount_of(parse_mountinfo(within), "/data/models/x").file_system == "nfs"


def test_octal_numbers_stand_for_what_would_end_a_field():
    (mount,) = parse_mountinfo("29 1 0:1 /a\\134b /mnt/tab\\011line\\012x rw - nfs 10.0.0.1:/with\\040blank rw\n")
    assert (mount.root, mount.point, mount.source) == ("/a\\b", "/mnt/tab\tline\nx", "10.0.0.1:/with blank")
    (odd,) = parse_mountinfo("29 1 0:1 / /mnt/\\999\\04 rw - ext4 a rw\n")
    assert odd.point == "/mnt/\\999\\04"


@pytest.mark.parametrize("line", ["", " - ", "x - y", "29 1 0:1 / relative rw - ext4 a rw", "29 1 0:1 / / rw - ext4", "29 1 0:1 / /"])
def test_lines_that_are_no_mount(line):
    assert parse_mountinfo(line + "\n") == ()
    assert mount_of((), "/") is None


def test_options_of_a_hundred_layers_are_cut():
    (mount,) = parse_mountinfo(f"1 0 0:1 / / rw - overlay overlay rw,lowerdir={'/l:' * 5000}\n")
    assert len(mount.options) == 4096


def test_a_list_longer_than_is_read_decides_nothing(look):
    assert isinstance(mounts(look(files={"/proc/self/mountinfo": SERVER})), Found)
    assert isinstance(mounts(look()), Absent)
    endless = "29 1 259:2 / /aaaaaaaaaaaaaaaa rw - ext4 /dev/a rw\n" * 30_000
    assert isinstance(mounts(look(files={"/proc/self/mountinfo": endless})), Unreadable)
