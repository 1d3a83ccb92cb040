"""Clouds with the signs that files give of them and what their metadata services tell, typed by hand from the collected words.

Files under /sys/class/dmi/id show the host even in a container. What proves nothing tells at most a virtual machine: QEMU, OpenStack
Nova, Microsoft Corporation without its asset tag. A metadata service is asked for single values only; a service that only a name server of
the cloud knows is left out.
"""

from platforms_table import PLATFORMS
from signs import CLOUD_INIT, DMI, NOTHING, PUBLIC, asks, cloud_id, dmi, file, file_tells

LINK_LOCAL = "http://169.254.169.254"


def azure_leaf(name):
    """One value as text: the document as a whole holds names and keys of people."""
    return f"/metadata/instance/compute/{name}?api-version=2021-02-01&format=text"


HUAWEI = "https://support.huaweicloud.com/intl/en-us/usermanual-ecs/ecs_03_0166.html"

HOSTS = [
    {
        "id": "azure",
        "name": "Microsoft Azure",
        "name_zh": "微软 Azure",
        "mainland_regions": ["chinaeast", "chinanorth"],
        "sources": [CLOUD_INIT, "https://docs.azure.cn/en-us/virtual-machines/instance-metadata-service"],
        "note": "sys_vendor `Microsoft Corporation` is any Hyper-V guest.",
        "signs": [dmi("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "reference"), cloud_id("azure")],
        "metadata": {
            "base": LINK_LOCAL,
            "headers": {"Metadata": "true"},
            "questions": [
                asks("region", azure_leaf("location")),
                asks("instance_type", azure_leaf("vmSize")),
            ],
            "proof": {"path": azure_leaf("azEnvironment"), "begins": "Azure"},
        },
    },
    {
        "id": "oracle",
        "name": "Oracle Cloud",
        "name_zh": "甲骨文云",
        "sources": [CLOUD_INIT],
        "signs": [dmi("chassis_asset_tag", "OracleCloud.com", "reference"), cloud_id("oracle")],
        "metadata": {
            "base": LINK_LOCAL,
            "headers": {"Authorization": "Bearer Oracle"},
            "questions": [asks("region", "/opc/v2/instance/canonicalRegionName"), asks("instance_type", "/opc/v2/instance/shape")],
        },
    },
    {
        "id": "aliyun",
        "name": "Alibaba Cloud",
        "name_zh": "阿里云",
        "mainland": True,
        "mainland_regions": [
            f"cn-{city}"
            for city in [
                "hangzhou",
                "shanghai",
                "beijing",
                "shenzhen",
                "qingdao",
                "zhangjiakou",
                "huhehaote",
                "wulanchabu",
                "heyuan",
                "guangzhou",
                "chengdu",
                "nanjing",
                "fuzhou",
                "wuhan",
            ]
        ],
        "sources": [CLOUD_INIT, "RedHatInsights/insights-core: cloud_provider.py"],
        "note": "Bare-metal instances show another product name; the maker begins with Alibaba there too. cn-hongkong is abroad.",
        "signs": [
            dmi("product_name", "Alibaba Cloud ECS", "reference"),
            cloud_id("aliyun"),
            dmi("sys_vendor", "Alibaba", "public_code", "starts"),
        ],
        "metadata": {
            "base": "http://100.100.100.200",
            "questions": [
                asks("region", "/latest/meta-data/region-id"),
                asks("instance_type", "/latest/meta-data/instance/instance-type"),
            ],
        },
    },
    {
        "id": "tencent",
        "name": "Tencent Cloud",
        "name_zh": "腾讯云",
        "mainland": True,
        "mainland_regions": [f"ap-{city}" for city in ["beijing", "shanghai", "guangzhou", "shenzhen", "nanjing", "chengdu", "chongqing"]],
        "sources": [
            "kernel logs that name the hardware `Tencent Cloud CVM`",
            "https://www.tencentcloud.com/document/product/213/4934",
            "public repositories that ask 169.254.0.23 instead of metadata.tencentyun.com",
        ],
        "signs": [dmi("sys_vendor", "Tencent Cloud", "kernel_log"), dmi("product_name", "CVM", "kernel_log")],
        "metadata": {
            "base": "http://169.254.0.23",
            "questions": [
                asks("region", "/latest/meta-data/placement/region"),
                asks("instance_type", "/latest/meta-data/instance/instance-type"),
            ],
        },
    },
    {
        "id": "huawei",
        "name": "Huawei Cloud",
        "name_zh": "华为云",
        "mainland": True,
        "mainland_regions": ["cn-"],
        "sources": [CLOUD_INIT, "kernel logs that name the hardware `Huawei Cloud OpenStack Nova`", HUAWEI],
        "signs": [
            dmi("chassis_asset_tag", "HUAWEICLOUD", "reference"),
            dmi("sys_vendor", "Huawei Cloud", "kernel_log"),
        ],
        "metadata": {
            "base": LINK_LOCAL,
            "questions": [
                asks("region", "/latest/meta-data/placement/availability-zone", "zone"),
                asks("instance_type", "/latest/meta-data/instance-type"),
            ],
        },
    },
    {
        "id": "volcengine",
        "name": "Volcano Engine",
        "name_zh": "火山引擎",
        "mainland": True,
        "mainland_regions": ["cn-beijing", "cn-shanghai", "cn-guangzhou"],
        "sources": [NOTHING, "https://docs.byteplus.com/en/docs/ecs/Viewing-instance-metadata"],
        "note": "The firmware's strings of an instance were not found; its machine learning platform shows itself.",
        "signs": [],
        "metadata": {
            "base": "http://100.96.0.96",
            "questions": [asks("region", "/latest/region_id"), asks("instance_type", "/latest/instance_type_id")],
        },
    },
    {
        "id": "baidu",
        "name": "Baidu AI Cloud",
        "name_zh": "百度智能云",
        "mainland": True,
        "sources": ["one host inventory that says `Baidu Cloud BCC/KVM`"],
        "signs": [dmi("sys_vendor", "Baidu Cloud", "weak")],
    },
    {
        "id": "kingsoft",
        "name": "Kingsoft Cloud",
        "name_zh": "金山云",
        "mainland": True,
        "sources": [NOTHING],
        "note": "Its metadata service has a name but no address that is the same everywhere.",
        "signs": [],
    },
    {
        "id": "ucloud",
        "name": "UCloud",
        "name_zh": "优刻得",
        "mainland": True,
        "sources": [NOTHING, "https://docs.ucloud.cn/uhost/guide/metadata/metadata-server"],
        "note": "The firmware's strings of an instance were not found.",
        "signs": [],
        "metadata": {
            "base": "http://100.80.80.80",
            "questions": [
                asks("region", "/meta-data/latest/uhost/region"),
                asks("instance_type", "/meta-data/latest/uhost/machine-type"),
            ],
        },
    },
    {
        "id": "jdcloud",
        "name": "JD Cloud",
        "name_zh": "京东云",
        "mainland": True,
        "mainland_regions": ["cn-"],
        "sources": [
            "kernel logs that name the hardware `JD JCloud Iaas Jvirt`",
            "https://docs.jdcloud.com/en/virtual-machines/instance-metadata",
        ],
        "signs": [dmi("product_name", "JCloud Iaas Jvirt", "kernel_log")],
        "metadata": {
            "base": LINK_LOCAL,
            "questions": [
                asks("region", "/metadata/latest/placement/region"),
                asks("instance_type", "/metadata/latest/instance-type"),
            ],
        },
    },
    {
        "id": "gcp",
        "name": "Google Cloud",
        "name_zh": "谷歌云",
        "sources": [CLOUD_INIT, "RedHatInsights/insights-core: cloud_provider.py", PUBLIC],
        "note": "product_serial is root's to read.",
        "signs": [
            dmi("product_name", "Google Compute Engine", "reference"),
            cloud_id("gce"),
            dmi("product_serial", "GoogleCloud-", "reference", "starts"),
            dmi("bios_vendor", "google", "public_code", "contains"),
        ],
        "metadata": {
            "base": LINK_LOCAL,
            "headers": {"Metadata-Flavor": "Google"},
            "questions": [
                asks("region", "/computeMetadata/v1/instance/zone", "zone"),
                asks("instance_type", "/computeMetadata/v1/instance/machine-type", "last-part"),
            ],
            "proof": {"path": "/computeMetadata/v1/instance/zone", "begins": "projects/"},
        },
    },
    {
        "id": "aws",
        "name": "Amazon Web Services",
        "name_zh": "亚马逊云科技",
        "mainland_regions": ["cn-"],
        "sources": [
            CLOUD_INIT,
            "awslabs/aws-c-common: source/linux/system_info.c",
            "RedHatInsights/insights-core: cloud_provider.py",
            PUBLIC,
        ],
        "note": "product_uuid is root's to read. A service that insists on a session token cannot be asked: that takes a PUT.",
        "signs": [
            dmi("sys_vendor", "Amazon EC2", "public_code"),
            cloud_id("aws"),
            file("/sys/hypervisor/uuid", "ec2", "reference", "starts"),
            dmi("product_uuid", "ec2", "reference", "starts"),
            dmi("bios_vendor", "amazon", "public_code", "contains"),
            dmi("product_version", "amazon", "public_code", "contains"),
        ],
        "tells": [file_tells("instance_type", DMI + "product_name", take="type")],
        "metadata": {
            "base": LINK_LOCAL,
            "questions": [
                asks("region", "/latest/meta-data/placement/region"),
                asks("instance_type", "/latest/meta-data/instance-type"),
            ],
            "proof": {"path": "/latest/meta-data/services/domain", "begins": "amazonaws.com"},
        },
    },
]
GUESTS = [
    {
        "id": "virtual-machine",
        "name": "a virtual machine",
        "name_zh": "虚拟机",
        "level": "guest",
        "sources": ["common knowledge: what hypervisors write into the firmware tables of their guests"],
        "note": (
            "No provider: such a guest may be anybody's, and several clouds write nothing more. VMware and Hyper-V are no cloud's here."
        ),
        "signs": [
            dmi("sys_vendor", "QEMU", "general_knowledge"),
            dmi("sys_vendor", "Red Hat", "general_knowledge"),
            dmi("sys_vendor", "KubeVirt", "general_knowledge"),
            dmi("sys_vendor", "OpenStack Foundation", "general_knowledge"),
            dmi("product_name", "OpenStack Nova", "general_knowledge"),
            dmi("sys_vendor", "Xen", "general_knowledge"),
            dmi("product_name", "KVM", "general_knowledge", "contains"),
        ],
    },
]
CLOUDS = [*PLATFORMS, *HOSTS, *GUESTS]
