"""`--network`: off unless asked for, never against `--offline`, and on a recorded host answered by the recording alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]
REGION = "http://100.100.100.200/latest/meta-data/region-id"
TYPE = "http://100.100.100.200/latest/meta-data/instance/instance-type"


@pytest.fixture
def host(tmp_path: Path) -> str:
    """A recorded machine of Alibaba Cloud whose index answered when it was recorded."""
    firmware = tmp_path / "rootfs/sys/class/dmi/id"
    firmware.mkdir(parents=True)
    (firmware / "product_name").write_text("Alibaba Cloud ECS\n")
    answers = {
        "https://mirror.example/simple/pip/": {"status": 200},
        "https://huggingface.co/robots.txt": {"error": "huggingface.co: timed out after 2 s"},
        REGION: {"body": "cn-hangzhou"},
        TYPE: {"body": "ecs.gn7i-c16g1.4xlarge\n"},
    }
    (tmp_path / "http.json").write_text(json.dumps(answers))
    (tmp_path / "env.json").write_text(json.dumps({"PIP_INDEX_URL": "https://mirror.example/simple"}))
    return str(tmp_path)


def probed(envcheck: Run, *words: str) -> dict[str, Any]:
    status, out, err = envcheck("probe", "--json", *words)
    assert (status, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    return document


def test_a_recorded_host_is_asked_what_was_recorded(envcheck: Run, host: str) -> None:
    document = probed(envcheck, "--host", host, "--network")
    assert document["network"] == {"index": "reachable", "model_hub": "unreachable"}
    assert document["provenance"]["network.registry"]["state"] == "unreadable"
    cloud = document["cloud"]
    assert (cloud["provider"], cloud["region"], cloud["instance_type"]) == ("aliyun", "cn-hangzhou", "ecs.gn7i-c16g1.4xlarge")


@pytest.mark.parametrize("words", [(), ("--offline",), ("--network", "--offline"), ("--offline", "--network")])
def test_nothing_is_asked_unless_it_may_be(envcheck: Run, host: str, words: tuple[str, ...]) -> None:
    document = probed(envcheck, "--host", host, *words)
    assert "network" not in document
    assert document["cloud"] == {"provider": "aliyun", "platform": None}


def test_check_and_plan_take_the_option(envcheck: Run, a10: str) -> None:
    for command in ("check", "plan"):
        status, _, err = envcheck(command, "--host", a10, "--network", "--json")
        assert (status, err) == (0, "")
