"""`quantization.json`: floors of the quantization methods from the collected facts; limits of FP8 kernels and of half precision by hand."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

from common import read, record, sm, version_key, write

from envcheck.matrix.quantization import HalfPrecision, KernelLimit, NativeFp8, QuantizationFile, QuantizationFloor

LAYERS = "vllm/model_executor/layers/quantization of the source distributions: get_min_capability"
ISSUES, PULLS = "https://github.com/vllm-project/vllm/issues/", "https://github.com/vllm-project/vllm/pull/"
BACKENDS = "vLLM source distributions: is_kv_cache_dtype_supported and the attention backends' supports_kv_cache_dtype"
# use, releases, below, severity, sources, note
KERNELS = [
    (
        "experts",
        ">=0.4.2,<0.9.0",
        "8.9",
        "error",
        [ISSUES + "17581", ISSUES + "18182", ISSUES + "17579", PULLS + "18026"],
        "The experts' Triton kernel needs the FP8 type e4m3; weight-only experts by Marlin came with 0.9.0.",
    ),
    (
        "blocks",
        ">=0.6.6,<0.9.0",
        "8.9",
        "error",
        [ISSUES + "13885", ISSUES + "17581"],
        "Marlin did not take weights scaled by blocks; the Triton kernel needs the FP8 type e4m3.",
    ),
    (
        "kv-cache",
        ">=0.4.3,<0.8.0",
        "8.9",
        "warning",
        [ISSUES + "7714", BACKENDS],
        "Kept as storage by xFormers and FlashInfer; chunked prefill and prefix caching use a Triton kernel that needs e4m3.",
    ),
    ("kv-cache", ">=0.10.0,<0.11.1", "8.9", "warning", [BACKENDS, PULLS + "24577"], "FlashInfer only."),
    ("kv-cache", ">=0.11.1,<0.24.0", "8.9", "warning", [BACKENDS, ISSUES + "26431"], "FlashInfer only."),
    ("kv-cache", ">=0.11.1,<0.24.0", "7.5", "error", [BACKENDS], "FlashInfer from 7.5, Triton from 8.9: no backend is left."),
    ("kv-cache", ">=0.24.0", "8.9", "warning", [BACKENDS, ISSUES + "26431"], "FlashInfer only."),
    ("kv-cache", ">=0.24.0", "8.0", "error", [BACKENDS, PULLS + "45829"], "FlashInfer from 8.0, Triton from 8.9: no backend is left."),
]
SCHEMES = "vLLM source distributions: get_min_capability of the schemes of compressed-tensors"
# Floors that the collected ones lack: method, releases, floor, sources, note.
MORE = [
    ("awq", ">=0.2.0,<=0.2.0", "8.0", ["vllm 0.2.0 source distribution: quantization_utils/awq.py", ISSUES + "1282"], "7.5 from 0.2.1 on."),
    ("awq", ">=0.2.1,<=0.2.1.post1", "7.5", ["vllm 0.2.1 and 0.2.1.post1 source distributions: quantization_utils/awq.py"], None),
    (
        "compressed-tensors wNa16",
        ">=0.5.3,<=0.11.2",
        "8.0",
        [
            SCHEMES + ", read in 0.5.3.post1, 0.7.3, 0.8.5, 0.9.2, 0.10.2 and 0.11.2",
            "https://github.com/vllm-project/llm-compressor/issues/1258",
        ],
        "Integer weights of 4 or 8 bits, activations as they are. The method itself asks for 7.0.",
    ),
    ("compressed-tensors wNa16", ">=0.12.0", "7.5", [SCHEMES + ", read in 0.12.0, 0.13.0, 0.14.0 and 0.33.0"], None),
    (
        "compressed-tensors w8a8",
        ">=0.5.3",
        "7.5",
        [SCHEMES + ", read in 0.5.3.post1, 0.7.3, 0.8.5, 0.9.2, 0.10.2, 0.11.2, 0.12.0 and 0.33.0"],
        "Integer weights and activations of 8 bits.",
    ),
]
HALF = {
    "sources": [
        "vLLM source distributions: _resolve_auto_dtype and _FLOAT16_NOT_SUPPORTED_MODELS",
        ISSUES + "1157",
        "public start-up logs of 0.9.2, 0.11.0 and 0.23.0 on compute capability 7.5",
    ],
    "note": "0.9.2 is the oldest release whose log shows the replacement; 0.9.0 and 0.9.1 were not seen. Models that are not served in "
    "half precision are turned into single precision instead, which takes twice the memory.",
    "replaces_bfloat16": ">=0.9.2",
    "refused_model_types": ["gemma2", "gemma3", "gemma3_text", "glm4", "plamo2"],
}


def methods(newest):
    for name, releases, floor, sources, note in MORE:
        yield record(QuantizationFloor, sources=sources, note=note, name=name, releases=releases, min_capability=floor)
    for name, ranges in sorted(read("quantization_min_capability.json").items()):
        for floor, first, last in ranges:
            if floor is None or floor < 0:  # no floor of its own, or a method of another platform
                continue
            releases = f">={first}" if last == newest else f">={first},<={last}"
            yield record(QuantizationFloor, sources=[LAYERS], name=name, releases=releases, min_capability=sm(floor))


def make(target):
    newest = max((entry["version"] for entry in read("vllm_matrix.json")["releases"]), key=version_key)
    kernels = [
        record(KernelLimit, sources=sources, note=note, use=use, releases=releases, below=below, severity=severity)
        for use, releases, below, severity, sources, note in KERNELS
    ]
    native = record(NativeFp8, sources=[PULLS + "5975"], min_capability="8.9")
    half = record(HalfPrecision, **HALF)
    write(
        target / "quantization.json",
        QuantizationFile(methods=list(methods(newest)), kernels=kernels, half=half, native_fp8=native),
    )
