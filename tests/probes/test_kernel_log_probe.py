import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from envcheck.model.fact import Found, Unreadable
from envcheck.model.host_parts import KernelLog, Xid
from envcheck.probes import kernel_log
from envcheck.probes.kernel_log import EVENTS, killed, parse_xid, read_log
from envcheck.system.port import NvmlGpu, NvmlReport

JOURNAL = "journalctl -k -b --no-pager -n 2000"
NOTICES = "dmesg --level=emerg,alert,crit,err,warn,notice"
CARD = ("0000:3b:00.0", "10DE:2684", "30000", "nvidia")
LOST = """[    0.000000] Linux version 5.15.0-91-generic (buildd@lcy02) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0, GNU ld 2.38)
[   12.345678] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Sep 23 10:11:16 UTC 2025
[ 4711.000001] NVRM: GPU at PCI:0000:3b:00: GPU-5b7d7e3f-0000-0000-0000-000000000000
[ 4711.000002] NVRM: GPU Board Serial Number: 1321020000000
[ 4711.000003] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[ 4711.000004] NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.
[ 4712.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.
[ 4713.000000] NVRM: Xid (PCI:0000:af:00): 31, pid=812, name=python3, Ch 00000008, intr 00000000. MMU Fault
"""


def test_a_lost_gpu():
    assert read_log(LOST) == KernelLog(
        xids=[Xid(79, "0000:3b:00.0", 2), Xid(31, "0000:af:00.0", 1)],
        events=["fell-off-the-bus"],
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[1.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1", (79, "0000:3b:00.0")),
        ("[1.0] NVRM: Xid (0000:3B:00): 13, Graphics Exception", (13, "0000:3b:00.0")),
        ("Nov 30 12:00:00 node kernel: NVRM: Xid (PCI:0000:98:00 GPU-I:05): 94, Contained", (94, "0000:98:00.0")),
        ("2026-11-30T12:00:00,000000+08:00 NVRM: Xid (PCI:00000000:3B:00.0): 119, Timeout", (119, "0000:3b:00.0")),
        ("NVRM: Xid (PCI:0001:01:00): 63, Row Remapper", (63, "0001:01:00.0")),
        ("NVRM: Xid (GPU somewhere): 48, DBE", (48, None)),
        ("NVRM: Xid (PCI:0000:3b:00): x", None),
        ("NVRM: Xid (PCI:0000:3b:00): 99999, no such number", None),
        ("NVRM: Xid (" + "(" * 400, None),
        ("nvidia-nvswitch3: SXid (PCI:0000:c3:00.0): 12028, Non-fatal", None),
        ("", None),
    ],
)
def test_forms_of_an_xid(line, expected):
    assert parse_xid(line) == expected


def test_an_xid_of_no_known_address_keeps_its_number():
    assert read_log("NVRM: Xid (GPU somewhere): 48, DBE\n").xids == [Xid(48, UNSET, 1)]


EXAMPLES = {
    "api-mismatch": "[9.1] NVRM: API mismatch: the client has the version 535.183.01, but\n"
    "NVRM: this kernel module has the version 535.161.08.\n",
    "bar-not-mapped": "[8.2] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
    "     NVRM: BAR1 is 0M @ 0x0 (PCI:0000:14:00.0)\n",
    "open-module-required": "[5.0] NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)\n"
    "NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n",
    "unsupported-gpu": "[1.1] NVRM: The NVIDIA GPU 0000:af:00.0 (PCI ID: 10de:1db5)\n"
    "    NVRM: installed in this system is not supported by open\n"
    "    NVRM: nvidia.ko because it does not include the required GPU\n    NVRM: System Processor (GSP).\n",
    "module-signature-refused": "[3.3] Loading of unsigned module is rejected\n",
    "fell-off-the-bus": "[7.0] NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.\n",
    "firmware-failed": "[217.5] NVRM: GPU 0000:05:00.0: RmInitAdapter failed! (0x62:0xffff:1622)\n",
    "nouveau-conflict": "[6.0] NVRM: This can occur when a driver such as: \n     NVRM: nouveau, rivafb, nvidiafb or rivatv \n"
    "     NVRM: was loaded and obtained ownership of the NVIDIA device(s).\n",
    "out-of-memory-kill": "[90.0] Out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:1kB, UID:0 oom_score_adj:0\n",
}


@pytest.mark.parametrize(("event", "text"), EXAMPLES.items())
def test_each_event_by_its_own_words(event, text):
    assert read_log(text).events == [event]


def test_every_event_has_an_example_and_all_together_keep_their_order():
    assert set(EXAMPLES) == set(EVENTS)
    assert read_log("".join(reversed(EXAMPLES.values()))).events == list(EVENTS)


@pytest.mark.parametrize(
    "text",
    [
        # A module that nobody signed taints the kernel, and works.
        "[4.0] nvidia: module verification failed: signature and/or required key missing - tainting kernel\n",
        "[4.1] nvidia: module license 'NVIDIA' taints kernel.\n",
        "[4.2] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.144  Release Build\n",
        "[4.3] nouveau 0000:01:00.0: Direct firmware load for nvidia/ga102/gr/sw.bin failed with error -2\n",
        "[4.4] Out of memory: Killed process 1 (java) total-vm:1kB\n",
        "[4.5] nvidia 0000:01:00.0: enabling device (0000 -> 0003)\n",
    ],
)
def test_lines_that_say_nothing_bad(text):
    assert read_log(text) == KernelLog(xids=[], events=[])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Memory cgroup out of memory: Killed process 812 (VLLM::EngineCor) total-vm:1kB", True),
        ("Killed process 812, UID 1000, (python) total-vm:1kB", True),
        ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python3,pid=812,uid=0", True),
        ("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=mysqld,pid=812,uid=0", False),
        ("Killed process 812 (mysqld) total-vm:1kB", False),
        ("python3 invoked oom-killer: gfp_mask=0x0", False),
        ("Killed process " + "9" * 400, False),
    ],
)
def test_who_was_ended_for_want_of_memory(line, expected):
    assert killed(line) is expected


@given(
    st.one_of(
        st.text(max_size=300), st.lists(st.sampled_from([*LOST.splitlines(), *EXAMPLES.values(), "NVRM: Xid (", "): 7"])).map("".join)
    )
)
def test_no_text_makes_the_reader_fail(text):
    read = read_log(text)
    assert set(read.events) <= set(EVENTS)
    assert all(xid.count >= 1 for xid in read.xids)


def test_a_log_of_thousands_of_xids_is_bounded():
    read = read_log("".join(f"NVRM: Xid (PCI:0000:{number % 256:02x}:00): {number}, x\n" for number in range(3000)))
    assert len(read.xids) == 64


def test_nothing_is_asked_where_the_gpus_work(look, bus):
    visit = look(files=bus(CARD), nvml=NvmlReport("ok", gpu_count=1, gpus=[NvmlGpu(0)]), commands={"dmesg": (0, LOST)})
    facts = kernel_log.probe(visit)
    assert {fact.why for fact in facts.values()} == {"not looked at; `envcheck probe` does"}
    assert visit.system.started == []


def test_nothing_is_asked_on_a_host_without_nvidias_hardware(look, bus):
    visit = look(files=bus(), commands={"dmesg": (0, LOST)})
    kernel_log.probe(visit)
    assert visit.system.started == []


@pytest.mark.parametrize(
    "report",
    [
        NvmlReport("DriverNotLoaded"),
        NvmlReport("ok", gpu_count=1, gpus=[NvmlGpu(0, lost="GpuIsLost")]),
        NvmlReport("ok", gpu_count=0),
    ],
)
def test_a_gpu_that_does_not_work_is_worth_the_question(look, bus, report):
    visit = look(files=bus(CARD), nvml=report, commands={"dmesg": (0, LOST)})
    facts = kernel_log.probe(visit)
    assert facts["kernel_log.events"] == Found(["fell-off-the-bus"], "dmesg")
    assert visit.system.started == ["dmesg"]


def test_a_gpu_given_to_a_virtual_machine_and_one_kept_from_a_container_are_not_missing(look, bus):
    given_away = (*CARD[:3], "vfio-pci")
    works = NvmlReport("ok", gpu_count=0)
    assert kernel_log.suspect(look(files=bus(given_away), nvml=works)) is False
    assert kernel_log.suspect(look(files=bus(CARD) | {"/.dockerenv": ""}, nvml=works)) is False
    assert kernel_log.suspect(look(files=bus(CARD), nvml=works)) is True


def test_the_journal_where_the_kernel_refuses(look):
    visit = look(full=True, commands={"dmesg": (1, ""), JOURNAL: (0, "Nov 30 12:00:00 node kernel: " + EXAMPLES["api-mismatch"])})
    facts = kernel_log.probe(visit)
    assert facts["kernel_log.events"].value == ["api-mismatch"]
    assert facts["kernel_log.events"].source == JOURNAL
    assert facts["kernel_log.xids"].value == []


@pytest.mark.parametrize("journal", [(0, "-- No entries --\n"), (1, ""), (0, ""), Unreadable("timed out after 2 s")])
def test_a_log_nobody_may_read_is_not_a_quiet_one(look, journal):
    facts = kernel_log.probe(look(full=True, commands={"dmesg": (1, ""), JOURNAL: journal}))
    assert all(isinstance(fact, Unreadable) for fact in facts.values())


def test_the_end_of_a_long_log_is_asked_for_by_its_level(look):
    noise = "".join(f"[{number}.0] pci 0000:00:00.0: [8086:1237] type 00 class 0x060000\n" for number in range(2000))
    line = "[9999.0] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    early = "[2.0] NVRM: Xid (PCI:0000:3b:00): 31, MMU Fault\n"
    visit = look(full=True, commands={"dmesg": (0, (early + noise)[:65_536]), NOTICES: (0, early + line)})
    facts = kernel_log.probe(visit)
    assert facts["kernel_log.xids"] == Found([Xid(31, "0000:3b:00.0", 1), Xid(79, "0000:3b:00.0", 1)], NOTICES)


def test_no_name_of_the_host_is_in_what_is_kept(look):
    text = "Nov 30 12:00:00 secret-host kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=secret-job\n"
    facts = kernel_log.probe(look(full=True, commands={"dmesg": (0, text)}))
    assert "secret" not in repr(facts)
