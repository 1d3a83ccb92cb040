"""Clouds told by real strings, mirrors, distributions, models, codes."""

from __future__ import annotations

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.cloud import CloudMatcher

DMI = "/sys/class/dmi/id/"


def told(matchers: tuple[CloudMatcher, ...], files: dict[str, str], environ: dict[str, str]) -> list[str]:
    """The providers that a host with these files and variables shows signs of."""
    found = []
    for matcher in matchers:
        for sign in matcher.signs:
            text = files.get(sign.path or "") if sign.kind == "file" else environ.get(sign.name or "")
            if text is not None and sign.fits(text):
                found.append(matcher.id)
                break
    return found


@pytest.mark.parametrize(
    ("files", "environ", "provider"),
    [
        ({DMI + "product_name": "Alibaba Cloud ECS\n", DMI + "sys_vendor": "Alibaba Cloud\n"}, {}, "aliyun"),
        ({DMI + "sys_vendor": "Alibaba\n", DMI + "product_name": "Alibaba Cloud X-Dragon\n"}, {}, "aliyun"),
        ({DMI + "sys_vendor": "Tencent Cloud\n", DMI + "product_name": "CVM\n"}, {}, "tencent"),
        ({DMI + "chassis_asset_tag": "HUAWEICLOUD\n"}, {}, "huawei"),
        ({DMI + "sys_vendor": "Huawei Cloud\n", DMI + "product_name": "Elastic\n"}, {}, "huawei"),
        ({DMI + "sys_vendor": "Amazon EC2\n", DMI + "product_name": "g5.xlarge\n"}, {}, "aws"),
        ({"/sys/hypervisor/uuid": "ec2e1916-9099-7caf-fd21-012345abcdef\n"}, {}, "aws"),
        ({DMI + "product_name": "Google Compute Engine\n", DMI + "sys_vendor": "Google\n"}, {}, "gcp"),
        ({DMI + "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77\n", DMI + "sys_vendor": "Microsoft Corporation\n"}, {}, "azure"),
        ({DMI + "chassis_asset_tag": "OracleCloud.com\n"}, {}, "oracle"),
        ({DMI + "sys_vendor": "JD\n", DMI + "product_name": "JCloud Iaas Jvirt\n"}, {}, "jdcloud"),
        ({}, {"AutoDLContainerUUID": "0a1b-2c3d"}, "autodl"),
        ({}, {"RUNPOD_POD_ID": "abc"}, "runpod"),
        ({}, {"VAST_CONTAINERLABEL": "C.1234"}, "vastai"),
        ({"/proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n"}, {}, "wsl2"),
    ],
)
def test_a_cloud_by_its_signs(matrix: Matrix, files: dict[str, str], environ: dict[str, str], provider: str) -> None:
    assert told(matrix.cloud_matchers(), files, environ) == [provider]


@pytest.mark.parametrize(
    ("files", "environ"),
    [
        ({DMI + "sys_vendor": "Microsoft Corporation\n", DMI + "product_name": "Virtual Machine\n"}, {}),
        ({DMI + "sys_vendor": "VMware, Inc.\n", DMI + "product_name": "VMware Virtual Platform\n"}, {}),
        ({DMI + "sys_vendor": "Dell Inc.\n", DMI + "product_name": "PowerEdge XE9680\n", DMI + "chassis_asset_tag": "7783-7084\n"}, {}),
        ({"/proc/sys/kernel/osrelease": "5.15.0-91-generic\n"}, {"CONTAINER_ID": "1", "GPU_COUNT": "8", "KAGGLE_USERNAME": "me"}),
    ],
)
def test_what_proves_no_cloud(matrix: Matrix, files: dict[str, str], environ: dict[str, str]) -> None:
    assert told(matrix.cloud_matchers(), files, environ) == []


@pytest.mark.parametrize(
    "files",
    [
        {DMI + "sys_vendor": "QEMU\n", DMI + "product_name": "Standard PC (i440FX + PIIX, 1996)\n"},
        {DMI + "sys_vendor": "OpenStack Foundation\n", DMI + "product_name": "OpenStack Nova\n"},
        {DMI + "sys_vendor": "Xen\n", DMI + "product_name": "HVM domU\n"},
    ],
)
def test_what_shows_only_a_virtual_machine(matrix: Matrix, files: dict[str, str]) -> None:
    assert told(matrix.cloud_matchers(), files, {}) == ["virtual-machine"]
    record = matrix.cloud("virtual-machine")
    assert record is not None
    assert (record.level, record.mirrors, record.mainland) == ("guest", [], False)


def test_every_platform_names_the_maker_of_its_machines_where_it_has_one(matrix: Matrix) -> None:
    makers = {cloud.id: cloud.provider for cloud in matrix.clouds if cloud.provider}
    assert makers == {
        "autodl": "autodl",
        "paperspace": "paperspace",
        "colab": "gcp",
        "kaggle": "gcp",
        "vertex-ai": "gcp",
        "sagemaker": "aws",
        "azure-ml": "azure",
        "pai": "aliyun",
        "pai-eas": "aliyun",
        "ti": "tencent",
        "modelarts": "huawei",
        "vemlp": "volcengine",
    }


def test_what_others_build_on_says_least(matrix: Matrix) -> None:
    assert {cloud.id for cloud in matrix.clouds if cloud.generic} == {"kubernetes", "slurm"}


def test_the_services_that_are_asked_have_literal_addresses(matrix: Matrix) -> None:
    bases = {cloud.id: cloud.metadata.base for cloud in matrix.clouds if cloud.metadata}
    assert len(bases) == 10
    assert all(_is_direct(base) for base in bases.values())


def _is_direct(base: str) -> bool:
    from envcheck.system.http import is_link_local

    return is_link_local(base)


def test_every_provider(matrix: Matrix) -> None:
    assert len(matrix.clouds) == 35
    assert {cloud.id for cloud in matrix.clouds if cloud.mainland} == {
        "aliyun",
        "autodl",
        "baidu",
        "huawei",
        "jdcloud",
        "kingsoft",
        "modelarts",
        "pai",
        "pai-eas",
        "tencent",
        "ti",
        "ucloud",
        "vemlp",
        "volcengine",
    }
    assert matrix.cloud("nowhere") is None


def test_platforms_are_tried_before_the_machines_they_rent_out(matrix: Matrix) -> None:
    levels = [cloud.level for cloud in matrix.clouds]
    assert levels == sorted(levels, key=["platform", "host", "guest"].index)


@pytest.mark.parametrize(
    ("region", "mainland"), [("cn-hangzhou", True), ("cn-beijing", True), ("cn-hongkong", False), ("ap-southeast-1", False)]
)
def test_a_region_abroad_of_a_mainland_cloud(matrix: Matrix, region: str, mainland: bool) -> None:
    cloud = matrix.cloud("aliyun")
    assert cloud is not None
    assert any(region.startswith(prefix) for prefix in cloud.mainland_regions) == mainland


@pytest.mark.parametrize(
    ("provider", "public"),
    [
        ("aliyun", "https://mirrors.aliyun.com/pypi/simple"),
        ("tencent", "https://mirrors.cloud.tencent.com/pypi/simple"),
        ("huawei", "https://mirrors.huaweicloud.com/repository/pypi/simple"),
        ("volcengine", "https://mirrors.volces.com/pypi/simple"),
    ],
)
def test_a_cloud_prefers_its_own_mirror_public_and_inside(matrix: Matrix, provider: str, public: str) -> None:
    mirrors = {mirror.id: mirror for mirror in matrix.mirrors("python-index")}
    cloud = matrix.cloud(provider)
    assert cloud is not None
    inside, outside = (mirrors[name] for name in cloud.mirrors[:2])
    assert (inside.scope, inside.cloud) == ("vpc", provider)
    assert (outside.scope, outside.cloud, outside.url) == ("public", provider, public)


def test_a_cloud_abroad_has_no_mirror(matrix: Matrix) -> None:
    assert [cloud.id for cloud in matrix.clouds if cloud.mirrors and not cloud.mainland] == []


def test_one_origin_of_each_kind_that_has_one(matrix: Matrix) -> None:
    origins = {mirror.kind: mirror.url for mirror in matrix.mirrors() if mirror.upstream}
    assert origins["torch-wheels"] == "https://download.pytorch.org/whl/{variant}"
    assert origins["model-hub"] == "https://huggingface.co"
    assert "python-index" not in origins
    assert origins["image-registry"] == "https://registry-1.docker.io"


def test_the_flat_listing_is_known_as_one(matrix: Matrix) -> None:
    """https://mirrors.aliyun.com/pytorch-wheels/cu128/ lists files; asked as an index it has nothing."""
    assert {mirror.id for mirror in matrix.mirrors() if mirror.layout == "flat"} == {"aliyun-torch"}


@pytest.mark.parametrize(
    ("id_", "version", "glibc"),
    [
        ("ubuntu", "20.04", "2.31"),
        ("ubuntu", "22.04", "2.35"),
        ("debian", "12", "2.36"),
        ("centos", "7", "2.17"),
        ("rocky", "9.4", "2.34"),
        ("rhel", "8.10", "2.28"),
        ("alinux", "3", "2.32"),
        ("openEuler", "22.03", "2.34"),
        ("kylin", "V10", "2.28"),
        ("amzn", "2023", "2.34"),
    ],
)
def test_glibc_of_distributions(matrix: Matrix, id_: str, version: str, glibc: str) -> None:
    found = matrix.distro(id_, version)
    assert found is not None
    assert found.glibc == glibc


@pytest.mark.parametrize(("id_", "version"), [("ubuntu", "21.04"), ("arch", ""), ("", "22.04")])
def test_an_unknown_distribution(matrix: Matrix, id_: str, version: str) -> None:
    assert matrix.distro(id_, version) is None


@pytest.mark.parametrize(
    ("model", "layers", "kv_heads", "hidden"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 28, 4, 3584),
        ("qwen/qwen2.5-7b-instruct", 28, 4, 3584),
        ("meta-llama/Llama-3.1-8B-Instruct", 32, 8, 4096),
    ],
)
def test_models_as_their_config_json_has_them(matrix: Matrix, model: str, layers: int, kv_heads: int, hidden: int) -> None:
    card = matrix.model(model)
    assert card is not None
    assert card.config["num_hidden_layers"] == layers
    assert card.config["num_key_value_heads"] == kv_heads
    assert card.config["hidden_size"] == hidden


def test_the_model_catalogue(matrix: Matrix) -> None:
    assert matrix.model("nobody/nothing") is None
    partial = {name for name, card in matrix.models.items() if card.partial}
    assert {"google/gemma-4-E4B-it", "Qwen/Qwen3.5-2B", "Qwen/Qwen3.8-27B"} <= partial
    # what was put together from a sibling or from a class's defaults is never taken for what was read
    assert all(card.config_basis != "artefact" for card in matrix.models.values() if card.partial)
    assert len(matrix.models) - len(partial) >= 80


def test_the_vocabulary(matrix: Matrix) -> None:
    assert len(matrix.codes) == 108
    assert {"no-gpu", "driver-too-old-for-cuda", "driver-too-old-for-ptx", "gpu-too-old", "glibc-too-old"} <= set(matrix.codes)
