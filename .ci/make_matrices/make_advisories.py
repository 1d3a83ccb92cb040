"""Security advisories and driver bulletins."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import re

import advisories_table as table
from common import read, record, source, write

from envcheck.matrix.advisories import AdvisoriesFile, Advisory, Bulletin, Cutoff, KeyGuard

KINDS = [("vendor bulletin", "bulletin"), ("fix disputed", "disputed"), ("unreviewed", "unreviewed"), ("reviewed", "reviewed")]
KINDS += [("range", "range"), ("combined", "combined"), ("digest", "digest"), ("documented", "documented")]
KINDS += [("secondary", "digest"), ("NVD copy", "digest")]


def basis(text):
    text = re.sub(r"(?:, )?\(?\bindex ids? \d+(?:(?:, | and )\d+)*(?: \([^()]*\))*\)?(?=$|[^\d])", "", text)
    text = text.replace("stored copy of", "copy of").replace("stored OSV copy", "OSV copy").replace("stored deny-list", "deny-list")
    text = text.replace("stored PR", "pull request").replace("sdists", "source distributions").replace("sdist", "source distribution")
    text = re.sub(r"\s+([;),])", r"\1", source(text)).replace(" (8.8)", "").replace("(8.8)", "public notes that quote the advisory")
    text = text.replace("; CVE mapping from", "")
    return re.sub(r"\(\s*\)|^[\s;+,]+|[\s;+,(]+$", "", text).strip()


def sources(entry):
    name = entry["id"]
    if name.startswith("GHSA-"):
        where = "vllm-project/vllm/security/advisories" if entry["package"] == "vllm" else "advisories"
        url = f"https://github.com/{where}/{name}"
    elif name.startswith("CVE-"):
        url = f"https://nvd.nist.gov/vuln/detail/{identifier(entry)[0]}"
    else:
        url = None
    return [text for text in (url, basis(entry["source"])) if text]


def identifier(entry):
    """Id and what of it is no id."""
    name = entry["id"]
    if name in table.NAMES:
        return table.NAMES[name]
    return name, None


def conditions(entry):
    if entry["id"] in table.CONDITIONS:
        return table.CONDITIONS[entry["id"]]
    found = [name for name in entry["condition"] if not name.startswith("model:") or name == "model:mrope"]
    found = ["mrope" if name == "model:mrope" else name for name in found]
    if entry["package"] == "starlette":  # the server's own framework: every deployment serves with it
        found = ["http" if name == "dependency" else name for name in found]
    return found + (["windows"] if "(Windows only)" in entry["title"] else [])


def models(entry):
    return [part for name in entry["condition"] if name.startswith("model:") for part in table.MODELS.get(name[6:], [])]


def advisory(entry, severities):
    name, remark = identifier(entry)
    severity = entry["severity"] if entry["severity"] != "see toolkit entry" else severities[name]
    conservative = entry.get("affected_conservative")
    remarks = [entry["precondition"], entry["confidence"] if "," in entry["confidence"] or ":" in entry["confidence"] else None]
    remarks += [remark, conservative.partition(" ")[2].strip("()") if conservative else None]
    return record(
        Advisory,
        sources=sources(entry),
        note="; ".join(part for part in remarks if part) or None,
        id=name,
        aliases=[alias for alias in entry["aliases"] if re.fullmatch(r"(CVE|GHSA|PYSEC)-[\w-]+", alias)],
        package=entry["package"],
        title=entry["title"],
        affected=entry["affected"].replace(" ", ""),
        affected_conservative=conservative.split(" ")[0] if conservative else None,
        lower_bound=entry.get("lower_bound"),
        fixed=entry["fixed"],
        severity=severity,
        cvss=entry["cvss"],
        conditions=conditions(entry),
        models=models(entry),
        workarounds=table.WORKAROUNDS[entry["workaround"]],
        confidence=next(kind for start, kind in KINDS if entry["confidence"].startswith(start)),
        published=entry["published"],
    )


def bulletin(name, entry):
    return record(
        Bulletin,
        sources=[entry["source"]],
        id=name,
        title=entry["title"],
        date=entry["updated"],
        fixed=entry["linux_fixed_by_branch"],
        geforce_only=entry["geforce_only"],
        max_cvss=entry["max_cvss_linux"],
        cves=sorted(entry["cves"]),
    )


def make(target):
    entries = [entry for entry in read("advisories.json") if entry["package"] != "nvidia-driver-linux"]
    severities = {entry["id"]: entry["severity"] for entry in entries if entry["package"] == "nvidia-container-toolkit"}
    found = sorted((advisory(entry, severities) for entry in entries), key=lambda one: (one.package, one.id))
    cutoffs = [record(Cutoff, **entry) for entry in table.CUTOFFS]
    guards = [record(KeyGuard, **entry) for entry in table.KEY_GUARDS]
    write(target / "advisories.json", AdvisoriesFile(cutoffs=cutoffs, key_guards=guards, advisories=found))
    floors = read("driver_security_floors.json")
    write(target / "driver_security.json", sorted((bulletin(*item) for item in floors.items()), key=lambda one: one.id))
