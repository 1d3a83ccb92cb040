"""Rental platforms, notebook and machine learning services, schedulers, with the signs that files and variables give of them.

What rents out a machine of a cloud is the more telling answer; what others build on (Kubernetes, Slurm) says least and stands last.
"""

from signs import CLOUD_INIT, NOTHING, PUBLIC, env, exists, file, file_tells, tells

VERTEX = "Vertex AI documentation: requirements of custom containers, environment variables of training code"
SAGEMAKER = "/opt/ml/metadata/resource-metadata.json"

RENTED = [
    {
        "id": "autodl",
        "name": "AutoDL",
        "mainland": True,
        "provider": "autodl",
        "sources": [PUBLIC, "https://www.autodl.com/docs/network_turbo/"],
        "note": "The variables may be missing in a shell that is no login shell; /etc/network_turbo sets a proxy for GitHub and the hub.",
        "signs": [
            env("AutoDLContainerUUID", "public_code"),
            env("AutoDLRegion", "public_code"),
            env("AutoDLDataCenter", "public_code"),
            env("AutoDLServiceURL", "public_code"),
            env("AutoDLDeploymentUUID", "public_code"),
            exists("/etc/network_turbo", "public_code"),
            exists("/root/autodl-tmp", "public_code"),
        ],
        "tells": [tells("region", "AutoDLRegion"), tells("region", "AutoDLDataCenter")],
    },
    {
        "id": "runpod",
        "name": "RunPod",
        "sources": ["runpod/docs: pods/templates/environment-variables.mdx"],
        "note": "Its machines stand in many houses; who owns them is not told.",
        "signs": [env("RUNPOD_POD_ID", "vendor_doc"), env("RUNPOD_ENDPOINT_ID", "vendor_doc"), env("RUNPOD_DC_ID", "vendor_doc")],
        "tells": [tells("region", "RUNPOD_DC_ID")],
    },
    {
        "id": "vastai",
        "name": "Vast.ai",
        "sources": ["vast-ai/docs: guides/instances/docker-environment.mdx"],
        "note": "CONTAINER_ID and GPU_COUNT are set too, but are anyone's names. Its machines are other people's.",
        "signs": [env("VAST_CONTAINERLABEL", "vendor_doc")],
    },
    {
        "id": "modal",
        "name": "Modal",
        "sources": ["https://modal.com/docs/guide/environment_variables", "modal-labs: examples that compare the cloud's name"],
        "signs": [env("MODAL_TASK_ID", "vendor_doc"), env("MODAL_IMAGE_ID", "vendor_doc"), env("MODAL_IS_REMOTE", "vendor_doc", "1")],
        "tells": [
            tells(
                "provider",
                "MODAL_CLOUD_PROVIDER",
                means={
                    **{f"CLOUD_PROVIDER_{name}": id_ for name, id_ in (("AWS", "aws"), ("GCP", "gcp"), ("OCI", "oracle"))},
                    "AWS": "aws",
                    "GCP": "gcp",
                    "OCI": "oracle",
                },
            ),
            tells("region", "MODAL_REGION"),
        ],
    },
    {
        "id": "paperspace",
        "name": "Paperspace",
        "provider": "paperspace",
        "sources": [PUBLIC],
        "signs": [env("PAPERSPACE_METRIC_WORKLOAD_ID", "public_code")],
    },
    {
        "id": "lambda",
        "name": "Lambda",
        "sources": [NOTHING],
        "signs": [],
    },
    {
        "id": "coreweave",
        "name": "CoreWeave",
        "sources": [NOTHING],
        "note": "Bare-metal Kubernetes without a sign of its own.",
        "signs": [],
    },
]
SERVICES = [
    {
        "id": "colab",
        "name": "Google Colab",
        "provider": "gcp",
        "sources": [PUBLIC],
        "signs": [env("COLAB_RELEASE_TAG", "public_code"), env("COLAB_BACKEND_VERSION", "public_code")],
    },
    {
        "id": "kaggle",
        "name": "Kaggle",
        "provider": "gcp",
        "sources": [PUBLIC],
        "note": "Other KAGGLE_ variables are credentials that ordinary machines have too.",
        "signs": [env("KAGGLE_KERNEL_RUN_TYPE", "public_code"), exists("/kaggle/working", "public_code")],
    },
    {
        "id": "sagemaker",
        "name": "Amazon SageMaker",
        "provider": "aws",
        "sources": [PUBLIC],
        "note": "/opt/ml/model is left out: images that merely can run there have it too.",
        "signs": [env("SM_CURRENT_INSTANCE_TYPE", "public_code"), env("SM_HOST_COUNT", "public_code"), exists(SAGEMAKER, "public_code")],
        "tells": [
            tells("instance_type", "SM_CURRENT_INSTANCE_TYPE"),
            file_tells("region", SAGEMAKER, key="ResourceArn", take="arn-region"),
        ],
    },
    {
        "id": "vertex-ai",
        "name": "Vertex AI",
        "provider": "gcp",
        "sources": [PUBLIC, VERTEX],
        "note": "CLOUD_ML_ variables are set by unrelated tools too, so they tell the region but are no sign.",
        "signs": [
            env("AIP_MODEL_DIR", "public_code"),
            env("AIP_TRAINING_DATA_URI", "public_code"),
            env("AIP_PREDICT_ROUTE", "general_knowledge"),
        ],
        "tells": [tells("region", "CLOUD_ML_REGION")],
    },
    {
        "id": "azure-ml",
        "name": "Azure Machine Learning",
        "provider": "azure",
        "sources": ["azureml-core: what Run.get_context reads"],
        "signs": [env("AZUREML_RUN_ID", "public_code"), env("AZUREML_ARM_WORKSPACE_NAME", "public_code")],
    },
    {
        "id": "databricks",
        "name": "Databricks",
        "sources": ["databricks/cli: libs/runtime/detect.go"],
        "note": "Its clusters run on several clouds.",
        "signs": [env("DATABRICKS_RUNTIME_VERSION", "public_code")],
    },
    {
        "id": "lightning",
        "name": "Lightning AI",
        "sources": ["Lightning-AI/litdata: the client of its storage"],
        "note": "Its studios run on several clouds.",
        "signs": [env("LIGHTNING_CLOUD_SPACE_ID", "public_code")],
    },
    {
        "id": "pai",
        "name": "Alibaba Cloud PAI",
        "name_zh": "阿里云人工智能平台 PAI",
        "mainland": True,
        "provider": "aliyun",
        "sources": ["aliyun/pai-python-sdk: the session in a DSW notebook"],
        "note": "PAI_DSW_ variables are seen only where a user sets them; signs of its training jobs and of EAS were not found.",
        "signs": [env("DSW_INSTANCE_ID", "public_code")],
        "tells": [tells("region", "REGION"), tells("region", "dsw_region")],
    },
    {
        "id": "pai-eas",
        "name": "Alibaba Cloud PAI-EAS",
        "name_zh": "阿里云 PAI-EAS",
        "mainland": True,
        "provider": "aliyun",
        "sources": [NOTHING],
        "signs": [],
    },
    {
        "id": "ti",
        "name": "Tencent Cloud TI",
        "name_zh": "腾讯云 TI 平台",
        "mainland": True,
        "provider": "tencent",
        "sources": [NOTHING],
        "signs": [],
    },
    {
        "id": "modelarts",
        "name": "ModelArts",
        "mainland": True,
        "provider": "huawei",
        "sources": [PUBLIC],
        "note": "Its machines often carry Ascend processors.",
        "signs": [env("MA_NUM_HOSTS", "public_code"), env("MA_NUM_GPUS", "public_code"), exists("/home/ma-user", "public_code")],
    },
    {
        "id": "vemlp",
        "name": "Volcano Engine machine learning platform",
        "name_zh": "火山引擎机器学习平台",
        "mainland": True,
        "provider": "volcengine",
        "sources": [PUBLIC],
        "signs": [
            env("MLP_WORKER_NUM", "public_code"),
            env("MLP_ROLE_INDEX", "public_code"),
            env("MLP_WORKER_0_HOST", "public_code"),
            env("MLP_WORKER_GPU", "public_code"),
        ],
    },
]
GROUNDS = [
    {
        "id": "wsl2",
        "name": "WSL 2",
        "sources": ["NVIDIA/nvidia-container-toolkit: pkg/nvcdi/device-wsl.go", CLOUD_INIT],
        "note": "The driver is Windows': a Linux driver must never be planned.",
        "signs": [
            file("/proc/sys/kernel/osrelease", "microsoft", "general_knowledge", "contains"),
            exists("/dev/dxg", "reference"),
        ],
    },
    {
        "id": "slurm",
        "name": "Slurm",
        "generic": True,
        "sources": ["https://slurm.schedmd.com/sbatch.html, environment of a job"],
        "note": "Says nothing of the cloud below.",
        "signs": [env("SLURM_JOB_ID", "vendor_doc")],
    },
    {
        "id": "kubernetes",
        "name": "Kubernetes",
        "generic": True,
        "sources": ["Kubernetes documentation: environment of a pod"],
        "note": "Says nothing of the cloud below.",
        "signs": [
            env("KUBERNETES_SERVICE_HOST", "general_knowledge"),
            exists("/var/run/secrets/kubernetes.io/serviceaccount/namespace", "general_knowledge"),
        ],
    },
]
PLATFORMS = [entry | {"level": "platform"} for entry in (*RENTED, *SERVICES, *GROUNDS)]
