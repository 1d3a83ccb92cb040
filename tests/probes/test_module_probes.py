import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import kernel_modules, libcuda, secure_boot
from envcheck.system.port import NvmlReport


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
