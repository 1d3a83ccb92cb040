"""The loader's list, folders and choice. The list is written here by the layout of glibc's `dl-cache.h`, not by the reader's code."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.model.host_parts import LoaderFolder
from envcheck.probes import driver, libcuda, loader_folders
from envcheck.probes.libraries import configured, copies, is_compat, parse_conf
from envcheck.probes.loader_cache import cache, cached_paths
from envcheck.probes.loader_folders import chosen
from envcheck.system.port import NvmlReport

X86, I386, ARM = 0x0303, 0x0003, 0x0A03
LIB = "/usr/lib/x86_64-linux-gnu"


def listing(*entries, before=b""):
    """`ld.so.cache` of glibc 2.32 and later; an entry is (name, path, flags, hardware capabilities)."""
    at, strings, rows = 48 + 24 * len(entries), b"", b""
    for name, path, flags, capabilities in entries:
        rows += struct.pack("<iIIIQ", flags, at + len(strings), at + len(strings) + len(name) + 1, 0, capabilities)
        strings += name.encode() + b"\0" + path.encode() + b"\0"
    head = b"glibc-ld.so.cache" + b"1.1" + struct.pack("<II", len(entries), len(strings)) + b"\2" + b"\0" * 19
    return before + head + rows + strings


def entry(path, flags=X86, capabilities=0):
    return path.rpartition("/")[2], path, flags, capabilities


# Three copies, one of them 32-bit and one for newer processors; the list of before glibc 2.32 starts with one of libc5's form.
THREE = (
    entry(f"{LIB}/libcuda.so.1"),
    entry("/usr/lib/i386-linux-gnu/libcuda.so.1", I386),
    entry("/opt/hw/libcuda.so.1", X86, 1 << 62),
    entry("/usr/local/cuda/compat/libcuda.so.1"),
    entry(f"{LIB}/libstdc++.so.6"),
)
OLD = b"ld.so-1.7.0\0" + struct.pack("<I", 3) + bytes(36)  # 16 + 36 bytes, filled up to a multiple of 8


@pytest.mark.parametrize("before", [b"", OLD + b"\0" * 4])
def test_the_list_in_both_forms(before):
    data = listing(*THREE, before=before)
    assert cached_paths(data, "libcuda.so.1", "x86_64") == [
        f"{LIB}/libcuda.so.1",
        "/usr/local/cuda/compat/libcuda.so.1",
        "/opt/hw/libcuda.so.1",
    ]
    assert cached_paths(data, "libcuda.so.1", "aarch64") == []
    assert cached_paths(data, "libcuda.so", "x86_64") == []
    assert cached_paths(data, "libstdc++.so.6", "x86_64") == [f"{LIB}/libstdc++.so.6"]


def test_an_unknown_machine_takes_every_kind():
    data = listing(entry("/usr/lib/libcuda.so.1", 0x1003), entry("/usr/lib/arm/libcuda.so.1", ARM))
    assert cached_paths(data, "libcuda.so.1", "riscv64") == ["/usr/lib/libcuda.so.1", "/usr/lib/arm/libcuda.so.1"]


def test_a_name_that_is_stored_as_the_end_of_its_path():
    path = f"{LIB}/libcuda.so.1"
    at = 48 + 24
    row = struct.pack("<iIIIQ", X86, at + len(LIB) + 1, at, 0, 0)
    data = b"glibc-ld.so.cache1.1" + struct.pack("<II", 1, len(path) + 1) + bytes(20) + row + path.encode() + b"\0"
    assert cached_paths(data, "libcuda.so.1", "x86_64") == [path]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF" + b"\0" * 100,
        b"glibc-ld.so.cache1.1",
        b"glibc-ld.so.cache1.1" + b"\xff" * 28,
        b"ld.so-1.7.0\0\xff\xff\xff\xff",
        listing(*THREE)[:100],
        b"glibc-ld.so.cache1.1"
        + struct.pack("<II", 1, 9)
        + bytes(20)
        + struct.pack("<iIIIQ", X86, 72, 4_000_000_000, 0, 0)
        + b"libcuda.so.1\0",
    ],
)
def test_a_broken_list_has_no_paths(data):
    assert cached_paths(data, "libcuda.so.1", "x86_64") == []


@given(st.binary(max_size=200), st.integers(0, 400))
def test_no_bytes_in_a_list_make_it_fail(noise, at):
    data = listing(*THREE)
    assert isinstance(cached_paths(data[:at] + noise + data[at + len(noise) :], "libcuda.so.1", "x86_64"), list)


def test_a_list_nobody_can_use_is_said_to_be_so(look):
    assert cache(look()) == Absent("/etc/ld.so.cache: no such file")
    assert cache(look(files={"/etc/ld.so.cache": b"x" * 100})) == Unreadable("/etc/ld.so.cache: in no form of the GNU C library")
    assert cache(look(files={"/etc/ld.so.cache": listing(*THREE) + bytes(3 << 20)})) == Unreadable("/etc/ld.so.cache: larger than 2 MiB")


def found(look, name="libcuda.so.1"):
    return [(one.value, one.source) for one in copies(look, name) if isinstance(one, Found)]


def test_the_loaders_order(look):
    files = {
        "/etc/ld.so.cache": listing(entry("/opt/listed/libcuda.so.1"), entry("/opt/gone/libcuda.so.1")),
        "/opt/listed/libcuda.so.1": b"",
        "/opt/searched/libcuda.so.1": b"",
        "/opt/preloaded/libcuda.so.1": b"",
        "/usr/lib64/libcuda.so.1": b"",
        "/etc/ld.so.conf": "/opt/not-yet-listed\n",
        "/opt/not-yet-listed/libcuda.so.1": b"",
    }
    env = {"LD_LIBRARY_PATH": "relative::/nowhere;/opt/searched/", "LD_PRELOAD": "libjemalloc.so.2:/opt/preloaded/libcuda.so.1"}
    assert found(look(files=files, env=env)) == [
        ("/opt/preloaded/libcuda.so.1", "LD_PRELOAD"),
        ("/opt/searched/libcuda.so.1", "/opt/searched/libcuda.so.1"),
        ("/opt/listed/libcuda.so.1", "/etc/ld.so.cache"),
        ("/usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1"),
    ]


def test_without_a_list_the_configuration_speaks(look):
    files = {
        "/etc/ld.so.conf": "# first\ninclude ld.so.conf.d/*.conf\n/opt/last\n",
        "/etc/ld.so.conf.d/b.conf": "/opt/b # named second\n",
        "/etc/ld.so.conf.d/a.conf": "/opt/a/\n/opt/c\n",
    }
    assert look(files=files).once(configured) == (
        ("/opt/a", "/etc/ld.so.conf.d/a.conf"),
        ("/opt/c", "/etc/ld.so.conf.d/a.conf"),
        ("/opt/b", "/etc/ld.so.conf.d/b.conf"),
        ("/opt/last", "/etc/ld.so.conf"),
    )
    assert found(look(files={**files, "/opt/c/libcuda.so.1": b""})) == [("/opt/c/libcuda.so.1", "/opt/c/libcuda.so.1")]


def test_a_configuration_that_includes_itself_ends(look):
    files = {"/etc/ld.so.conf": "include /etc/ld.so.conf\ninclude /etc/*.conf\n/opt/a\n"}
    assert look(files=files).once(configured) == (("/opt/a", "/etc/ld.so.conf"),)


def test_no_pattern_of_a_configuration_is_asked_twice(look):
    files = {f"/etc/ld.so.conf.d/{number:03}.conf": "include /etc/ld.so.conf.d/*.conf\n" * 50 + f"/opt/{number}\n" for number in range(20)}
    visit = look(files={"/etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n" * 50, **files})
    asked: list[str] = []
    expand = visit.system.glob

    def glob(pattern: str, limit: int = 512) -> tuple[str, ...]:
        asked.append(pattern)
        return expand(pattern, limit)

    visit.system.glob = glob
    assert [folder for folder, _ in visit.once(configured)] == [f"/opt/{number}" for number in range(20)]
    assert asked == ["/etc/ld.so.conf.d/*.conf"]


def test_lines_of_a_configuration():
    text = "include /etc/a.conf b.conf\nhwcap 1 nosegneg\n/usr/lib/old=libc5\n  /opt/x  \nrelative\n#/no\n\n"
    assert parse_conf(text) == ((True, "/etc/a.conf"), (True, "b.conf"), (False, "/usr/lib/old"), (False, "/opt/x"))


def test_of_each_library_the_name_that_tells_most():
    names = (
        *("libcudnn.so", "libcudnn.so.9", "libcudnn.so.9.1.0", "libcudnn_ops.so.9", "libcudart.so.11.0", "libcudart.so.12"),
        *("libcudart.so.12.4.127", "libcudart_static.a", "libnccl.so.2", "libcuda.so", "libc.so.6", "libcublas.so.evil", "libnvrtc.sox"),
    )
    assert chosen(names) == ["libcuda.so", "libcudart.so.11.0", "libcudart.so.12.4.127", "libcudnn.so.9.1.0", "libnccl.so.2"]


def test_folders_that_hold_cuda_libraries_in_the_loaders_order(look):
    files = {
        "/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127": b"",
        "/usr/local/cuda-12.4/lib64/libcublas.so.12": b"",
        "/usr/local/cuda-12.4/lib64/libnppc.so.12": b"",
        "/opt/empty/README": "",
        "/opt/nccl/libnccl.so.2.18.3": b"",
        f"{LIB}/libcuda.so.535.161.08": b"",
        "/etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n",
        "/etc/ld.so.conf.d/nccl.conf": f"{LIB}\n/opt/nccl\n",
    }
    env = {"LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64/:/opt/empty:lib:", "LD_PRELOAD": "/opt/old/libnccl.so.2 /lib/libjemalloc.so.2"}
    facts = loader_folders.probe(look(files=files, env=env))
    assert facts["loader_folders"].value == [
        LoaderFolder("/opt/old", "LD_PRELOAD", ["libnccl.so.2"]),
        LoaderFolder("/usr/local/cuda-12.4/lib64", "LD_LIBRARY_PATH", ["libcublas.so.12", "libcudart.so.12.4.127"]),
        LoaderFolder("lib", "LD_LIBRARY_PATH"),
        LoaderFolder(".", "LD_LIBRARY_PATH"),
        LoaderFolder("/opt/nccl", "/etc/ld.so.conf.d/nccl.conf", ["libnccl.so.2.18.3"]),
    ]


def test_a_configuration_that_may_not_be_read_is_named(look):
    facts = loader_folders.probe(look(files={"/etc/ld.so.conf": Unreadable("permission denied")}))
    assert facts["loader_folders"].value == []
    assert facts["loader_folders./etc/ld.so.conf"] == Unreadable("/etc/ld.so.conf: permission denied")


def test_nothing_named_no_folders(look):
    assert loader_folders.probe(look(env={"LD_LIBRARY_PATH": "", "LD_PRELOAD": ""}))["loader_folders"].value == []


def test_thousands_of_folders_are_bounded(look):
    facts = loader_folders.probe(look(env={"LD_LIBRARY_PATH": ":".join(f"r{number}" for number in range(9000))}))
    assert len(facts["loader_folders"].value) == 32


def test_a_folder_named_like_a_pattern_matches_itself_alone(look):
    files = {"/opt/a/libnccl.so.2": b"", "/opt/[ab]/libcudart.so.12": b""}
    facts = loader_folders.probe(look(files=files, env={"LD_LIBRARY_PATH": "/opt/[ab]"}))
    assert facts["loader_folders"].value == [LoaderFolder("/opt/[ab]", "LD_LIBRARY_PATH", ["libcudart.so.12"])]


@pytest.mark.parametrize(
    ("path", "compat"),
    [
        ("/usr/local/cuda-12.9/compat/libcuda.so.1", True),
        ("/usr/local/cuda/compat_orin/libcuda.so.1", True),
        ("/opt/conda/cuda-compat/libcuda.so.1", True),
        ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", False),
        ("/opt/compatible/libcuda.so.1", False),
    ],
)
def test_folders_of_forward_compatibility(path, compat):
    assert is_compat(path) is compat


def test_a_stub_first_in_the_path(look):
    files = {"/usr/local/cuda-12.4/lib64/stubs/libcuda.so.1": b"", f"{LIB}/libcuda.so.550.54.15": b"", f"{LIB}/libcuda.so": b""}
    links = {f"{LIB}/libcuda.so.1": "libcuda.so.550.54.15"}
    visit = look(files=files, links=links, env={"LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64/stubs"})
    facts = libcuda.probe(visit)
    assert facts["libcuda.path"].value == "/usr/local/cuda-12.4/lib64/stubs/libcuda.so.1"
    assert facts["libcuda.stub"].value is True
    assert isinstance(facts["libcuda.version"], Unreadable)
    assert driver.library_version(visit).value == "550.54.15"
    assert libcuda.probe(look(files=files, links=links))["libcuda.stub"].value is False


@pytest.mark.parametrize(
    ("link", "env", "expected"),
    [
        (f"{LIB}/libcuda.so", {}, True),
        ("/usr/lib64/libcuda.so", {}, True),
        ("/usr/local/cuda/lib64/stubs/libcuda.so", {}, False),
        ("/usr/local/cuda/lib64/stubs/libcuda.so", {"LIBRARY_PATH": "/nowhere:/usr/local/cuda/lib64/stubs"}, True),
        ("/opt/driver/libcuda.so", {"TRITON_LIBCUDA_PATH": "/opt/driver"}, True),
        ("/opt/libcuda.so", {"LIBRARY_PATH": "opt"}, False),
    ],
)
def test_whether_a_linker_finds_libcuda(look, link, env, expected):
    facts = libcuda.probe(look(files={f"{LIB}/libcuda.so.1": b"", link: b""}, env=env))
    assert facts["libcuda.development_link"].value is expected


def test_compat_libraries_on_disk_each_once(look):
    files = {
        "/usr/local/cuda-12.9/compat/libcuda.so.575.57.08": b"",
        "/usr/local/cuda-13.0/compat/libcuda.so.580.65.06": b"",
        "/opt/conda/cuda-compat/libcuda.so.570.124.06": b"",
        "/srv/compat/libcuda.so.1": b"",
        "/usr/local/cuda-12.4/lib64/libcudart.so.12": b"",
        f"{LIB}/libcuda.so.535.161.08": b"",
    }
    links = {
        "/usr/local/cuda": "cuda-13.0",
        "/usr/local/cuda-12.9/compat/libcuda.so.1": "libcuda.so.575.57.08",
        "/usr/local/cuda-13.0/compat/libcuda.so.1": "libcuda.so.580.65.06",
        "/opt/conda/cuda-compat/libcuda.so.1": "libcuda.so.570.124.06",
        f"{LIB}/libcuda.so.1": "libcuda.so.535.161.08",
    }
    env = {"CONDA_PREFIX": "/opt/conda", "VLLM_CUDA_COMPATIBILITY_PATH": "/srv/compat", "CUDA_HOME": "/usr/local/cuda"}
    facts = libcuda.probe(look(files=files, links=links, env=env))
    assert facts["libcuda.compat"].value is False
    assert sorted(facts["libcuda.compat_available"].value) == [
        "/opt/conda/cuda-compat/libcuda.so.570.124.06",
        "/srv/compat/libcuda.so.1",
        "/usr/local/cuda-12.9/compat/libcuda.so.575.57.08",
        "/usr/local/cuda-13.0/compat/libcuda.so.580.65.06",
    ]


def test_the_normal_path_opens_no_list_and_starts_nothing(look):
    visit = look(
        files={f"{LIB}/libcuda.so.550.54.15": b"", "/etc/ld.so.cache": listing(*THREE)},
        libcuda=Found(12040, f"{LIB}/libcuda.so.550.54.15"),
        nvml=NvmlReport("ok", library_path=f"{LIB}/libnvidia-ml.so.550.54.15", cuda_version=12040),
    )
    libcuda.probe(visit)
    driver.probe(visit)
    assert "/etc/ld.so.cache" not in visit.system.asked
    assert visit.system.started == []
