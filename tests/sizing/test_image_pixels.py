"""The processor's `max_pixels` bounds the largest image, and with it what the profile run takes for the encoder."""

from __future__ import annotations

import json

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.relief import Load
from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.encoder_peak import profiled_items
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.question import ask
from envcheck.sizing.relief import media_levers
from envcheck.sizing.result import size

A10 = Card(name="NVIDIA A10", count=1, total_bytes=22.06 * GIB, capability=ComputeCapability(8, 6))
IMAGES = {"limit_mm_per_prompt": {"image": 1, "video": 0}, "max_model_len": 8192, "max_num_batched_tokens": 2048}


def items_of(config, table, **serve):
    question = ask(
        SizingInputs(
            config=config("qwen2.5-vl-7b"), card=A10, release=Version("0.23.0"), serve_args={**IMAGES, "max_num_seqs": 1, **serve}
        ),
        table,
    )
    return profiled_items(question.dims, question.settings, question.rules)


@pytest.mark.parametrize(
    ("kwargs", "tokens"),
    [
        ({}, 16384),
        ({"max_pixels": 12845056}, 16384),
        ({"max_pixels": 1605632}, 45 * 45),  # the side of 1,267 pixels holds 45 tokens of 28 pixels
        ('{"max_pixels": 1605632}', 45 * 45),
        ({"size": {"shortest_edge": 784, "longest_edge": 1605632}}, 45 * 45),
        ({"max_pixels": "many"}, 16384),
        ({"max_pixels": -1}, 16384),
    ],
)
def test_tokens_of_the_largest_image(config, table, kwargs, tokens):
    # Of images with more than half of a batch of 2,048 tokens, one is profiled.
    assert items_of(config, table, mm_processor_kwargs=kwargs).encoded == tokens


def test_a_processor_without_that_bound_is_left_alone(config, table):
    question = SizingInputs(config=config("gemma-3-27b"), card=A10, release=Version("0.23.0"))
    told = msgspec.structs.replace(question, serve_args={"mm_processor_kwargs": {"max_pixels": 784}})
    assert size(question, table).per_gpu_gib == size(told, table).per_gpu_gib


def test_the_lever_frees_what_it_says_when_put_back(config, table):
    question = ask(SizingInputs(config=config("qwen2.5-vl-7b"), card=A10, release=Version("0.23.0"), serve_args={}), table)
    steps = {step.lever: step for step in media_levers(question, Load(4, 8192))}
    assert 0 < steps["pixels"].frees_gib <= steps["media-off"].frees_gib
    chosen = json.loads(steps["pixels"].value)
    assert 12845056 / chosen["max_pixels"] in (4, 16, 64)
    again = question.with_args(mm_processor_kwargs=chosen)
    assert size(again.inputs, table).per_gpu_gib.kv_cache == pytest.approx(steps["pixels"].kv_gib, abs=0.01)


def test_what_was_asked_for_is_no_lever(config, table):
    serve = {"mm_processor_kwargs": {"max_pixels": 1003520}}
    question = ask(SizingInputs(config=config("qwen2.5-vl-7b"), card=A10, release=Version("0.23.0"), serve_args=serve), table)
    assert "pixels" not in [step.lever for step in media_levers(question, Load(4, 8192))]


def test_fewer_pixels_never_take_more(config, table):
    def encoder(pixels):
        asked = {"mm_processor_kwargs": {"max_pixels": pixels}}
        question = SizingInputs(config=config("qwen2.5-vl-7b"), card=A10, release=Version("0.23.0"), serve_args=asked)
        return size(question, table).per_gpu_gib.encoder

    peaks = [encoder(pixels) for pixels in (200704, 802816, 3211264, 12845056)]
    assert peaks == sorted(peaks)
