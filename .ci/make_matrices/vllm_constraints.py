"""What a fresh install must add because a release's metadata leaves it open and a later package breaks it."""

from packaging.version import Version

# first, last release; package; specifier; why, with where to read it
RULES = [
    (
        "0.1.4",
        "0.2.0",
        "torch",
        "<2.1",
        "torch <2.1: linked against CUDA 11, and only torch 2.0 is a CUDA 11 build on the package index; 0.2.1 pins 2.0.1",
    ),
    ("0.2.2", "0.2.5", "torch", "<2.2", "torch <2.2: compiled against torch 2.1; 0.2.6 is the first to pin it (2.1.2)"),
    ("0.1.4", "0.5.0.post1", "numpy", "<2.0.0", "numpy <2.0.0: 0.5.1 is the first release whose metadata says so"),
    ("0.5.0", "0.5.1", "outlines", "<0.1", "outlines <0.1: 0.5.2 is the first release whose metadata says so"),
    (
        "0.9.0",
        "0.9.2",
        "transformers",
        "<4.54",
        "transformers <4.54: 4.54 took the name aimv2 that these releases register (vllm-project/vllm #22178; EuroEval/EuroEval #1117); "
        "fixed in 0.10.0",
    ),
    (
        "0.1.4",
        "0.11.0",
        "transformers",
        "<5",
        "transformers <5: 0.11.1 is the first release whose metadata says so; version 5 dropped all_special_tokens_extended, which these "
        "releases read (vllm-project/vllm #29686; verl-project/verl #4337)",
    ),
    (
        "0.19.1",
        "0.30.0",
        "transformers",
        "<5.17",
        "transformers <5.17: 5.17 renamed what some architectures of 0.27.1 import (aws/deep-learning-containers #6773), and the metadata "
        "of 0.19.1 to 0.30.0 has no upper bound; 0.31.0 is the first with one again",
    ),
]


def constraints(version):
    """(package -> specifier, reasons); the first rule that fits a package counts."""
    found, why = {}, []
    for first, last, package, specifier, reason in RULES:
        if Version(first) <= Version(version) <= Version(last) and package not in found:
            found[package] = specifier
            why.append(reason)
    return dict(sorted(found.items())), why
