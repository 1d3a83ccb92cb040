"""Which of the two model runners a release takes for a model."""

from __future__ import annotations

from collections.abc import Mapping

from envcheck.model.memoryfacts import Runner
from envcheck.sizing.fields import flag
from envcheck.sizing.release import Rules
from envcheck.sizing.settings import Settings
from envcheck.sizing.spec import Dimensions


def runner_of(dims: Dimensions, settings: Settings, rules: Rules, environment: Mapping[str, str]) -> Runner:
    """The model runner: as the environment says, else the release's default for this model."""
    record = rules.v2_runner
    if record is None:
        return "v1"
    told = flag(environment, record.variable) if record.variable else None
    if told is not None:
        return "v2" if told else "v1"
    if record.everything:
        return "v2"
    if settings.pooling or (record.unquantized_only and "quantization_config" in dims.config):
        return "v1"
    named = dims.architecture in record.architectures or dims.model_type in record.architectures
    plain = dims.experts is None and dims.recurrent is None
    return "v2" if named or (record.dense and plain) else "v1"
