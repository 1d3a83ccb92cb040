"""Secure Boot, which refuses kernel modules that nobody signed."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.facts import Facts, first_found
from envcheck.probes.look import Look

FIELDS = ("secure_boot",)
_EFI = "/sys/firmware/efi"
# The variable of the UEFI specification under its global GUID: four bytes of attributes, then the value.
_NAME = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_VARIABLE = f"{_EFI}/efivars/{_NAME}"
_OLD_VARIABLE = f"{_EFI}/vars/{_NAME}/data"  # kernels before 6.0, without the attributes


def probe(look: Look) -> Facts:
    """The fact `secure_boot`; absent on a machine started without EFI."""
    return {"secure_boot": secure_boot(look)}


def secure_boot(look: Look) -> Fact[bool]:
    """Whether Secure Boot is on."""
    return first_found(_sources(look))


def _sources(look: Look) -> Iterator[Fact[bool]]:
    fact = look.system.read(_VARIABLE, 16)
    if isinstance(fact, Found) and len(fact.value) >= 5:
        yield Found(fact.value[4] == 1, _VARIABLE)
    elif not isinstance(fact, Absent):
        yield Unreadable(f"{_VARIABLE}: {'too short' if isinstance(fact, Found) else fact.why}")
    elif isinstance(look.once(kind), Found):
        yield Unreadable("firmware cannot be seen from inside a container")
        return
    elif not look.system.exists(_EFI):
        yield Absent("started without EFI")
        return
    else:
        yield Unreadable("EFI without that variable")
    old = look.system.read(_OLD_VARIABLE, 16)
    yield Found(old.value[0] == 1, _OLD_VARIABLE) if isinstance(old, Found) and old.value else Absent(f"no {_OLD_VARIABLE}")
    if look.full:
        yield _asked(look)


def _asked(look: Look) -> Fact[bool]:
    answer = look.system.run(("mokutil", "--sb-state"))
    said = answer.value.stdout if isinstance(answer, Found) else ""
    if "SecureBoot enabled" in said or "SecureBoot disabled" in said:
        return Found("SecureBoot enabled" in said, "mokutil --sb-state")
    return Unreadable(f"mokutil --sb-state: {answer.why if not isinstance(answer, Found) else 'does not tell'}")
