"""No command shows or writes the value of a serve argument that holds a secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.cli.main import main
from envcheck.cli.serve_args import parse_serve_args
from envcheck.errors import UsageError
from envcheck.matrix.load import load
from envcheck.model.secret_names import is_secret_argument, left_out, variable_of
from envcheck.system.secret_arguments import hidden, without_values

MATRIX = load()
NAMES = [flag.name for flag in MATRIX.flags.file.flags]
MODEL = "Qwen/Qwen2.5-7B-Instruct"
VALUE = "q7Zp-never.Shown+42"
SPELT = ("--api-key", "--hf-token", "--hf_token", "--api-k", "--hf-tok", "--apikey", "--ssl-keyfile-password", "--aws-secret-access-key")
NOT_SECRET = (
    *(
        "--tokenizer",
        "--tokenizer-mode",
        "--max-num-batched-tokens",
        "--ssl-keyfile",
        "--ssl-certfile",
        "--spec-tokens",
        "--image-token-id",
    ),
    *(
        "--num-speculative-tokens",
        "--max-model-len",
        "--skip-tokenizer-init",
        "--long-prefill-token-threshold",
        "--max-prompt-adapter-token",
    ),
)


def test_secrets_are_told_by_name() -> None:
    assert [name for name in SPELT if not is_secret_argument(name)] == []
    assert [name for name in NOT_SECRET if is_secret_argument(name)] == []


def test_of_all_recorded_arguments_these_hold_a_secret() -> None:
    """`--allow-credentials` is a switch; it is named like one and holds nothing."""
    assert [name for name in NAMES if is_secret_argument(name)] == ["--allow-credentials", "--api-key", "--hf-token"]


RECORDED = {name for flag in MATRIX.flags.file.flags for name in (flag.name, *flag.short)}
BEGUN = [name[:end] for name in ("--api-key", "--hf-token") for end in range(4, len(name) + 1)]


@pytest.mark.parametrize("word", [name for name in BEGUN if name == "--api-key" or name not in RECORDED])
def test_a_beginning_of_a_name_hides_its_value_too(word: str) -> None:
    """Parsers take the beginning of a name for the whole one."""
    for spelling in (word, word.upper(), word.replace("-", "_").replace("__", "--", 1)):
        with suppress(UsageError):
            assert VALUE not in repr(parse_serve_args([spelling, VALUE], (), lambda: MATRIX.flags))


@given(
    st.sampled_from(sorted(RECORDED)),
    st.sampled_from(["--api-key", "--hf-token", "--hf_token", "--HF-Token"]),
    st.booleans(),
    st.booleans(),
)
def test_beside_any_other_argument_it_stays_hidden(other: str, secret: str, joined: bool, first: bool) -> None:
    told = [f"{secret}={VALUE}"] if joined else [secret, VALUE]
    try:
        kept = repr(parse_serve_args([*told, other, "1"] if first else [other, "1", *told], (), lambda: MATRIX.flags))
    except UsageError as error:
        kept = repr(error.text)
    assert VALUE not in kept


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_other_arguments_keep_their_value(name: str) -> None:
    if not is_secret_argument(name):
        assert hidden(name, "a-value/of.it") == "a-value/of.it"
        assert hidden(name, 5) == 5


def test_each_has_its_variable() -> None:
    found = left_out({"api_key": "***", "hf_tok": "***", "ssl_keyfile_password": "***", "allow_credentials": True, "dtype": "half"})
    assert found == [("--api-key", "VLLM_API_KEY"), ("--hf-tok", "HF_TOKEN"), ("--ssl-keyfile-password", None)]
    assert variable_of("dtype") is None


@pytest.mark.parametrize("name", SPELT)
@pytest.mark.parametrize("form", ["{0}={1}", "{0} {1}", "{0} {1} {1}", "{0} 123456789"])
def test_the_value_is_gone_behind_the_command_line(name: str, form: str) -> None:
    told = form.format(name, VALUE).split()
    try:
        kept = repr(parse_serve_args(told, (), lambda: MATRIX.flags))
    except UsageError as error:
        kept = repr(error.text)
    assert VALUE not in kept
    assert "123456789" not in kept


def test_a_key_is_told_by_its_form_and_inside_json() -> None:
    token = "hf_" + "aB3" * 11
    assert token not in hidden("served_model_name", token)
    assert hidden("hf_overrides", '{"token": "x1", "rope_theta": 5}') == '{"token": "***", "rope_theta": 5}'
    assert hidden("kv_transfer_config", {"auth": {"api_key": "x1"}, "max_tokens": 7}) == {"auth": {"api_key": "***"}, "max_tokens": 7}
    assert hidden("hf_overrides", '{"max_position_embeddings": 9}') == '{"max_position_embeddings": 9}'
    deep: Any = {"token": "x1"}
    for _ in range(40):
        deep = [deep]
    assert "x1" not in repr(hidden("hf_overrides", deep))
    assert without_values({"api_key": ["a", "b"], "port": 8000}) == {"api_key": "***", "port": 8000}


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(list(words))
    found = capsys.readouterr()
    return found.out + found.err


def _everything(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())


COMMANDS: list[tuple[str, ...]] = [
    ("plan", "--offline", "--model", MODEL, "--host", "HOST", "--"),
    ("plan", "--offline", "--model", MODEL, "--host", "HOST", "--json", "--"),
    ("plan", "--offline", "-v", "--lang", "zh", "--model", MODEL, "--host", "HOST", "--"),
    ("size", "--offline", "--gpu", "NVIDIA A10", MODEL),
    ("size", "--offline", "--gpu", "NVIDIA A10", "--json", MODEL),
    ("size", "--offline", "--gpu", "NVIDIA T4", "-v", MODEL),
    ("upgrade", "--offline", "--gpu", "NVIDIA A10", "--from", "0.9.2", "--to", "0.19.1", "--"),
    ("upgrade", "--offline", "--gpu", "NVIDIA A10", "--from", "0.19.1", "--to", "0.6.3", "--json", "--"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_it(command: tuple[str, ...], a10: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [a10 if word == "HOST" else word for word in command]
    told = [word for name in SPELT for word in (f"{name}={VALUE}",)]
    answer = _said(capsys, *words, *told, "--seed", "7")
    assert VALUE not in answer
    if not ("size" in command and "--json" in command):
        assert "HF_TOKEN" in answer
        assert "VLLM_API_KEY" in answer


@pytest.mark.parametrize("name", SPELT)
def test_no_file_holds_it(name: str, a10: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    answer = _said(capsys, "plan", "--offline", "--host", a10, "--model", MODEL, "-o", str(folder), "--", name, VALUE)
    written = _everything(folder)
    assert "vllm" in written
    assert VALUE not in written + answer
    assert "***" not in (folder / "serve.sh").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words", [("explain", "--api-key", VALUE), ("explain", "--hf-token=" + VALUE, "--json"), ("check", "--api-key", VALUE)]
)
def test_questions_and_refusals_do_not_repeat_it(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert VALUE not in _said(capsys, *words)


def test_batch_does_not_repeat_it(run_batch: Callable[[dict[str, Any]], str]) -> None:
    asked = {"id": 1, "host": None, "request": {"model": MODEL, "serve_args": dict.fromkeys(("api_key", "--hf-token", "hf_token"), VALUE)}}
    for want in (["check"], ["check", "size", "plan"]):
        assert VALUE not in run_batch({**asked, "want": want})


@pytest.fixture
def run_batch() -> Callable[[dict[str, Any]], str]:
    from envcheck.cli.batch_answer import Answerer
    from envcheck.render.catalogue import Catalogue

    answerer = Answerer(MATRIX, Catalogue("en"))

    def run(question: dict[str, Any]) -> str:
        import msgspec

        return msgspec.json.encode(answerer.answer(json.dumps(question).encode(), 1)).decode()

    return run
