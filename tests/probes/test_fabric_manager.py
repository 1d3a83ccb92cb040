import pytest

from envcheck.model.fact import Found, Unreadable
from envcheck.probes import fabric
from envcheck.system.port import NvmlGpu, NvmlReport

ASK = "systemctl is-active nvidia-fabricmanager"
V2, V1 = "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"
RUNNING = {f"{V2}/ssh.service/cgroup.procs": "1\n", f"{V2}/nvidia-fabricmanager.service/cgroup.procs": "2\n"}
SERVICES = {f"{V2}/ssh.service/cgroup.procs": "1\n"}


def board(state, status=None):
    return NvmlReport("ok", gpus=[NvmlGpu(index=0, nvlink_peers=["switch"], fabric_state=state, fabric_status=status)], gpu_count=1)


@pytest.mark.parametrize("state", ["not-started", "in-progress", "unsupported", None])
def test_a_service_with_a_control_group_runs_and_no_process_is_started(look, state):
    visit = look(files=RUNNING, nvml=board(state))
    fact = fabric.manager(visit)
    assert (fact.value, fact.source) == ("running", f"{V2}/nvidia-fabricmanager.service")
    assert visit.system.started == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (SERVICES, "absent"),
        (SERVICES | {"/usr/bin/nv-fabricmanager": b""}, "stopped"),
        (SERVICES | {"/proc/77/comm": "nv-fabricmanage\n"}, "running"),
        ({f"{V1}/ssh.service/cgroup.procs": "", "/lib/systemd/system/nvidia-fabricmanager.service": ""}, "stopped"),
    ],
)
def test_among_the_services_there_is_none_of_it(look, files, expected):
    visit = look(files=files, nvml=board("not-started"))
    assert fabric.manager(visit).value == expected
    assert visit.system.started == []


def test_groups_inside_a_container_are_its_own(look):
    visit = look(files=SERVICES | {"/.dockerenv": ""}, nvml=board("not-started"))
    assert isinstance(fabric.manager(visit), Unreadable)


def test_a_fabric_that_is_up_is_not_looked_into(look):
    visit = look(nvml=board("completed", "ok"), commands={ASK: (0, "active\n")})
    fact = fabric.manager(visit)
    assert isinstance(fact, Unreadable)
    assert visit.system.started == []
    assert fabric.manager(look(files=RUNNING, nvml=board("completed", "ok"))).value == "running"


def test_but_by_the_command_that_lists_facts_it_is(look):
    visit = look(nvml=board("completed", "ok"), commands={ASK: (0, "active\n")}, full=True)
    fact = fabric.manager(visit)
    assert (fact.value, fact.source) == ("running", ASK)


def test_a_fabric_that_came_up_with_an_error_is_looked_into(look):
    assert fabric.manager(look(nvml=board("completed", "NotReady"), commands={ASK: (0, "active\n")})).value == "running"


@pytest.mark.parametrize("answer", [(1, ""), (127, "System has not been booted with systemd\n"), Unreadable("no answer for 2 s")])
def test_a_systemd_that_does_not_say_leaves_the_processes(look, answer):
    fact = fabric.manager(look(files={"/proc/77/comm": "nv-fabricmanage\n"}, nvml=board("not-started"), commands={ASK: answer}))
    assert (fact.value, fact.source) == ("running", "/proc")
    assert [one.state for one in fact.tried] == ["unreadable", "unreadable"]


def test_every_source_is_named_where_none_knew(look):
    fact = fabric.manager(look(files={"/.dockerenv": ""}, nvml=board("not-started")))
    assert isinstance(fact, Unreadable)
    told = " ".join(one.why for one in (*fact.tried, fact))
    assert all(word in told for word in (V2, "systemctl", "container"))


def test_the_manager_is_a_fact_of_the_host_only_where_there_is_a_switch(look):
    assert fabric.probe(look(files=RUNNING, nvml=board("not-started")))["fabric.manager"] == Found(
        "running", f"{V2}/nvidia-fabricmanager.service"
    )
