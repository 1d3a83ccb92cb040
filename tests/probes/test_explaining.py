"""Every source asked for a fact, in order, for those who ask; what a stated fact stands in place of."""

import msgspec
import pytest

from envcheck.errors import UsageError
from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.model.host import Attempt, HostReport, Provenance, Toolkit
from envcheck.probes.assemble import assemble, document_paths
from envcheck.probes.collect import collect, gather
from envcheck.probes.explain import explained_facts, explained_report
from envcheck.probes.facts import first_found
from envcheck.probes.overrides import apply

GONE, REFUSED, BROKEN = Absent("/a: no such file"), Unreadable("/b: permission denied"), Absent("/c is empty")


def tried(report, path):
    return [(one.state, one.source) for one in report.provenance[path].tried]


def explained(fact):
    return tried(assemble({"driver.version": fact}, explain=True), "driver.version")


def test_the_source_that_answered_comes_last():
    fact = first_found((GONE, REFUSED, Found("550.54.15", "/d"), Found("never asked", "/e")))
    assert explained(fact) == [("absent", "/a: no such file"), ("unreadable", "/b: permission denied"), ("found", "/d")]


def test_a_gap_names_every_source_in_the_order_asked():
    fact = first_found((GONE, REFUSED, BROKEN))
    assert fact.why == "/b: permission denied"
    assert explained(fact) == [("absent", "/a: no such file"), ("unreadable", "/b: permission denied"), ("absent", "/c is empty")]


def test_sources_of_sources_are_told_once():
    inner = first_found((GONE, BROKEN))
    assert [one.why for one in first_found((inner, REFUSED)).tried] == [GONE.why, BROKEN.why, REFUSED.why]
    assert explained(first_found((inner, Found("1", "/d")))) == [("absent", GONE.why), ("absent", BROKEN.why), ("found", "/d")]


@pytest.mark.parametrize(
    ("fact", "told"), [(GONE, ("absent", GONE.why)), (REFUSED, ("unreadable", REFUSED.why)), (Found("1", "/d"), ("found", "/d"))]
)
def test_a_single_source_is_told_too(fact, told):
    assert explained(fact) == [told]


def test_who_does_not_ask_is_not_told(in_memory):
    report = collect(in_memory())
    assert [path for path, entry in report.provenance.items() if entry.tried] == []
    assert assemble({"driver.version": first_found((GONE, Found("1", "/d")))}).provenance["driver.version"] == Provenance(
        "found", source="/d"
    )


def test_every_fact_of_a_visit_has_a_source_and_the_rest_is_the_same(look):
    facts = gather(look(files={"/etc/os-release": "ID=debian\n"}, full=True))
    report = assemble(facts, explain=True)
    assert [path for path in document_paths() if not report.provenance[path].tried] == []
    bare = {path: msgspec.structs.replace(entry, tried=[]) for path, entry in report.provenance.items()}
    assert msgspec.structs.replace(report, provenance=bare) == assemble(facts)


KNOWN = {
    "driver.version": first_found((GONE, Found("535.161.08", "/d"))),
    "driver.cuda": Absent("no"),
    "gpus": REFUSED,
    "toolkits": Found([Toolkit("12.1")], "/d"),
    "secure_boot": Found(False, "/d"),
}
BEFORE = assemble(KNOWN, explain=True)


def stated(*wanted, **facts):
    facts = {path.replace("__", "."): value for path, value in facts.items()}
    return explained_report(apply(BEFORE, facts), BEFORE, facts, wanted)


def test_a_stated_fact_says_what_it_replaced():
    entry = stated(driver__version="550.54.15").provenance["driver.version"]
    assert (entry.state, entry.source, entry.why) == ("given", "--set driver.version=550.54.15", "in place of: 535.161.08")
    assert entry.tried == [Attempt("absent", "/a: no such file"), Attempt("found", "/d")]
    assert stated(driver__cuda="12.4").provenance["driver.cuda"].why == "in place of: none"
    assert stated(secure_boot="true").provenance["secure_boot"].why == "in place of: false"
    assert stated(gpus__0__name="NVIDIA A10").provenance["gpus.0.name"].why == "in place of: not known"


def test_only_wanted_facts_keep_their_sources():
    report = stated("driver.version", "gpus")
    assert [path for path, entry in report.provenance.items() if entry.tried] == ["driver.version", "gpus"]


@pytest.mark.parametrize("fact", ["drive", "driver.versio", "schema", "provenance", "", "toolkits.7", "secure_boot.x", "os.", "toolkits.x"])
def test_what_is_no_fact_is_the_users_error(fact):
    with pytest.raises(UsageError) as raised:
        stated(fact)
    assert raised.value.text.key == "error.fact-unknown"


@pytest.mark.parametrize("fact", ["driver", "driver.version", "gpus", "packages.vllm", "torch.cuda", "secure_boot", "gpus.0.name"])
def test_what_is_one_may_be_asked_for(fact):
    report = stated(fact, gpus__0__name="NVIDIA A10")
    assert fact in report.provenance or fact in ("driver", "torch", "packages.vllm")


def test_facts_come_in_the_order_of_the_document():
    paths = [path for path, _ in explained_facts(stated(), ())]
    assert paths == [path for name in HostReport.__struct_fields__ for path in document_paths() if path.partition(".")[0] == name]


def test_deeper_facts_are_told_where_wanted_or_stated():
    report = stated(gpus__0__name="NVIDIA A10")
    assert ("gpus.0.name", "NVIDIA A10") in explained_facts(report, ())
    assert explained_facts(report, ("gpus.0.name",)) == [("gpus.0.name", "NVIDIA A10")]
    of_driver = [path for path, _ in explained_facts(report, ("driver",))]
    assert of_driver == [f"driver.{name}" for name in ("version", "cuda", "flavour", "library_version", "nvml")]
