import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import cpu, limits
from envcheck.probes.cpu import parse_cpuinfo, parse_ranges

XEON = """\
processor	: 0
vendor_id	: GenuineIntel
cpu family	: 6
model		: 143
model name	: Intel(R) Xeon(R) Platinum 8480+
flags		: fpu vme sse4_2 avx f16c fma avx2 avx512f avx512dq avx512_bf16 avx512_vnni amx_bf16 avx512_fp16 amx_tile amx_int8
bugs		: spectre_v1

processor	: 1
model name	: another
"""
GRACE = """\
processor	: 0
BogoMIPS	: 2000.00
Features	: fp asimd evtstrm aes crc32 atomics fphp asimdhp cpuid asimddp sve sve2 svebf16 i8mm bf16 dgh
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x0
CPU part	: 0xd4f
CPU revision	: 0
"""
POWER = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz\n"
NODES = "/sys/devices/system/node"


@pytest.mark.parametrize(
    ("text", "model", "flags"),
    [
        (
            XEON,
            "Intel(R) Xeon(R) Platinum 8480+",
            ["avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"],
        ),
        (GRACE, "implementer 0x41, part 0xd4f", ["asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "svebf16"]),
    ],
)
def test_model_and_the_instruction_sets_that_decide(look, text, model, flags):
    facts = cpu.probe(look(files={"/proc/cpuinfo": text}))
    assert facts["cpu.model"].value == model
    assert facts["cpu.flags"].value == flags


def test_an_old_processor_has_none_of_them_and_power_does_not_say(look):
    old = cpu.probe(look(files={"/proc/cpuinfo": "model name\t: Intel(R) Celeron(R)\nflags\t\t: fpu sse4_2\n"}))
    assert old["cpu.flags"] == Found([], "/proc/cpuinfo")
    power = cpu.probe(look(files={"/proc/cpuinfo": POWER}))
    assert power["cpu.model"].value == "POWER9, altivec supported"
    assert isinstance(power["cpu.flags"], Unreadable)


def test_only_the_first_processor_is_read():
    assert parse_cpuinfo(XEON)["model name"].startswith("Intel")
    assert "another" not in parse_cpuinfo(XEON).values()
    assert parse_cpuinfo("\n\n") == {}


@pytest.mark.parametrize(
    ("text", "number"),
    [("0-3", 4), ("0", 1), ("0-1,16-17\n", 4), ("3-1", None), ("", None), ("0-x", None), ("a", None), ("0-999999", 65536), ("-1", None)],
)
def test_lists_of_numbers(text, number):
    assert parse_ranges(text) == number


def test_nodes_with_processors_not_those_made_of_a_gpus_memory(look):
    files = {f"{NODES}/has_cpu": "0-1\n", f"{NODES}/node0/x": "", f"{NODES}/node1/x": "", f"{NODES}/node9/x": ""}
    assert cpu.numa_nodes(look(files=files)) == Found(2, f"{NODES}/has_cpu")
    old = {f"{NODES}/node0/cpulist": "0-3\n", f"{NODES}/node1/cpulist": "4-7\n"}
    assert cpu.numa_nodes(look(files=old)).value == 2


def test_a_kernel_without_numa_and_a_hidden_one(look):
    assert isinstance(cpu.numa_nodes(look(files={"/sys/devices/system/cpu/online": "0\n"})), Absent)
    assert isinstance(cpu.numa_nodes(look()), Unreadable)


_LINES = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max processes             2061204              2061204              processes
Max open files            1024                 1048576              files
Max locked memory         8388608              unlimited            bytes
Max nice priority         0                    0
Max realtime timeout      unlimited            unlimited            us
"""
LIMITS = "".join(f"{line:<76}\n" for line in _LINES.splitlines())  # the kernel fills every line up
FIRST_NAMESPACE = "         0          0 4294967295\n"


def test_soft_limits_and_their_units(look):
    facts = limits.probe(look(files={limits.LIMITS: LIMITS}))
    assert facts["limits.memlock_mib"] == Found(8.0, limits.LIMITS)
    assert facts["limits.open_files"] == Found(1024, limits.LIMITS)
    assert facts["limits.processes"].value == 2061204


def test_unlimited_is_absent_and_an_unknown_limit_is_unknown(look):
    text = LIMITS.replace("8388608  ", "unlimited").replace("Max open files", "Max open doors").replace("2061204 ", "many    ")
    facts = limits.probe(look(files={limits.LIMITS: text}))
    assert isinstance(facts["limits.memlock_mib"], Absent)
    assert isinstance(facts["limits.open_files"], Unreadable)
    assert isinstance(facts["limits.processes"], Unreadable)


def test_no_proc_tells_nothing(look):
    assert all(isinstance(fact, Unreadable) for fact in limits.probe(look()).values())


def status(uid, seccomp="0", no_new="0"):
    return f"Name:\tpython3\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNoNewPrivs:\t{no_new}\nSeccomp:\t{seccomp}\nSeccomp_filters:\t0\n"


@pytest.mark.parametrize(
    ("uid", "uid_map", "root"),
    [
        ("0", FIRST_NAMESPACE, True),
        ("0", "         0       1000          1\n", False),  # rootless: the user's own number stands behind 0
        ("0", "         0     100000      65536\n", False),  # an LXC container without privileges
        ("1000", FIRST_NAMESPACE, False),
        ("0", "", False),
        ("0", None, True),
    ],
)
def test_root_is_the_hosts_root(look, uid, uid_map, root):
    files = {limits.STATUS: status(uid)} | ({limits.UID_MAP: uid_map} if uid_map is not None else {})
    assert limits.root(look(files=files)).value is root


def test_a_map_nobody_may_read_leaves_root_open(look):
    files = {limits.STATUS: status("0"), limits.UID_MAP: Unreadable("permission denied")}
    assert isinstance(limits.root(look(files=files)), Unreadable)


@pytest.mark.parametrize(
    ("seccomp", "no_new", "expected"), [("2", "1", (True, True)), ("0", "0", (False, False)), ("1", "0", (True, False))]
)
def test_privileges(look, seccomp, no_new, expected):
    facts = limits.probe(look(files={limits.STATUS: status("0", seccomp, no_new)}))
    assert (facts["limits.seccomp"].value, facts["limits.no_new_privileges"].value) == expected


def test_a_kernel_without_seccomp_and_a_status_of_nonsense(look):
    old = limits.probe(look(files={limits.STATUS: "Uid:\t0\t0\t0\t0\n"}))
    assert isinstance(old["limits.seccomp"], Absent)
    odd = limits.probe(look(files={limits.STATUS: "Uid:\nSeccomp:\tx\n\0:::\n"}))
    assert isinstance(odd["limits.seccomp"], Unreadable)
    assert isinstance(odd["limits.root"], Unreadable)
