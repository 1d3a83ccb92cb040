"""vLLM's variables reach the server inside a container, a secret by name alone."""

from __future__ import annotations

from envcheck.model.plan import ServeConfig, Setting
from envcheck.model.text import Text
from envcheck.model.ways import ImageUse, Way
from envcheck.render.container import run_words

WHY = Text("why")


def way(line: str) -> Way:
    return Way(kind="image", title=Text("way.image"), commands=(line,), image=ImageUse("vllm/vllm-openai:v0.10.2", "0.10.2", "12.8"))


def head(line: str, *environment: Setting) -> list[str]:
    found = run_words(way(line), ServeConfig("a/b", (Setting("--max-model-len", "8", WHY),), environment))
    assert found is not None
    return found[0]


def test_variables_stand_before_the_image() -> None:
    words = head("docker run --rm vllm/vllm-openai:v0.10.2 serve a/b", Setting("VLLM_ATTENTION_BACKEND", "FLASHINFER", WHY))
    assert words == ["docker", "run", "-e", "VLLM_ATTENTION_BACKEND=FLASHINFER", "--rm", "vllm/vllm-openai:v0.10.2", "serve", "a/b"]


def test_a_secret_is_handed_on_by_its_name() -> None:
    assert head("podman run i serve a/b", Setting("VLLM_API_KEY", None, WHY))[:4] == ["podman", "run", "-e", "VLLM_API_KEY"]


def test_what_the_line_has_already_and_what_is_the_hosts_is_not_added() -> None:
    line = "docker run -e VLLM_LOGGING_LEVEL=DEBUG i serve a/b"
    assert head(line, Setting("VLLM_LOGGING_LEVEL", "INFO", WHY), Setting("HF_ENDPOINT", "https://hub.example", WHY)) == line.split()


def test_hostile_values_stay_one_word() -> None:
    (word,) = [word for word in head("docker run i serve a/b", Setting("VLLM_X", "a; rm -rf /", WHY)) if "VLLM_X" in word]
    assert word == "'VLLM_X=a; rm -rf /'"


def test_every_word_of_an_argument_is_written() -> None:
    serve = ServeConfig("a/b", (Setting("--lora-modules", "a=/x", WHY, ("b=/y z",)),))
    found = run_words(way("docker run i serve a/b"), serve)
    assert found is not None
    assert found[1] == ["--lora-modules", "a=/x", "'b=/y z'"]
