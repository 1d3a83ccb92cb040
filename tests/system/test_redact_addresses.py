"""Addresses go, versions and whatever else looks like one stay."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from envcheck.system.redact_addresses import addresses
from envcheck.system.redaction import Redactor

# ---- addresses and versions ----

OCTET = st.integers(0, 255)
PUBLIC = st.tuples(st.integers(1, 223), OCTET, OCTET, OCTET).map(lambda parts: ".".join(map(str, parts)))
# Left alone: loopback, link-local, and what the standards set aside for examples and tests.
SET_ASIDE = re.compile(r"127\.|169\.254\.|192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|198\.1[89]\.")
ADDRESSES = PUBLIC.filter(lambda text: not SET_ASIDE.match(text))
ABOUT_ADDRESSES = [
    "{}",
    "inet {}/24 brd",
    "http://{}:8000/v1",
    "https://{}/simple/",
    "MASTER_ADDR={}",
    '"host": "{}"',
    "{}:/export on /mnt type nfs",
    "//{}/share",
    "nameserver {}",
    "listening on {}:29500",
    "[{}]",
    "no_proxy=localhost,{},.svc",
    "from {} to",
    "root@{}",
    "{} gpu-box",
    "route add {}/16",
    "nvidia-dcgm {}:9400",
    "ip-{}",
    "{}-eth0",
    "/nfs/{}/models",
    "/env/{}/x",
    "server {}",
    "10.0.0.1-{}",
]


@given(address=ADDRESSES, about=st.sampled_from(ABOUT_ADDRESSES))
def test_no_address_of_a_machine_stays(address: str, about: str) -> None:
    kept = Redactor().text(about.format(address))
    assert not re.search(rf"(?<![\d.]){re.escape(address)}(?![\d.])", kept)


# Private networks are nobody's version; everything else of four numbers may be one.
NOT_PRIVATE = re.compile(r"(?!192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)")
VERSIONS = (
    st.tuples(st.integers(0, 25), st.integers(0, 99), OCTET, OCTET).map(lambda parts: ".".join(map(str, parts))).filter(NOT_PRIVATE.match)
)
ABOUT_VERSIONS = [
    "nvidia-cublas-cu12=={}",
    "Requires-Dist: nvidia-cudnn-cu12 (=={}) ; platform_system == 'Linux'",
    "Requires-Dist: nvidia-curand-cu12=={}; platform_system",
    "Version: {}",
    '"version" : "{}"',
    '"cuda_version": "{}"',
    "libcublas.so.{}",
    "/usr/lib/x86_64-linux-gnu/libcufft.so.{}",
    "/site-packages/nvidia_cublas_cu12-{}.dist-info/METADATA",
    "nvidia_curand_cu12-{}-py3-none-manylinux2014_x86_64.whl",
    "/opt/cudnn/{}/lib64",
    "/opt/cudnn/{}",
    "{}-1+cuda12.2",
    "nvidia-cusolver-cu12          {}",
    "MLNX_OFED_LINUX-5.8-{}",
    "CUDNN_VERSION={}",
    "NV_CUDNN_VERSION={}-1",
    "WSL version: {}",
    "cudnn release {}",
    "cuDNN {}",
    "driver {}",
    "tensorrt-{}",
    "/lib/modules/{}-microsoft-standard-WSL2/build",
    "Linux version {}-custom (gcc",
]


@given(version=VERSIONS, about=st.sampled_from(ABOUT_VERSIONS))
def test_a_version_of_four_numbers_is_no_address(version: str, about: str) -> None:
    text = about.format(version)
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "535.183.01.2",
        "550.54.15",
        "0000:3b:00.0",
        "00000000:3B:00.0",
        "12:34:56",
        "2026-11-30T12:34:56.789+08:00",
        "c10::cuda::CUDAGuard",
        "std::vector<at::Tensor>",
        "127.0.0.1:8000",
        "0.0.0.0",
        "255.255.255.0",
        "169.254.169.254",
        "http://100.100.100.200/latest/meta-data/",
        "http://[fd00:ec2::254]/latest",
        "http://metadata.google.internal/computeMetadata/v1/",
        "::1",
        "a::b::c",
        "10de:2330",
        "GPU-accelerated",
        "5.15.0-91-generic",
        "4.19.91-28.1.al7.x86_64",
        "00:00:00:00:00:00",
        "tokenizers==0.21.1",
        "max_num_batched_tokens=8192",
        "VLLM_MAX_TOKENS=4096",
        "hf_transfer",
        "hf_hub_download",
        "user@1000.service",
        "git@github.com:vllm-project/vllm.git",
        "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
        "sha256:" + "ab" * 32,
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "7783-7084-3265-9085-8269-3286-77",
    ],
)
def test_what_only_looks_like_an_identity_stays(text: str) -> None:
    assert Redactor().text(text) == text


IPV6 = st.integers(0x2000 << 112, (0x4000 << 112) - 1).filter(lambda number: number >> 96 != 0x20010DB8)


@given(number=IPV6, about=st.sampled_from(["{}", "[{}]:8000", "inet6 {}/64", "http://[{}]/", "addr={},"]), full=st.booleans())
def test_no_address_of_version_6_stays(number: int, about: str, full: bool) -> None:
    import ipaddress

    address = ipaddress.IPv6Address(number)
    text = address.exploded if full else str(address)
    assume(text.count(":") > 1)
    assert text not in Redactor().text(about.format(text))


@given(
    st.binary(min_size=6, max_size=6).filter(lambda raw: raw[:3] != b"\0\0\x5e" and len(set(raw)) > 1), st.sampled_from(":-"), st.booleans()
)
def test_no_hardware_address_stays(raw: bytes, sign: str, upper: bool) -> None:
    text = raw.hex(sign).upper() if upper else raw.hex(sign)
    assert text not in Redactor().text(f"link/ether {text} brd")


@given(
    address=ADDRESSES,
    name=st.sampled_from(["MASTER_ADDR", "RAY_HEAD_SERVER", "KUBERNETES_SERVICE_HOST", "http_proxy", "VLLM_HOST_IP", "X"]),
)
def test_no_address_stays_in_a_variable(address: str, name: str) -> None:
    assert Redactor().variable(name, address) == "192.0.2.1"


def test_the_same_address_has_the_same_stand_in_everywhere() -> None:
    redactor = Redactor()
    first = redactor.text("MASTER_ADDR=10.1.2.3")
    assert first == "MASTER_ADDR=192.0.2.1"
    assert redactor.text("http://10.1.2.3:80 10.1.2.4") == "http://192.0.2.1:80 192.0.2.2"
    assert addresses("10.1.2.3", lambda kind, original: f"<{kind} {original}>") == "<ipv4 10.1.2.3>"
