"""Operating system, kernel, architecture, C and C++ library.

`/etc/os-release` is read here rather than by `distro`: that library opens real paths and cannot read through the port, runs `lsb_release`,
and costs more CPU than all probes together; the format is a dozen lines of published specification.
"""

from __future__ import annotations

import posixpath
import re

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.interpreter import target
from envcheck.probes.libraries import find_library, usual_folders
from envcheck.probes.look import Look, uname

FIELDS = ("os.name", "os.id", "os.version", "os.arch", "os.kernel", "os.glibc", "os.libstdcxx", "os.wsl")
_SCAN_LIMIT = 4 << 20  # bytes of libstdc++.so.6 looked through for symbol versions


def probe(look: Look) -> Facts:
    """All facts under `os`."""
    return {**release_facts(look), **kernel_facts(look), "os.glibc": glibc(look), "os.libstdcxx": libstdcxx(look)}


def parse_os_release(text: str) -> dict[str, str]:
    """The assignments of an os-release file, quotes removed (freedesktop.org os-release)."""
    values: dict[str, str] = {}
    for line in text.splitlines()[:200]:
        key, equals, value = line.strip().partition("=")
        if not equals or key.startswith("#"):
            continue
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        values[key.strip()] = re.sub(r"\\(.)", r"\1", value) if "\\" in value else value
    return values


def release_facts(look: Look) -> Facts:
    """Name, id and version of the distribution."""
    fact = first_found(look.text(path) for path in ("/etc/os-release", "/usr/lib/os-release"))
    if not isinstance(fact, Found):
        return all_of(("os.name", "os.id", "os.version"), fact)
    values = parse_os_release(fact.value)
    name = values.get("PRETTY_NAME") or " ".join(filter(None, (values.get("NAME"), values.get("VERSION"))))
    found = {"os.name": name, "os.id": values.get("ID"), "os.version": values.get("VERSION_ID")}
    return {path: Found(value, fact.source) if value else Absent(f"not in {fact.source}") for path, value in found.items()}


def kernel_facts(look: Look) -> Facts:
    """Kernel release, machine, and whether the kernel is that of the Windows Subsystem for Linux."""
    fact = look.once(uname)
    if not isinstance(fact, Found):
        return all_of(("os.arch", "os.kernel", "os.wsl"), fact)
    _, release, machine = fact.value
    return {
        "os.arch": Found(machine, fact.source),
        "os.kernel": Found(release, fact.source),
        "os.wsl": Found("microsoft" in release.lower(), fact.source),
    }


def glibc(look: Look) -> Fact[str]:
    """The version of glibc; another C library is named with its own (`musl 1.2.5`), for it is no glibc at any version."""
    fact = look.system.libc()
    if not isinstance(fact, Found):
        return fact
    name, version = fact.value
    if name and name != "glibc":
        return Found(f"{name} {version}".strip(), fact.source)
    return Found(version, fact.source) if version else Unreadable("the C library does not name itself")


def libstdcxx(look: Look) -> Fact[str]:
    """The highest `GLIBCXX_` symbol version of the libstdc++ that the target interpreter loads.

    `libstdc++.so.6.0.N` provides `GLIBCXX_3.4.N` (GCC's ABI history), so the real name answers without opening the file.
    """
    path = find_library(look, "libstdc++.so.6", (*_environment_folder(look), *look.once(usual_folders)))
    if not isinstance(path, Found):
        return path
    real = look.system.resolve(path.value)
    named = re.search(r"libstdc\+\+\.so\.6\.0\.(\d{1,3})$", real.value) if isinstance(real, Found) else None
    if named and isinstance(real, Found):
        return Found(f"GLIBCXX_3.4.{named[1]}", real.value)
    return _scanned(look, path.value)


def _environment_folder(look: Look) -> tuple[str, ...]:
    """Interpreters of conda load its own libstdc++."""
    interpreter = look.once(target)
    if isinstance(interpreter, Found) and interpreter.value.environment == "conda":
        return (posixpath.join(interpreter.value.prefix, "lib"),)
    return ()


def _scanned(look: Look, path: str) -> Fact[str]:
    fact = look.system.read(path, _SCAN_LIMIT)
    if not isinstance(fact, Found):
        return fact
    version = highest_glibcxx(fact.value)
    return Found(version, path) if version else Unreadable(f"no GLIBCXX symbol version in {path}")


def highest_glibcxx(data: bytes) -> str | None:
    """The highest `GLIBCXX_3.4.N` named in a library's bytes."""
    levels = [int(level) for level in re.findall(rb"GLIBCXX_3\.4\.(\d{1,3})\b", data)]
    return f"GLIBCXX_3.4.{max(levels)}" if levels else None
