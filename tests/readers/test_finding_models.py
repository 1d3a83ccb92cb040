"""Where a model is looked for, in which order, and what is said where it is not found."""

from __future__ import annotations

import json

import msgspec
import pytest

from envcheck.errors import CannotTellError, EnvcheckError, ExitCode, InputError, UsageError
from envcheck.readers.model import Places, find_model, is_repository

HUB = "https://hub.example"
MIRROR = "https://mirror.example"
NAME = "Qwen/Qwen2.5-7B-Instruct"
CONFIG = b'{"model_type": "qwen2", "hidden_size": 3584}'
INDEX = b'{"metadata": {"total_size": 15231233024}, "weight_map": {}}'
ONLINE = Places(HUB)


class Card(msgspec.Struct, frozen=True):
    """A catalogue entry."""

    id: str
    config: dict[str, object]
    partial: bool = False
    weights_bytes: int | None = None
    config_basis: str | None = "unverified"


def nothing(name):
    return None


def only(card):
    return lambda name: card if name.lower() == card.id.lower() else None


def url(file, hub=HUB, name=NAME):
    return f"{hub}/{name}/resolve/main/{file}"


def test_a_folder_with_an_index(host):
    system = host({"/models/q/config.json": CONFIG, "/models/q/model.safetensors.index.json": INDEX})
    spec = find_model("/models/q/", system, nothing, ONLINE)
    assert (spec.config["hidden_size"], spec.weights_bytes, spec.source.kind) == (3584, 15231233024, "folder")
    assert system.asked == []


def weight_file(size):
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return len(header).to_bytes(8, "little") + header


def test_a_folder_without_an_index_is_summed_from_headers(host):
    files = {"/m/config.json": CONFIG, "/m/a.safetensors": weight_file(10**9), "/m/b.safetensors": weight_file(5)}
    assert find_model("/m", host(files), nothing, ONLINE).weights_bytes == 10**9 + 5
    assert find_model("/m", host({**files, "/m/c.safetensors": b"broken"}), nothing, ONLINE).weights_bytes is None


@pytest.mark.parametrize("indexed", [True, False])
def test_more_files_than_are_read_are_not_taken_for_all(host, indexed):
    names = [f"m-{number:05}.safetensors" for number in range(1025)]
    files = {"/m/config.json": CONFIG, **{f"/m/{name}": weight_file(10) for name in names}}
    if indexed:
        index = {"metadata": {"total_size": 10250}, "weight_map": {name: name for name in names}}
        files["/m/model.safetensors.index.json"] = json.dumps(index).encode()
    spec = find_model("/m", host(files), nothing, ONLINE)
    assert (spec.weights_bytes, spec.weights_basis, spec.stored) == ((10250, "index", None) if indexed else (None, None, None))


def test_signs_of_patterns_in_a_path(host):
    files = {"/m[1]*/config.json": CONFIG, "/m[1]*/a.safetensors": weight_file(7), "/m1x/b.safetensors": weight_file(90)}
    assert find_model("/m[1]*", host(files), nothing, ONLINE).weights_bytes == 7


def test_relative_paths_and_the_home_folder(host):
    system = host({"/srv/q/config.json": CONFIG, "/home/u/q/config.json": b'{"hidden_size": 1}'}, env={"HOME": "/home/u"})
    assert find_model("./q", system, nothing, Places(HUB, working_dir="/srv")).config["hidden_size"] == 3584
    assert find_model("q", system, nothing, Places(HUB, working_dir="/srv")).config["hidden_size"] == 3584
    assert find_model("~/q", system, nothing, ONLINE).config["hidden_size"] == 1


def test_a_local_folder_wins_over_the_hub_s_name(host):
    system = host({f"/srv/{NAME}/config.json": b'{"hidden_size": 1}'})
    spec = find_model(NAME, system, only(Card(NAME, {"hidden_size": 2})), Places(HUB, working_dir="/srv"))
    assert spec.config == {"hidden_size": 1}


def test_a_downloaded_model(host):
    revision = "a" * 40
    cache = "/home/u/.cache/huggingface/hub/models--Qwen--Qwen2.5-7B-Instruct"
    files = {f"{cache}/refs/main": f"{revision}\n".encode(), f"{cache}/snapshots/{revision}/config.json": CONFIG}
    spec = find_model(NAME, host(files, env={"HOME": "/home/u"}), nothing, Places(HUB, offline=True))
    assert (spec.name, spec.config["hidden_size"]) == (NAME, 3584)
    moved = {path.replace("/home/u/.cache/huggingface", "/data"): data for path, data in files.items()}
    assert find_model(NAME, host(moved, env={"HF_HOME": "/data"}), nothing, Places(HUB, offline=True)).config["hidden_size"] == 3584
    for name in ("../../../../etc", "other", "A" * 40):  # what is no revision is no folder's name either, whatever lies there
        hostile = {f"{cache}/refs/main": name.encode(), f"{cache}/snapshots/{name}/config.json": CONFIG}
        with pytest.raises(CannotTellError):
            find_model(NAME, host(hostile, env={"HOME": "/home/u"}), nothing, Places(HUB, offline=True))


def test_the_catalogue_comes_before_the_hub(host):
    system = host(answers={})
    card = Card(NAME, {"hidden_size": 3584}, weights_bytes=5, config_basis="artefact")
    spec = find_model(NAME.lower(), system, only(card), ONLINE)
    assert (spec.source.kind, spec.source.place, spec.weights_bytes, system.asked) == ("catalogue", NAME, 5, [])
    assert spec.source.basis == "artefact"


@pytest.mark.parametrize("doubt", [{"partial": True, "config_basis": "artefact"}, {"config_basis": "unverified"}])
def test_an_entry_in_doubt_comes_after_the_hub(host, answer, doubt):
    card = Card(NAME, {"hidden_size": 1}, **doubt)
    asked = find_model(NAME, host(answers={url("config.json"): answer(200, CONFIG)}), only(card), ONLINE)
    assert (asked.source.kind, asked.config["hidden_size"]) == ("hub", 3584)
    refusals = [answer(404), answer(401), answer(503), answer(200, b"<html>"), answer(200, b"{"), "timed out"]
    for hub in ({url("config.json"): refusal} for refusal in refusals):
        spec = find_model(NAME, host(answers=hub), only(card), ONLINE)
        assert (spec.source.kind, spec.source.basis, spec.config["hidden_size"]) == ("catalogue", doubt["config_basis"], 1)
    silent = host()
    assert find_model(NAME, silent, only(card), Places(HUB, offline=True)).source.kind == "catalogue"
    assert silent.asked == []


def test_a_revision_that_the_hub_refuses_is_not_answered_from_the_catalogue(host, answer):
    card = Card(NAME, {"hidden_size": 1})
    with pytest.raises(UsageError):
        find_model(NAME, host(), only(card), Places(HUB, revision="v2"))


def test_a_folder_comes_before_an_entry(host):
    card = Card(NAME, {"hidden_size": 1}, config_basis="artefact")
    system = host({f"/here/{NAME}/config.json": CONFIG})
    assert find_model(NAME, system, only(card), Places(HUB, working_dir="/here")).source.kind == "folder"


def test_the_hub(host, answer):
    system = host(answers={url("config.json"): answer(200, CONFIG), url("model.safetensors.index.json"): answer(200, INDEX)})
    spec = find_model(NAME, system, nothing, ONLINE)
    assert (spec.config["hidden_size"], spec.weights_bytes, spec.source.place) == (3584, 15231233024, f"{HUB}/{NAME}")


def test_a_hub_without_an_index(host, answer):
    system = host(
        answers={url("config.json"): answer(200, CONFIG), url("model.safetensors.index.json"): answer(200, INDEX, truncated=True)}
    )
    assert find_model(NAME, system, nothing, ONLINE).weights_bytes is None


@pytest.mark.parametrize(
    ("status", "error", "key", "exit_code"),
    [
        (404, UsageError, "error.model-unknown", ExitCode.USAGE),
        (401, UsageError, "error.model-gated", ExitCode.USAGE),
        (403, UsageError, "error.model-gated", ExitCode.USAGE),
        (500, CannotTellError, "error.model-hub-broken", ExitCode.UNKNOWN),
        (429, CannotTellError, "error.model-rate-limited", ExitCode.UNKNOWN),
        (302, CannotTellError, "error.model-not-asked", ExitCode.UNKNOWN),
    ],
)
def test_answers_that_are_no_configuration(host, answer, status, error, key, exit_code):
    with pytest.raises(error) as caught:
        find_model(NAME, host(answers={url("config.json"): answer(status)}), nothing, ONLINE)
    assert (caught.value.text.key, caught.value.exit_code) == (key, exit_code)


def test_a_hub_that_cannot_be_asked(host):
    with pytest.raises(CannotTellError) as caught:
        find_model(NAME, host(answers={url("config.json"): "timed out after 5 s"}), nothing, ONLINE)
    assert caught.value.text.params == {"name": NAME, "hub": "hub.example", "why": "timed out after 5 s"}
    with pytest.raises(CannotTellError) as caught:
        find_model(NAME, host(), nothing, Places(HUB, offline=True))
    assert caught.value.text.key == "error.model-offline"


@pytest.mark.parametrize(("body", "truncated"), [(b"{", False), (b"[]", False), (CONFIG, True)])
def test_a_broken_configuration_from_the_hub(host, answer, body, truncated):
    with pytest.raises(InputError):
        find_model(NAME, host(answers={url("config.json"): answer(200, body, truncated)}), nothing, ONLINE)


def test_a_page_is_no_configuration(host, answer):
    with pytest.raises(CannotTellError) as caught:
        find_model(NAME, host(answers={url("config.json"): answer(200, b"\n<!DOCTYPE html><p>sign in</p>")}), nothing, ONLINE)
    assert caught.value.text.key == "error.model-hub-page"


@pytest.mark.parametrize(
    ("said", "key"),
    [
        (b"Entry not found", "error.model-no-file"),
        (b"Invalid rev id: v9", "error.model-revision"),
        (b"Repository not found", "error.model-unknown"),
    ],
)
def test_what_is_missing_is_said_in_the_hub_s_words(host, answer, said, key):
    with pytest.raises(UsageError) as caught:
        find_model(NAME, host(answers={url("config.json"): answer(404, said)}), nothing, ONLINE)
    assert caught.value.text.key == key


@pytest.mark.parametrize(
    ("endpoint", "sent"),
    [(None, True), (HUB, True), (HUB + "/", True), (MIRROR, False), ("https://hub.example.evil", False), ("http://hub.example", False),
     ("https://hub.example@evil", False), ("https://hub.example:444", False)],
)  # fmt: skip
def test_a_token_goes_to_the_official_hub_alone(host, endpoint, sent):
    env = {"HF_TOKEN": "hf_secret", **({"HF_ENDPOINT": endpoint} if endpoint else {})}
    system = host(env=env)
    with pytest.raises(EnvcheckError):
        find_model(NAME, system, nothing, ONLINE)
    assert [("Authorization" in headers) for _, headers in system.asked] == [sent]
    assert system.asked[0][0].startswith((endpoint or HUB).rstrip("/"))


@pytest.mark.parametrize("token", ["a\r\nX-Other: 1", "ключ", ""])
def test_a_token_that_is_none(host, token):
    system = host(env={"HF_TOKEN": token})
    with pytest.raises(UsageError):
        find_model(NAME, system, nothing, ONLINE)
    assert system.asked[0][1] == {}


@pytest.mark.parametrize(
    "name",
    ["", "   ", "a" * 500, "a\nb", "a\0b", "../../etc/passwd", "/nowhere", "~/nothing", "./x", "a/b/c", "..", "a/..", "a//b",
     "a/-b", "a b/c",
     "a/b?x=1",
     "https://other.example/a/b", "a/b#c", "a/%2e%2e", "\x1b[31mred", "models--a--b", "名/字"],
)  # fmt: skip
def test_hostile_names_are_refused_and_asked_of_nobody(host, name):
    system = host(env={"HOME": "/home/u"})
    with pytest.raises(UsageError) as caught:
        find_model(name, system, nothing, Places(HUB, working_dir="/srv"))
    assert system.asked == []
    assert all(str(value).isprintable() and len(str(value)) <= 420 for value in caught.value.text.params.values())


@pytest.mark.parametrize("name", ["gpt2", NAME, "openai/gpt-oss-20b", "a1/b_2.c-3"])
def test_names_of_repositories(name):
    assert is_repository(name)


def test_a_folder_that_is_no_model(host):
    with pytest.raises(UsageError) as caught:
        find_model("/data", host({"/data/readme": b"x"}), nothing, ONLINE)
    assert caught.value.text.key == "error.model-folder-no-config"
    with pytest.raises(CannotTellError):
        find_model("/data", host(unreadable=["/data/config.json"]), nothing, ONLINE)
    with pytest.raises(InputError):
        find_model("/data", host({"/data/config.json": b"{"}), nothing, ONLINE)


@pytest.mark.parametrize("endpoint", ["https://me:pw_secret@[::1", "me:pw_secret@mirror.example", "https://me:pw_secret@mirror.example"])
def test_an_endpoint_is_cited_without_its_password(host, answer, endpoint):
    answers = {url("config.json", endpoint): answer(200, b"<html>")}
    with pytest.raises(EnvcheckError) as caught:
        find_model(NAME, host(env={"HF_ENDPOINT": endpoint, "HF_TOKEN": "hf_secret"}, answers=answers), nothing, ONLINE)
    assert "secret" not in str(caught.value.text.params)


def test_the_source_of_a_model_names_no_password(host, answer):
    endpoint = "https://me:pw_secret@mirror.example"
    system = host(env={"HF_ENDPOINT": endpoint}, answers={url("config.json", endpoint): answer(200, CONFIG)})
    assert find_model(NAME, system, nothing, ONLINE).source.place == f"https://mirror.example/{NAME}"
