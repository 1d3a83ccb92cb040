import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import container_runtime
from envcheck.probes.container_runtime import parse_ctk
from envcheck.probes.engine_settings import default_runtime, mentions_nvidia, parse_daemon

PLAIN = "30 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
DAEMON = """{
    "registry-mirrors": ["https://mirror.example"],
    "exec-opts": ["native.cgroupdriver=cgroupfs"],
    "default-runtime": "nvidia",
    "runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}
}
"""
CONTAINERD = """\
version = 2
# default_runtime_name = "runsc"
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "nvidia" # set by hand
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
      BinaryName = "/usr/bin/nvidia-container-runtime"
"""
PLAIN_CONTAINERD = '#   runtimes.nvidia\ndisabled_plugins = ["cri"]\n'
LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1"
BOTH = {"dockerd": "/usr/bin/dockerd", "containerd": "/usr/bin/containerd"}


def facts_of(look, files=None, **host):
    facts = container_runtime.probe(look(files={"/proc/self/mountinfo": PLAIN} | (files or {}), **host))
    return {path.partition(".")[2]: fact for path, fact in facts.items()}


def test_a_host_without_engines(look):
    facts = facts_of(look)
    assert facts["engines"].value == []
    assert facts["configured"].value == []
    assert facts["cdi"].value == []
    assert all(isinstance(facts[name], Absent) for name in ("toolkit", "default", "cgroup_driver"))


def test_docker_with_the_runtime_as_the_default(look):
    files = {"/etc/docker/daemon.json": DAEMON, f"{LIBRARY}.17.8": "", "/etc/cdi/nvidia.yaml": "", "/etc/cdi/README": ""}
    visit = {"links": {LIBRARY: "libnvidia-container.so.1.17.8"}, "which": BOTH}
    facts = facts_of(look, files, **visit)
    assert facts["engines"].value == ["docker", "containerd"]
    assert facts["toolkit"] == Found("1.17.8", f"{LIBRARY}.17.8")
    assert facts["configured"].value == ["docker"]
    assert facts["default"] == Found("nvidia", "/etc/docker/daemon.json")
    assert facts["cgroup_driver"].value == "cgroupfs"
    assert facts["cdi"].value == ["/etc/cdi/nvidia.yaml"]


def test_docker_without_any_settings(look):
    facts = facts_of(look, which=BOTH)
    assert facts["configured"].value == []
    assert isinstance(facts["default"], Absent)
    assert isinstance(facts["toolkit"], Absent)
    assert "probe" in facts["cgroup_driver"].why  # docker chooses by itself, and only its daemon tells


def test_a_running_docker_without_its_program_on_path_and_podmans_stand_in(look):
    assert facts_of(look, {"/var/run/docker.sock": ""})["engines"].value == ["docker"]
    files = {"/run/podman/podman.sock": ""}
    facts = facts_of(look, files, links={"/var/run/docker.sock": "/run/podman/podman.sock"}, which={"podman": "/usr/bin/podman"})
    assert facts["engines"].value == ["podman"]


@pytest.mark.parametrize("content", ['{"runtimes": ', '{"runtimes": []}', '{"exec-opts": "x"}', b"\xff\xfe", "[" * 5000])
def test_broken_settings_of_docker_hide_whether_it_knows(look, content):
    facts = facts_of(look, {"/etc/docker/daemon.json": content}, which=BOTH)
    assert all(isinstance(facts[name], Unreadable) for name in ("configured", "default", "cgroup_driver"))


def test_settings_nobody_may_read_of_an_engine_that_is_not_here_do_not_matter(look):
    facts = facts_of(look, {"/etc/docker/daemon.json": Unreadable("permission denied")})
    assert facts["configured"].value == []
    assert isinstance(facts_of(look, {"/etc/docker/daemon.json": Unreadable("permission denied")}, which=BOTH)["configured"], Unreadable)


def test_containerd_for_kubernetes(look):
    which = {"containerd": "/usr/bin/containerd"}
    facts = facts_of(look, {"/etc/containerd/config.toml": CONTAINERD}, which=which)
    assert (facts["configured"].value, facts["default"].value) == (["containerd"], "nvidia")
    dropped_in = {"/etc/containerd/config.toml": PLAIN_CONTAINERD, "/etc/containerd/conf.d/99-nvidia.toml": CONTAINERD}
    default = facts_of(look, dropped_in, which=which)["default"]
    assert (default.value, default.source) == ("nvidia", "/etc/containerd/conf.d/99-nvidia.toml")
    plain = facts_of(look, {"/etc/containerd/config.toml": PLAIN_CONTAINERD}, which=which)
    assert plain["configured"].value == []
    assert isinstance(plain["default"], Absent)


def test_crio_and_podman_by_hook_or_specification(look):
    hook = {"/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json": "{}"}
    both = {"crio": "/usr/bin/crio", "podman": "/usr/bin/podman"}
    assert facts_of(look, hook, which=both)["configured"].value == ["cri-o", "podman"]
    settings = {"/etc/crio/crio.conf.d/99-nvidia.conf": '[crio.runtime.runtimes.nvidia]\nruntime_path = "x"\n'}
    assert facts_of(look, settings, which=both)["configured"].value == ["cri-o"]
    assert facts_of(look, {"/var/run/cdi/nvidia.yaml": ""}, which=both)["configured"].value == ["podman"]
    assert facts_of(look, {"/etc/cdi/vendor.com-net.yaml": ""}, which=both)["configured"].value == []


def test_tools_without_the_library_are_asked_only_in_full(look):
    which = {"nvidia-ctk": "/usr/bin/nvidia-ctk"}
    commands = {"nvidia-ctk --version": (0, "NVIDIA Container Toolkit CLI version 1.18.0\ncommit: 3ef1e3f\n")}
    quick = look(files={"/proc/self/mountinfo": PLAIN}, which=which, commands=commands)
    assert isinstance(container_runtime.probe(quick)["container_runtime.toolkit"], Unreadable)
    assert quick.system.started == []
    assert facts_of(look, which=which, commands=commands, full=True)["toolkit"].value == "1.18.0"
    assert isinstance(facts_of(look, which=which, full=True)["toolkit"], Unreadable)


def test_docker_is_asked_for_its_driver_only_in_full(look):
    command = "docker info --format {{.CgroupDriver}}"
    assert facts_of(look, which=BOTH, commands={command: (0, "systemd\n")}, full=True)["cgroup_driver"].value == "systemd"
    refused = {command: (1, "permission denied while trying to connect")}
    assert isinstance(facts_of(look, which=BOTH, commands=refused, full=True)["cgroup_driver"], Unreadable)


def test_within_a_container_the_hosts_engines_are_out_of_sight(look):
    visit = look(files={"/.dockerenv": "", "/etc/docker/daemon.json": DAEMON}, which=BOTH)
    facts = container_runtime.probe(visit)
    assert all(isinstance(fact, Unreadable) for fact in facts.values())


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVIDIA Container Toolkit CLI version 1.17.8\ncommit: f202b80a9b9d0db00d9b1d73c0128c8962c55f4d\n", "1.17.8"),
        ("NVIDIA Container Toolkit CLI version 1.18.0-rc.2\n", "1.18.0-rc.2"),
        ("", None),
        ("version unknown", None),
    ],
)
def test_versions_of_the_toolkit(text, version):
    assert parse_ctk(text) == version


def test_docker_takes_an_empty_file_as_none():
    assert parse_daemon(b" \n").runtimes is None
    assert parse_daemon(b"null") is None


def test_words_in_toml():
    assert mentions_nvidia("[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'nvidia']\n")
    assert not mentions_nvidia("# runtimes.nvidia\n[plugins.containerd.runtimes.runc]\n")
    assert default_runtime("default_runtime_name='nvidia'\n") == "nvidia"
    assert default_runtime("default_runtime_name\n= nvidia\nx default_runtime = 'y'\n") is None
