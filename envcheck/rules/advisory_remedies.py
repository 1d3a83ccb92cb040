"""What to do about advisories, the least intrusive first: live with them safely, update a package, another vLLM, the driver's owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from packaging.version import Version

from envcheck.matrix.advisories import Open
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Remedy
from envcheck.rules.entries import Fault, Product, state_of
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation

if TYPE_CHECKING:
    from envcheck.rules.planned import Planned

_GROUPS, _NAMED = 4, 6


def ways_out(
    situation: Situation,
    products: Sequence[Product],
    driver: Fault | None,
    matrix: Matrix,
    release: Release | None,
    planned: Planned | None,
    met_only: bool,
) -> tuple[Remedy, ...]:
    """The ways; `met_only` where some precondition is met, so that only what concerns those is said."""

    def concerned(entry: Open) -> bool:
        state = state_of(entry, planned)
        return state is True if met_only else (state is not False and entry.grave and not entry.disputed)

    chosen = [(product, entry) for product in products for entry in product.tally.entries if concerned(entry)]
    chosen.sort(key=lambda pair: pair[1].gravity)
    ways = [*_settings(entry for _, entry in chosen), *_packages(products, release), *_upgrade(situation, products, matrix)]
    return (*ways, *(_driver(driver, matrix) if driver else ()))


def _settings(entries: Iterable[Open]) -> Iterator[Remedy]:
    groups: dict[str, list[str]] = {}
    for entry in entries:
        for way in entry.advisory.workarounds:
            groups.setdefault(way, []).append(entry.advisory.name)
    for way, names in list(groups.items())[:_GROUPS]:
        yield remedy("setting", f"advisory-{way}", ids=_some(names))


def _packages(products: Sequence[Product], release: Release | None) -> Iterator[Remedy]:
    """Updates of companions; where vLLM's own bounds forbid the fixed version, that is said instead."""
    for product in products:
        fixed = product.tally.fixed
        if product.name == "vllm" or fixed is None:
            continue
        names = _some([entry.advisory.name for entry in product.tally.published])
        bound = release.required(product.name) if release else None
        if product.name == "nvidia-container-toolkit":
            yield remedy("container", "advisory-toolkit", root=True, version=product.raw, fixed=str(fixed), ids=names)
        elif bound is not None and release is not None and not bound.contains(fixed, prereleases=True):
            yield remedy(
                "other-wheel",
                "advisory-package-bound",
                package=product.name,
                version=product.raw,
                fixed=str(fixed),
                ids=names,
                vllm=release.raw,
                bound=str(bound),
            )
        else:
            yield remedy("fresh-environment", "advisory-package", package=product.name, version=product.raw, fixed=str(fixed), ids=names)


def _upgrade(situation: Situation, products: Sequence[Product], matrix: Matrix) -> Iterator[Remedy]:
    """A release with the fixes that runs on this host; where none does, that; where this is not known, how to find out."""
    own = next((product for product in products if product.name == "vllm"), None)
    if own is not None and own.tally.fixed is not None:
        fixed, total = str(own.tally.fixed), own.tally.open
        closed = [entry.advisory.name for entry in own.tally.published if entry.fixed]
        count, ids = len(closed), _some(closed)
        runs, known = _running(situation, matrix, own.tally.fixed)
        if runs:
            yield remedy(
                "other-wheel",
                "advisory-upgrade-runs",
                f"envcheck plan --vllm {runs}",
                vllm=runs,
                fixed=fixed,
                ids=ids,
                closed=count,
                count=total,
            )
        elif known:
            yield remedy("setting", "advisory-upgrade-none", fixed=fixed, ids=ids, closed=count, count=total)
        else:
            yield remedy(
                "other-wheel", "advisory-upgrade", f"envcheck plan --vllm '>={fixed}'", fixed=fixed, ids=ids, closed=count, count=total
            )


def _running(situation: Situation, matrix: Matrix, oldest: Version) -> tuple[str, bool]:
    """The newest wheel from a release on that runs here, the index's before the release page's; whether that is known."""
    from envcheck.rules.build import name_of  # noqa: PLC0415  # only asked where advisories are open
    from envcheck.rules.check import surveyor_of, target_of  # noqa: PLC0415  # the judge, which asks this module

    survey = surveyor_of(matrix).survey(target_of(situation), variants=True)
    known = bool(situation.capabilities) and (situation.driver is not None or situation.driver_cuda is not None)
    index = (*survey.newer, *((survey.best,) if survey.best else ()))
    found = next((choice.judged for choice in (*index, *survey.variants) if choice.judged.release.version >= oldest), None)
    return (name_of(found.release, found.build) if found and known else "", known)


def _driver(fault: Fault, matrix: Matrix) -> Iterator[Remedy]:
    bulletin, fixed = fault.floor.bulletin, fault.floor.fixed.raw
    if fault.ended:
        kept = ", ".join(map(str, matrix.driver_security.maintained))
        yield remedy("driver", "advisory-driver-branch", root=True, branch=fault.branch, fixed=fixed, date=bulletin.date, branches=kept)
    else:
        named = f"{bulletin.id}, {bulletin.date}"
        yield remedy("driver", "advisory-driver-floor", root=True, driver=fault.driver, fixed=fixed, bulletin=named)


def _some(names: Sequence[str]) -> tuple[str, ...]:
    """The first few, and an ellipsis for the rest."""
    return (*names[:_NAMED], "…") if len(names) > _NAMED else tuple(names)
