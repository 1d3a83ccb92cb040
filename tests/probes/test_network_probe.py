"""Reachability, played from memory: what is asked, what its answers mean, and that nothing is asked unasked."""

import threading
import time

import pytest

from envcheck.matrix.places import network_places
from envcheck.model.cloud import CloudMatcher, CloudSign
from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.model.network import NetworkPlaces, NetworkSite
from envcheck.probes import network
from envcheck.system.port import HttpAnswer
from envcheck.system.together import get_together

PLACES = NetworkPlaces(
    "https://hub.example",
    "https://scope.example",
    (NetworkSite("registry", "https://registry.example/v2/"), NetworkSite("mirror.near", "https://near.example/pip/", ("aliyun",))),
)
INDEX = {"PIP_INDEX_URL": "https://index.example/simple"}
PAGE, HUB, REGISTRY = "https://index.example/simple/pip/", "https://hub.example/robots.txt", "https://registry.example/v2/"
ALIYUN = (CloudMatcher("aliyun", "host", (CloudSign(kind="file", path="/aliyun", confidence="reference"),)),)


def ok(*urls, status=200, ahead=None):
    return {url: HttpAnswer(status, b"", url, date_ahead_s=ahead) for url in urls}


def test_without_leave_nobody_is_asked(look):
    visit = look(env=INDEX)
    assert network.probe(visit) == {"network": Unreadable("not asked; `--network` does")}
    assert visit.system.requests == []


def test_places_that_answer(look):
    visit = look(env=INDEX, http=ok(PAGE, HUB, REGISTRY), network=PLACES)
    facts = network.probe(visit)
    assert facts["network"].value == dict.fromkeys(("index", "model_hub", "registry"), "reachable")
    assert facts["network.index"] == Found("reachable", f"GET {PAGE} (PIP_INDEX_URL): HTTP 200")
    assert sorted(visit.system.requests) == [(url, {}, 2.0, False) for url in sorted((PAGE, HUB, REGISTRY))]


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (HttpAnswer(200, b"", PAGE), "reachable"),
        (HttpAnswer(401, b"", PAGE), "reachable"),
        (HttpAnswer(404, b"", PAGE), "reachable"),
        (HttpAnswer(407, b"", PAGE), "refused"),
        (HttpAnswer(502, b"", PAGE), "unreachable"),
        (Unreadable("index.example: connection refused"), "refused"),
        (Unreadable("index.example: the proxy refused"), "refused"),
        (Unreadable("index.example: its certificate is not trusted"), "refused"),
        (Unreadable("index.example: timed out after 2 s"), "unreachable"),
        (Unreadable("index.example: its name cannot be resolved"), "unreachable"),
        (Unreadable("index.example: network unreachable"), "unreachable"),
        (Unreadable("not recorded"), None),
        (Unreadable("offline"), None),
    ],
)
def test_what_an_answer_means(look, answer, word):
    facts = network.probe(look(env=INDEX, http=ok(HUB) | {PAGE: answer}, network=PLACES))
    assert facts["network"].value.get("index") == word
    reason = facts["network.index"].source if word else facts["network.index"].why
    assert PAGE in reason
    assert str(getattr(answer, "status", "") or answer.why) in reason


def test_a_host_of_which_nothing_was_recorded(look):
    assert network.probe(look(env=INDEX, http={}, network=PLACES))["network"] == Unreadable("no place could be asked")


def test_a_mirror_is_asked_on_the_machines_of_its_cloud_alone(look):
    near = "https://near.example/pip/"
    abroad = network.probe(look(env=INDEX, http=ok(PAGE, near), network=PLACES))
    here = network.probe(look(env=INDEX, files={"/aliyun": ""}, matchers=ALIYUN, http=ok(PAGE, near), network=PLACES))
    assert "mirror.near" not in abroad["network"].value
    assert here["network"].value["mirror.near"] == "reachable"


def test_the_hub_in_use_and_the_one_chosen(look):
    env = {"HF_ENDPOINT": "https://me:secret@hf-mirror.example/", "VLLM_USE_MODELSCOPE": "True"}
    visit = look(env=env, http=ok("https://hf-mirror.example/robots.txt", "https://scope.example/robots.txt"), network=PLACES)
    facts = network.probe(visit)
    assert facts["network"].value == {"model_hub": "reachable", "modelscope": "reachable"}
    assert "secret" not in str(facts) + str(visit.system.requests)
    assert HUB not in [url for url, *_ in visit.system.requests]


def test_an_index_of_uv_beside_that_of_pip(look):
    other = "https://uv.example/simple"
    facts = network.probe(look(env=INDEX | {"UV_DEFAULT_INDEX": other}, http=ok(f"{other}/pip/", PAGE, status=404), network=PLACES))
    assert facts["network"].value == {"index": "reachable", "uv_index": "reachable"}
    same = network.probe(look(env=INDEX | {"UV_DEFAULT_INDEX": INDEX["PIP_INDEX_URL"]}, http=ok(PAGE), network=PLACES))
    assert set(same["network"].value) == {"index"}


@pytest.mark.parametrize(
    ("ahead", "word"),
    [([0], "ok"), ([300], "ok"), ([-301], "skewed by 301 s"), ([86400, 90000], "skewed by 86400 s"), ([86400, 3], "ok"), ([None], None)],
)
def test_the_clock_against_the_nearest_answer(ahead, word):
    fact = network.clock([HttpAnswer(200, b"", "x", date_ahead_s=seconds) for seconds in ahead])
    assert getattr(fact, "value", None) == word


class Slow:
    """A host where one place never answers."""

    def __init__(self):
        self.leave = threading.Event()

    def http_get(self, url, headers, timeout=5.0, limit=0, *, direct=False):
        if url == "slow":
            self.leave.wait(5)
        if url == "broken":
            raise ZeroDivisionError
        return Found(HttpAnswer(200, b"", url), url)


def test_a_place_that_never_answers_costs_the_others_nothing():
    slow = Slow()
    start = time.monotonic()
    answers = get_together(slow, {"a": "slow", "b": "quick", "c": "broken"}, 2.0, 0.2)
    assert time.monotonic() - start < 2
    slow.leave.set()
    assert answers == {
        "a": Unreadable("timed out after 0.2 s"),
        "b": Found(HttpAnswer(200, b"", "quick"), "quick"),
        "c": Unreadable("internal: ZeroDivisionError"),
    }


def test_places_of_the_shipped_facts(matrix):
    places = network_places(matrix)
    sites = {site.name: site for site in places.sites}
    assert (places.hub, places.modelscope) == ("https://huggingface.co", "https://modelscope.cn")
    assert sites["torch_index"].url == "https://download.pytorch.org/whl/"
    assert sites["registry"].url == "https://registry-1.docker.io/v2/"
    assert {name for name, site in sites.items() if not site.clouds} == {"registry", "torch_index", "python_builds"}
    assert sites["mirror.aliyun-vpc"].clouds == ("pai", "pai-eas", "aliyun")
    assert "aws" in {cloud.id for cloud in matrix.clouds} - {name for site in places.sites for name in site.clouds}


def test_on_no_cloud_are_more_places_asked_than_are_let_through(matrix):
    for cloud in matrix.clouds:
        asked = [site for site in network_places(matrix).sites if not site.clouds or cloud.id in site.clouds]
        assert len(asked) + 4 <= 16  # index, that of uv, hub, ModelScope


def test_an_unknown_index_is_said(look):
    facts = network.probe(look(http=ok(HUB), network=PLACES))
    assert not isinstance(facts["network.index"], Found)
    assert isinstance(facts["network.index"], Absent | Unreadable)
