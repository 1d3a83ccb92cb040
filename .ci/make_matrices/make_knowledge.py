"""`model_knowledge.json` and `recipes.json`: architectures by release, and the recipes that come with vLLM, reduced."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

from common import read, record, write

from envcheck.matrix.model_knowledge import KnowledgeFile, Recipe, RecipeVariant

REGISTRY = "vLLM source distributions: model_executor/models/registry.py, every release from 0.0.1 on"
# First release that registers the parser, where it is later than what a recipe that names it asks for.
PARSERS = {"qwen3": ">=0.9.0", "openai": ">=0.10.2", "deepseek_v32": ">=0.13.0", "minicpm5": ">=0.23.0"}
EXTERNAL = {"nano_v3", "nemotron_json"}  # of plugin files that lie with the checkpoint
# What a model cannot do without. Sizes, parallelism and caches are for the memory model and the user.
NEEDED = {
    "--tokenizer-mode", "--config-format", "--load-format", "--chat-template-content-format", "--logits-processors", "--runner",
}  # fmt: skip


def span(entry, newest):
    return f">={entry['first']}" if entry["last"] == newest else f">={entry['first']},<={entry['last']}"


def words_of(arguments):
    """[flag, values…] of a recipe's list, names as parsers have them."""
    found = []
    for word in arguments:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            found.append([name.replace("_", "-"), *([value] if equals else [])])
        elif found:
            found[-1].append(word)
    return found


def needed(arguments):
    return [word for group in words_of(arguments) if group[0] in NEEDED for word in group]


def feature(model, name):
    arguments = (model["features"].get(name) or {}).get("args") or []
    groups = words_of(arguments)
    plugin = any(group[0].endswith("-plugin") or (group[0].endswith("-parser") and set(group[1:]) & EXTERNAL) for group in groups)
    return [] if plugin else [word for group in groups for word in group]


def recipe(model):
    minimum = model["min_vllm_version"] or ""
    variants = [
        record(RecipeVariant, id=variant["model_id"], precision=variant["precision"])
        for variant in model["variants"].values()
        if variant.get("model_id") and variant["model_id"] != model["model_id"] and "ascend" not in str(variant).lower()
    ]
    unique = {variant.id: variant for variant in variants}
    return record(
        Recipe,
        sources=[model["source"].replace(" sdist ", " source distribution: ")],
        id=model["model_id"],
        first=minimum if minimum[:1].isdigit() else None,
        nightly=bool(model.get("nightly_required")) or minimum == "nightly",
        remote_code=any(group[0] == "--trust-remote-code" for group in words_of(model["base_args"])),
        arguments=needed(model["base_args"]),
        tools=feature(model, "tool_calling"),
        reasoning=feature(model, "reasoning"),
        speculation=feature(model, "spec_decoding"),
        variants=[{"id": one.id, "precision": one.precision} for one in unique.values()],
    )


def make(target):
    facts = read("model_architectures.json")
    newest = facts["versions"][-1]
    table = {name: span(entry, newest) for name, entry in sorted(facts["arch_first_last"].items())}
    write(target / "model_knowledge.json", record(KnowledgeFile, sources=[REGISTRY], architectures=table, parsers=PARSERS))
    models = read("model_recipes.json")["models"].values()
    write(target / "recipes.json", sorted((recipe(model) for model in models), key=lambda one: one.id.lower()))
