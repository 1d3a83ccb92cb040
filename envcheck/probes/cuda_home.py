"""`CUDA_HOME`, else `CUDA_PATH`: what builds and run-time compilation take for the toolkit, right or wrong."""

from __future__ import annotations

import posixpath

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of
from envcheck.probes.look import Look

FIELDS = ("cuda_home.variable", "cuda_home.value", "cuda_home.exists", "cuda_home.nvcc")
VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_LITERAL = ('"', "'", "~", "$")  # a shell would have taken these away; those who read the variable do not


def probe(look: Look) -> Facts:
    """All facts under `cuda_home`, the value taken literally; absent where neither variable is set, an empty one counting as not set."""
    name = next((name for name in VARIABLES if look.env.get(name)), None)
    if name is None:
        return all_of(FIELDS, Absent("neither CUDA_HOME nor CUDA_PATH is set"))
    value = look.env[name]
    return {
        "cuda_home.variable": Found(name, "environment"),
        "cuda_home.value": Found(value[:4096], name),
        "cuda_home.exists": there(look, value),
        "cuda_home.nvcc": there(look, posixpath.join(value, "bin/nvcc")),
    }


def there(look: Look, value: str) -> Fact[bool]:
    """Whether a value, taken as one path, leads somewhere."""
    if value.startswith("/") or value.startswith(_LITERAL):
        return Found(value.startswith("/") and look.system.exists(value), value[:300])
    return Unreadable("a relative path: it depends on the current folder")
