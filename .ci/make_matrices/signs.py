"""Short spellings of signs, of what tells more, and of their sources, for the tables of clouds and platforms."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

DMI = "/sys/class/dmi/id/"
CLOUD_INIT = "canonical/cloud-init: tools/ds-identify and its data sources"
PUBLIC = "public repositories that test for it"
NOTHING = "looked for in public material, nothing found"


def dmi(name, value, confidence, match="equals"):
    return file(DMI + name, value, confidence, match)


def file(path, value, confidence, match="equals"):
    return {"kind": "file", "path": path, "value": value, "match": match, "confidence": confidence}


def exists(path, confidence):
    return {"kind": "file", "path": path, "confidence": confidence}


def env(name, confidence, value=None):
    sign = {"kind": "env", "name": name, "confidence": confidence}
    return sign | {"value": value} if value else sign


def cloud_id(value):
    """What cloud-init found out at boot, in one word; a suffix names the partition, as in aws-china."""
    return file("/run/cloud-init/cloud-id", value, "reference", "starts")


def tells(fact, name, **more):
    return {"fact": fact, "kind": "env", "name": name} | more


def file_tells(fact, path, **more):
    return {"fact": fact, "kind": "file", "path": path} | more


def asks(fact, path, take="whole"):
    return {"path": path, "fact": fact, "take": take}
