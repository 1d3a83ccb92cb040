"""The start gate of a container image: `NVIDIA_REQUIRE_*`, as NVIDIA's container runtime reads it. Pure.

Source: NVIDIA's container toolkit documentation, "Specialized Configurations with Docker": what spaces part is an alternative, what
commas part holds together, several variables hold together; `NVIDIA_DISABLE_REQUIRE` switches all of them off.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

import msgspec

from envcheck.matrix.records import GpuModel
from envcheck.model.versions import ComputeCapability

_PREFIX, _SWITCH = "NVIDIA_REQUIRE_", "NVIDIA_DISABLE_REQUIRE"
_LONGEST, _MOST = 16384, 512  # characters of an expression, alternatives in it
_TERM = r"(cuda|driver|arch|brand)\s*(>=|<=|!=|==|=|>|<)\s*([\w.-]{1,40})"
_COMPARE: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
# What NVML may call a card of each kind; the base images list all names of one kind together.
_BRANDS = {
    "data-center": frozenset({"tesla", "nvidia"}),
    "workstation": frozenset({"quadro", "quadrortx", "nvidiartx"}),
    "consumer": frozenset({"geforce", "geforcertx", "titan", "titanrtx"}),
    "laptop": frozenset({"geforce", "geforcertx", "quadro", "quadrortx", "nvidiartx"}),
}


class Offer(msgspec.Struct, frozen=True):
    """What a host has to offer; None and empty = not known. `brands` = per GPU, the names that NVML may give it."""

    cuda: tuple[int, ...] | None
    driver: tuple[int, ...] | None
    capabilities: tuple[ComputeCapability, ...] = ()
    brands: tuple[frozenset[str], ...] = ()


def brands_of(models: tuple[GpuModel | None, ...]) -> tuple[frozenset[str], ...]:
    """The brand names that each GPU may go by; none at all where one of them is not known."""
    named = [_BRANDS.get(model.kind, frozenset()) if model is not None else frozenset() for model in models]
    return tuple(named) if all(named) else ()


def refused(environment: Mapping[str, str], offer: Offer) -> tuple[str, str] | None:
    """(variable, its first alternative) of a gate that surely refuses this host; None where it lets it pass, or nothing is certain."""
    names = [name for name in environment if name.startswith(_PREFIX)]
    if not names or environment.get(_SWITCH, "").strip().lower() in ("1", "true"):
        return None
    for name in sorted(names)[:16]:
        expression = environment[name][:_LONGEST].strip().strip("\"'")
        if expression and satisfied(expression, offer) is False:
            return name, expression.split()[0][:120]
    return None


def satisfied(expression: str, offer: Offer) -> bool | None:
    """Whether one alternative holds; None where that depends on what is not known."""
    alternatives = expression.split()[:_MOST]
    answers = [_all(alternative, offer) for alternative in alternatives]
    if not answers or True in answers:
        return True
    return None if None in answers else False


def _all(alternative: str, offer: Offer) -> bool | None:
    answers = [_term(term, offer) for term in alternative.split(",") if term]
    if False in answers:
        return False
    return None if None in answers or not answers else True


def _term(term: str, offer: Offer) -> bool | None:
    found = re.fullmatch(_TERM, term)
    if not found:
        return None  # not understood proves nothing
    name, sign, value = found.groups()
    if name == "brand":
        return _brand(sign, value.lower(), offer.brands)
    wanted = tuple(int(part) for part in re.findall(r"\d{1,9}", value))
    compare = _COMPARE[sign]
    if name == "arch":
        return all(compare(_cut(capability, wanted), wanted) for capability in offer.capabilities) if offer.capabilities else None
    have = offer.cuda if name == "cuda" else offer.driver
    return None if have is None or not wanted else _compared(compare, have, wanted)


def _compared(compare: Callable[[tuple[int, ...], tuple[int, ...]], bool], have: tuple[int, ...], wanted: tuple[int, ...]) -> bool | None:
    """Both filled up with zeros; a driver known only by its branch cannot answer for its later digits."""
    width = max(len(have), len(wanted))
    filled = [number + (0,) * (width - len(number)) for number in (have, wanted)]
    if len(have) < len(wanted) and have == wanted[: len(have)] and any(wanted[len(have) :]):
        return None
    return compare(filled[0], filled[1])


def _cut(have: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    return have[: len(wanted)]


def _brand(sign: str, wanted: str, brands: tuple[frozenset[str], ...]) -> bool | None:
    """Whether every GPU goes by the name; `unknown` is the runtime's for cards that NVML gives no brand, which ours all have."""
    if not brands or sign not in ("=", "==", "!="):
        return None
    named = all(wanted in names for names in brands)
    return named if sign != "!=" else all(wanted not in names for names in brands)
