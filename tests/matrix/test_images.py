"""What the name of a container image says: its release, its CUDA, its start gate, whatever registry or mirror stands before it."""

from pathlib import Path

import pytest

from envcheck.matrix.images import Image, Images
from envcheck.matrix.load import Matrix


@pytest.fixture(scope="module")
def images() -> Images:
    return Matrix(Path(__file__).parents[2] / "matrices").images


def read(images: Images, text: str) -> Image:
    found = images.read(text)
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    ("text", "release", "cuda"),
    [
        ("vllm/vllm-openai:v0.14.1", "0.14.1", (12, 9)),
        ("docker.io/vllm/vllm-openai:v0.5.0", "0.5.0", (12, 4)),
        ("docker.m.daocloud.io/vllm/vllm-openai:v0.11.0", "0.11.0", (12, 8)),
        ("registry.example.com:5000/mirror/vllm-openai:0.20.0", "0.20.0", (13, 0)),
        ("vllm/vllm-openai:v0.14.1-cu130", "0.14.1", (13, 0)),
        ("vllm/vllm-openai:v0.20.0-x86_64-cu129-ubuntu2404", "0.20.0", (12, 9)),
        ("vllm/vllm-openai:v0.8.5.post1@sha256:00", "0.8.5.post1", (12, 4)),
        ("vllm/vllm-openai:v0.10.1.1", "0.10.1.1", (12, 8)),
        ("vllm/vllm-openai:v0.7.3", "0.7.3", (12, 1)),
        ("pulled vllm/vllm-openai:v0.9.0 yesterday", "0.9.0", (12, 8)),
    ],
)
def test_an_image_of_the_project(images: Images, text: str, release: str, cuda: tuple[int, int]) -> None:
    found = read(images, text)
    assert (found.own, str(found.release), found.cuda) == (True, release, cuda)


@pytest.mark.parametrize(
    ("text", "cuda"),
    [("vllm/vllm-openai:cu129-nightly", (12, 9)), ("vllm/vllm-openai (CUDA 12.1)", (12, 1)), ("vllm/vllm-openai:latest", None)],
)
def test_a_tag_without_a_release_tells_at_most_the_cuda(images: Images, text: str, cuda: tuple[int, int] | None) -> None:
    found = read(images, text)
    assert (found.release, found.cuda) == (None, cuda)


@pytest.mark.parametrize(
    ("text", "cuda", "gated"),
    [
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", (12, 4), True),
        ("nvcr.io/nvidia/cuda:13.0.2-base-ubuntu24.04", (13, 0), True),
        ("pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel", (12, 4), True),
        ("pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", (12, 4), False),
        ("nvcr.io/nvidia/pytorch:24.03-py3", (12, 4), False),
        ("nvcr.io/nvidia/pytorch:25.08", (13, 0), False),
    ],
)
def test_images_of_others_tell_their_cuda(images: Images, text: str, cuda: tuple[int, int], gated: bool) -> None:
    found = read(images, text)
    assert (found.own, found.cuda, found.gate is not None) == (False, cuda, gated)


NOTHING = ("", "vllm docker", "gpustack", "ubuntu:22.04", "nvcr.io/nvidia/pytorch:99.99-py3", ":", "a" * 5000, "::/:")


@pytest.mark.parametrize("text", NOTHING)
def test_others_say_nothing(images: Images, text: str) -> None:
    assert images.read(text) is None
