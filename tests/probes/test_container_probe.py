import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import container
from envcheck.probes.container import group_owner, owner
from envcheck.probes.mounts import parse_mountinfo

OVERLAY = (
    "1044 868 0:337 / / rw,relatime master:305 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/AB:/var/lib/docker/overlay2/l/CD,"
    "upperdir=/var/lib/docker/overlay2/9f/diff,workdir=/var/lib/docker/overlay2/9f/work\n"
    "1045 1044 0:340 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
)
CONTAINERD = "900 800 0:200 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter/1/fs\n"
PLAIN = "24 30 0:22 / /sys rw,nosuid - sysfs sysfs rw\n30 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n"
LXC = "500 400 0:90 / / rw - zfs pool/ct rw\n501 500 0:91 /proc/cpuinfo /proc/cpuinfo rw - fuse.lxcfs lxcfs rw,allow_other\n"
LXC_HOST = PLAIN + "70 30 0:91 / /var/lib/lxcfs rw,relatime - fuse.lxcfs lxcfs rw,allow_other\n"
KATA = "30 1 0:20 / / rw,relatime - virtiofs kataShared rw\n"
DISKLESS = "30 1 0:20 / / rw,relatime - overlay overlay rw,lowerdir=/run/rootfs/squash,upperdir=/run/rootfs/tmp\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((OVERLAY, "docker"), (CONTAINERD, "containerd"), (LXC, "lxc"), (KATA, "kata"), (DISKLESS, "container")),
        *((PLAIN, None), (LXC_HOST, None), ("", None), ("x - y\n", None)),
    ],
)
def test_who_made_the_root_file_system(text, name):
    assert owner(parse_mountinfo(text)) == name


ID = "4f5a6b7c8d9e4f5a6b7c8d9e4f5a6b7c8d9e4f5a6b7c8d9e4f5a6b7c8d9e4f5a"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"4:memory:/docker/{ID}\n0::/system.slice/containerd.service\n", "docker"),
        (f"0::/system.slice/docker-{ID}.scope\n", "docker"),
        (f"0::/machine.slice/libpod-{ID}.scope/container\n", "podman"),
        (f"0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-{ID}.scope\n", "kubernetes"),
        (f"11:memory:/kubepods/burstable/pod0c1d/{ID}\n", "kubernetes"),
        (f"0::/system.slice/crio-{ID}.scope\n", "cri-o"),
        ("8:memory:/lxc/build/init.scope\n", "lxc"),
        ("0::/lxc.payload.web/init.scope\n", "lxc"),
        ("0::/machine.slice/machine-web.scope/payload\n", "systemd-nspawn"),
        ("0::/\n", None),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", None),
        ("0::/system.slice/docker.service\n", None),
        ("0::/system.slice/docker-proxy.service\n", None),
        ("0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n", None),
        ("", None),
        ("no colon\n", None),
    ],
)
def test_who_made_the_control_group(text, name):
    assert group_owner(text) == name


@pytest.mark.parametrize(
    ("files", "env", "kind"),
    [
        ({"/.dockerenv": ""}, {}, "docker"),
        ({"/run/.containerenv": 'engine="podman-4.9"\nimage="docker.io/vllm/vllm-openai:v0.14.1"\n'}, {}, "podman"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"/var/run/secrets/kubernetes.io/serviceaccount/namespace": "default"}, {}, "kubernetes"),
        ({}, {"APPTAINER_CONTAINER": "/data/vllm.sif"}, "apptainer"),
        ({"/.singularity.d/runscript": ""}, {}, "apptainer"),
        ({}, {"ENROOT_ROOTFS": "/tmp/enroot"}, "enroot"),
        ({}, {"container": "lxc"}, "lxc"),
        ({"/proc/self/mountinfo": OVERLAY}, {}, "docker"),
        ({"/proc/self/mountinfo": DISKLESS}, {}, "container"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, {}, "systemd-nspawn"),
        ({"/proc/1/environ": b"PATH=/bin\0container=lxc\0TERM=linux"}, {}, "lxc"),
        ({"/run/systemd/container": "oci\n"}, {}, "container"),
        ({"/run/systemd/container": "\x1b[31m!\n"}, {}, "container"),
    ],
)
def test_kinds_of_containers(look, files, env, kind):
    assert container.kind(look(files=files, env=env)).value == kind


def test_a_sandbox_that_answers_for_the_kernel(look):
    assert container.kind(look(uname=Found(("Linux", "4.19.0-gvisor", "x86_64"), "uname"))).value == "gvisor"


@pytest.mark.parametrize(
    ("files", "env"),
    [
        ({"/proc/self/mountinfo": PLAIN}, {"NVIDIA_VISIBLE_DEVICES": "all"}),
        ({"/proc/self/mountinfo": DISKLESS, "/proc/1/comm": "systemd\n"}, {}),
        ({"/proc/self/mountinfo": PLAIN, "/run/systemd/container": "wsl\n"}, {}),
        ({"/proc/self/mountinfo": PLAIN, "/proc/1/environ": Unreadable("permission denied")}, {}),
    ],
)
def test_a_host_is_no_container(look, files, env):
    facts = container.probe(look(files=files, env=env))
    assert {type(fact) for fact in facts.values()} == {Absent}
    assert {fact.why for fact in facts.values()} == {"no mark of a container"}


def test_without_the_mounts_nobody_knows_unless_a_mark_tells(look):
    closed = {"/proc/self/mountinfo": Unreadable("permission denied")}
    assert isinstance(container.kind(look(files=closed)), Unreadable)
    assert container.kind(look(files=closed | {"/.dockerenv": ""})).value == "docker"


def test_what_was_tried_is_told(look):
    fact = container.kind(look(files={"/proc/self/mountinfo": OVERLAY}))
    assert [gap.why for gap in fact.tried][:2] == ["no APPTAINER_CONTAINER", "no SINGULARITY_CONTAINER"]
    assert fact.source == "/proc/self/mountinfo"
    none = container.kind(look(files={"/proc/self/mountinfo": PLAIN}))
    assert {"no ENROOT_ROOTFS", "no /.dockerenv", "the root file system is no container's"} <= {gap.why for gap in none.tried}


def test_the_images_variables_and_name(look):
    env = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.9", "CUDA_VERSION": "12.9.1", "PATH": "/bin", "NVIDIA_API_KEY": "nvapi-1"}
    facts = container.probe(look(files={"/run/.containerenv": 'image="vllm/vllm-openai:v0.14.1"\n'}, env=env))
    assert facts["container.environment"].value == {"NVIDIA_REQUIRE_CUDA": "cuda>=12.9", "CUDA_VERSION": "12.9.1", "NVIDIA_API_KEY": "***"}
    assert facts["container.image"].value == "vllm/vllm-openai:v0.14.1"


def test_an_image_nobody_names(look):
    facts = container.probe(look(files={"/.dockerenv": ""}))
    assert isinstance(facts["container.image"], Unreadable)


def test_device_files_of_the_gpus(look):
    nodes = ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1", "dri/card0", "null", "dxg")
    facts = container.probe(look(files={"/.dockerenv": ""} | {f"/dev/{node}": "" for node in nodes}))
    assert sorted(facts["container.devices"].value) == sorted(f"/dev/{node}" for node in nodes if node != "null")


def test_none_and_endless_many(look):
    assert container.probe(look(files={"/.dockerenv": ""}))["container.devices"].value == []
    many = {f"/dev/nvidia{number}": "" for number in range(500)}
    assert len(container.probe(look(files={"/.dockerenv": ""} | many))["container.devices"].value) == 100
