"""GGUF files as the `gguf` package writes them, cut behind their headers, and what its own reader says of their tensors, as fixtures.

Run with a Python that has gguf and numpy: `python make_gguf.py FOLDER`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

HIDDEN, WIDE, VOCABULARY, LAYERS = 256, 512, 1000, 2
MIXED = {"attn_v": Kind.Q6_K, "ffn_down": Kind.Q6_K}  # what llama.cpp's Q4_K_M keeps finer, in some of the layers


def writer(name: str, parts: int = 0) -> gguf.GGUFWriter:
    """A file with the values of a small llama."""
    made = gguf.GGUFWriter(None, "llama", split_max_tensors=parts)
    made.add_name(name)
    made.add_block_count(LAYERS)
    made.add_context_length(2048)
    made.add_embedding_length(HIDDEN)
    made.add_feed_forward_length(WIDE)
    made.add_head_count(4)
    made.add_head_count_kv(2)
    made.add_rope_freq_base(10000.0)
    made.add_tokenizer_model("gpt2")
    made.add_token_list([f"t{i}" for i in range(8)])
    return made


def add(made: gguf.GGUFWriter, name: str, shape: tuple[int, ...], kind: Kind) -> None:
    """A tensor of zeros; `shape` in elements, the slowest dimension first."""
    if kind in (Kind.F32, Kind.F16):
        made.add_tensor(name, np.zeros(shape, dtype=np.float32 if kind is Kind.F32 else np.float16))
    else:
        made.add_tensor(name, np.zeros(gguf.quant_shape_to_byte_shape(shape, kind), dtype=np.uint8), raw_dtype=kind)


def llama(made: gguf.GGUFWriter, kind: Kind, finer: dict[str, Kind]) -> None:
    """The tensors of a llama whose matrices are of one kind, but for the finer ones; norms are in single precision."""
    add(made, "token_embd.weight", (VOCABULARY, HIDDEN), kind)
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            add(made, f"blk.{layer}.{name}.weight", (HIDDEN,), Kind.F32)
        shapes = {"attn_q": (HIDDEN, HIDDEN), "attn_k": (128, HIDDEN), "attn_v": (128, HIDDEN), "attn_output": (HIDDEN, HIDDEN)}
        shapes |= {"ffn_gate": (WIDE, HIDDEN), "ffn_up": (WIDE, HIDDEN), "ffn_down": (HIDDEN, WIDE)}
        for name, shape in shapes.items():
            add(made, f"blk.{layer}.{name}.weight", shape, finer.get(name, kind) if layer == 0 else kind)
    add(made, "output_norm.weight", (HIDDEN,), Kind.F32)
    add(made, "output.weight", (VOCABULARY, HIDDEN), Kind.Q6_K if finer else kind)


def every_kind(made: gguf.GGUFWriter) -> None:
    """A tensor of each kind that weights are kept in; Q8_1 is one that ggml computes with, and of another size in its own source."""
    for kind in Kind:
        if kind not in (Kind.F64, Kind.I8, Kind.I16, Kind.I32, Kind.I64, Kind.Q8_1):
            add(made, f"of.{kind.name}", (3, 768), kind)


def save(made: gguf.GGUFWriter, target: Path, name: str) -> dict[str, dict[str, int]]:
    """Writes the file, or its parts, cut; the bytes of every tensor as the package's reader counts them, by file."""
    with tempfile.TemporaryDirectory() as place:
        made.write_header_to_file(Path(place) / f"{name}.gguf")
        made.write_kv_data_to_file()
        made.write_tensors_to_file()
        made.close()
        said = {}
        for path in sorted(Path(place).glob("*.gguf")):
            read = gguf.GGUFReader(path)
            said[path.name] = {tensor.name: int(tensor.n_bytes) for tensor in read.tensors}
            (target / path.name).write_bytes(path.read_bytes()[: read.data_offset])
            del read
    return said


def main(target: str) -> None:
    """Writes all."""
    folder, said = Path(target), {}
    for name, kind, finer in (("llama-Q4_K_M", Kind.Q4_K, MIXED), ("llama-Q8_0", Kind.Q8_0, {}), ("llama-BF16", Kind.BF16, {})):
        made = writer(name)
        llama(made, kind, finer)
        said |= save(made, folder, name)
    made = writer("kinds")
    every_kind(made)
    said |= save(made, folder, "kinds")
    made = writer("split", parts=8)
    llama(made, Kind.Q5_K, {})
    said |= save(made, folder, "llama-Q5_K_M")
    (folder / "bytes.json").write_text(json.dumps(said, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
