import json

import pytest

from envcheck.model.cloud import CloudMatcher, CloudSign
from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import cloud, container, disk, environment
from envcheck.probes.cloud import parse_instance_data
from envcheck.probes.container import root_owner
from envcheck.probes.redact import redacted
from envcheck.system.port import DiskSpace

OVERLAY = (
    "1044 868 0:337 / / rw,relatime master:305 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/AB:/var/lib/docker/overlay2/l/CD,"
    "upperdir=/var/lib/docker/overlay2/9f/diff,workdir=/var/lib/docker/overlay2/9f/work\n"
    "1045 1044 0:340 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
)
CONTAINERD = "900 800 0:200 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter/1/fs\n"
PLAIN = "24 30 0:22 / /sys rw,nosuid - sysfs sysfs rw\n30 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n"


@pytest.mark.parametrize(("text", "owner"), [(OVERLAY, "docker"), (CONTAINERD, "containerd"), (PLAIN, None), ("", None), ("x - y\n", None)])
def test_who_made_the_root_file_system(text, owner):
    assert root_owner(text) == owner


@pytest.mark.parametrize(
    ("files", "env", "kind"),
    [
        ({"/.dockerenv": ""}, {}, "docker"),
        ({"/run/.containerenv": 'engine="podman-4.9"\nimage="docker.io/vllm/vllm-openai:v0.14.1"\n'}, {}, "podman"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"/var/run/secrets/kubernetes.io/serviceaccount/namespace": "default"}, {}, "kubernetes"),
        ({}, {"APPTAINER_CONTAINER": "/data/vllm.sif"}, "apptainer"),
        ({}, {"container": "lxc"}, "lxc"),
        ({"/proc/self/mountinfo": OVERLAY}, {}, "docker"),
    ],
)
def test_kinds_of_containers(look, files, env, kind):
    assert container.kind(look(files=files, env=env)).value == kind


def test_a_host_is_no_container(look):
    facts = container.probe(look(files={"/proc/self/mountinfo": PLAIN}, env={"NVIDIA_VISIBLE_DEVICES": "all"}))
    assert all(isinstance(fact, Absent) for fact in facts.values())


def test_the_images_variables_and_name(look):
    env = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.9", "CUDA_VERSION": "12.9.1", "PATH": "/bin", "NVIDIA_API_KEY": "nvapi-1"}
    facts = container.probe(look(files={"/run/.containerenv": 'image="vllm/vllm-openai:v0.14.1"\n'}, env=env))
    assert facts["container.environment"].value == {"NVIDIA_REQUIRE_CUDA": "cuda>=12.9", "CUDA_VERSION": "12.9.1", "NVIDIA_API_KEY": "***"}
    assert facts["container.image"].value == "vllm/vllm-openai:v0.14.1"


DMI = "/sys/class/dmi/id"
MATCHERS = (
    CloudMatcher("autodl", "platform", (CloudSign(kind="env", name="AutoDLContainerUUID", confidence="public_code"),)),
    CloudMatcher(
        "aliyun", "host", (CloudSign(kind="file", path=f"{DMI}/product_name", pattern=r"^Alibaba Cloud ECS\s*$", confidence="reference"),)
    ),
    CloudMatcher("loose", "host", (CloudSign(kind="file", path=f"{DMI}/sys_vendor", pattern="alibaba", confidence="weak"),)),
    CloudMatcher(
        "serial", "host", (CloudSign(kind="file", path=f"{DMI}/product_serial", pattern="^GoogleCloud-", confidence="reference"),)
    ),
)
ECS = {f"{DMI}/product_name": "Alibaba Cloud ECS\n", f"{DMI}/sys_vendor": "Alibaba Cloud\n"}


def test_the_most_trustworthy_sign_wins(look):
    facts = cloud.probe(look(files=ECS, matchers=tuple(reversed(MATCHERS))))
    assert facts["cloud.provider"] == Found("aliyun", f"{DMI}/product_name")
    assert isinstance(facts["cloud.platform"], Absent)


def test_a_pattern_that_does_not_match_is_no_sign(look):
    facts = cloud.probe(look(files={f"{DMI}/product_name": "KVM Virtual Machine\n"}, matchers=MATCHERS))
    assert isinstance(facts["cloud.provider"], Absent)


def test_a_platform_on_a_host_and_a_platform_alone(look):
    env = {"AutoDLContainerUUID": "abc-123"}
    both = cloud.probe(look(files=ECS, env=env, matchers=MATCHERS))
    assert (both["cloud.provider"].value, both["cloud.platform"].value) == ("aliyun", "autodl")
    alone = cloud.probe(look(files={f"{DMI}/product_name": "X\n"}, env=env, matchers=MATCHERS))
    assert (alone["cloud.provider"].value, alone["cloud.platform"].value) == ("autodl", "autodl")


def test_a_login_by_ssh_has_lost_the_platforms_variables(look):
    files = {"/.dockerenv": "", "/proc/1/environ": b"AutoDLContainerUUID=abc\0PATH=/bin\0"}
    assert cloud.best(look(files=files, matchers=MATCHERS), "platform").value == "autodl"
    on_a_host = {"/proc/1/environ": b"AutoDLContainerUUID=abc\0"}
    assert isinstance(cloud.best(look(files=on_a_host, matchers=MATCHERS), "platform"), Absent)


def test_what_only_root_may_read_does_not_hide_that_there_is_no_sign(look):
    files = {f"{DMI}/product_name": "X\n", f"{DMI}/sys_vendor": "Y\n", f"{DMI}/product_serial": Unreadable("permission denied")}
    assert isinstance(cloud.best(look(files=files, matchers=MATCHERS), "host"), Absent)
    closed = files | {f"{DMI}/product_name": Unreadable("permission denied")}
    assert isinstance(cloud.best(look(files=closed, matchers=MATCHERS), "host"), Unreadable)
    assert isinstance(cloud.best(look(matchers=MATCHERS), "host"), Unreadable)


def test_what_cloud_init_left_behind():
    aliyun = {
        "v1": {"region": None},
        "ds": {"meta_data": {"region-id": "cn-hangzhou", "instance": {"instance-type": "ecs.gn7i-c16g1.4xlarge"}}},
    }
    aws = {"v1": {"region": "us-west-2", "cloud_name": "aws"}, "ds": {"meta_data": {"instance-type": "g4dn.xlarge"}}}
    assert parse_instance_data(json.dumps(aliyun).encode()) == {"region": "cn-hangzhou", "instance_type": "ecs.gn7i-c16g1.4xlarge"}
    assert parse_instance_data(json.dumps(aws).encode()) == {"region": "us-west-2", "instance_type": "g4dn.xlarge"}


@pytest.mark.parametrize("data", [b"", b"[]", b'{"v1": 3}', b'{"ds": {"meta_data": {"instance-type": ["x"]}}}', b"\xff\xfe"])
def test_odd_instance_data_never_raises(data):
    assert parse_instance_data(data) in (None, {})


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("HF_TOKEN", "hf_abc", "***"),
        ("VLLM_API_KEY", "12345", "***"),
        ("UV_INDEX_PRIVATE_PASSWORD", "p", "***"),
        ("VLLM_MAX_TOKENS_PER_EXPERT_FUSED_MOE", "16384", "16384"),
        ("VLLM_MAX_TOKENS_SECRET", "hunter2", "***"),
        ("PIP_INDEX_URL", "https://me:hunter2@mirror.example/simple?token=abc#frag", "https://***@mirror.example/simple?***"),
        ("PIP_EXTRA_INDEX_URL", "https://a.example/s https://u:p@b.example/s", "https://a.example/s https://***@b.example/s"),
        ("https_proxy", "user:pass@10.0.0.1:3128", "***@10.0.0.1:3128"),
        ("http_proxy", "http://10.0.0.1:3128", "http://10.0.0.1:3128"),
        ("HF_ENDPOINT", "https://hf-mirror.com", "https://hf-mirror.com"),
        ("HF_TOKEN", "", ""),
    ],
)
def test_secrets_stay_on_the_host(name, value, shown):
    assert redacted(name, value) == shown


@pytest.mark.parametrize("option", ["--api-key sk-1", "--api-key=sk-1", "--hf-token  sk-1"])
def test_a_secret_among_arguments_stays_on_the_host(option):
    assert "sk-1" not in redacted("VLLM_ARGS", f"{option} --port 80")
    assert redacted("VLLM_ARGS", f"{option} --port 80").endswith("*** --port 80")


def test_numbers_of_tokens_among_arguments_are_no_secrets():
    assert redacted("VLLM_ARGS", "--max-num-batched-tokens 8192") == "--max-num-batched-tokens 8192"


def test_only_variables_that_decide(look):
    env = {"CUDA_VISIBLE_DEVICES": "0,1", "no_proxy": "localhost", "AWS_SECRET_ACCESS_KEY": "x", "PS1": "$", "LD_LIBRARY_PATH": "/opt/lib"}
    assert environment.probe(look(env=env))["environment"].value == {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "LD_LIBRARY_PATH": "/opt/lib",
        "no_proxy": "localhost",
    }


def test_where_models_and_environments_will_lie(look):
    env = {"HOME": "/home/me", "HF_HOME": "/data/hf", "TMPDIR": "/scratch"}
    assert disk.places(look(env=env)) == ("/data/hf/hub", "/home/me", "/scratch")
    assert disk.places(look(env={"HOME": "/home/me"}))[0] == "/home/me/.cache/huggingface/hub"
    assert disk.places(look(env={"HOME": "/h", "HF_HUB_CACHE": "/models", "MODELSCOPE_CACHE": "/ms"}))[:2] == ("/models", "/ms")


def test_free_space_in_mib_and_a_place_nobody_could_ask(look):
    facts = disk.probe(look(env={"HOME": "/home/me", "TMPDIR": "/scratch"}, disk={"/home": DiskSpace(1 << 40, 100 << 30)}))
    assert {one.path: one.free_mib for one in facts["disk"].value} == {"/home/me/.cache/huggingface/hub": 102400, "/home/me": 102400}
    assert isinstance(facts["disk./scratch"], Unreadable)
