"""Kinds of names and keys as they stand where a probe reads: mounts, control groups, kernel logs, keys of many makers."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.system.redaction import Redactor
from envcheck.system.secret_values import redacted

HEX = st.text("0123456789abcdef", min_size=64, max_size=64).filter(lambda text: not text.startswith("0" * 20))
WORD = st.text(string.ascii_letters + string.digits, min_size=32, max_size=40)
FORMS = [
    *("AKLT{}", "ALTAK-{}", "bce-v3/ALTAK-x/{}", "sk_live_{}", "rk_test_{}", "r8_{}", "gsk_{}", "xai-{}", "rpa_{}", "lsv2_pt_{}"),
    *(
        "tskey-auth-{}",
        "dop_v1_{}",
        "hvs.{}",
        "SG.{0}.{0}",
        "AKIA{}",
        "LTAI{}",
        "AKID{}",
        "hf_{}",
        "sk-{}",
        "ghp_{}",
        "glpat-{}",
        "nvapi-{}",
    ),
    *("https://open.feishu.cn/open-apis/bot/v2/hook/{}", "https://hooks.slack.com/services/T0/B0/{}"),
]


@given(key=WORD.map(str.upper), form=st.sampled_from(FORMS))
def test_a_key_is_told_by_its_form_in_a_recording_and_in_a_report(key: str, form: str) -> None:
    text = form.format(key)
    assert key not in Redactor().text(f"value {text} end")
    assert key not in redacted("VLLM_NOTE", text)


@given(
    key=WORD,
    name=st.sampled_from(["DB_PWD", "MYSQL_PASS", "GIT_PAT", "HUAWEI_AK", "HUAWEI_SK", "SENTRY_DSN", "BOT_WEBHOOK", "KEY_PASSPHRASE"]),
)
def test_a_key_is_told_by_the_name_of_its_variable(key: str, name: str) -> None:
    assert redacted(name, key) == "***"
    assert key not in Redactor().text(f"{name}={key}\n")


@given(key=WORD)
def test_a_key_is_told_by_the_word_before_it(key: str) -> None:
    for text in (f'{{"auths": {{"hub": {{"auth": "{key}"}}}}}}', f"mount user=x,pass={key}", f"ssl_passphrase: {key}"):
        assert key not in Redactor().text(text)


@pytest.mark.parametrize(
    ("name", "value"), [("PWD", "/srv"), ("OLDPWD", "/srv"), ("SSH_AUTH_SOCK", "/tmp/agent"), ("VLLM_TASK", "generate")]
)
def test_what_only_sounds_like_a_key_stays(name: str, value: str) -> None:
    assert redacted(name, value) == value


@given(number=HEX)
def test_the_number_of_a_container_goes_from_every_path(number: str) -> None:
    kept = Redactor().text(
        f"0::/docker/{number}\n1:memory:/kubepods/cri-containerd-{number}.scope\n9 1 0:1 /var/lib/docker/containers/{number}/hostname /x"
    )
    assert number not in kept
    assert kept.count("/docker/0000") == 1


@given(number=st.uuids())
def test_the_number_of_a_pod_goes_in_both_of_its_spellings(number: object) -> None:
    plain = str(number)
    redactor = Redactor()
    dashes = redactor.text(f"/kubepods/burstable/pod{plain}/x")
    lines = redactor.text(f"/kubepods-burstable-pod{plain.replace('-', '_')}.slice/x")
    assert dashes == "/kubepods/burstable/pod00000000-0000-0000-0000-000000000001/x"
    assert lines == "/kubepods-burstable-pod00000000_0000_0000_0000_000000000001.slice/x"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("90 25 0:50 / /home rw - nfs4 nas-fin-01:/export rw,addr=10.0.0.1", ["nas-fin-01"]),
        ("90 25 0:50 / /home rw - nfs nas-fin-01.bank.example:/export rw", ["nas-fin-01"]),
        ("91 25 0:51 / /data rw - cifs //filer-risk/share rw,vers=3.0,username=weijie,domain=X", ["filer-risk", "weijie"]),
        ("92 25 0:52 / /d rw - fuse.glusterfs brick07x:/vol rw", ["brick07x"]),
        ("NFS: server nas-fin-01.bigbank.corp not responding", ["nas-fin-01", "bigbank"]),
        ("no_proxy=.bigbank.corp,10.0.0.0/8", ["bigbank"]),
        ("BIOS 1.2.3 S/N J1234XYZ98", ["J1234XYZ98"]),
        ("GPU serial 1650922012345 fell off", ["1650922012345"]),
    ],
)
def test_machines_and_their_numbers_go_from_mounts_and_logs(text: str, names: list[str]) -> None:
    redactor = Redactor()
    redactor.learn(text)
    kept = redactor.text(text)
    assert [name for name in names if name.lower() in kept.lower()] == []
    again = Redactor()
    again.learn(kept)
    assert again.text(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "90 25 0:50 / /home rw - ext4 /dev/sda1 rw",
        "http://metadata.google.internal/x host.docker.internal pip._internal.models share/.local/bin",
        "NVRM: the client has the version 535.161.08, but this kernel module has the version 535.183.01",
        "serial8250: ttyS0 at I/O 0x3f8 (irq = 4) is a 16550A",
        "NVRM: Xid (PCI:0000:18:00): 79, pid=4711, name=python3",
        "nvidia-cublas-cu12==12.4.5.8 torch==2.4.0+cu121 compute capability 9.0, 97871 MiB",
        "sha256:" + "ab" * 32,
        "iommu=pt bypass=1 author: someone",
    ],
)
def test_facts_stay(text: str) -> None:
    redactor = Redactor()
    redactor.learn(text)
    assert redactor.text(text) == text
