"""Which GPUs CUDA would show a process, given the variables that hide some. Pure.

Sources: NVIDIA's CUDA Programming Guide on CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, its MIG User Guide on device enumeration, and
PyTorch's own reading of the variable (torch/cuda/__init__.py) for what the guide leaves out: numbers are read as C's strtoul does, the
first entry decides whether all are numbers or identifiers, a repeated entry leaves none.
"""

from __future__ import annotations

import re

import msgspec

from envcheck.model.host import Gpu, HostReport, known

CUDA, ORDER, CONTAINER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES"
_ENTRIES, _LONGEST = 256, 100
_NONE = frozenset({"", "void", "none"})


class Visible(msgspec.Struct, frozen=True):
    """What CUDA shows, by place in `host.gpus`.

    `order` = the GPUs shown, cuda:0 first; `hidden` = the others, lost ones and parts of boards that CUDA leaves out among them.
    `unknown_entries` = what named no GPU or one a second time, which hides itself and all after it. `certain` = no other set can be
    meant; `order_certain` = nor another order. `by` = the variable that chose, None where none did.
    """

    order: tuple[int, ...]
    hidden: tuple[int, ...] = ()
    unknown_entries: tuple[str, ...] = ()
    certain: bool = True
    order_certain: bool = True
    by: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    """Places chosen in order, the entry that stopped it, and whether this is sure."""

    places: tuple[int, ...]
    stopped_by: str | None = None
    certain: bool = True
    order_certain: bool = True


def visible(host: HostReport) -> Visible:
    """The GPUs that a CUDA program started in this environment would see."""
    gpus = known(host.gpus)
    if gpus is None:
        return Visible((), certain=host.gpus is None, order_certain=host.gpus is None)
    environment = known(host.environment) or {}
    there = tuple(place for place, gpu in enumerate(gpus) if _usable(gpu))
    given = _given_to_container(host, gpus, there)
    asked = environment.get(CUDA)
    chosen = _all(gpus, given.places, environment) if asked is None else _named(gpus, given.places, asked, environment)
    shown, whole = _one_slice(gpus, chosen.places)
    return Visible(
        shown,
        tuple(place for place in range(len(gpus)) if place not in shown),
        tuple(entry[:_LONGEST] for entry in (given.stopped_by, chosen.stopped_by) if entry),
        certain=given.certain and chosen.certain and whole,
        order_certain=given.certain and chosen.order_certain and whole,
        by=CUDA if asked is not None else CONTAINER if given.places != there else None,
    )


def _usable(gpu: Gpu) -> bool:
    """Neither lost nor in MIG mode without a slice."""
    return not known(gpu.error) and not (gpu.mig is True and str(gpu.uuid).startswith("GPU-"))


def _is_slice(gpu: Gpu) -> bool:
    return bool(known(gpu.mig))


def _number(gpus: list[Gpu], place: int) -> int:
    index = known(gpus[place].index)
    return place if index is None else index


def _mixed(gpus: list[Gpu]) -> bool:
    return len({gpu.name for gpu in gpus}) > 1 and len({_number(gpus, place) for place in range(len(gpus))}) > 1


def _by_bus(gpus: list[Gpu], environment: dict[str, str]) -> bool:
    """Whether CUDA counts as NVML does: it is told to, or all are alike; else the fastest is first and the rest in no documented order."""
    return environment.get(ORDER) == "PCI_BUS_ID" or not _mixed(gpus)


def _all(gpus: list[Gpu], there: tuple[int, ...], environment: dict[str, str]) -> _Choice:
    return _Choice(there, order_certain=_by_bus(gpus, environment))


def _named(gpus: list[Gpu], there: tuple[int, ...], asked: str, environment: dict[str, str]) -> _Choice:
    """The GPUs that the entries name, up to the first that names none; no GPU at all once one is named twice."""
    by_name = asked.startswith(("GPU-", "MIG-"))
    # Numbers mean what we think where all GPUs can be counted, in a known order.
    counted = by_name or (_by_bus(gpus, environment) and len(there) == len(gpus) and not any(map(_is_slice, gpus)))
    chosen: list[int] = []
    stopped_by, plain = None, True
    for entry in asked.split(",")[:_ENTRIES]:
        place, understood = _by_identifier(gpus, there, entry, asked[:4]) if by_name else _by_index(gpus, there, entry.strip())
        plain = plain and understood
        if place is None or place in chosen:
            stopped_by = None if re.match(r"\s*(-|$)", entry) else entry
            chosen = [] if place is not None else chosen
            break
        chosen.append(place)
    # However they are counted, all of them are all, and none is none.
    everyone = not chosen or set(chosen) == set(range(len(gpus)))
    return _Choice(tuple(chosen), stopped_by, plain and (counted or everyone), plain and (counted or not chosen))


def _by_index(gpus: list[Gpu], there: tuple[int, ...], entry: str) -> tuple[int | None, bool]:
    """(the place of the GPU with this number, whether the entry is a plain number): of a board in slices, that of its first."""
    digits = re.match(r"\+?(\d{1,9})(.*)", entry, re.DOTALL)
    if digits is None:
        return None, True
    number, plain = int(digits[1]), not digits[2]
    return next((place for place in there if _number(gpus, place) == number), None), plain


def _by_identifier(gpus: list[Gpu], there: tuple[int, ...], entry: str, kind: str) -> tuple[int | None, bool]:
    """(the place of the only GPU whose identifier starts so, whether it could be no other)."""
    if not entry.startswith(kind) or entry == kind:
        return None, True
    matching = [place for place in there if str(known(gpus[place].uuid) or "").startswith(entry)]
    if len(matching) == 1:
        return matching[0], True
    # A board in slices is listed by these alone, so its own identifier, also in the older form of a slice's, may still name one.
    through_board = entry.startswith(("GPU-", "MIG-GPU-")) and any(_is_slice(gpus[place]) for place in there)
    return None, bool(matching) or (not through_board and all(known(gpus[place].uuid) for place in there))


def _one_slice(gpus: list[Gpu], chosen: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """(what a process gets, whether that is all it named): one MIG slice, and no whole GPU beside it; NVIDIA may lift this."""
    first = next((place for place in chosen if _is_slice(gpus[place])), None)
    return (chosen, True) if first is None else ((first,), len(chosen) == 1)


def _given_to_container(host: HostReport, gpus: list[Gpu], there: tuple[int, ...]) -> _Choice:
    """What the container runtime let in.

    A report made inside a container lists no others; so the variable counts only where it names fewer than are listed, and where the
    container's device files do not show that more came in by another way.
    """
    container = known(host.container)
    asked = (known(container.environment) or {}).get(CONTAINER) if container else None
    if container is None or asked is None or asked == "all" or not there:
        return _Choice(there)
    devices = known(container.devices)
    files = sum(bool(re.fullmatch(r"/dev/nvidia\d+", path)) for path in devices or ())
    boards = len({_number(gpus, place) for place in there})
    if files >= boards:
        return _Choice(there)
    if asked.strip() in _NONE:
        return _Choice((), certain=devices is not None)
    entries = [entry.strip() for entry in asked.split(",")[:_ENTRIES]]
    if len(entries) >= boards:
        return _Choice(there)
    found = [_let_in(gpus, there, entry) for entry in entries]
    lost = next((entry for entry, places in zip(entries, found, strict=True) if not places), None)
    named = {place for places in found for place in places}
    # `0:1` counts slices as NVML does, holes included, and the host document does not hold that number.
    sure = lost is None and not any(":" in entry for entry in entries)
    return _Choice(tuple(place for place in there if place in named), lost, certain=sure)


def _let_in(gpus: list[Gpu], there: tuple[int, ...], entry: str) -> list[int]:
    """The places that one entry of the container's list names: a number of NVML's, an identifier, or `0:1` for a slice."""
    if re.fullmatch(r"\d{1,4}", entry):
        return [place for place in there if _number(gpus, place) == int(entry)]
    if slice_of := re.fullmatch(r"(\d{1,4}):(\d{1,4})", entry):
        slices = [place for place in there if _number(gpus, place) == int(slice_of[1]) and _is_slice(gpus[place])]
        return slices[int(slice_of[2]) :][:1]
    return [place for place in there if entry and gpus[place].uuid == entry]
