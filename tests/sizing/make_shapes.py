"""Checkpoints of tiny random models as the real `transformers` writes them: configuration and the headers of the files, as fixtures.

Run with a Python that has torch (any build), transformers and compressed-tensors: `python make_shapes.py FOLDER [NAME ...]` writes one
JSON a model.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

MODELS = json.loads((Path(__file__).parent / "shape_models.json").read_text(encoding="utf-8"))


def headers(folder: Path) -> list[list[object]]:
    """(name, type, shape) of every tensor of the files in a folder, read from their headers."""
    found: list[list[object]] = []
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
        found += [[name, entry["dtype"], entry["shape"]] for name, entry in header.items() if name != "__metadata__"]
    return sorted(found, key=str)


def written(values: dict[str, Any], kind: str, scheme: str | None = None) -> dict[str, Any]:
    """A model of this configuration, made with random weights, saved in bfloat16 or the scheme, and what its folder then holds."""
    import torch
    import transformers

    values = dict(values)
    config = transformers.AutoConfig.for_model(values.pop("model_type"), **values)
    model = getattr(transformers, kind).from_config(config).to(torch.bfloat16)
    compressor = compressed(model, scheme) if scheme else None
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        if compressor:
            compressor.update_config(place)
        said = json.loads((Path(place) / "config.json").read_text(encoding="utf-8"))
        tensors = headers(Path(place))
    return {"transformers": transformers.__version__, "config": said, "tensors": tensors}


def compressed(model: Any, scheme: str) -> Any:
    """Quantizes every linear layer but the output head, with scales of one: sizes do not depend on them."""
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config, preset_name_to_scheme

    groups = {"group_0": preset_name_to_scheme(scheme, ["Linear"])}
    apply_quantization_config(model, QuantizationConfig(config_groups=groups, ignore=["lm_head"], quantization_status="initialized"))
    for name, tensor in model.named_parameters():
        if "scale" in name:
            tensor.data.fill_(1)
    compressor = ModelCompressor.from_pretrained_model(model)
    compressor.compress_model(model)
    return compressor


def main(target: str, *names: str) -> None:
    """Writes the fixtures named, else all."""
    for name in names or MODELS:
        text = json.dumps(
            written(MODELS[name]["config"], MODELS[name]["kind"], MODELS[name].get("scheme")), separators=(",", ":"), sort_keys=True
        )
        (Path(target) / f"{name}.json").write_text(
            text.replace('"tensors":', '\n"tensors":').replace("],[", "],\n[") + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
