"""Metadata services, played from memory: who is asked, with what, and what is believed."""

import pytest

from envcheck.model.fact import Found, Unreadable
from envcheck.model.network import NetworkPlaces
from envcheck.probes import cloud
from envcheck.probes.metadata import ask
from envcheck.system.port import HttpAnswer

DMI = "/sys/class/dmi/id"
NOBODY = NetworkPlaces("", "", ())
LOCAL = "http://169.254.169.254"
TYPE = f"{LOCAL}/latest/meta-data/instance-type"
REGION = f"{LOCAL}/latest/meta-data/placement/region"
ALIYUN = {f"{DMI}/product_name": "Alibaba Cloud ECS\n"}
QEMU = {f"{DMI}/sys_vendor": "QEMU\n"}


def answer(url, body, status=200):
    return {url: HttpAnswer(status, body.encode(), url)}


def visit(look, matrix, files, http):
    return look(files=files, http=http, network=NOBODY, matchers=matrix.cloud_matchers())


def values(look):
    return [getattr(cloud.probe(look)[f"cloud.{name}"], "value", None) for name in ("provider", "instance_type", "region")]


def azure(name):
    return f"{LOCAL}/metadata/instance/compute/{name}?api-version=2021-02-01&format=text"


SERVICES = {
    "aws": answer(TYPE, "p5.48xlarge") | answer(REGION, "us-east-1"),
    "azure": answer(azure("vmSize"), "Standard_ND96isr_H100_v5") | answer(azure("location"), "eastus"),
    "gcp": answer(f"{LOCAL}/computeMetadata/v1/instance/zone", "projects/1/zones/us-central1-a")
    | answer(f"{LOCAL}/computeMetadata/v1/instance/machine-type", "projects/1/machineTypes/a3-highgpu-8g"),
    "oracle": answer(f"{LOCAL}/opc/v2/instance/canonicalRegionName", "us-ashburn-1")
    | answer(f"{LOCAL}/opc/v2/instance/shape", "BM.GPU.H100.8"),
    "aliyun": answer("http://100.100.100.200/latest/meta-data/region-id", "cn-hangzhou")
    | answer("http://100.100.100.200/latest/meta-data/instance/instance-type", "ecs.gn8v.6xlarge"),
    "tencent": answer("http://169.254.0.23/latest/meta-data/placement/region", "ap-beijing")
    | answer("http://169.254.0.23/latest/meta-data/instance/instance-type", "GN10X.2XLARGE40"),
    "huawei": answer(f"{LOCAL}/latest/meta-data/placement/availability-zone", "cn-north-4a")
    | answer(f"{LOCAL}/latest/meta-data/instance-type", "pi2.4xlarge.4"),
    "jdcloud": answer(f"{LOCAL}/metadata/latest/placement/region", "cn-north-1")
    | answer(f"{LOCAL}/metadata/latest/instance-type", "g.n3.large"),
    "volcengine": answer("http://100.96.0.96/latest/region_id", "cn-beijing")
    | answer("http://100.96.0.96/latest/instance_type_id", "ecs.pni2.28xlarge"),
    "ucloud": answer("http://100.80.80.80/meta-data/latest/uhost/region", "cn-bj2")
    | answer("http://100.80.80.80/meta-data/latest/uhost/machine-type", "G"),
}
EXPECTED = {
    "aws": ("p5.48xlarge", "us-east-1"),
    "azure": ("Standard_ND96isr_H100_v5", "eastus"),
    "gcp": ("a3-highgpu-8g", "us-central1"),
    "oracle": ("BM.GPU.H100.8", "us-ashburn-1"),
    "aliyun": ("ecs.gn8v.6xlarge", "cn-hangzhou"),
    "tencent": ("GN10X.2XLARGE40", "ap-beijing"),
    "huawei": ("pi2.4xlarge.4", "cn-north-4"),
    "jdcloud": ("g.n3.large", "cn-north-1"),
    "volcengine": ("ecs.pni2.28xlarge", "cn-beijing"),
    "ucloud": ("G", "cn-bj2"),
}


def test_every_service_is_tested(matrix):
    assert {matcher.id for matcher in matrix.cloud_matchers() if matcher.metadata} == set(SERVICES) == set(EXPECTED)


@pytest.mark.parametrize("provider", sorted(SERVICES))
def test_what_each_service_tells(look, matrix, provider):
    matcher = next(one for one in matrix.cloud_matchers() if one.id == provider)
    visiting = visit(look, matrix, {}, SERVICES[provider])
    told = ask(visiting, matcher)
    assert (told["instance_type"].value, told["region"].value) == EXPECTED[provider]
    assert {url for url, *_ in visiting.system.requests} == set(SERVICES[provider])
    assert all(
        (headers, timeout, direct) == (matcher.metadata.headers, 0.3, True) for _, headers, timeout, direct in visiting.system.requests
    )


def test_the_header_each_service_insists_on(matrix):
    headers = {matcher.id: matcher.metadata.headers for matcher in matrix.cloud_matchers() if matcher.metadata and matcher.metadata.headers}
    assert headers == {
        "gcp": {"Metadata-Flavor": "Google"},
        "azure": {"Metadata": "true"},
        "oracle": {"Authorization": "Bearer Oracle"},
    }


def test_nobody_is_asked_unless_the_network_is_allowed(look, matrix):
    closed = look(files=ALIYUN, http=SERVICES["aliyun"], matchers=matrix.cloud_matchers())
    assert values(closed) == ["aliyun", None, None]
    assert closed.system.requests == []


def test_one_provider_alone_is_asked_where_its_files_name_it(look, matrix):
    visiting = visit(look, matrix, ALIYUN, SERVICES["aliyun"] | SERVICES["aws"])
    assert values(visiting) == ["aliyun", "ecs.gn8v.6xlarge", "cn-hangzhou"]
    assert {url.split("/")[2] for url, *_ in visiting.system.requests} == {"100.100.100.200"}


PROOFS = {
    "aws": answer(f"{LOCAL}/latest/meta-data/services/domain", "amazonaws.com"),
    "azure": answer(azure("azEnvironment"), "AzurePublicCloud"),
    "gcp": SERVICES["gcp"],
}


@pytest.mark.parametrize("provider", ["aws", "azure", "gcp"])
def test_who_proves_to_be_it_is_the_maker(look, matrix, provider):
    not_found = {url: HttpAnswer(404, b"", url) for service in (*SERVICES.values(), *PROOFS.values()) for url in service}
    visiting = visit(look, matrix, QEMU, not_found | SERVICES[provider] | PROOFS[provider])
    assert values(visiting) == [provider, *EXPECTED[provider]]


@pytest.mark.parametrize("body", ["", "{}", "<html>Log in</html>", "[" * 5000, "\udcff", "ok", "us-east-1", "p5.48xlarge", "localdomain"])
def test_a_page_that_any_portal_could_show_proves_nobody(look, matrix, body):
    every = [url for service in (*SERVICES.values(), *PROOFS.values()) for url in service]
    portal = {url: HttpAnswer(200, body.encode("utf-8", "replace"), url) for url in every}
    assert values(visit(look, matrix, QEMU, portal)) == [None, None, None]


def test_an_address_where_nobody_answers_is_asked_once(look, matrix):
    visiting = visit(look, matrix, QEMU, {})
    assert values(visiting) == [None, None, None]
    assert len(visiting.system.requests) == 1


def test_a_service_that_wants_a_session_token_tells_nothing(look, matrix):
    http = answer(REGION, "", 401)
    fact = cloud.probe(visit(look, matrix, {f"{DMI}/sys_vendor": "Amazon EC2\n"}, http))["cloud.region"]
    assert fact.why == f"{REGION}: tells nobody without a session token"
    assert isinstance(fact, Unreadable)


def test_an_answer_longer_than_its_limit_is_not_believed(look, matrix):
    http = {TYPE: HttpAnswer(200, b"p5.48xlarge", TYPE, truncated=True)} | answer(REGION, "us-east-1")
    assert values(visit(look, matrix, {f"{DMI}/sys_vendor": "Amazon EC2\n"}, http)) == ["aws", None, "us-east-1"]


def test_no_document_as_a_whole_is_asked_for(matrix):
    """Those of AWS, Azure and Oracle hold account numbers, people's names and their keys."""
    paths = [question.path for one in matrix.cloud_matchers() if one.metadata for question in one.metadata.questions]
    assert [path for path in paths if path.rstrip("/").endswith(("document", "instance", "compute", "uhost"))] == []
    assert len(paths) == 20


def test_cloud_init_is_believed_before_the_network(look, matrix):
    files = ALIYUN | {"/run/cloud-init/instance-data.json": '{"ds": {"meta_data": {"region-id": "cn-shanghai"}}}'}
    facts = cloud.probe(visit(look, matrix, files, SERVICES["aliyun"]))
    assert facts["cloud.region"] == Found("cn-shanghai", "/run/cloud-init/instance-data.json")
    assert facts["cloud.instance_type"].value == "ecs.gn8v.6xlarge"
