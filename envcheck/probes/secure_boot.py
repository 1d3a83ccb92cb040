"""Secure Boot, which refuses kernel modules that nobody signed."""

from __future__ import annotations

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look

FIELDS = ("secure_boot",)
# The variable of the UEFI specification under its global GUID: four bytes of attributes, then the value.
_VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def probe(look: Look) -> Facts:
    """The fact `secure_boot`; absent on a machine started without EFI."""
    return {"secure_boot": secure_boot(look)}


def secure_boot(look: Look) -> Fact[bool]:
    """Whether Secure Boot is on."""
    fact = look.system.read(_VARIABLE, 16)
    if isinstance(fact, Found):
        return Found(fact.value[4] == 1, _VARIABLE) if len(fact.value) >= 5 else Unreadable("the variable is too short")
    if isinstance(fact, Unreadable):
        return fact
    if isinstance(look.once(kind), Found):
        return Unreadable("firmware cannot be seen from inside a container")
    return Unreadable("EFI without that variable") if look.system.exists("/sys/firmware/efi") else Absent("started without EFI")
