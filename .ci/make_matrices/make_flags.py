"""`flags.json`: arguments and variables of `vllm serve` by release, from the static tables and from the parsers of twenty releases."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import common
from common import read, record, version_key, write
from flags_choices import CHECKED_LATER, ON_A_GPU, READ_SINCE
from flags_replaced import REPLACEMENTS
from flags_values import FIELDS, NUMBERS, SHORT_NUMBERS
from packaging.specifiers import SpecifierSet

from envcheck.matrix.flags import FlagForm, FlagsFile, NumberRange, Replacement, ServeFlag

STATIC = "vLLM source distributions: the argument parser's source, every release from 0.0.1 on"
PARSER = "the argument parsers of 20 releases from 0.6.6.post1 to 0.33.0, run"
ENVIRONMENT = "vLLM source distributions: vllm/envs.py and reads of os.environ, every release from 0.0.1 on"
LIMIT = "runs of --limit-mm-per-prompt through the parsers of 20 releases: pairs up to 0.9.2, objects from 0.8.5 on"
# What the static reading of 0.11.2 misses, it misses in the two before as well: registered in a loop that 0.12.0 drops.
MISSED = {"0.11.0": "0.11.2", "0.11.1": "0.11.2"}
NOT_OURS = {"-h", "--help"}


def real_parsers():
    """Release name -> option -> what its parser says."""
    found = {}
    for path in sorted((common.FACTS / "real_flags").glob("flags-*.json")):
        document = read(f"real_flags/{path.name}")
        found[path.stem.removeprefix("flags-")] = document["flags"]
    return found


def spans(releases, present):
    """The ranges of consecutive releases, as specifiers; one up to the newest is open."""
    found, start = [], None
    for place, release in enumerate(releases):
        if release in present and start is None:
            start = release
        following = releases[place + 1] if place + 1 < len(releases) else None
        if start is not None and (following is None or following not in present):
            found.append(span(start, release if following else None))
            start = None
    return found


def span(first, last):
    return f">={first}" if last is None else f">={first},<={last}"


def present_in(static, real, releases):
    """Option -> releases that register it: the parser's word where it was run, the static reading elsewhere."""
    found = {}
    for release in releases:
        names = set(static[release]["flags"])
        if release in real:
            # The one thing that the parsers' listing lacks: an option that 0.6.6.post1 adds in its main function.
            names = set(real[release]) | ({"--config"} if release == "0.6.6.post1" else set())
        elif release in MISSED:
            names |= {name for name in real[MISSED[release]] if name.startswith("--guided-decoding")}
        for name in names - NOT_OURS:
            found.setdefault(name, []).append(release)
    return found


def base_of(name, real, static):
    """The positive option of `--no-x` or `--disable-x` by what it sets; None where the option stands for itself."""
    if any(name in entry["flags"] for entry in static.values()):
        return None
    for parser in reversed(list(real.values())):
        if name in parser and name.startswith("--no-") and "--" + name[5:] in parser:
            return "--" + name[5:]
        if name in parser and name.startswith("--disable-"):
            twin = "--enable-" + name[10:]
            if twin in parser and parser[twin]["dest"] == parser[name]["dest"] and parser[twin]["dest"].startswith("enable"):
                return twin
    return None


def dest_of(name, real):
    for parser in reversed(list(real.values())):
        if name in parser:
            return parser[name]["dest"]
    return name.lstrip("-").replace("-", "_")


def shape(name, parser):
    """What a parser says of an option, comparable."""
    said = parser[name]
    # 0.33.0 lists `--disable-x` beside `--enable-x` and takes `--no-enable-x` without listing it.
    paired = name.replace("--enable-", "--disable-") if name.startswith("--enable-") else ""
    twins = {f"--no-{name[2:]}", paired}
    default = said["default"]
    known = default != "==SUPPRESS==" and not (isinstance(default, str) and (default.startswith("<") or " object at " in default))
    return {
        "switch": said["nargs"] == 0,
        "optional": said["nargs"] == "?",
        "several": said["nargs"] in ("+", "*") or (isinstance(said["nargs"], int) and said["nargs"] > 1),
        "off": any(twin in parser and parser[twin]["dest"] == said["dest"] for twin in twins),
        "disable": paired in parser and parser[paired]["dest"] == said["dest"],
        "choices": said["choices"],
        "default": default if known else None,
        "default_known": known,
    }


def between(before, after, choices):
    """The form of a release whose parser was not run: what its neighbours agree on, and the choices that its source states."""
    sides = [side for side in (before, after) if side]
    agreed = {key: sides[0][key] for key in ("switch", "optional", "several", "off", "disable", "default", "default_known")}
    if len(sides) < 2 or before != after:
        equal = len(sides) == 2 and before["default"] == after["default"]
        agreed["default"] = agreed["default"] if equal else None
        agreed["default_known"] = agreed["default_known"] and equal
        agreed |= {key: all(side[key] for side in sides) and len(sides) == 2 for key in ("off", "disable")}
    same = len(sides) == 2 and before["choices"] == after["choices"]
    # A type of the source that no parser around it makes choices of is open to other words.
    stated = choices if any(side["choices"] is not None for side in sides) else None
    return {**agreed, "choices": stated if stated is not None else sides[0]["choices"] if same else None}


def chosen(name, release, choices):
    """Choices with what a listing made without a GPU leaves out, or with those of a parser run since."""
    if name in READ_SINCE and version_key(release) in SpecifierSet(READ_SINCE[name][0]):
        return READ_SINCE[name][1]
    return choices + ON_A_GPU[name] if name in ON_A_GPU and choices is not None else choices


def forms(name, present, static, real, releases):
    """The forms of an option over the releases that have it; neighbours that are equal are one."""
    order = [release for release in releases if release in present]
    read_here = [release for release in order if release in real and name in real[release]]
    runs = []
    for release in order if read_here else ():
        if release in read_here:
            said, basis = shape(name, real[release]), "artefact"
        else:
            earlier = [other for other in read_here if version_key(other) < version_key(release)]
            later = [other for other in read_here if version_key(other) > version_key(release)]
            sides = [shape(name, real[found[place]]) if found else None for found, place in ((earlier, -1), (later, 0))]
            said, basis = between(*sides, static[release]["choices"].get(name[2:])), "neighbour"
        closed = name in CHECKED_LATER and version_key(release) in SpecifierSet(CHECKED_LATER[name])
        listed = static[release]["choices"].get(name[2:]) if closed and said["choices"] is None else said["choices"]
        said = {**said, "choices": chosen(name, release, listed)}
        if runs and runs[-1][0] == said:
            runs[-1][2] = release
            runs[-1][3] = "artefact" if "artefact" in (basis, runs[-1][3]) else basis
        else:
            runs.append([said, release, release, basis])
    return [
        record(FlagForm, releases=span(first, None if last == releases[-1] else last), basis=basis, **said)
        for said, first, last, basis in runs
    ]


def flags(static, real, ranges, releases):
    present = present_in(static, real, releases)
    deprecated = {name: value.split("–") for name, value in ranges["deprecated"].items()}
    shorts = {}
    for name in present:
        if not name.startswith("--"):
            shorts.setdefault(dest_of(name, real), []).append(name)
    place = {release: number for number, release in enumerate(releases)}
    for name in sorted(present):
        if not name.startswith("--") or base_of(name, real, static):
            continue
        inside = set(present[name])
        dest = dest_of(name, real)
        warned = deprecated.get(name)
        within = {r for r in inside if warned and place[warned[0]] <= place[r] <= place[warned[1]]}
        within |= {r for r in inside if r in real and name in real[r] and real[r][name]["deprecated"]}
        yield record(
            ServeFlag,
            name=name,
            dest=dest,
            short=sorted(shorts.get(dest, [])) if name == "--" + dest.replace("_", "-") else [],
            releases=spans(releases, inside),
            deprecated=spans(releases, within),
            forms=forms(name, inside, static, real, releases),
        )


def variables(static, releases):
    present = {}
    for release in releases:
        for name in static[release]["env"]:
            present.setdefault(name, set()).add(release)
    return {name: spans(releases, present[name]) for name in sorted(present)}


def make(target):
    static, ranges, real = read("serve_flags_by_release.json"), read("serve_flag_ranges.json"), real_parsers()
    releases = sorted(ranges["versions"], key=version_key)
    replaced = [
        record(Replacement, sources=sources, name=name, releases=releases_, instead=instead, field=FIELDS.get(name), why=why)
        for name, releases_, instead, why, sources in REPLACEMENTS
    ]
    file = FlagsFile(
        sources=[STATIC, PARSER, ENVIRONMENT, LIMIT],
        note="Forms between two parsers that were run are what both agree on; choices there are those of the source.",
        flags=list(flags(static, real, ranges, releases)),
        variables=variables(static, releases),
        replacements=replaced,
        pairs=["<0.10.0"],
        objects=[">=0.8.5"],
        short_numbers=SHORT_NUMBERS,
        numbers=[record(NumberRange, **entry) for entry in NUMBERS],
    )
    write(target / "flags.json", file)
