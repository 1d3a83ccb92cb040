"""Clouds and rental platforms with the signs that files and variables give of them, typed by hand from the collected words.

Platforms come first: what rents out a machine of a cloud is the more telling answer. Files under /sys/class/dmi/id show the host even
in a container. What proves nothing is left out: QEMU, OpenStack Nova, Microsoft Corporation without its asset tag.
"""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

DMI = "/sys/class/dmi/id/"
CLOUD_INIT = "canonical/cloud-init: tools/ds-identify and its data sources"
PUBLIC = "public repositories that test for it"


def dmi(name, pattern, confidence):
    return {"kind": "file", "path": DMI + name, "pattern": pattern, "confidence": confidence}


def exists(path, confidence):
    return {"kind": "file", "path": path, "confidence": confidence}


def env(name, confidence, pattern=None):
    sign = {"kind": "env", "name": name, "confidence": confidence}
    return sign | {"pattern": pattern} if pattern else sign


PLATFORMS = [
    {
        "id": "autodl",
        "name": "AutoDL",
        "mainland": True,
        "sources": [PUBLIC, "https://www.autodl.com/docs/network_turbo/"],
        "note": "The variables may be missing in a shell that is no login shell; /etc/network_turbo sets a proxy for GitHub and the hub.",
        "signs": [
            env("AutoDLContainerUUID", "public_code"),
            env("AutoDLRegion", "public_code"),
            env("AutoDLDataCenter", "public_code"),
            exists("/etc/network_turbo", "public_code"),
            exists("/root/autodl-tmp", "public_code"),
        ],
    },
    {
        "id": "runpod",
        "name": "RunPod",
        "sources": ["runpod/docs: pods/templates/environment-variables.mdx"],
        "signs": [env("RUNPOD_POD_ID", "vendor_doc"), env("RUNPOD_ENDPOINT_ID", "vendor_doc"), env("RUNPOD_DC_ID", "vendor_doc")],
    },
    {
        "id": "vastai",
        "name": "Vast.ai",
        "sources": ["vast-ai/docs: guides/instances/docker-environment.mdx"],
        "note": "CONTAINER_ID and GPU_COUNT are set too, but are anyone's names.",
        "signs": [env("VAST_CONTAINERLABEL", "vendor_doc")],
    },
    {
        "id": "modal",
        "name": "Modal",
        "sources": ["https://modal.com/docs/guide/environment_variables"],
        "signs": [env("MODAL_TASK_ID", "vendor_doc"), env("MODAL_IMAGE_ID", "vendor_doc")],
    },
    {
        "id": "paperspace",
        "name": "Paperspace",
        "sources": [PUBLIC],
        "signs": [env("PAPERSPACE_METRIC_WORKLOAD_ID", "public_code")],
    },
    {
        "id": "colab",
        "name": "Google Colab",
        "sources": [PUBLIC],
        "signs": [env("COLAB_RELEASE_TAG", "public_code"), env("COLAB_BACKEND_VERSION", "public_code")],
    },
    {
        "id": "kaggle",
        "name": "Kaggle",
        "sources": [PUBLIC],
        "note": "Other KAGGLE_ variables are credentials that ordinary machines have too.",
        "signs": [env("KAGGLE_KERNEL_RUN_TYPE", "public_code"), exists("/kaggle/working", "public_code")],
    },
    {
        "id": "lambda",
        "name": "Lambda",
        "sources": ["looked for in public material, nothing found"],
        "signs": [],
    },
    {
        "id": "coreweave",
        "name": "CoreWeave",
        "sources": ["looked for in public material, nothing found"],
        "note": "Bare-metal Kubernetes without a sign of its own.",
        "signs": [],
    },
    {
        "id": "wsl2",
        "name": "WSL 2",
        "sources": ["NVIDIA/nvidia-container-toolkit: pkg/nvcdi/device-wsl.go", CLOUD_INIT],
        "note": "The driver is Windows': a Linux driver must never be planned.",
        "signs": [
            {"kind": "file", "path": "/proc/sys/kernel/osrelease", "pattern": "microsoft", "confidence": "general_knowledge"},
            exists("/dev/dxg", "reference"),
        ],
    },
    {
        "id": "kubernetes",
        "name": "Kubernetes",
        "sources": ["Kubernetes documentation: environment of a pod"],
        "note": "Says nothing of the cloud below.",
        "signs": [
            env("KUBERNETES_SERVICE_HOST", "general_knowledge"),
            exists("/var/run/secrets/kubernetes.io/serviceaccount/namespace", "general_knowledge"),
        ],
    },
]
HOSTS = [
    {
        "id": "azure",
        "name": "Microsoft Azure",
        "name_zh": "微软 Azure",
        "mainland_regions": ["chinaeast", "chinanorth"],
        "sources": [CLOUD_INIT],
        "note": "sys_vendor `Microsoft Corporation` is any Hyper-V guest.",
        "signs": [dmi("chassis_asset_tag", r"^7783-7084-3265-9085-8269-3286-77\s*$", "reference")],
    },
    {
        "id": "oracle",
        "name": "Oracle Cloud",
        "name_zh": "甲骨文云",
        "sources": [CLOUD_INIT],
        "signs": [dmi("chassis_asset_tag", r"^OracleCloud\.com\s*$", "reference")],
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
        "signs": [dmi("product_name", r"^Alibaba Cloud ECS\s*$", "reference"), dmi("sys_vendor", r"^Alibaba", "public_code")],
    },
    {
        "id": "tencent",
        "name": "Tencent Cloud",
        "name_zh": "腾讯云",
        "mainland": True,
        "mainland_regions": [f"ap-{city}" for city in ["beijing", "shanghai", "guangzhou", "shenzhen", "nanjing", "chengdu", "chongqing"]],
        "sources": ["kernel logs that name the hardware `Tencent Cloud CVM`"],
        "signs": [dmi("sys_vendor", r"^Tencent Cloud\s*$", "kernel_log"), dmi("product_name", r"^CVM\s*$", "kernel_log")],
    },
    {
        "id": "huawei",
        "name": "Huawei Cloud",
        "name_zh": "华为云",
        "mainland": True,
        "mainland_regions": ["cn-"],
        "sources": [CLOUD_INIT, "kernel logs that name the hardware `Huawei Cloud OpenStack Nova`", PUBLIC],
        "note": "ModelArts often means Ascend processors.",
        "signs": [
            dmi("chassis_asset_tag", r"^HUAWEICLOUD\s*$", "reference"),
            dmi("sys_vendor", r"^Huawei Cloud\s*$", "kernel_log"),
            env("MA_NUM_HOSTS", "public_code"),
            exists("/home/ma-user", "public_code"),
        ],
    },
    {
        "id": "volcengine",
        "name": "Volcano Engine",
        "name_zh": "火山引擎",
        "mainland": True,
        "mainland_regions": ["cn-beijing", "cn-shanghai", "cn-guangzhou"],
        "sources": [PUBLIC],
        "note": "Signs of its machine learning platform; the firmware's strings of a plain instance were not found.",
        "signs": [env("MLP_WORKER_NUM", "public_code"), env("MLP_ROLE_INDEX", "public_code"), env("MLP_WORKER_0_HOST", "public_code")],
    },
    {
        "id": "baidu",
        "name": "Baidu AI Cloud",
        "name_zh": "百度智能云",
        "mainland": True,
        "sources": ["one host inventory that says `Baidu Cloud BCC/KVM`"],
        "signs": [dmi("sys_vendor", r"^Baidu Cloud\s*$", "weak")],
    },
    {
        "id": "kingsoft",
        "name": "Kingsoft Cloud",
        "name_zh": "金山云",
        "mainland": True,
        "sources": ["looked for in public material, nothing found"],
        "signs": [],
    },
    {
        "id": "ucloud",
        "name": "UCloud",
        "name_zh": "优刻得",
        "mainland": True,
        "sources": ["looked for in public material, nothing found"],
        "signs": [],
    },
    {
        "id": "jdcloud",
        "name": "JD Cloud",
        "name_zh": "京东云",
        "mainland": True,
        "mainland_regions": ["cn-"],
        "sources": ["kernel logs that name the hardware `JD JCloud Iaas Jvirt`"],
        "signs": [dmi("product_name", r"^JCloud Iaas Jvirt\s*$", "kernel_log")],
    },
    {
        "id": "gcp",
        "name": "Google Cloud",
        "name_zh": "谷歌云",
        "sources": [CLOUD_INIT, "RedHatInsights/insights-core: cloud_provider.py", PUBLIC],
        "note": "product_serial is root's to read.",
        "signs": [
            dmi("product_name", r"^Google Compute Engine\s*$", "reference"),
            dmi("product_serial", r"^GoogleCloud-", "reference"),
            dmi("bios_vendor", r"google", "public_code"),
            env("AIP_MODEL_DIR", "public_code"),
        ],
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
        "note": "product_uuid is root's to read.",
        "signs": [
            dmi("sys_vendor", r"^Amazon EC2\s*$", "public_code"),
            {"kind": "file", "path": "/sys/hypervisor/uuid", "pattern": "^ec2", "confidence": "reference"},
            dmi("product_uuid", r"^ec2", "reference"),
            dmi("bios_vendor", r"amazon", "public_code"),
            dmi("product_version", r"amazon", "public_code"),
            exists("/opt/ml/metadata/resource-metadata.json", "public_code"),
            env("SM_CURRENT_INSTANCE_TYPE", "public_code"),
        ],
    },
]
CLOUDS = [entry | {"level": "platform"} for entry in PLATFORMS] + HOSTS
