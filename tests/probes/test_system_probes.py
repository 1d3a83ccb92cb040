import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import kernel_modules, libcuda, memory, operating_system, secure_boot
from envcheck.probes.memory import parse_cgroup, parse_limit, parse_meminfo
from envcheck.probes.operating_system import highest_symbol, parse_os_release
from envcheck.system.port import DiskSpace, NvmlReport

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


def test_nouveau_by_the_list_of_modules_or_by_sysfs(look):
    loaded = "nouveau 2359296 1 - Live 0x0000000000000000\nttm 98304 1 nouveau, Live 0x0000000000000000\n"
    assert kernel_modules.loaded(look(files={"/proc/modules": loaded}), "nouveau").value is True
    assert kernel_modules.loaded(look(files={"/proc/modules": "ttm 98304 1 nouveau, Live 0x0\n"}), "nouveau").value is False
    assert kernel_modules.loaded(look(files={"/sys/module/nouveau/initstate": "live\n"}), "nouveau").value is True
    assert isinstance(kernel_modules.loaded(look(), "nouveau"), Unreadable)


MODINFO = "modinfo -F version nvidia"


def test_the_module_on_disk_is_asked_for_only_where_it_matters(look, bus):
    gpu = bus(("0000:00:07.0", "10DE:2236", "30200", None))
    none = look(files=bus(), commands={MODINFO: (0, "535.161.08\n")})
    assert isinstance(kernel_modules.nvidia_on_disk(none), Absent)
    works = look(files=gpu | {"/sys/module/nvidia/version": "535.161.08"}, nvml=NvmlReport("ok"), commands={MODINFO: (0, "535.161.08\n")})
    assert isinstance(kernel_modules.nvidia_on_disk(works), Unreadable)
    assert none.system.started == works.system.started == []
    assert kernel_modules.nvidia_on_disk(look(files=gpu, commands={MODINFO: (0, "535.161.08\n")})).value == "535.161.08"
    assert isinstance(kernel_modules.nvidia_on_disk(look(files=gpu, commands={MODINFO: (1, "")})), Absent)
    assert isinstance(kernel_modules.nvidia_on_disk(look(files=gpu)), Unreadable)
    assert isinstance(kernel_modules.nvidia_on_disk(look(files=gpu | {"/.dockerenv": ""}, commands={MODINFO: (1, "")})), Unreadable)


LICENCE = "modinfo -F license nvidia"
DKMS = "/var/lib/dkms/nvidia"
BUILT = {
    "files": {f"{DKMS}/550.54.15/5.15.0-91-generic/x86_64/module/nvidia.ko": b""},
    "links": {f"{DKMS}/kernel-5.15.0-91-generic-x86_64": "550.54.15/5.15.0-91-generic/x86_64"},
}


def test_the_driver_that_works_today_and_the_module_of_tomorrow(look, bus):
    files = bus(("0000:00:07.0", "10DE:2236", "30200", "nvidia")) | {"/sys/module/nvidia/version": "535.161.08"} | BUILT["files"]
    visit = look(files=files, links=BUILT["links"], nvml=NvmlReport("ok"), commands={MODINFO: (0, "550.54.15\n")})
    facts = kernel_modules.probe(visit)
    assert facts["kernel_modules.nvidia_on_disk"] == Found("550.54.15", f"{DKMS}/kernel-5.15.0-91-generic-x86_64")
    assert isinstance(facts["kernel_modules.flavour_on_disk"], Unreadable)
    assert visit.system.started == []


def test_a_build_for_another_kernel_is_not_this_ones(look, bus):
    files = bus(("0000:00:07.0", "10DE:2236", "30200", "nvidia")) | BUILT["files"]
    visit = look(files=files, links=BUILT["links"], nvml=NvmlReport("ok"), uname=Found(("Linux", "6.8.0-45-generic", "x86_64"), "uname"))
    assert kernel_modules.nvidia_on_disk(visit).why == "not looked at; `envcheck probe` does"


@pytest.mark.parametrize(
    "path",
    [
        "updates/dkms/nvidia.ko.zst",
        "updates/dkms/nvidia-current.ko",
        "kernel/drivers/video/nvidia.ko",
        "kernel/nvidia-535srv/nvidia.ko",
        "extra/nvidia-open/nvidia.ko.xz",
        "extra/nvidia.ko.xz",
    ],
)
def test_a_module_there_for_another_kernel_only_is_said(look, bus, path):
    gpu = bus(("0000:00:07.0", "10DE:2236", "30200", None)) | {f"/lib/modules/5.15.0-25-generic/{path}": b""}
    visit = look(files=gpu, commands={MODINFO: (1, "")})
    assert kernel_modules.nvidia_on_disk(visit).why == "modinfo: no nvidia module for 5.15.0-91-generic; there is one for 5.15.0-25-generic"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((0, "NVIDIA\n"), "proprietary"),
        ((0, "Dual MIT/GPL\n"), "open"),
        ((0, "GPL\n"), None),
        ((1, ""), None),
        (Unreadable("timed out"), None),
    ],
)
def test_the_kind_of_the_module_on_disk_by_its_licence(look, bus, answer, expected):
    gpu = bus(("0000:00:07.0", "10DE:2236", "30200", None))
    fact = kernel_modules.flavour_on_disk(look(files=gpu, commands={MODINFO: (0, "570.144\n"), LICENCE: answer}))
    assert (fact.value if isinstance(fact, Found) else None) == expected


def test_all_is_asked_on_request(look, bus):
    files = bus(("0000:00:07.0", "10DE:2236", "30200", "nvidia"))
    visit = look(files=files, full=True, nvml=NvmlReport("ok"), commands={MODINFO: (0, "570.144\n"), LICENCE: (0, "Dual MIT/GPL\n")})
    facts = kernel_modules.probe(visit)
    assert facts["kernel_modules.nvidia_on_disk"].value == "570.144"
    assert facts["kernel_modules.flavour_on_disk"].value == "open"
    assert visit.system.started == [MODINFO, LICENCE]


def test_nvidias_own_modules(look):
    text = "nvidia_uvm 1523712 0 - Live 0x0 (POE)\nnvidia 56459264 1 nvidia_uvm, Live 0x0 (POE)\n"
    both = look(files={"/proc/modules": text})
    assert [kernel_modules.loaded(both, name).value for name in ("nvidia", "nvidia_uvm", "nouveau")] == [True, True, False]
    names = look(files={"/proc/modules": "nvidia_drm 77824 0 - Live 0x0\n"})
    assert kernel_modules.loaded(names, "nvidia").value is False
    assert isinstance(kernel_modules.loaded(look(files={"/proc/modules": "x\n" * 200_000}), "nvidia"), Unreadable)


EFI = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
OLD_EFI = "/sys/firmware/efi/vars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c/data"
MOKUTIL = "mokutil --sb-state"


def test_secure_boot_is_the_fifth_byte(look):
    assert secure_boot.secure_boot(look(files={EFI: b"\x06\0\0\0\x01"})).value is True
    assert secure_boot.secure_boot(look(files={EFI: b"\x06\0\0\0\0"})).value is False
    assert isinstance(secure_boot.secure_boot(look(files={EFI: b"\x06"})), Unreadable)
    assert isinstance(secure_boot.secure_boot(look()), Absent)
    assert isinstance(secure_boot.secure_boot(look(files={"/.dockerenv": ""})), Unreadable)
    assert isinstance(secure_boot.secure_boot(look(files={EFI: Unreadable("permission denied")})), Unreadable)


def test_secure_boot_where_older_kernels_keep_it(look):
    assert secure_boot.secure_boot(look(files={OLD_EFI: b"\x01"})).value is True
    assert secure_boot.secure_boot(look(files={OLD_EFI: b"\0"})).value is False
    assert isinstance(secure_boot.secure_boot(look(files={OLD_EFI: b""})), Unreadable)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [((0, "SecureBoot enabled\n"), True), ((0, "SecureBoot disabled\nPlatform is in Setup Mode\n"), False), ((255, ""), None)],
)
def test_mokutil_is_asked_on_request_only(look, answer, expected):
    host = {"files": {EFI: Unreadable("permission denied")}, "commands": {MOKUTIL: answer}}
    asked, unasked = look(full=True, **host), look(**host)
    fact = secure_boot.secure_boot(asked)
    assert (fact.value if isinstance(fact, Found) else None) is expected
    assert isinstance(secure_boot.secure_boot(unasked), Unreadable)
    assert (asked.system.started, unasked.system.started) == ([MOKUTIL], [])


COMPAT = {"/usr/local/cuda-12.9/compat/libcuda.so.575.57.08": b"", "/usr/lib/x86_64-linux-gnu/libcuda.so.535.161.08": b""}
COMPAT_LINKS = {
    "/usr/local/cuda-12.9/compat/libcuda.so.1": "libcuda.so.575.57.08",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "libcuda.so.535.161.08",
}


@pytest.mark.parametrize(
    ("env", "conf", "expected"),
    [
        ({}, "", ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "535.161.08", False)),
        ({"LD_LIBRARY_PATH": "/nowhere:/usr/local/cuda-12.9/compat"}, "", ("/usr/local/cuda-12.9/compat/libcuda.so.1", "575.57.08", True)),
        ({}, "/usr/local/cuda-12.9/compat\n", ("/usr/local/cuda-12.9/compat/libcuda.so.1", "575.57.08", True)),
    ],
)
def test_which_libcuda_the_loader_takes(look, env, conf, expected):
    visit = look(files=COMPAT | {"/etc/ld.so.conf.d/00-compat.conf": conf}, links=COMPAT_LINKS, env=env)
    facts = libcuda.probe(visit)
    assert (facts["libcuda.path"].value, facts["libcuda.version"].value, facts["libcuda.compat"].value) == expected


def test_the_file_really_loaded_wins(look):
    loaded = Found(12020, "/usr/lib/x86_64-linux-gnu/libcuda.so.535.161.08")
    facts = libcuda.probe(look(files=COMPAT, links=COMPAT_LINKS, env={"LD_LIBRARY_PATH": "/usr/local/cuda-12.9/compat"}, libcuda=loaded))
    assert facts["libcuda.path"].value == loaded.source
    assert facts["libcuda.compat"].value is False


def test_no_libcuda(look):
    assert all(isinstance(fact, Absent) for fact in libcuda.probe(look()).values())
