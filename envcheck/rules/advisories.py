"""Known security advisories of what is installed or planned: one finding, the gravest entry first.

An entry is met only where the request itself says so; everything else is a possibility, and worth no more than a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from packaging.version import Version

from envcheck.matrix.advisories import Open
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.text import Param, Text
from envcheck.model.versions import lenient_version
from envcheck.rules.advisory_remedies import ways_out
from envcheck.rules.entries import Fault, Product, Tally, driver_fault, label, state_of, tally_of
from envcheck.rules.situation import Situation, text

if TYPE_CHECKING:
    from envcheck.rules.planned import Planned

CODE = "release-vulnerable"
TOOLKIT = "nvidia-container-toolkit"
_NAMED = 4  # entries and packages that a sentence still names
_LISTED = 120  # entries in the evidence; the most that any release has is about eighty


class Known(msgspec.Struct, frozen=True):
    """What of a host has advisories: vLLM itself, its companions, the container toolkit, the driver."""

    vllm: Product | None
    others: tuple[Product, ...]
    driver: Fault | None

    @property
    def products(self) -> tuple[Product, ...]:
        """All of them, vLLM first."""
        return (self.vllm, *self.others) if self.vllm else self.others


def release_vulnerable(
    situation: Situation,
    matrix: Matrix,
    vllm: tuple[str, Version] | None,
    release: Release | None,
    planned: Planned | None,
    *,
    companions: bool,
    remedies: bool,
) -> Iterator[Finding]:
    """The advisories open in a vLLM (its name and version), and with `companions` in what is installed beside it.

    `planned` None = nothing is known of what is to be served.
    """
    found = _known(situation, matrix, vllm, companions)
    if not (found.products or found.driver or (release and newer_than_data(matrix, release, vllm))):
        return
    met = _met(found.products, matrix, planned) if planned else []
    severity = _severity(met, situation)
    variant, params = _worded(found, matrix, release, vllm, met if severity is not Severity.INFO else [])
    # What a batch leaves out, it need not make.
    ways = ways_out(situation, found.products, found.driver, matrix, release, planned, severity is not Severity.INFO) if remedies else ()
    evidence = {**params, **_evidence(found, matrix, planned)} if remedies else dict(params)
    yield _finding(severity, variant, params, evidence, ways)


def _finding(severity: Severity, variant: str, params: dict[str, Param], evidence: dict[str, Any], ways: tuple[Remedy, ...]) -> Finding:
    return Finding(CODE, severity, Text(f"finding.{CODE}.{variant}", params), evidence, ways)


def installed_version(situation: Situation, matrix: Matrix) -> tuple[str, Version] | None:
    """The installed vLLM's name and version; None for one that tells no release, as a build from a bare checkout is."""
    version = lenient_version(situation.installed_raw) if situation.installed_raw else None
    if version is None or (version.is_devrelease and version < _oldest(matrix.policy.oldest_planned)):
        return None
    return situation.installed_raw[:60], version


@lru_cache(maxsize=4)
def _oldest(text: str) -> Version:
    return Version(text)


def newer_than_data(matrix: Matrix, release: Release, vllm: tuple[str, Version] | None) -> bool:
    """Whether a release appeared after the newest advisory that was read, so that silence about it means nothing."""
    beyond = vllm is not None and vllm[1] > matrix.releases[0].version
    return beyond or release.record.released > matrix.advisories.cutoffs.get("packages", "")


def _known(situation: Situation, matrix: Matrix, vllm: tuple[str, Version] | None, companions: bool) -> Known:
    own = _product(matrix, "vllm", *vllm) if vllm else None
    others = [found for name, raw in _companions(situation, matrix, companions) if (found := _read(matrix, name, raw))]
    return Known(own, tuple(others), driver_fault(situation, matrix))


def _companions(situation: Situation, matrix: Matrix, wanted: bool) -> Iterator[tuple[str, str]]:
    if wanted:
        known = matrix.advisories.packages
        yield from ((name, raw) for name, raw in situation.packages.items() if name in known and name != "vllm")
        if "torch" not in situation.packages and situation.torch and situation.torch.raw:
            yield "torch", situation.torch.raw
    toolkit = text(situation.host.container_runtime, "toolkit")
    if toolkit:
        yield TOOLKIT, toolkit


def _read(matrix: Matrix, name: str, raw: str) -> Product | None:
    version = lenient_version(raw)
    return _product(matrix, name, raw[:40], version) if version else None


def _product(matrix: Matrix, name: str, raw: str, version: Version) -> Product | None:
    tally = tally_of(matrix, name, version)
    return Product(name, raw, version, tally) if tally.entries else None


def _met(products: Iterable[Product], matrix: Matrix, planned: Planned) -> list[tuple[Product, Open]]:
    """Entries whose precondition is met, worth a warning: no low ones, and none that nobody has reviewed."""
    found = [
        (product, entry)
        for product in products
        for entry in product.tally.entries
        if entry.advisory.severity != "low" and entry.advisory.confidence != "unreviewed" and state_of(entry, planned)
    ]
    return sorted(found, key=lambda pair: pair[1].gravity)


def _severity(met: list[tuple[Product, Open]], situation: Situation) -> Severity:
    """A warning where the precondition of an entry is met; an error only where a gate is stricter than errors, and the entry grave."""
    if not met:
        return Severity.INFO
    gate = situation.request.gate
    strict = gate is not None and gate.fail_on != "error"
    return Severity.ERROR if strict and any(entry.grave for _, entry in met) else Severity.WARNING


def _worded(
    found: Known, matrix: Matrix, release: Release | None, vllm: tuple[str, Version] | None, met: list[tuple[Product, Open]]
) -> tuple[Literal["met", "met-unfixed", "detail", "newer", "packages"], dict[str, Param]]:
    date = matrix.advisories.cutoffs.get("packages", "?")
    if met:
        return _worded_met(found, met, date)
    own = found.vllm.tally if found.vllm else _NO_TALLY
    params: dict[str, Param] = {"vllm": vllm[0] if vllm else None, "count": own.open, "date": date}
    if release is not None and newer_than_data(matrix, release, vllm):
        return "newer", {**params, "gravest": own.gravest.advisory.name if own.gravest else "-"}
    if own.gravest is not None:
        return "detail", {**params, "gravest": label(own.gravest)}
    names = [f"{product.name} {product.raw}" for product in found.others if product.tally.open]
    if found.driver:
        names.append(f"driver {found.driver.driver}")
        date = min(date, matrix.advisories.cutoffs.get("nvidia", date))
    return "packages", {"packages": tuple(names[:_NAMED]), "count": len(names), "date": date}


def _worded_met(found: Known, met: list[tuple[Product, Open]], date: str) -> tuple[Literal["met", "met-unfixed"], dict[str, Param]]:
    concerned = {product.name: product for product, _ in met}
    fixes = [(product.name, entry.fixed) for product, entry in met]
    params: dict[str, Param] = {
        "packages": tuple(f"{name} {product.raw}" for name, product in concerned.items()),
        "met": len(met),
        "count": sum(product.tally.open for product in concerned.values()),
        "gravest": tuple(label(entry) for _, entry in met[:_NAMED]),
        "date": date,
    }
    if any(fixed is None for _, fixed in fixes):
        return "met-unfixed", params
    highest = {name: max(fixed for owner, fixed in fixes if owner == name and fixed) for name in concerned}
    return "met", {**params, "fixed": tuple(f"{name} {fixed}" for name, fixed in highest.items())}


_NO_TALLY = Tally(())


def _evidence(found: Known, matrix: Matrix, planned: Planned | None) -> dict[str, Any]:
    """Every entry, with whether its precondition is met (`met`, `possible`, `not-met`)."""
    entries = [
        {
            "id": entry.advisory.id,
            "cve": entry.advisory.name,
            "package": product.name,
            "version": product.raw,
            "severity": entry.advisory.severity,
            "cvss": entry.advisory.cvss,
            "title": entry.advisory.title,
            "fixed": entry.advisory.fixed,
            "state": {True: "met", False: "not-met", None: "possible"}[state_of(entry, planned)],
            "disputed": entry.disputed,
            "known_by": entry.advisory.confidence,
        }
        for product in found.products
        for entry in product.tally.entries
    ]
    driver = {"driver": found.driver.evidence()} if found.driver else {}
    return {"entries": entries[:_LISTED], "data_of": matrix.advisories.cutoffs, **driver}
