"""Network addresses in text, told apart from version numbers of four parts, times, and the addresses of the PCI bus.

A version such as `12.4.5.8` is a valid IPv4 address; only what stands around it tells. In doubt it is taken for an address.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Rename = Callable[[str, str], str]  # (kind, original) → stand-in

_QUAD = re.compile(r"(?<![0-9.])(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}(?![0-9]|\.[0-9])")
# Eight parts or `::`; the form alone, `ipaddress` decides.
_SIX = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])")
# Ethernet has six parts, InfiniBand eight or twenty.
_HARDWARE = re.compile(r"(?<![0-9A-Fa-f:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4,18}(?![0-9A-Fa-f:-])")
_GUID = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{4}(?::[0-9A-Fa-f]{4}){3}(?![\w:.])")
_NOBODY = re.compile(r"[0:-]+|[fF:-]+")

_SPAN = 80  # characters looked at before a candidate
_WORDS = r"versions?|release|rel|ver|build|driver|firmware|toolkit|requires?|cuda|cudnn|nccl|tensorrt"
_LIBRARY = r"(?:nvidia|cuda|cudnn|cublas|cufft|cufile|curand|cusolver|cusparse|nccl|nvjitlink|nvtx|nvshmem|tensorrt|lib[a-z]+\d*-)"
_VERSION_BEFORE = re.compile(
    rf"(?:[=<>!~]=\s*|\.so\.|(?:^|[^a-z])v|(?<![a-z])(?:{_WORDS})[\"']?[\s:=(\"'>]{{1,8}}"
    rf"|\b{_LIBRARY}[\w.+-]*[\"'\])]{{0,2}}\s*[:=(,]?\s*[\"'(]?)$",
    re.IGNORECASE,
)
# A folder of a version lies in one of a program; machines have folders too, where file systems are mounted by name.
_SOFTWARE_BEFORE = re.compile(
    r"/(?:[\w.+-]*(?:cuda|cudnn|cublas|cufft|curand|cusp|cusolver|nvidia|nvhpc|nvshmem|nccl|tensorrt|hpcx|ofed|openmpi|ucx|rocm)[\w.+-]*|lib[\w.+-]*|gcc|python|releases?|opt|software|modules?|apps?)/$",
    re.I,
)
_NAME_BEFORE = re.compile(r"([a-z][a-z0-9+]*)[-_]$", re.IGNORECASE)  # `nvidia_cublas_cu12-12.4.5.8`
_MACHINE_WORDS = "ip ipv4 host node addr address server inet gw gateway dns peer pod vm ecs ins worker master from to via src dst eth0"
_MACHINES = frozenset(_MACHINE_WORDS.split())
_VERSION_AFTER = re.compile(
    r"[+~]\w|-\d+\+|-(?:microsoft|generic|azure|aws|gcp|oracle|nvidia|tegra|amd64|arm64|py|cp|linux|h[0-9a-f]{6}|\d+_)|rc\d|\.(?:dist-info|egg-info|data|whl|tar|so|zip|deb|rpm|conda|json)\b|-\d+\.(?:el|al)\d",
    re.I,
)
_ADDRESS_AFTER = re.compile(r":\d{2,5}\b|/\d{1,2}(?![\w.])")
_RANGE_BEFORE = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}\s*-\s*$")
_CLOUDS = frozenset({"100.100.100.200", "fd00:ec2::254"})  # where a cloud tells every machine about itself
# What the standards set aside for examples, so that a stand-in is never taken for somebody's address.
_EXAMPLES = ("192.0.2.", "198.51.100.", "203.0.113.")
_OF_VERSIONS = re.compile(r"(?:^|_)(?:version|ver|release|driver|cuda|glibc|kernel|toolkit|commit)$", re.IGNORECASE)


def names_version(name: str) -> bool:
    """Whether a field or variable of this name holds a version."""
    return _OF_VERSIONS.search(name) is not None or "VERSION" in name.upper()


def addresses(text: str, rename: Rename, *, version: bool = False) -> str:
    """The text with every address of a machine replaced; `version` = it is the value of something that holds a version."""
    if ":" in text or text.count("-") > 4:
        text = _HARDWARE.sub(lambda found: _hardware(found[0], rename), text)
    if ":" in text:
        text = _GUID.sub(lambda found: found[0] if _NOBODY.fullmatch(found[0]) else rename("guid", found[0].lower()), text)
        text = _SIX.sub(lambda found: _six(found[0], rename), text)
    if text.count(".") < 3:
        return text
    return _QUAD.sub(lambda found: _quad(found, rename, version), text)


def _hardware(text: str, rename: Rename) -> str:
    return text if _NOBODY.fullmatch(text) else rename("hardware", text.lower().replace("-", ":"))


def _six(text: str, rename: Rename) -> str:
    import ipaddress

    if "::" not in text and text.count(":") < 7:
        return text
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return text
    if int(address) < 16 or str(address) in _CLOUDS or address.is_multicast or address in ipaddress.IPv6Network("2001:db8::/32"):
        return text
    return rename("ipv6", str(address))


def _quad(found: re.Match[str], rename: Rename, version: bool) -> str:
    parts = [int(part) for part in found[0].split(".")]
    if max(parts) > 255 or _is_nobodys(found[0], parts):
        return found[0]
    if not _is_private(parts) and (version or _reads_as_version(found)):
        return found[0]
    return rename("ipv4", found[0])


def _is_nobodys(text: str, parts: list[int]) -> bool:
    """Loopback, none, masks, multicast, link-local (where clouds tell about a machine), and what is set aside for examples."""
    return (
        parts[0] in (0, 127)
        or parts[0] >= 224
        or parts[:2] == [169, 254]
        or parts[:2] in ([198, 18], [198, 19])
        or text in _CLOUDS
        or text.startswith(_EXAMPLES)
    )


def _is_private(parts: list[int]) -> bool:
    """Private for certain: no version looks like this. 10.x.y.z is not among them, for CUDA's libraries have such versions."""
    return parts[:2] == [192, 168] or (parts[0] == 172 and 16 <= parts[1] < 32) or (parts[0] == 100 and 64 <= parts[1] < 128)


def _reads_as_version(found: re.Match[str]) -> bool:
    text, start, end = found.string, found.start(), found.end()
    before, after = text[max(0, start - _SPAN) : start].rpartition("\n")[2], text[end : end + 16]
    if _RANGE_BEFORE.search(before) or _ADDRESS_AFTER.match(after):
        return False
    if _VERSION_BEFORE.search(before) or _VERSION_AFTER.match(after) or re.search(r"\d[-+~]$", before):
        return True
    named = _NAME_BEFORE.search(before)
    if named:
        return named[1].lower() not in _MACHINES
    return _SOFTWARE_BEFORE.search(before) is not None and re.match(r"/|$|[\s\"':,]", after) is not None
