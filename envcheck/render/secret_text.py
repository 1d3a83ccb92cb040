"""What becomes of secrets among the serve arguments, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcheck.model.secret_names import left_out
from envcheck.render.catalogue import Catalogue


def secret_notes(arguments: Mapping[str, Any], catalogue: Catalogue) -> list[str]:
    """A sentence for each secret given: which variable holds it, or that it is to be added by hand."""
    return [
        catalogue.say("serve.note.secret-variable", flag=flag, variable=variable)
        if variable
        else catalogue.say("serve.note.secret", flag=flag)
        for flag, variable in left_out(arguments)
    ]
