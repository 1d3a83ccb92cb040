"""Space and state of the places where models, environments, caches and temporary files will lie. MiB."""

from __future__ import annotations

import time

import msgspec
from msgspec import UNSET

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.model.host import Disk
from envcheck.model.units import MIB
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.mounts import Mount, inside, mount_of, mounts
from envcheck.probes.places import Place, home, places
from envcheck.system.port import DiskSpace
from envcheck.system.within import within

FIELDS = ("disk",)
_PATIENCE_S = 1.0  # after that no further place is asked: a lost file server takes a second for each
_SILENT = Unreadable("not asked: another place took too long to answer")
# Their special file systems hold no caches.
_KERNEL_FOLDERS = ("/proc", "/sys", "/dev", "/run")


class _Spot(msgspec.Struct, frozen=True):
    """A place as far as it exists, every link followed, and the mount it lies on."""

    path: str
    mount: Mount | None


class _Survey:
    """One visit to all places; each file system is asked for its space once."""

    def __init__(self, look: Look) -> None:
        self._look = look
        fact = look.once(mounts)
        self._mounts = fact.value if isinstance(fact, Found) else ()
        self._start = time.monotonic()
        self._spaces: dict[str, Fact[DiskSpace]] = {}
        self._open: dict[str, Fact[bool]] = {}

    def spots(self, wanted: tuple[Place, ...]) -> dict[str, _Spot]:
        """Where each place really lies. A link into a lost server would hang here, so that those beyond it have no spot."""
        found: dict[str, _Spot] = {}

        def follow() -> None:
            for place in wanted:
                found[place.path] = self._spot(place.path)

        own = [mount for mount in self._mounts if not any(inside(mount.point, folder) for folder in _KERNEL_FOLDERS)]
        if own and all(mount.network is False for mount in own):
            follow()
        else:
            within(_PATIENCE_S, follow)
        return dict(found)

    def _spot(self, path: str) -> _Spot:
        mount = mount_of(self._mounts, path)
        if mount and mount.network:  # its server is asked once, for the space, and nothing before
            return _Spot(path, mount)
        real = self._existing(path)
        return _Spot(real, mount_of(self._mounts, real))

    def _existing(self, path: str) -> str:
        while path != "/":
            real = self._look.system.resolve(path)
            if isinstance(real, Found):
                return real.value
            if isinstance(real, Unreadable):
                return path
            path = path.rpartition("/")[0] or "/"
        return path

    def space(self, path: str, spot: _Spot) -> Fact[DiskSpace]:
        """The space of the file system, asked through the first place on it."""
        key = spot.mount.point if spot.mount else path
        if key not in self._spaces:
            self._spaces[key] = _SILENT if self._late() else self._look.system.disk(path)
        return self._spaces[key]

    def open(self, path: str, spot: _Spot) -> Fact[bool]:
        """Whether this user may write there; places that would be made in one folder share its answer."""
        key = spot.path if spot.path != "/" else path
        if key not in self._open:
            self._open[key] = _SILENT if self._late() else self._look.system.writable(path)
        return self._open[key]

    def _late(self) -> bool:
        return time.monotonic() - self._start > _PATIENCE_S


def probe(look: Look) -> Facts:
    """The list under `disk`; `disk.<path>` explains a place that could not be asked."""
    survey, gaps = _Survey(look), _no_home(look)
    found: list[Disk] = []
    wanted = look.once(places)
    spots = survey.spots(wanted)
    for place in wanted:
        if place.if_closed and not any(one.writable is False for one in found):
            continue  # its neighbours are open
        spot = spots.get(place.path)
        space: Fact[DiskSpace] = survey.space(place.path, spot) if spot else _SILENT
        if not isinstance(space, Found) and not place.if_closed:
            gaps[f"disk.{place.path}"] = Unreadable(space.why)
        entry = _entry(place, spot, space, survey)
        found += [entry] if entry else []
    whole: Fact[list[Disk]] = Found(found, "statvfs, /proc/self/mountinfo") if found else Unreadable("no place could be asked")
    return {"disk": whole, **gaps}


def _no_home(look: Look) -> Facts:
    fact = look.once(home)
    return {} if isinstance(fact, Found) else {"disk.~": Unreadable(fact.why)}


def _entry(place: Place, spot: _Spot | None, space: Fact[DiskSpace], survey: _Survey) -> Disk | None:
    """What is known of a place; None where it is nothing, or nothing of interest."""
    mount = spot.mount if spot else None
    answered = isinstance(space, Found)
    may = survey.open(place.path, spot) if spot and answered else _SILENT
    if not (answered or mount) or (place.if_closed and not (isinstance(may, Found) and may.value is False)):
        return None
    network = mount.network if mount else None
    return Disk(
        path=place.path,
        free_mib=space.value.free_bytes / MIB if isinstance(space, Found) else UNSET,
        total_mib=space.value.total_bytes / MIB if isinstance(space, Found) else UNSET,
        purposes=list(place.purposes),
        file_system=mount.file_system if mount else UNSET,
        network=UNSET if network is None else network,
        read_only=mount.read_only if mount else UNSET,
        writable=may.value if isinstance(may, Found) else UNSET,
    )
