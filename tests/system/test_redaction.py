"""Text as it may leave a host: what identifies somebody goes, what is a fact stays."""

from __future__ import annotations

import json
import re
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from envcheck.system.redact_names import is_reserved
from envcheck.system.redaction import Redactor

# ---- names ----

NAME = st.text(string.ascii_lowercase + string.digits + "._-", min_size=3, max_size=16).filter(
    lambda name: name[0].isalpha() and name[-1].isalnum() and not is_reserved(name)
)


@given(
    name=NAME, other=st.sampled_from(["owner={}", "/data/{}/models", "{}@box", "cn={},ou=x", "-{}-", "{}'s", "C:\\Users\\{}\\x", "_{}_"])
)
def test_a_person_learnt_from_the_home_folder_is_found_everywhere(name: str, other: str) -> None:
    redactor = Redactor()
    redactor.learn_environment({"HOME": f"/home/{name}"})
    kept = redactor.text(other.format(name))
    assert not re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", kept, re.IGNORECASE)
    assert "user1" in kept


@pytest.mark.parametrize(
    ("learn", "text", "kept"),
    [
        ("/home/alice/x", "alice Alice ALICE malice alice2", "user1 user1 user1 malice alice2"),
        ("/home/张三/x", "张三的电脑", "user1的电脑"),
        ("/home/ray/x", "ray-2.9 /site-packages/ray /home/ray/y", "ray-2.9 /site-packages/ray /home/user1/y"),
        ("/home/max/x", "memory.max max", "memory.max max"),
        ("/home/ubuntu/x", "ID=ubuntu /home/ubuntu/x", "ID=ubuntu /home/ubuntu/x"),
        ("/mnt/c/Users/bob/x", "bob", "user1"),
        ("http://nexus7.corp/simple", "nexus7.corp nexus7", "host1 host1"),
        ("http://wheels.corp/simple", "wheels.corp wheels", "host1 wheels"),
        ("http://nexus:8081/", "nexus", "host1"),
        ("https://mirrors.aliyun.com/pypi", "mirrors.aliyun.com", "mirrors.aliyun.com"),
        ('{"local-hostname": "box-7.example"}', "box-7", "host1"),
        ("/home/user1/x", "user1", "user1"),
    ],
)
def test_names_learnt_from_where_they_stand_for_certain(learn: str, text: str, kept: str) -> None:
    redactor = Redactor()
    redactor.learn(learn)
    assert redactor.text(text) == kept


def test_accounts_and_full_names_of_a_passwd_file() -> None:
    redactor = Redactor()
    redactor.names.learn_accounts(
        "root:x:0:0:root:/root:/bin/bash\nsshd:x:105:65534::/run/sshd:/usr/sbin/nologin\nwli:x:1001:1001:Wei Li,,,:/home/wli:/bin/zsh\n"
    )
    assert redactor.text("Author: Wei Li, wli, sshd, root") == "Author: user1, user1, sshd, root"


def test_two_people_have_two_stand_ins_and_neither_is_a_name_in_use() -> None:
    redactor = Redactor()
    redactor.learn("/home/user1/a /home/anna/b /home/bert/c")
    assert redactor.text("/home/user1 /home/anna /home/bert") == "/home/user1 /home/user2 /home/user3"


# ---- keys ----

WORD = st.text(string.ascii_letters + string.digits, min_size=20, max_size=40)


@given(
    key=WORD,
    about=st.sampled_from(
        [
            "hf_{}",
            "sk-{}",
            "sk-proj-{}",
            "ghp_{}",
            "github_pat_{}",
            "glpat-{}",
            "LTAI{}",
            "Authorization: Bearer {}",
            "curl -H 'X-Api-Key: {}'",
            "--api-key {}",
            "--api-key={}",
            "--hf-token {} --port 80",
            "API_KEY={}",
            "export HF_TOKEN={}",
            'password = "{} {}"',
            '{{"api_key": "{}"}}',
            "https://user:{}@example.com/x",
            "https://{}@example.com/x",
            "https://example.com/x?token={}&y=1",
            "https://example.com/x#{}",
            "ssh-ed25519 AAAA{} me",
            "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n{}",
            "eyJhbGciOi{}.eyJzdWIi{}.{}",
        ]
    ),
)
def test_no_key_stays(key: str, about: str) -> None:
    assert key not in Redactor().text(about.replace("{}", key).replace("{{", "{").replace("}}", "}"))


@given(key=WORD)
def test_no_key_stays_in_the_variables_of_a_process(key: str) -> None:
    redactor = Redactor()
    assert redactor.variable("MY_SECRET", key) == "***"
    assert redactor.variable("http_proxy", f"me:{key}@proxy.example.com:3128") == "***@proxy.example.com:3128"
    kept = redactor.content("/proc/1/environ", f"A=1\0DB_PASSWORD=x {key}\0B=2\0".encode())
    assert kept == b"A=1\0DB_PASSWORD=***\0B=2\0"


def test_json_with_an_address_in_it_stays_json() -> None:
    text = json.dumps({"url": 'https://me:pw@example.com/x?token=a"b', "vcs_info": {"vcs": "git"}, "token": "abc"})
    assert json.loads(Redactor().text(text)) == {"url": "https://***@example.com/x?***", "vcs_info": {"vcs": "git"}, "token": "***"}


# ---- devices ----

UUID = st.uuids().map(str)


@given(UUID, UUID)
def test_a_gpu_stays_the_same_gpu(first: str, second: str) -> None:
    assume(first[:8] != second[:8])
    redactor = Redactor()
    redactor.learn_devices([f"GPU-{first}", f"MIG-{second}"])
    zeros = "00000000-0000-0000-0000-00000000000"
    assert redactor.text(f"GPU-{first},MIG-{second}") == f"GPU-{zeros}1,MIG-{zeros}2"
    assert redactor.text(f"GPU-{first[:8]}") == f"GPU-{zeros}1"
    assert redactor.text(f"MIG-GPU-{first}/1/0") == f"MIG-GPU-{zeros}1/1/0"


@given(UUID)
def test_no_identifier_of_a_machine_stays(uuid: str) -> None:
    assume(not uuid.startswith("00000000"))
    redactor = Redactor()
    for path in ("/sys/class/dmi/id/product_uuid", "/etc/machine-id", "/proc/cmdline"):
        for text in (uuid, uuid.upper(), uuid.replace("-", "")):
            assert text.encode() not in redactor.content(path, f"{text}\n".encode())


@pytest.mark.parametrize("path", ["/sys/module/nvidia/version", "/proc/sys/kernel/osrelease"])
def test_a_file_that_holds_a_version_holds_no_address(path: str) -> None:
    assert Redactor().content(path, b"12.4.5.8\n") == b"12.4.5.8\n"


def test_how_clouds_are_told_stays() -> None:
    redactor = Redactor()
    assert redactor.content("/sys/class/dmi/id/product_uuid", b"ec2e1916-9099-7caf-fd21-012345abcdef\n").startswith(b"ec2")
    assert redactor.content("/sys/class/dmi/id/product_serial", b"GoogleCloud-C0FFEE12345678\n") == b"GoogleCloud-serial1\n"
    azure = b"7783-7084-3265-9085-8269-3286-77\n"
    assert redactor.content("/sys/class/dmi/id/chassis_asset_tag", azure) == azure
    assert redactor.content("/sys/class/dmi/id/chassis_asset_tag", b"HUAWEICLOUD\n") == b"HUAWEICLOUD\n"
    assert redactor.content("/sys/class/dmi/id/board_serial", b"7CX1234\n") == b"serial2\n"


@pytest.mark.parametrize(
    "text",
    [
        "Serial Number                         : 1320123456789",
        '"serial": "1320123456789"',
        '"instance_id": "1320123456789"',
        "arn:aws:iam::132012345678:role/x 132012345678"[:38],
        "i-0132012345678901a",
        "i-bp1320123456789abcde"[:22],
        "ocid1.instance.oc1.phx.1320123456789",
    ],
)
def test_numbers_of_instances_and_accounts_go(text: str) -> None:
    assert "13201234567" not in Redactor().text(text)


# ---- programs, idempotence, robustness ----


def test_a_program_keeps_its_length() -> None:
    redactor = Redactor()
    redactor.learn("/home/alice/x /home/张三/y")
    data = b"\x7fELF\x02\x01\0\0GLIBCXX_3.4.30\0/home/alice/build/x.c\0\xff\xfe" + "张三".encode() + b"\0"
    kept = redactor.content("/usr/lib/libx.so", data)
    assert len(kept) == len(data)
    assert b"alice" not in kept
    assert "张三".encode() not in kept
    assert b"GLIBCXX_3.4.30\0" in kept


def test_bytes_that_are_no_text_stay() -> None:
    data = bytes(range(256))
    assert Redactor().content("/x", data) == data


PIECES = st.sampled_from(
    [
        *(
            "10.1.2.3",
            "fe80::1:2",
            "aa:bb:cc:dd:ee:ff",
            "alice",
            "/home/alice/x",
            "a@b.example",
            "GPU-0e0c0000-2b1f-4c7a-9d3e-6f5a4b3c2d00",
        ),
        *(
            "hf_abcdefghijklmnop",
            "https://u:p@h.corp/x?q=1",
            "i-0123456789abcdef0",
            "KEY=1",
            '"token": "x"',
            " ",
            "\n",
            "\0",
            "=",
            ":",
            "/",
        ),
    ]
)


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=12).map("".join)))
def test_nothing_raises_and_what_was_redacted_stays_as_it_is(text: str) -> None:
    redactor = Redactor()
    redactor.learn("/home/alice")
    redactor.learn(text)
    kept = redactor.text(text)
    again = Redactor()
    again.learn(kept)
    assert again.text(kept) == kept


@pytest.mark.parametrize(
    "piece", ["-", "a.", "1.", "::", "00:", "a@a.", "http://a@", "TOKEN=", "\\", '"', "/home/a", "serial number: ", "张"]
)
def test_a_hostile_text_comes_to_an_end(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    redactor = Redactor()
    redactor.learn(text)
    assert len(redactor.text(text)) <= 3 * len(text)
