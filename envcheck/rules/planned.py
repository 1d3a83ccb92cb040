"""What is planned to be served, as far as the request says: does it meet a condition, does it not, or is that not known.

A switch that a stated configuration leaves out is off. Where nothing is stated every condition is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from envcheck.matrix.load import Matrix
from envcheck.model.host import known
from envcheck.rules.situation import Situation

_ON = ("1", "true", "yes", "on")
_LONGEST = 400  # characters of an argument that are looked at
_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
_POOLING_TASKS = ("embed", "embedding", "classify", "score", "reward", "pooling")


class Planned:
    """The request as conditions see it. `engine` = the engine of the release judged, None = not known."""

    def __init__(self, situation: Situation, matrix: Matrix, engine: str | None = None) -> None:
        self.situation = situation
        self.engine = engine
        self.args = situation.request.serve_args
        self._matrix = matrix

    @cached_property
    def stated(self) -> bool:
        """Whether the request says anything of what is served."""
        request = self.situation.request
        return bool(self.args or request.model or request.model_config)

    @cached_property
    def environment(self) -> Mapping[str, str] | None:
        """The environment, None where it is not known."""
        return known(self.situation.host.environment)

    @cached_property
    def config(self) -> Mapping[str, Any] | None:
        """The model's configuration: the request's own, else that of the catalogue."""
        request = self.situation.request
        if request.model_config is not None:
            return request.model_config
        card = self._matrix.model(request.model) if request.model else None
        return card.config if card else None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Model type and architectures without separators, in lower case."""
        config = self.config or {}
        found = [config.get("model_type"), *_listed(config.get("architectures"))]
        return tuple("".join(char for char in name[:_LONGEST].lower() if char.isalnum()) for name in found if isinstance(name, str))

    @cached_property
    def exposed(self) -> bool | None:
        """Whether others than this host reach the server; None where no address is stated, since a plan listens on the loopback."""
        host = self.args.get("host")
        if self.args.get("uds"):
            return False
        if not isinstance(host, str) or not host.strip():
            return None
        return not is_loopback(host)

    def has_key(self) -> bool:
        """Whether an API key is stated, as an argument or in the environment."""
        return bool(self.args.get("api_key") or (self.environment or {}).get("VLLM_API_KEY"))

    def switch(self, name: str) -> bool | None:
        """A switch of the command line."""
        return is_on(self.args.get(name)) if self.stated else None

    def says(self, fragment: str, *names: str) -> bool | None:
        """Whether one of these arguments holds a word, in any case."""
        return any(fragment in str(self.args.get(name) or "")[:_LONGEST].lower() for name in names) if self.stated else None

    def serves(self, models: Iterable[str]) -> bool | None:
        """Whether the model is of one of these families."""
        return any(part in name for name in self.names for part in models) if self.names else None

    def holds(self, condition: str) -> bool | None:
        """Whether a condition of an advisory is met; None = not known."""
        if not self.stated:
            return None
        name, _, value = condition.partition(":")
        test = _TESTS.get(name)
        return test(self, value) if test else None

    def multimodal(self) -> bool | None:
        """Whether pictures, sound or films get in."""
        if is_on(self.args.get("language_model_only")) or self._limit() == 0:
            return False
        if self.config is None:
            return None
        from envcheck.sizing.spec import family_of  # noqa: PLC0415  # a check without a model never needs it

        own = any(key.startswith(("vision", "audio", "visual")) and value for key, value in self.config.items() if isinstance(key, str))
        return own or "thinker_config" in self.config or bool(family_of(self.config, self._matrix.memory.families).encoder)

    def takes(self, medium: str, signs: tuple[str, ...]) -> bool | None:
        """Whether one kind of media gets in, by the keys of the model's configuration."""
        if self._limit(medium) == 0:
            return False
        found = self.multimodal()
        if not found or self.config is None:
            return found
        keys = [str(key) for part in (self.config, *self._parts()) for key in part]
        return True if any(sign in key for key in keys for sign in signs) else None

    def _parts(self) -> list[Mapping[str, Any]]:
        config = self.config or {}
        return [part for name in _PARTS if isinstance(part := config.get(name), Mapping)]

    def _limit(self, medium: str = "") -> int | None:
        """How many media a request may hold, of one kind or at most; None = not limited."""
        limits = self.args.get("limit_mm_per_prompt")
        if not isinstance(limits, Mapping) or not limits:
            return None
        if medium:
            return limits[medium] if isinstance(limits.get(medium), int) else None
        return max(value if isinstance(value, int) else 1 for value in limits.values())

    def rotates_by_section(self) -> bool | None:
        """Whether positions have several dimensions (M-RoPE)."""
        if self.config is None:
            return None
        ropes = [part.get(name) for part in (self.config, *self._parts()) for name in ("rope_scaling", "rope_parameters")]
        return any(isinstance(rope, Mapping) and "mrope_section" in rope for rope in ropes)

    def pools(self) -> bool | None:
        """Whether the model embeds, scores or classifies rather than writes."""
        told = str(self.args.get("runner") or self.args.get("task") or "auto")
        if told in (*_POOLING_TASKS, "generate"):
            return told != "generate"
        if any(name.endswith(("forsequenceclassification", "rewardmodel", "embeddingmodel", "formaskedlm")) for name in self.names):
            return True
        return False if any(name.endswith("forcausallm") for name in self.names) else None

    def spans_hosts(self) -> bool:
        """Whether the server's processes stand on several hosts."""
        nodes, backend = self.args.get("nnodes"), self.args.get("distributed_executor_backend")
        sizes = [self.args.get(f"{kind}_parallel_size") for kind in ("tensor", "pipeline")]
        ranks = (sizes[0] if isinstance(sizes[0], int) else 1) * (sizes[1] if isinstance(sizes[1], int) else 1)
        here = len(self.situation.usable_gpus)
        afar = [value for name in ("data_parallel_address", "master_addr") if isinstance(value := self.args.get(name), str)]
        if isinstance(nodes, int) and nodes > 1:
            return True
        return any(not is_loopback(address) for address in afar) or (backend == "ray" and 0 < here < ranks)

    def in_environment(self, name: str) -> bool | None:
        """A switch of the environment."""
        return None if self.environment is None else is_on(self.environment.get(name))


def is_on(value: object) -> bool:
    """Whether a switch is on, as an argument or as a text."""
    if isinstance(value, str):
        return value.strip().lower() in _ON or (value.strip().isdigit() and value.strip("0 ") != "")
    return value is True or (isinstance(value, int) and value != 0)


def is_loopback(address: str) -> bool:
    """Whether an address is this host alone."""
    bare = address.strip().strip("[]").lower()
    return bare in ("localhost", "::1", "0:0:0:0:0:0:0:1") or bare.startswith("127.")


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _http(planned: Planned, value: str) -> bool | None:
    return planned.exposed or None  # a proxy on this host may reach a server that listens on the loopback


def _key_alone(planned: Planned, value: str) -> bool | None:
    return False if not planned.has_key() else (planned.exposed or None)


def _media_url(planned: Planned, value: str) -> bool | None:
    found = planned.multimodal()
    return None if found and planned.args.get("allowed_media_domains") else found


def _connector(planned: Planned, value: str) -> bool | None:
    return planned.says(value, "kv_transfer_config", "kv_offloading_backend")


def _pickle(planned: Planned, value: str) -> bool | None:
    told = planned.args.get("load_format")
    return None if told in (None, "auto") else told in ("pt", "npcache")


def _gguf(planned: Planned, value: str) -> bool | None:
    model = (planned.situation.request.model or "")[-_LONGEST:].lower()
    return planned.says("gguf", "quantization", "load_format") or model.endswith(".gguf")


def _speculative(planned: Planned, value: str) -> bool | None:
    names = ("speculative_config", "speculative_model", "num_speculative_tokens")
    return planned.says(value, "speculative_config") if value else any(planned.args.get(name) for name in names)


def _rust(planned: Planned, value: str) -> bool | None:
    return planned.switch("grpc") or bool(planned.args.get("grpc_port")) or planned.in_environment("VLLM_USE_RUST_FRONTEND")


_TESTS: dict[str, Callable[[Planned, str], bool | None]] = {
    **dict.fromkeys(("http", "structured_outputs", "chat", "tools"), _http),
    "api_key": _key_alone,
    "backend": lambda planned, value: planned.says(value, "guided_decoding_backend", "structured_outputs_config") or None,
    "gguf": _gguf,
    "kv_transfer": lambda planned, value: bool(planned.args.get("kv_transfer_config")),
    "lmcache": lambda planned, value: _connector(planned, "lmcache"),
    "media_url": _media_url,
    "mm_audio": lambda planned, value: planned.takes("audio", ("audio", "num_mel_bins")),
    "mm_video": lambda planned, value: planned.takes("video", ("video",)),
    "mooncake": lambda planned, value: _connector(planned, "mooncake"),
    "mrope": lambda planned, value: planned.rotates_by_section(),
    "multi_node": lambda planned, value: planned.spans_hosts(),
    "multimodal": lambda planned, value: planned.multimodal(),
    "nixl": lambda planned, value: _connector(planned, "nixl"),
    "pickle_weights": _pickle,
    "pinned_revision": lambda planned, value: bool(planned.args.get("revision") or planned.args.get("code_revision")),
    "pooling_model": lambda planned, value: planned.pools(),
    "prefix_caching": lambda planned, value: False if planned.args.get("enable_prefix_caching") is False else None,
    "prompt_embeds": lambda planned, value: planned.switch("enable_prompt_embeds"),
    "prompt_embeds_accepted": lambda planned, value: planned.switch("enable_prompt_embeds") or None,
    "pynccl_pipe": lambda planned, value: _connector(planned, "pynccl"),
    "pynvvideocodec": lambda planned, value: "pynvvideocodec" in planned.situation.packages or None,
    "python_optimized": lambda planned, value: planned.in_environment("PYTHONOPTIMIZE"),
    "ray": lambda planned, value: planned.says("ray", "distributed_executor_backend", "data_parallel_backend"),
    "rust_frontend": _rust,
    "scale_out": lambda planned, value: planned.switch("enable_scale_out") or None,
    "spec_decode": _speculative,
    "tool_parser": lambda planned, value: planned.args.get("tool_call_parser") == value,
    "trust_remote_code": lambda planned, value: planned.switch("trust_remote_code"),
    "v0_engine": lambda planned, value: None if planned.engine is None else planned.engine == "v0",
}
CONDITIONS = frozenset(_TESTS)
# Conditions that no request states: who the clients are, where the weights come from, who else is on the host.
UNKNOWABLE = frozenset(
    (
        "chat_template_untrusted",
        "containers",
        "dependency",
        "large_batch",
        "local",
        "local_cache",
        "multi_tenant",
        "rpc_socket",
        "untrusted_model",
    )
)
