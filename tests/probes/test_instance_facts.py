import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.probes.instance import is_word, parse_instance_data, region_of, taken


def test_what_cloud_init_left_behind():
    aliyun = {
        "v1": {"region": None},
        "ds": {"meta_data": {"region-id": "cn-hangzhou", "instance": {"instance-type": "ecs.gn7i-c16g1.4xlarge"}}},
    }
    aws = {"v1": {"region": "us-west-2", "cloud_name": "aws"}, "ds": {"meta_data": {"instance-type": "g4dn.xlarge"}}}
    huawei = {"v1": {"region": None, "availability_zone": "cn-north-4a"}, "ds": {"meta_data": {"availability_zone": "cn-north-4a"}}}
    assert parse_instance_data(json.dumps(aliyun).encode()) == {"region": "cn-hangzhou", "instance_type": "ecs.gn7i-c16g1.4xlarge"}
    assert parse_instance_data(json.dumps(aws).encode()) == {"region": "us-west-2", "instance_type": "g4dn.xlarge"}
    assert parse_instance_data(json.dumps(huawei).encode()) == {"region": "cn-north-4"}


@pytest.mark.parametrize("data", [b"", b"[]", b'{"v1": 3}', b'{"ds": {"meta_data": {"instance-type": ["x"]}}}', b"\xff\xfe", b"[" * 5000])
def test_odd_instance_data_never_raises(data):
    assert parse_instance_data(data) in (None, {})


@pytest.mark.parametrize(
    ("text", "key", "take", "found"),
    [
        ("ecs.gn7i-c16g1.4xlarge", "", "whole", "ecs.gn7i-c16g1.4xlarge"),
        (" cn-hangzhou\n", "", "whole", "cn-hangzhou"),
        ("projects/123456/machineTypes/a3-highgpu-8g", "", "last-part", "a3-highgpu-8g"),
        ("projects/123456/zones/us-central1-a", "", "zone", "us-central1"),
        ("cn-north-4a", "", "zone", "cn-north-4"),
        ("nova", "", "zone", None),
        ('{"compute": {"vmSize": "Standard_ND96isr_H100_v5"}}', "compute.vmSize", "whole", "Standard_ND96isr_H100_v5"),
        ('{"compute": ["x"]}', "compute.vmSize", "whole", None),
        ('{"region": 3}', "region", "whole", None),
        ("not json", "region", "whole", None),
        ("[" * 100_000, "region", "whole", None),
        ("<!DOCTYPE html><html><body>Log in</body></html>", "", "whole", None),
        ("cn-hangzhou\nX: y", "", "whole", None),
        ("x" * 65, "", "whole", None),
        ("arn:aws-cn:sagemaker:cn-northwest-1:1:app/x", "", "arn-region", "cn-northwest-1"),
        ("arn:aws:iam", "", "arn-region", None),
        ("HVM domU", "", "type", None),
        ("", "", "whole", None),
    ],
)
def test_the_part_of_an_answer_that_counts(text, key, take, found):
    assert taken(text, key, take) == found


@given(st.text(max_size=200), st.sampled_from(["", "a", "a.b.c"]), st.sampled_from(["whole", "last-part", "zone", "type", "arn-region"]))
def test_whatever_is_answered_a_type_is_a_short_plain_word(text, key, take):
    found = taken(text, key, take)
    assert found is None or (is_word(found) and len(found) <= 64 and not set(found) & set(" \n<>\"'$;|&/"))


@pytest.mark.parametrize(("zone", "region"), [("", None), ("a", None), ("-a", None), ("us-east-1a", "us-east-1"), ("eu-west-1", None)])
def test_a_zone_has_one_letter_more_than_its_region(zone, region):
    assert region_of(zone) == region
