import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import memory, operating_system
from envcheck.probes.memory import parse_cgroup, parse_limit, parse_meminfo
from envcheck.probes.operating_system import highest_symbol, parse_os_release
from envcheck.system.port import DiskSpace

UBUNTU = """PRETTY_NAME="Ubuntu 22.04.5 LTS"
NAME="Ubuntu"
VERSION_ID="22.04"
VERSION="22.04.5 LTS (Jammy Jellyfish)"
VERSION_CODENAME=jammy
ID=ubuntu
ID_LIKE=debian
HOME_URL="https://www.ubuntu.com/"
UBUNTU_CODENAME=jammy
"""
CENTOS7 = """NAME="CentOS Linux"
VERSION="7 (Core)"
ID="centos"
ID_LIKE="rhel fedora"
VERSION_ID="7"
PRETTY_NAME="CentOS Linux 7 (Core)"
ANSI_COLOR="0;31"

CENTOS_MANTISBT_PROJECT="CentOS-7"
"""
OPENEULER = """NAME="openEuler"
VERSION="22.03 (LTS-SP3)"
ID="openEuler"
VERSION_ID="22.03"
PRETTY_NAME="openEuler 22.03 (LTS-SP3)"
ANSI_COLOR="0;31"

"""
ALINUX = """NAME="Alibaba Cloud Linux"
VERSION="3 (Soaring Falcon)"
ID="alinux"
ID_LIKE="rhel fedora centos anolis"
VERSION_ID="3"
PLATFORM_ID="platform:al8"
PRETTY_NAME="Alibaba Cloud Linux 3 (Soaring Falcon)"
"""
TENCENT = """NAME="TencentOS Server"
VERSION="3.1 (Final)"
ID="tencentos"
ID_LIKE="rhel fedora centos"
VERSION_ID="3.1"
PRETTY_NAME="TencentOS Server 3.1 (Final)"
"""
MEMINFO = """MemTotal:       197937208 kB
MemFree:        12345678 kB
MemAvailable:   180355072 kB
HugePages_Total:       4
Hugepagesize:       2048 kB
"""
DOCKER_V1 = """12:pids:/docker/4f5a
9:cpu,cpuacct:/docker/4f5a
4:memory:/docker/4f5a
1:name=systemd:/docker/4f5a
0::/system.slice/containerd.service
"""
POD_V2 = "0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-9f.scope\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (UBUNTU, ("ubuntu", "22.04", "Ubuntu 22.04.5 LTS")),
        (CENTOS7, ("centos", "7", "CentOS Linux 7 (Core)")),
        (OPENEULER, ("openEuler", "22.03", "openEuler 22.03 (LTS-SP3)")),
        (ALINUX, ("alinux", "3", "Alibaba Cloud Linux 3 (Soaring Falcon)")),
        (TENCENT, ("tencentos", "3.1", "TencentOS Server 3.1 (Final)")),
    ],
)
def test_os_release(text, expected):
    values = parse_os_release(text)
    assert (values["ID"], values["VERSION_ID"], values["PRETTY_NAME"]) == expected


def test_os_release_quoting_and_comments():
    assert parse_os_release('# NAME=x\nNAME=\'a "b"\'\nPRETTY_NAME="\\$5 \\"q\\""\nID=\nbroken\n') == {
        "NAME": 'a "b"',
        "PRETTY_NAME": '$5 "q"',
        "ID": "",
    }


def test_the_second_place_of_os_release_and_what_it_lacks(look):
    facts = operating_system.release_facts(look(files={"/usr/lib/os-release": "NAME=Debian\nID=debian\n"}))
    assert facts["os.name"] == Found("Debian", "/usr/lib/os-release")
    assert isinstance(facts["os.version"], Absent)


def test_a_name_without_end_is_cut(look):
    facts = operating_system.release_facts(look(files={"/etc/os-release": f'PRETTY_NAME="{"a" * 60_000}"\nID={"b" * 4000}\n'}))
    assert facts["os.name"] == Found("a" * 200, "/etc/os-release")
    assert facts["os.id"] == Found("b" * 200, "/etc/os-release")


def test_without_proc_the_memory_is_unknown_not_absent(look):
    facts = memory.probe(look())
    assert isinstance(facts["memory.ram_mib"], Unreadable)
    assert isinstance(facts["memory.swap_mib"], Unreadable)


def test_kernel_and_wsl(look):
    facts = operating_system.kernel_facts(look(uname=Found(("Linux", "5.15.153.1-microsoft-standard-WSL2", "x86_64"), "uname")))
    assert facts["os.wsl"].value is True
    assert facts["os.arch"].value == "x86_64"
    assert operating_system.kernel_facts(look())["os.wsl"].value is False


def test_another_c_library_is_named_as_such(look):
    assert operating_system.glibc(look()).value == "2.35"
    assert operating_system.glibc(look(libc=Found(("musl", "1.2.5"), "/lib/ld-musl-x86_64.so.1"))).value == "musl 1.2.5"
    assert isinstance(operating_system.glibc(look(libc=Found(("", ""), "confstr"))), Unreadable)


def test_libstdcxx_by_its_real_name(look):
    visit = look(
        files={"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30": b""},
        links={"/usr/lib/x86_64-linux-gnu/libstdc++.so.6": "libstdc++.so.6.0.30"},
    )
    assert operating_system.libstdcxx(visit).value == "GLIBCXX_3.4.30"
    assert visit.system.asked.count("/usr/lib/x86_64-linux-gnu/libstdc++.so.6") == 0


def test_libstdcxx_by_its_symbols_where_the_name_says_nothing(look):
    content = b"\0GLIBCXX_3.4\0GLIBCXX_3.4.9\0GLIBCXX_3.4.29\0GLIBCXX_TUNABLES\0CXXABI_1.3.13\0"
    assert highest_symbol(content, "GLIBCXX_3.4.") == "GLIBCXX_3.4.29"
    assert highest_symbol(b"CXXABI_1.3", "GLIBCXX_3.4.") is None
    assert operating_system.libstdcxx(look(files={"/usr/lib64/libstdc++.so.6": content})).value == "GLIBCXX_3.4.29"


SYMBOLS = b"\0GLIBCXX_3.4\0GLIBCXX_3.4.33\0CXXABI_1.3\0CXXABI_1.3.9\0CXXABI_1.3.15\0CXXABI_TM_1\0CXXABI_FLOAT128\0"


def test_the_abi_stands_in_the_bytes_which_are_read_on_request(look):
    host = {
        "files": {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.33": SYMBOLS},
        "links": {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6": "libstdc++.so.6.0.33"},
    }
    assert operating_system.cxxabi(look(full=True, **host)).value == "CXXABI_1.3.15"
    visit = look(**host)
    assert operating_system.cxxabi(visit).why == "not looked at; `envcheck probe` does"
    assert visit.system.asked == []
    assert isinstance(operating_system.cxxabi(look(full=True)), Absent)


def test_name_of_the_c_library_first_process_and_headers(look):
    headers = {"/lib/modules/5.15.0-91-generic/build/Makefile": ""}
    facts = operating_system.probe(look(files={"/proc/1/comm": "systemd\n"} | headers))
    assert (facts["os.libc"].value, facts["os.init"].value, facts["os.kernel_headers"].value) == ("glibc", "systemd", True)
    bare = operating_system.probe(look(libc=Found(("musl", "1.2.5"), "/lib/ld-musl-x86_64.so.1")))
    assert (bare["os.libc"].value, bare["os.kernel_headers"].value) == ("musl", False)
    assert isinstance(bare["os.init"], Unreadable)
    inside = {"/.dockerenv": ""}
    assert isinstance(operating_system.kernel_headers(look(files=inside)), Unreadable)
    assert operating_system.kernel_headers(look(files=inside | headers)).value is True


def test_the_loaders_libstdcxx_is_the_systems_unless_a_variable_says_otherwise(look):
    files = {"/opt/conda/lib/libstdc++.so.6.0.29": b"", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.33": b""}
    links = {
        "/opt/conda/lib/libstdc++.so.6": "libstdc++.so.6.0.29",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6": "libstdc++.so.6.0.33",
    }
    assert operating_system.libstdcxx(look(files=files, links=links, env={"CONDA_PREFIX": "/opt/conda"})).value == "GLIBCXX_3.4.33"
    chosen = look(files=files, links=links, env={"LD_LIBRARY_PATH": "/opt/conda/lib"})
    assert operating_system.libstdcxx(chosen).value == "GLIBCXX_3.4.29"


def test_meminfo_kb_are_kib():
    sizes = parse_meminfo(MEMINFO)
    assert sizes["MemTotal"] == pytest.approx(193298.05, abs=0.01)
    assert "HugePages_Total" not in sizes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DOCKER_V1, ("/docker/4f5a", "/system.slice/containerd.service")),
        (POD_V2, (None, "/kubepods.slice/kubepods-burstable.slice/cri-containerd-9f.scope")),
        ("0::/\n", (None, "/")),
        ("0::/../../other.scope\n", (None, "/")),
        ("", (None, None)),
    ],
)
def test_cgroup_paths(text, expected):
    assert parse_cgroup(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("max\n", None), ("68719476736\n", 68719476736), ("9223372036854771712\n", None), ("x", None)]
)
def test_cgroup_limits(text, expected):
    assert parse_limit(text) == expected


def test_the_smallest_limit_up_the_tree_holds(look):
    files = {
        "/proc/self/cgroup": POD_V2,
        "/sys/fs/cgroup/kubepods.slice/memory.max": "137438953472\n",
        "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/memory.max": "max\n",
        "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/cri-containerd-9f.scope/memory.max": "34359738368\n",
    }
    assert memory.cgroup_limit_mib(look(files=files)).value == 32768
    del files["/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/cri-containerd-9f.scope/memory.max"]
    assert memory.cgroup_limit_mib(look(files=files)).value == 131072


def test_a_container_sees_its_own_group_as_the_root_of_version_1(look):
    files = {"/proc/self/cgroup": DOCKER_V1, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "17179869184\n"}
    assert memory.cgroup_limit_mib(look(files=files)) == Found(16384, "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def test_no_limit_and_a_limit_nobody_may_read(look):
    assert isinstance(memory.cgroup_limit_mib(look(files={"/proc/self/cgroup": "0::/\n"})), Absent)
    closed = {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": Unreadable("permission denied")}
    assert isinstance(memory.cgroup_limit_mib(look(files=closed)), Unreadable)


def test_shared_memory(look):
    space = {"/dev/shm": DiskSpace(64 << 20, 32 << 20)}
    assert memory.shm_mib(look(files={"/dev/shm/x": ""}, disk=space)).value == 64
    assert isinstance(memory.shm_mib(look(disk=space)), Absent)
