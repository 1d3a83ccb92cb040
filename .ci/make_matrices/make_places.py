"""matrices/distros.json, clouds.json, mirrors.json."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import re

from clouds_table import CLOUDS
from common import read, record, sources, write

from envcheck.matrix.records import CloudProvider, Distribution, Mirror

# os-release ids that stand together in one fact; CentOS 8 and CentOS Stream 9 and 10 are the same base.
SPLIT = {"rhel/rocky/almalinux/ol": ["rhel", "centos", "rocky", "almalinux", "ol"]}


def distro_versions(text):
    found = re.match(r"V\d+", text)
    return [found[0]] if found else text.split("/")


def distributions(rows):
    made = []
    for row in rows:
        glibc, python = re.match(r"[\d.]+", row["glibc"]), re.match(r"[\d.]+", row["default_python3"])
        remarks = [row["note"]]
        if glibc[0] != row["glibc"]:
            remarks.append(f"glibc {row['glibc']}")
        if python[0] != row["default_python3"]:
            remarks.append(f"Python {row['default_python3']}")
        for id_ in SPLIT.get(row["id"], [row["id"].split(" ")[0].lower()]):
            for version in distro_versions(row["version"]):
                made.append(
                    record(
                        Distribution,
                        sources=sources(row["source"]),
                        note="; ".join(text for text in remarks if text) or None,
                        id=id_,
                        version=version,
                        glibc=glibc[0],
                        python=python[0],
                    )
                )
    return sorted(made, key=lambda entry: (entry.id, [int(part) for part in re.findall(r"\d+", entry.version)]))


# Mirrors that no plan should name: closed, obsolete, redirecting to another, or not verified.
UNUSED = {"sjtu", "cernet", "zju", "jlu", "netease", "douban"}


def index_mirror(row):
    remarks = [row.get("note"), row["status"], row["scope"] if row["scope"] != "public" else None]
    return record(
        Mirror,
        sources=sources(row["source"]) or ["in use in public repositories"],
        note="; ".join(sources(*remarks)) or None,
        id=row["id"],
        kind="python-index",
        url=row["url"].rstrip("/"),
        scope="vpc" if row["id"].endswith("-vpc") else "public",
        layout="simple",
        cloud=row.get("cloud"),
    )


TORCH_NOTES = {
    "aliyun": "A flat listing: give it as find-links beside an index and name the exact local version; as an index it is not found.",
    "nju": "Its pages may carry links to the upstream's host: look at the first link's host before trusting it.",
    "sjtu": "A reverse proxy that fetches unknown wheels only when asked and may hang; an index since 2026-08-31; several long outages.",
    "upstream": "Slow from mainland China.",
}


def torch_mirror(row):
    upstream = row["id"] == "upstream"
    return record(
        Mirror,
        sources=sources(row["source"]) or ["in use in public repositories"],
        note=TORCH_NOTES[row["id"]],
        id="pytorch" if upstream else f"{row['id']}-torch",
        kind="torch-wheels",
        url=row["url"].replace("<cuXXX>", "{variant}").rstrip("/"),
        scope="public",
        upstream=upstream,
        layout="flat" if row["layout"].startswith("FLAT") else "simple",
        cloud=row.get("cloud"),
    )


def hub(id_, url, source, note, upstream=False):
    return record(Mirror, sources=[source], note=note, id=id_, kind="model-hub", url=url, scope="public", upstream=upstream, layout="hub")


HUBS = [
    hub("huggingface", "https://huggingface.co", "huggingface_hub's default endpoint", "Not reachable from most of mainland China.", True),
    hub(
        "hf-mirror",
        "https://hf-mirror.com",
        "padeoe/hf-mirror-site",
        "Community-run copy, by HF_ENDPOINT. Files that the hub stores with Xet may come from a host it does not cover "
        "(huggingface_hub #4475): HF_HUB_DISABLE_XET=1 is the usual way round.",
    ),
    hub(
        "modelscope",
        "https://modelscope.cn",
        "vllm/envs.py of vLLM 0.33.0",
        "By VLLM_USE_MODELSCOPE=true and the modelscope package; ids are ModelScope's own.",
    ),
]
REGISTRIES = [
    record(
        Mirror,
        sources=["Docker's documentation: the registry's API, version 2"],
        id="docker-hub",
        kind="image-registry",
        url="https://registry-1.docker.io",
        scope="public",
        upstream=True,
        layout="registry",
    ),
    record(
        Mirror,
        sources=["DaoCloud/public-image-mirror@871a1e72 README, allows.txt"],
        note="White-listed and rate-limited; vLLM's images are among those allowed.",
        id="daocloud",
        kind="image-registry",
        url="https://docker.m.daocloud.io",
        scope="public",
        layout="registry",
    ),
]
PYTHONS = record(
    Mirror,
    sources=["uv's default for UV_PYTHON_INSTALL_MIRROR"],
    id="python-build-standalone",
    kind="python-builds",
    url="https://github.com/astral-sh/python-build-standalone/releases/download",
    scope="public",
    upstream=True,
    layout="prefix",
)


def python_mirror(row):
    return record(
        Mirror,
        sources=sources(row["source"]) or ["in use in public repositories"],
        note=row["status"],
        id=f"{row['id']}-python-builds",
        kind="python-builds",
        url=row["url"].rstrip("/"),
        scope="public",
        layout="prefix",
    )


def mirrors(facts):
    made = [index_mirror(row) for row in facts["pypi"] if row["id"] not in UNUSED]
    made += [torch_mirror(row) for row in facts["pytorch_wheels"] if row["url"] != "-"]
    made += [*HUBS, *REGISTRIES, PYTHONS, *(python_mirror(row) for row in facts["uv"]["python_install_mirrors"])]
    return sorted(made, key=lambda mirror: (mirror.kind, mirror.id))


def clouds(order, known):
    """The hand-typed providers with their mirrors, in the order in which their signs are tried."""
    made = []
    for fields in CLOUDS:
        owner = fields.get("provider") or fields["id"]
        wanted = (order.get(owner) or order["other mainland"]) if fields.get("mainland") else []
        made.append(record(CloudProvider, **fields, mirrors=[mirror for mirror in wanted if mirror in known]))
    return made


def make(target):
    write(target / "distros.json", distributions(read("distros.json")["distros"]))
    facts = read("mirrors.json")
    made = mirrors(facts)
    write(target / "mirrors.json", made)
    write(target / "clouds.json", clouds(facts["choose"], {mirror.id for mirror in made}))
