"""Rules on the places a model comes from: only where the request needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import Situation

_ON = ("1", "true", "yes", "on")
_DOWN = ("unreachable", "refused")
_HUB, _REGISTRIES = "model-hub-unreachable", ("docker_hub", "registry", "image_registry")
_LONGEST = 200


def model_hub(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A hub that does not answer, or an endpoint that is no address, where a model is to be fetched from it."""
    network, environment = known(situation.host.network) or {}, known(situation.host.environment) or {}
    if not network and not environment:
        return
    offline = any(environment.get(name, "").lower() in _ON for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    wanted = _from_hub(situation.request.model)
    if offline:
        if wanted:
            yield info(_HUB, "offline", model=(situation.request.model or "")[:_LONGEST])
        return
    endpoint, scope = environment.get("HF_ENDPOINT", "").strip(), environment.get("VLLM_USE_MODELSCOPE", "").lower() in _ON
    if endpoint and not scope and not endpoint.startswith(("http://", "https://")):
        make = error if wanted else warning
        yield make(_HUB, "endpoint", endpoint=endpoint[:_LONGEST], remedies=(remedy("setting", "hf-endpoint", "unset HF_ENDPOINT"),))
        return
    state = network.get("modelscope" if scope else "model_hub")
    if state in _DOWN:
        ways = tuple(_other_hubs(matrix, network, endpoint, scope=scope))
        if wanted:
            yield warning(_HUB, state=state, model=(situation.request.model or "")[:_LONGEST], remedies=ways)
        else:
            yield info(_HUB, "idle", state=state)


def _from_hub(model: str | None) -> bool:
    """Whether a model is named by an id and not by a folder."""
    return bool(model) and not str(model).startswith(("/", ".", "~"))


def _other_hubs(matrix: Matrix, network: Mapping[str, str | None], endpoint: str, *, scope: bool) -> Iterator[Remedy]:
    """Copies of the hub that are not the one in use, then what is cached already."""
    for mirror in matrix.mirrors("model-hub"):
        down = network.get(f"mirror.{mirror.id}") in _DOWN
        if mirror.upstream or down or mirror.url.rstrip("/") == endpoint.rstrip("/"):
            continue
        if mirror.id == "modelscope":
            if not scope:
                yield remedy("setting", "use-modelscope", "pip install modelscope", "export VLLM_USE_MODELSCOPE=true")
        else:
            yield remedy("setting", "hub-mirror", f"export HF_ENDPOINT={mirror.url}", mirror=mirror.id)
    yield remedy("setting", "hub-offline", "export HF_HUB_OFFLINE=1")


def registry(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A container registry that does not answer: of interest where wheels do not run, so a word only."""
    network = known(situation.host.network)
    if not network:
        return
    state = next((network[name] for name in _REGISTRIES if network.get(name) in _DOWN), None)
    if state:
        mirrors = [mirror for mirror in matrix.mirrors("image-registry") if not mirror.upstream]
        yield info("registry-unreachable", state=state, mirror=mirrors[0].url if mirrors else "")
