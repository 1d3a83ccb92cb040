"""What a broken file says, what is read when, and how much."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.errors import ExitCode, MatrixError
from envcheck.matrix.decode import LIMIT_BYTES
from envcheck.matrix.gpu_names import GpuNames
from envcheck.matrix.load import Matrix

Spoil = Callable[[str, Callable[[Any], None]], Path]


def said(error: pytest.ExceptionInfo[MatrixError]) -> tuple[str, str]:
    assert error.value.exit_code == ExitCode.INVALID_INPUT
    params = error.value.text.params
    return str(params["file"]), str(params["why"])


def test_a_wrong_type_is_named_by_file_and_path(spoil: Spoil) -> None:
    folder = spoil("vllm/0.19.json", lambda releases: releases[1]["builds"][0].update(cuda=12.9))
    with pytest.raises(MatrixError) as error:
        len(Matrix(folder).releases)
    file, why = said(error)
    assert file == "matrices/vllm/0.19.json"
    assert why.startswith("$[1].builds[0].cuda: ")
    assert "str" in why


def test_a_misspelt_key_is_refused_not_ignored(spoil: Spoil) -> None:
    folder = spoil("gpus.json", lambda gpus: gpus[3].update(memory_mb=1))
    with pytest.raises(MatrixError) as error:
        _ = Matrix(folder).gpus
    file, why = said(error)
    assert file == "matrices/gpus.json"
    assert why.startswith("$[3]")
    assert "memory_mb" in why


def test_a_missing_key_is_named(spoil: Spoil) -> None:
    folder = spoil("torch.json", lambda releases: releases[0].pop("released"))
    with pytest.raises(MatrixError) as error:
        _ = Matrix(folder).torch_releases
    assert "released" in said(error)[1]


def test_a_version_that_is_none_is_named(spoil: Spoil) -> None:
    folder = spoil("vllm/0.9.json", lambda releases: releases[2].update(version="nine"))
    with pytest.raises(MatrixError) as error:
        len(Matrix(folder).releases)
    assert said(error) == ("matrices/vllm/0.9.json", "$[2].version: `nine` is no version")


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b"\xff\xfe\x00", b"\x00" * 100, b"[" * 100_000, b'"text"', b"null", b'[{"version": "\xff"}]', b"[1e999]"],
    ids=["empty", "cut", "utf-16", "zeros", "deep", "text", "null", "not-utf-8", "infinite"],
)
def test_hostile_bytes_are_one_clear_error(copy: Path, data: bytes) -> None:
    (copy / "torch.json").write_bytes(data)
    with pytest.raises(MatrixError) as error:
        _ = Matrix(copy).torch_releases
    assert said(error)[0] == "matrices/torch.json"


def test_a_file_too_large_is_not_read(copy: Path) -> None:
    with (copy / "torch.json").open("wb") as file:
        file.truncate(LIMIT_BYTES + 1)
    with pytest.raises(MatrixError) as error:
        _ = Matrix(copy).torch_releases
    assert str(LIMIT_BYTES) in said(error)[1]


def test_a_pipe_in_a_files_place_does_not_hang(copy: Path) -> None:
    (copy / "torch.json").unlink()
    os.mkfifo(copy / "torch.json")
    with pytest.raises(MatrixError) as error:
        _ = Matrix(copy).torch_releases
    assert said(error)[1] == "not a regular file"


def test_a_missing_file_and_a_missing_folder_of_releases(copy: Path) -> None:
    (copy / "mirrors.json").unlink()
    for path in (copy / "vllm").iterdir():
        path.unlink()
    with pytest.raises(MatrixError) as error:
        Matrix(copy).mirrors("torch-wheels")
    assert said(error)[0] == "matrices/mirrors.json"
    with pytest.raises(MatrixError) as error:
        len(Matrix(copy).releases)
    assert said(error)[0] == "matrices/vllm"


def test_another_schema_is_refused_with_both_numbers(spoil: Spoil) -> None:
    folder = spoil("matrix.json", lambda info: info.update(schema=2))
    with pytest.raises(MatrixError) as error:
        Matrix(folder)
    assert (error.value.text.params["schema"], error.value.text.params["expected"]) == (2, 1)


def test_a_check_reads_neither_models_nor_memory_facts(copy: Path) -> None:
    for name in ("models.json", "memory.json", "codes.json"):
        (copy / name).write_text("broken")
    matrix = Matrix(copy)
    assert matrix.releases[0].builds
    assert matrix.torch("2.10.0")
    assert matrix.gpu("NVIDIA A10")
    assert matrix.cuda_floor(12)
    assert matrix.engine(matrix.releases[0])
    assert matrix.cloud_matchers()
    assert matrix.maker_signs()
    with pytest.raises(MatrixError):
        matrix.model("Qwen/Qwen3-8B")


def test_hostile_questions_do_not_fill_memory() -> None:
    matrix = Matrix(Path(__file__).parents[2] / "matrices")
    names = GpuNames(matrix.gpus)
    for number in range(4200):
        matrix.resolve(f"0.0.{number}")
        names.find(f"no such card {number}")
    assert len(matrix._resolved) <= 4096
    assert len(names._found) <= 4097
