"""Limits of control groups, on hosts and in containers of both versions, through the facts that rest on them."""

import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import cpu, memory
from envcheck.probes.control_group import parse_cgroup

MEMINFO = """\
MemTotal:       527987712 kB
MemFree:        401231012 kB
MemAvailable:   498073600 kB
SwapTotal:       8388604 kB
HugePages_Total:       0
"""
STATUS = "Name:\tcat\nUid:\t0\t0\t0\t0\nCpus_allowed:\tffffffff,ffffffff\nCpus_allowed_list:\t0-63\nMems_allowed_list:\t0-1\n"
GIB = 1 << 30

HOST_V1 = """\
34 29 0:29 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
35 34 0:30 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:10 - cgroup2 cgroup2 rw,nsdelegate
36 34 0:31 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,xattr,name=systemd
40 34 0:35 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:15 - cgroup cgroup rw,cpu,cpuacct
41 34 0:36 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:16 - cgroup cgroup rw,memory
"""
HOST_V2 = "34 29 0:29 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
ID = "4f5a6b7c8d9e4f5a6b7c8d9e4f5a6b7c8d9e4f5a6b7c8d9e4f5a6b7c8d9e4f5a"
DOCKER_V1 = HOST_V1.replace(" / /sys/fs/cgroup/memory", f" /docker/{ID} /sys/fs/cgroup/memory").replace(
    " / /sys/fs/cgroup/cpu", f" /docker/{ID} /sys/fs/cgroup/cpu"
)
DOCKER_V1_GROUPS = f"9:cpu,cpuacct:/docker/{ID}\n4:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}\n0::/system.slice/containerd.service\n"
SESSION = "0::/user.slice/user-1000.slice/session-3.scope\n"
POD = "/kubepods/burstable/pod0c1d/4f5a"
POD_GROUPS = f"11:memory:{POD}\n6:cpuacct,cpu:{POD}\n"
V1 = "/sys/fs/cgroup/memory"
V2 = "/sys/fs/cgroup"


def host(**files):
    return {"/proc/meminfo": MEMINFO, "/proc/self/status": STATUS, **files}


def facts_of(look, groups, mountinfo, files, **more):
    named = {"/proc/self/cgroup": groups} | ({"/proc/self/mountinfo": mountinfo} if mountinfo else {})
    return memory.probe(look(files=host() | named | files, **more))


def amounts(facts):
    return {
        path.rpartition(".")[2]: (fact.value if isinstance(fact, Found) else type(fact))
        for path, fact in facts.items()
        if path in ("memory.cgroup_limit_mib", "memory.cgroup_used_mib", "memory.ram_available_mib")
    }


def test_a_host_of_version_2_without_limits(look):
    files = {f"{V2}/user.slice/memory.max": "max\n", f"{V2}/user.slice/user-1000.slice/memory.max": "max\n"}
    facts = facts_of(look, SESSION, HOST_V2, files)
    assert amounts(facts) == {"cgroup_limit_mib": Absent, "cgroup_used_mib": Absent, "ram_available_mib": 498073600 / 1024}
    assert facts["memory.swap_mib"].value == 8388604 / 1024


def test_a_slice_of_systemd_with_a_limit_and_pages_it_would_drop(look):
    folder = f"{V2}/user.slice/user-1000.slice"
    files = {
        f"{V2}/user.slice/memory.max": "max\n",
        f"{folder}/memory.max": f"{64 * GIB}\n",
        f"{folder}/memory.current": f"{50 * GIB}\n",
        f"{folder}/memory.stat": f"anon {10 * GIB}\nfile {40 * GIB}\ninactive_anon 0\ninactive_file {38 * GIB}\nactive_file {2 * GIB}\n",
    }
    facts = facts_of(look, SESSION, HOST_V2, files)
    assert amounts(facts) == {"cgroup_limit_mib": 65536, "cgroup_used_mib": 12288, "ram_available_mib": 53248}
    assert facts["memory.cgroup_limit_mib"].source == f"{folder}/memory.max"


def test_docker_on_version_1_sees_its_group_as_the_mounts_root(look):
    files = {
        f"{V1}/memory.limit_in_bytes": f"{16 * GIB}\n",
        f"{V1}/memory.usage_in_bytes": f"{4 * GIB}\n",
        f"{V1}/memory.stat": f"cache {3 * GIB}\ninactive_file 7\ntotal_cache {3 * GIB}\ntotal_inactive_file {2 * GIB}\n",
    }
    visit = look(files=host(**{"/proc/self/cgroup": DOCKER_V1_GROUPS, "/proc/self/mountinfo": DOCKER_V1}) | files)
    assert amounts(memory.probe(visit)) == {"cgroup_limit_mib": 16384, "cgroup_used_mib": 2048, "ram_available_mib": 14336}
    assert [path for path in visit.system.asked if path.startswith(V1)] == [
        f"{V1}/memory.limit_in_bytes",
        f"{V1}/memory.usage_in_bytes",
        f"{V1}/memory.stat",
    ]


def test_a_host_of_version_1_writes_a_huge_number_for_none(look):
    files = {f"{V1}/memory.limit_in_bytes": "9223372036854771712\n", f"{V1}/user.slice/memory.limit_in_bytes": "9223372036854771712\n"}
    facts = facts_of(look, "4:memory:/user.slice\n0::/user.slice/x.scope\n", HOST_V1, files)
    assert amounts(facts)["cgroup_limit_mib"] is Absent


def test_a_pod_on_version_1_is_bound_by_what_is_around_it(look):
    files = {
        f"{V1}{POD}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{V1}/kubepods/burstable/pod0c1d/memory.limit_in_bytes": f"{32 * GIB}\n",
        f"{V1}/kubepods/burstable/pod0c1d/memory.usage_in_bytes": f"{33 * GIB}\n",
        f"{V1}/kubepods/memory.limit_in_bytes": f"{480 * GIB}\n",
        f"{V1}/kubepods/memory.usage_in_bytes": f"{100 * GIB}\n",
    }
    facts = facts_of(look, POD_GROUPS, HOST_V1, files)
    # more used than allowed happens for a moment; nothing is left then
    assert amounts(facts) == {"cgroup_limit_mib": 32768, "cgroup_used_mib": 33 * 1024, "ram_available_mib": 0}


def test_a_limit_above_what_the_host_has_left_binds_nothing(look):
    files = {f"{V2}/memory.max": f"{1024 * GIB}\n", f"{V2}/memory.current": "4096\n"}
    facts = facts_of(look, "0::/\n", HOST_V2, files)
    assert amounts(facts)["ram_available_mib"] == 498073600 / 1024


def test_a_limit_whose_use_is_hidden_leaves_what_is_available_open(look):
    facts = facts_of(look, "0::/\n", HOST_V2, {f"{V2}/memory.max": f"{GIB}\n"})
    assert amounts(facts) == {"cgroup_limit_mib": 1024, "cgroup_used_mib": Unreadable, "ram_available_mib": Unreadable}


def test_a_container_without_the_file_system_of_groups_knows_no_limit(look):
    contained = facts_of(look, "0::/\n", None, {"/.dockerenv": ""})
    assert amounts(contained) == {"cgroup_limit_mib": Unreadable, "cgroup_used_mib": Unreadable, "ram_available_mib": Unreadable}
    outermost = facts_of(look, "0::/\n", None, {})
    assert amounts(outermost)["cgroup_limit_mib"] is Absent
    elsewhere = facts_of(look, SESSION, None, {})
    assert amounts(elsewhere)["cgroup_limit_mib"] is Unreadable


def test_a_kernel_without_control_groups(look):
    facts = memory.probe(look(files=host()))
    assert amounts(facts) == {"cgroup_limit_mib": Absent, "cgroup_used_mib": Absent, "ram_available_mib": 498073600 / 1024}


@pytest.mark.parametrize("limit", ["", "-1", "12.5", "9" * 30, "max", "０"])
def test_what_is_no_limit(look, limit):
    facts = facts_of(look, "0::/\n", HOST_V2, {f"{V2}/memory.max": limit})
    assert amounts(facts)["cgroup_limit_mib"] is Absent


def test_groups_by_controller():
    assert parse_cgroup(DOCKER_V1_GROUPS, "cpu") == (f"/docker/{ID}", "/system.slice/containerd.service")
    assert parse_cgroup("4:cpuset:/a\n0::/b\n", "cpu") == (None, "/b")
    assert parse_cgroup("0::/../../x\n", "cpu") == (None, "/")


def processors(look, groups, mountinfo, files, status=STATUS):
    return cpu.count(look(files={"/proc/self/status": status, "/proc/self/cgroup": groups, "/proc/self/mountinfo": mountinfo} | files))


@pytest.mark.parametrize(
    ("quota", "expected"), [("max 100000\n", 64), ("1550000 100000\n", 16), ("50000 100000\n", 1), ("9000000 100000\n", 64), ("x y\n", 64)]
)
def test_processors_of_version_2_rounded_up(look, quota, expected):
    assert processors(look, "0::/\n", HOST_V2, {f"{V2}/cpu.max": quota}).value == expected


def test_processors_of_version_1_through_the_joint_mount(look):
    folder = f"{V2}/cpu,cpuacct"
    files = {f"{folder}/cpu.cfs_quota_us": "800000\n", f"{folder}/cpu.cfs_period_us": "100000\n"}
    assert processors(look, DOCKER_V1_GROUPS, DOCKER_V1, files) == Found(8, f"{folder}/cpu.cfs_quota_us")
    assert processors(look, DOCKER_V1_GROUPS, DOCKER_V1, files | {f"{folder}/cpu.cfs_quota_us": "-1\n"}).value == 64
    assert processors(look, DOCKER_V1_GROUPS, DOCKER_V1, files | {f"{folder}/cpu.cfs_period_us": "0\n"}).value == 64


def test_the_smallest_quota_around_holds(look):
    files = {f"{V2}/user.slice/cpu.max": "400000 100000\n", f"{V2}/user.slice/user-1000.slice/cpu.max": "max 100000\n"}
    assert processors(look, SESSION, HOST_V2, files) == Found(4, f"{V2}/user.slice/cpu.max")


def test_a_quota_that_may_not_be_read_leaves_the_number_open(look):
    closed = {f"{V2}/cpu.max": Unreadable("permission denied")}
    assert isinstance(processors(look, "0::/\n", HOST_V2, closed), Unreadable)


def test_processors_by_affinity_or_by_what_is_online(look):
    assert cpu.count(look(files={"/proc/self/status": "Cpus_allowed_list:\t0-3,8,10-11\n"})).value == 7
    online = look(files={"/sys/devices/system/cpu/online": "0-31\n"})
    assert cpu.count(online).value == 32
    assert [gap.state for gap in cpu.count(online).tried] == ["unreadable"]
    assert isinstance(cpu.count(look()), Unreadable)
