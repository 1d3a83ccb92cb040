"""matrices/models.json and codes.json."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import json

import common
from common import record, sources, write

from envcheck.matrix.records import FindingCode, ModelCard

NEEDED = ("hidden_size", "num_hidden_layers")

COLLECTED = (
    "id",
    "model_id",
    "recipe",
    "variants",
    "config_status",
    "architectures_evidence",
    "verified_by_param_count",
    "text_model_type",
)


def without_ellipsis(value):
    """Lists that the collector cut short end in words such as `… 283 entries`, which are no entries."""
    if isinstance(value, dict):
        return {key: without_ellipsis(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_ellipsis(entry) for entry in value if not (isinstance(entry, str) and entry.startswith("…"))]
    return value


def weights(stated):
    """Bytes of the checkpoint where the recipe states those of the files."""
    return next((entry["bytes"] for entry in stated if entry["kind"].startswith(("on_disk", "checkpoint"))), None)


def card(facts, provenance, stated):
    config = {key: value for key, value in facts.items() if not key.startswith("_") and key != "params_total"}
    shortened = "… " in json.dumps(config, ensure_ascii=False)
    text = config.get("text_config") or config
    partial = facts.get("_partial", False) or not all(key in text or key in config for key in NEEDED)
    notes = []
    if shortened:
        notes.append("The list of modules that are not quantized is cut short.")
    if facts.get("params_total"):
        notes.append(f"{facts['params_total']:.0f} parameters.")
    n_bytes = weights(stated)
    return record(
        ModelCard,
        sources=sources(facts["_source"]),
        note=" ".join(notes) or None,
        id=facts["_model"],
        config=without_ellipsis(config),
        config_basis="artefact" if provenance == "stored-config-file" else "unverified",
        partial=partial,
        weights_bytes=n_bytes,
        weights_basis="unverified" if n_bytes else None,
    )


def likely(model, facts):
    """A model nobody has the file of: a sibling's fields, or its class's defaults, where the number of parameters agrees.

    Only those whose checkpoint is not quantized: how one is, no sibling tells.
    """
    plain = facts.get("variants", {}).get("default", {}).get("precision") == "bf16"
    if not (plain and facts.get("verified_by_param_count") and all(facts.get(key) for key in NEEDED)):
        return None
    said = {key: value for key, value in facts.items() if not key.startswith(("_", "param")) and value is not None}
    config = {key: value for key, value in said.items() if key not in COLLECTED}
    return record(
        ModelCard,
        sources=sources(facts["_source"]),
        note="Not read in this model's own file; the number of parameters agrees with the published one.",
        id=model,
        config=without_ellipsis(config),
        config_basis="unverified",
        partial=True,
    )


def make(target):
    catalogue = common.read("model_catalogue.json")["models"]
    recipes = common.read("model_recipes.json")["models"]
    cards = []
    for path in sorted((common.FACTS / "model_configs").glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        model = facts["_model"]
        known = facts["_source"].startswith(("ai-dynamo/", "tenstorrent/"))
        provenance = catalogue.get(model, {}).get("_provenance") or ("stored-config-file" if known else "recalled")
        stated = recipes.get(model, {}).get("variants", {}).get("default", {}).get("stated_weight_bytes", [])
        cards.append(card(facts, provenance, stated))
    known = {found.id for found in cards}
    cards += filter(None, (likely(model, facts) for model, facts in catalogue.items() if model not in known))
    write(target / "models.json", sorted(cards, key=lambda entry: entry.id.lower()))
    codes = json.loads((common.FACTS.parent / "cases" / "codes.json").read_text(encoding="utf-8"))
    kept = target / "codes.json"
    learnt = {entry["code"]: entry["sources"] for entry in json.loads(kept.read_text(encoding="utf-8"))} if kept.exists() else {}
    write(kept, [FindingCode(code=code, meaning=meaning, sources=learnt.get(code, [])) for code, meaning in sorted(codes.items())])
