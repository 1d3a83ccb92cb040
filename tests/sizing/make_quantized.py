"""Quantized checkpoints of tiny random models as each format's own writer makes them: configurations and headers of files, as fixtures.

Run with a Python that has torch (any build), transformers and what the model named needs (bitsandbytes, gptqmodel, autoawq,
nvidia-modelopt): `python make_quantized.py FOLDER [NAME ...]` writes one JSON a model. `writer` in each says who laid the tensors out;
`by hand` = nobody's code that runs without a GPU, so the format's published description.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from make_shapes import headers

BASE = {
    "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
    "vocab_size": 1000,
}  # fmt: skip
EXPERTS = {**BASE, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "head_dim": 64}
LATENT = {
    **BASE, "num_key_value_heads": 4, "kv_lora_rank": 64, "q_lora_rank": 96, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64,
    "v_head_dim": 64, "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "n_group": 2,
    "topk_group": 1, "first_k_dense_replace": 1,
}  # fmt: skip
GPT_OSS = {**BASE, "num_local_experts": 4, "num_experts_per_tok": 2, "intermediate_size": 160, "head_dim": 64}


def plain(kind: str, values: dict[str, Any]) -> Any:
    """A model with random weights in bfloat16."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(kind, **values))
    model.config.architectures = [type(model).__name__]
    return model.to(torch.bfloat16).eval()


def held(folder: str, writer: str) -> dict[str, Any]:
    """What a folder holds."""
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    return {"transformers": version("transformers"), "writer": writer, "config": config, "tensors": headers(Path(folder))}


def bitsandbytes(kind: str, values: dict[str, Any], **options: Any) -> dict[str, Any]:
    import torch
    import transformers

    with tempfile.TemporaryDirectory() as source, tempfile.TemporaryDirectory() as target:
        plain(kind, values).save_pretrained(source)
        wanted = transformers.BitsAndBytesConfig(**options)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            source, quantization_config=wanted, dtype=torch.bfloat16, device_map="cpu"
        )
        model.save_pretrained(target)
        return held(target, f"bitsandbytes {version('bitsandbytes')}")


def modelopt(kind: str, values: dict[str, Any], scheme: str, *skipped: str) -> dict[str, Any]:
    import modelopt.torch.quantization as mtq
    import torch
    from modelopt.torch.export import export_hf_checkpoint

    model, wanted = plain(kind, values), copy.deepcopy(getattr(mtq, scheme))
    wanted["quant_cfg"] += [{"quantizer_name": pattern, "enable": False} for pattern in skipped]
    mtq.quantize(model, wanted, lambda quantized: quantized(torch.arange(64)[None]))
    with tempfile.TemporaryDirectory() as target:
        export_hf_checkpoint(model, export_dir=target)
        return held(target, f"nvidia-modelopt {version('nvidia-modelopt')}")


def gptq(kind: str, values: dict[str, Any], **options: Any) -> dict[str, Any]:
    os.cpu_count = lambda: 8  # its thread pool refuses to be made on fewer
    import torch
    import transformers
    from gptqmodel import GPTQModel, QuantizeConfig
    from tokenizers import Tokenizer, models

    with tempfile.TemporaryDirectory() as source, tempfile.TemporaryDirectory() as target:
        plain(kind, values).save_pretrained(source)
        words = Tokenizer(models.WordLevel({"<u>": 0, "a": 1, "</s>": 2, "<s>": 3}, unk_token="<u>"))
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=words, unk_token="<u>", eos_token="</s>", bos_token="<s>", pad_token="</s>"
        ).save_pretrained(source)
        model = GPTQModel.load(source, QuantizeConfig(**options), device="cpu")
        rows = [{"input_ids": torch.randint(0, 1000, (64,)).tolist(), "attention_mask": [1] * 64} for _ in range(4)]
        model.quantize(rows, batch_size=1)
        model.save(target)
        found = held(target, f"gptqmodel {version('gptqmodel')}")
    found["config"]["quantization_config"].pop("meta", None)
    return found


def awq(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """The modules of AutoAWQ in place of every linear layer but the head and routers, which its own models name as exceptions."""
    import torch
    from awq.models._config import AwqConfig
    from awq.modules.linear.gemm import WQLinear_GEMM

    model = plain(kind, values).to(torch.float16)
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            model.set_submodule(name, WQLinear_GEMM.from_linear(module, 4, 128, init_only=True))
    model.config.quantization_config = AwqConfig().to_transformers_dict()
    with tempfile.TemporaryDirectory() as target:
        model.save_pretrained(target)
        return held(target, f"autoawq {version('autoawq')}")


def fine_grained(kind: str, values: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The modules that transformers loads an fp8 checkpoint into, which have its tensors' types and shapes."""
    import torch
    import transformers
    from transformers.integrations.finegrained_fp8 import replace_with_fp8_linear

    wanted = transformers.FineGrainedFP8Config(**options)
    skipped = ["lm_head", "gate"] if kind != "llama" else ["lm_head"]
    model = replace_with_fp8_linear(plain(kind, values), skipped, wanted, pre_quantized=True)
    names = {torch.bfloat16: "BF16", torch.float32: "F32", torch.float8_e4m3fn: "F8_E4M3"}
    config = json.loads(model.config.to_json_string(use_diff=False))
    config["quantization_config"] = json.loads(wanted.to_json_string(use_diff=False))
    tensors = sorted([[name, names[item.dtype], list(item.shape)] for name, item in model.state_dict().items()], key=str)
    return {"transformers": version("transformers"), "writer": "transformers, modules", "config": config, "tensors": tensors}


def mxfp4(values: dict[str, Any]) -> dict[str, Any]:
    """gpt-oss as it was published: the experts in blocks of 32 values of 4 bits and one scale byte, all else in bfloat16."""
    with tempfile.TemporaryDirectory() as target:
        plain("gpt_oss", values).save_pretrained(target)
        found = held(target, "by hand")
    tensors = []
    for name, dtype, shape in found["tensors"]:
        if name.endswith(("gate_up_proj", "down_proj")):
            experts, inputs, outputs = shape
            tensors.append([f"{name}_blocks", "U8", [experts, outputs, inputs // 32, 16]])
            tensors.append([f"{name}_scales", "U8", [experts, outputs, inputs // 32]])
        else:
            tensors.append([name, dtype, shape])
    kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    found["config"]["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": kept}
    return {**found, "tensors": tensors}


MODELS = {
    "llama-bnb-nf4": lambda: bitsandbytes("llama", BASE, load_in_4bit=True, bnb_4bit_quant_type="nf4"),
    "llama-bnb-nf4-nested": lambda: bitsandbytes(
        "llama", BASE, load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True
    ),
    "llama-bnb-nf4-skipped": lambda: bitsandbytes(
        "llama", BASE, load_in_4bit=True, bnb_4bit_quant_type="nf4", llm_int8_skip_modules=["lm_head", "model.layers.1.mlp"]
    ),
    "qwen2-bnb-int8": lambda: bitsandbytes("qwen2", BASE, load_in_8bit=True),
    "llama-modelopt-nvfp4": lambda: modelopt("llama", BASE, "NVFP4_DEFAULT_CFG"),
    "llama-modelopt-fp8": lambda: modelopt("llama", BASE, "FP8_DEFAULT_CFG"),
    "qwen3-moe-modelopt-nvfp4": lambda: modelopt("qwen3_moe", EXPERTS, "NVFP4_DEFAULT_CFG"),
    "qwen3-moe-modelopt-experts": lambda: modelopt("qwen3_moe", EXPERTS, "NVFP4_DEFAULT_CFG", "*self_attn*"),
    "llama-awq": lambda: awq("llama", BASE),
    "qwen2-awq": lambda: awq("qwen2", BASE),
    "llama-fp8-fine": lambda: fine_grained("llama", BASE),
    "llama-fp8-tensor": lambda: fine_grained("llama", BASE, weight_block_size=None, activation_scheme="static"),
    "qwen3-moe-fp8-fine": lambda: fine_grained("qwen3_moe", EXPERTS),
    "deepseek-v3-fp8-fine": lambda: fine_grained("deepseek_v3", LATENT),
    "gpt-oss-mxfp4": lambda: mxfp4(GPT_OSS),
    "llama-gptq": lambda: gptq("llama", BASE, bits=4, group_size=128, desc_act=False),
    "llama-gptq-act": lambda: gptq("llama", BASE, bits=4, group_size=128, desc_act=True),
    "qwen2-gptq-int8": lambda: gptq("qwen2", BASE, bits=8, group_size=32, desc_act=False),
    "llama-gptq-channel": lambda: gptq("llama", BASE, bits=4, group_size=-1, desc_act=False, act_group_aware=False),
}


def main(target: str, *names: str) -> None:
    """Writes the fixtures named, else all."""
    for name in names or MODELS:
        text = json.dumps(MODELS[name](), separators=(",", ":"), sort_keys=True)
        (Path(target) / f"{name}.json").write_text(
            text.replace('"tensors":', '\n"tensors":').replace("],[", "],\n[") + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
