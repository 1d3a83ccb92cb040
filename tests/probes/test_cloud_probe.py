"""The machine's maker and the platform on top of it: each sign of the shipped records alone, near misses, and contradictions."""

import pytest

from envcheck.model.cloud import CloudMatcher, CloudSign
from envcheck.model.fact import Absent, Found, Unanswered, Unreadable
from envcheck.probes import cloud

DMI = "/sys/class/dmi/id"
PLAIN = {f"{DMI}/sys_vendor": "Supermicro\n", f"{DMI}/product_name": "SYS-821GE-TNHR\n", f"{DMI}/chassis_asset_tag": "To be filled\n"}


def every_sign(matrix):
    return [(matcher, sign) for matcher in matrix.cloud_matchers() for sign in matcher.signs]


def shown(sign, text=None):
    """A plain machine that shows one sign alone, or `text` in the place of it."""
    text = (
        text
        if text is not None
        else {None: "x", "contains": f"a {sign.value} b", "starts": f"{sign.value}x"}.get(sign.match if sign.value else None, sign.value)
    )
    if sign.kind == "env":
        return {"files": PLAIN, "env": {sign.name: text}}
    return {"files": PLAIN | {sign.path: f"{text}\n"}, "env": {}}


def test_every_sign_alone_tells_its_provider(look, matrix):
    wrong = []
    for matcher, sign in every_sign(matrix):
        visit = look(**shown(sign), matchers=matrix.cloud_matchers())
        told = {"host": cloud.provider_of, "platform": cloud.platform_of, "guest": cloud.provider_of}[matcher.level](visit)
        right = isinstance(told, Unreadable) if matcher.level == "guest" else isinstance(told, Found) and told.value == matcher.id
        if not right:
            wrong.append((matcher.id, sign, told))
    assert len(every_sign(matrix)) > 60
    assert wrong == []


def test_a_near_miss_of_a_sign_tells_nobody(look, matrix):
    """Of every sign with a value: the value with another letter in front, cut short, and empty; of a variable: another name."""
    wrong = []
    for matcher, sign in every_sign(matrix):
        texts = [] if sign.value is None else ["", sign.value[:-1], f"x{sign.value}"] if sign.match != "contains" else ["", sign.value[:-1]]
        hosts = [shown(sign, text) for text in texts]
        if sign.kind == "env":
            hosts.append({"files": PLAIN, "env": {f"{sign.name}_": "x", sign.name.lower() + "x": "x"}})
        elif sign.value is None:
            hosts.append({"files": PLAIN | {f"{sign.path}_": ""}, "env": {}})
        for host in hosts:
            visit = look(**host, matchers=matrix.cloud_matchers())
            told = [fact for fact in (cloud.provider_of(visit), cloud.platform_of(visit)) if not isinstance(fact, Absent)]
            if told:
                wrong.append((matcher.id, host, told))
    assert wrong == []


@pytest.mark.parametrize(
    ("env", "files", "platform", "provider"),
    [
        ({"AutoDLContainerUUID": "a"}, PLAIN, "autodl", "autodl"),
        ({"RUNPOD_POD_ID": "a", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}, PLAIN, "runpod", None),
        ({"SM_CURRENT_INSTANCE_TYPE": "ml.p4d.24xlarge", "SLURM_JOB_ID": "7"}, PLAIN, "sagemaker", "aws"),
        ({"SLURM_JOB_ID": "7"}, PLAIN | {f"{DMI}/sys_vendor": "Amazon EC2\n"}, "slurm", "aws"),
        ({"COLAB_RELEASE_TAG": "release"}, {}, "colab", "gcp"),
        ({"MODAL_TASK_ID": "a", "MODAL_CLOUD_PROVIDER": "CLOUD_PROVIDER_OCI"}, {}, "modal", "oracle"),
        ({"MODAL_TASK_ID": "a", "MODAL_CLOUD_PROVIDER": "CLOUD_PROVIDER_NEW"}, PLAIN, "modal", None),
        ({"MA_NUM_HOSTS": "1"}, {f"{DMI}/chassis_asset_tag": "HUAWEICLOUD\n"}, "modelarts", "huawei"),
        ({"MLP_WORKER_NUM": "1"}, PLAIN, "vemlp", "volcengine"),
        ({"DSW_INSTANCE_ID": "dsw-1"}, {f"{DMI}/product_name": "Alibaba Cloud ECS\n"}, "pai", "aliyun"),
        ({"AZUREML_RUN_ID": "a"}, PLAIN, "azure-ml", "azure"),
        ({"AIP_MODEL_DIR": "gs://a"}, PLAIN, "vertex-ai", "gcp"),
        ({"DATABRICKS_RUNTIME_VERSION": "16.4"}, {f"{DMI}/chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"}, "databricks", "azure"),
        ({"LIGHTNING_CLOUD_SPACE_ID": "a"}, PLAIN, "lightning", None),
    ],
)
def test_platform_and_maker_are_two_layers(look, matrix, env, files, platform, provider):
    facts = cloud.probe(look(env=env, files=files, matchers=matrix.cloud_matchers()))
    assert facts["cloud.platform"].value == platform
    assert getattr(facts["cloud.provider"], "value", None) == provider


def test_a_platforms_word_yields_to_the_firmware_and_is_not_forgotten(look, matrix):
    files = {f"{DMI}/product_name": "Alibaba Cloud ECS\n"}
    fact = cloud.provider_of(look(env={"COLAB_RELEASE_TAG": "release"}, files=files, matchers=matrix.cloud_matchers()))
    assert (fact.value, fact.source) == ("aliyun", f"{DMI}/product_name")
    assert fact.tried == (Unanswered("absent", "COLAB_RELEASE_TAG shows gcp, but is the weaker sign"),)


def test_a_weak_sign_yields_to_a_strong_one(look):
    weak = CloudMatcher("weak", "host", (CloudSign(kind="file", path="/a", confidence="weak"),))
    strong = CloudMatcher("strong", "host", (CloudSign(kind="file", path="/b", confidence="reference"),))
    fact = cloud.provider_of(look(files={"/a": "", "/b": ""}, matchers=(weak, strong)))
    assert (fact.value, [one.why for one in fact.tried]) == ("strong", ["/a shows weak, but is the weaker sign"])


@pytest.mark.parametrize("vendor", ["QEMU", "Red Hat", "Xen", "OpenStack Foundation"])
def test_a_virtual_machine_may_be_anybodys(look, matrix, vendor):
    fact = cloud.provider_of(look(files={f"{DMI}/sys_vendor": f"{vendor}\n"}, matchers=matrix.cloud_matchers()))
    assert fact == Unreadable(f"{DMI}/sys_vendor: a virtual machine, whose owner the firmware does not tell", fact.tried)


def test_no_sign_on_a_machine_of_ones_own(look, matrix):
    facts = cloud.probe(look(files=PLAIN, matchers=matrix.cloud_matchers()))
    assert {path: type(fact) for path, fact in facts.items()} == dict.fromkeys(cloud.FIELDS, Absent)
    assert facts["cloud.provider"].why == "no sign of one"
    assert len(facts["cloud.platform"].tried) > 30


def test_a_container_that_hides_the_firmware_says_nothing_of_the_maker(look, matrix):
    facts = cloud.probe(look(files={"/.dockerenv": ""}, matchers=matrix.cloud_matchers()))
    assert isinstance(facts["cloud.provider"], Unreadable)
    assert isinstance(facts["cloud.platform"], Absent)


def test_what_only_root_may_read_does_not_hide_that_there_is_no_sign(look, matrix):
    denied = Unreadable("permission denied")
    serials = {f"{DMI}/product_serial": denied, f"{DMI}/product_uuid": denied}
    assert isinstance(cloud.provider_of(look(files=PLAIN | serials, matchers=matrix.cloud_matchers())), Absent)
    closed = PLAIN | {f"{DMI}/product_name": denied}
    assert isinstance(cloud.provider_of(look(files=closed, matchers=matrix.cloud_matchers())), Unreadable)


def test_a_login_by_ssh_has_lost_the_platforms_variables(look, matrix):
    files = {"/.dockerenv": "", "/proc/1/environ": b"AutoDLContainerUUID=abc\0PATH=/bin\0"}
    assert cloud.platform_of(look(files=files, matchers=matrix.cloud_matchers())).value == "autodl"
    on_a_host = {"/proc/1/environ": b"AutoDLContainerUUID=abc\0"}
    assert isinstance(cloud.platform_of(look(files=on_a_host, matchers=matrix.cloud_matchers())), Absent)


@pytest.mark.parametrize(
    ("env", "files", "instance_type", "region"),
    [
        ({"AutoDLContainerUUID": "a", "AutoDLRegion": "west-D"}, PLAIN, None, "west-D"),
        ({"RUNPOD_POD_ID": "a", "RUNPOD_DC_ID": "EU-RO-1"}, PLAIN, None, "EU-RO-1"),
        ({"MODAL_TASK_ID": "a", "MODAL_REGION": "us-east-1"}, PLAIN, None, "us-east-1"),
        (
            {"SM_CURRENT_INSTANCE_TYPE": "ml.p4d.24xlarge"},
            {"/opt/ml/metadata/resource-metadata.json": '{"ResourceArn": "arn:aws:sagemaker:eu-west-1:123456789012:app/d-1/x"}'},
            "ml.p4d.24xlarge",
            "eu-west-1",
        ),
        ({"AIP_MODEL_DIR": "gs://a", "CLOUD_ML_REGION": "europe-west4"}, PLAIN, None, "europe-west4"),
        ({"CLOUD_ML_REGION": "europe-west4", "REGION": "cn-hangzhou"}, PLAIN, None, None),
        ({}, {f"{DMI}/sys_vendor": "Amazon EC2\n", f"{DMI}/product_name": "g5.xlarge\n"}, "g5.xlarge", None),
        ({}, {f"{DMI}/bios_vendor": "Xen\n", f"{DMI}/product_version": "4.11.amazon\n", f"{DMI}/product_name": "HVM domU\n"}, None, None),
        # A platform's name of a region means nothing where the machine turns out to be another maker's.
        ({"AutoDLContainerUUID": "a", "AutoDLRegion": "west-D"}, {f"{DMI}/product_name": "Alibaba Cloud ECS\n"}, None, None),
        ({"RUNPOD_POD_ID": "a", "RUNPOD_DC_ID": "EU RO 1; rm"}, PLAIN, None, None),
    ],
)
def test_type_and_region_from_variables_and_files(look, matrix, env, files, instance_type, region):
    facts = cloud.probe(look(env=env, files=files, matchers=matrix.cloud_matchers()))
    told = [getattr(facts[f"cloud.{name}"], "value", None) for name in ("instance_type", "region")]
    assert told == [instance_type, region]
