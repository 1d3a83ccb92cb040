"""Operating system, kernel, architecture, C and C++ library.

`/etc/os-release` is read here rather than by `distro`: that library opens real paths and cannot read through the port, runs `lsb_release`,
and costs more CPU than all probes together; the format is a dozen lines of published specification.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.kernel_modules import NOT_LOOKED
from envcheck.probes.libraries import copies, find_library, search_path, usual_folders
from envcheck.probes.look import Look, uname

FIELDS = (
    *("os.name", "os.id", "os.version", "os.arch", "os.kernel", "os.glibc", "os.libstdcxx", "os.wsl"),
    *("os.cxxabi", "os.libc", "os.init", "os.kernel_headers"),
)
_LONGEST = 200  # characters of a name
_SCAN_LIMIT = 1 << 20  # bytes of libstdc++.so.6 looked through: its symbols' names end half a MiB in, and a recording keeps what is read


def probe(look: Look) -> Facts:
    """All facts under `os`."""
    return {
        **release_facts(look),
        **kernel_facts(look),
        "os.glibc": glibc(look),
        "os.libc": libc(look),
        "os.libstdcxx": libstdcxx(look),
        "os.cxxabi": cxxabi(look),
        "os.init": init(look),
        "os.kernel_headers": kernel_headers(look),
    }


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
    return {path: Found(value[:_LONGEST], fact.source) if value else Absent(f"not in {fact.source}") for path, value in found.items()}


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


def libc(look: Look) -> Fact[str]:
    """The C library's name: `glibc`, `musl`, or what another calls itself."""
    fact = look.system.libc()
    if not isinstance(fact, Found):
        return fact
    return Found(fact.value[0][:20], fact.source) if fact.value[0] else Unreadable("the C library does not name itself")


def init(look: Look) -> Fact[str]:
    """The first process: `systemd` on most hosts, the container's own command inside one."""
    fact = look.line("/proc/1/comm")
    return Found(fact.value[:32], fact.source) if isinstance(fact, Found) else Unreadable(fact.why)


def kernel_headers(look: Look) -> Fact[bool]:
    """Whether the running kernel's headers are here, without which no kernel module can be built."""
    fact = look.once(uname)
    if not isinstance(fact, Found):
        return fact
    build = f"/lib/modules/{fact.value[1]}/build"
    if look.system.exists(build):
        return Found(True, build)
    inside = isinstance(look.once(kind), Found)
    return Unreadable("the host's kernel headers cannot be seen from inside a container") if inside else Found(False, build)


def libstdcxx(look: Look) -> Fact[str]:
    """The highest `GLIBCXX_` symbol version of the libstdc++ that the loader takes.

    `libstdc++.so.6.0.N` provides `GLIBCXX_3.4.N` (GCC's ABI history), so the real name answers without opening the file.
    """
    path = look.once(_library)
    if not isinstance(path, Found):
        return path
    real = look.system.resolve(path.value)
    named = re.search(r"libstdc\+\+\.so\.6\.0\.(\d{1,3})$", real.value) if isinstance(real, Found) else None
    if named and isinstance(real, Found):
        return Found(f"GLIBCXX_3.4.{named[1]}", real.value)
    return _highest(look, "GLIBCXX_3.4.")


def cxxabi(look: Look) -> Fact[str]:
    """The highest `CXXABI_` symbol version of the same libstdc++, which only its bytes tell."""
    return _highest(look, "CXXABI_1.3.") if look.full else NOT_LOOKED


def _library(look: Look) -> Fact[str]:
    return first_found(_libraries(look))


def _libraries(look: Look) -> Iterator[Fact[str]]:
    """The loader's list is opened only where the usual folders have none: that saves its reading on nearly every host."""
    yield find_library(look, "libstdc++.so.6", (*look.once(search_path), *usual_folders(look)))
    yield from copies(look, "libstdc++.so.6")


def _bytes(look: Look) -> Fact[bytes]:
    path = look.once(_library)
    return look.system.read(path.value, _SCAN_LIMIT) if isinstance(path, Found) else path


def _highest(look: Look, prefix: str) -> Fact[str]:
    fact = look.once(_bytes)
    if not isinstance(fact, Found):
        return fact
    version = highest_symbol(fact.value, prefix)
    return Found(version, fact.source) if version else Unreadable(f"no symbol version {prefix}… in {fact.source}")


def highest_symbol(data: bytes, prefix: str) -> str | None:
    """The highest version of the form `GLIBCXX_3.4.N` named in a library's bytes."""
    levels = [int(level) for level in re.findall(re.escape(prefix.encode()) + rb"(\d{1,3})\b", data)]
    return f"{prefix}{max(levels)}" if levels else None
