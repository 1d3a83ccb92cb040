"""Stand-ins for modules of the standard library: what is asked of them is what the real ones answer."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("processes")


def run(source: str) -> Any:
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_msgspec_comes_without_them_and_they_come_real_afterwards() -> None:
    before, platform, system, text = run(
        "import json, sys\n"
        "from envcheck.system.spared import load_msgspec\n"
        "load_msgspec()\n"
        "before = [name for name in ('platform', 'textwrap', 'msgspec', 'uuid') if name in sys.modules]\n"
        "import platform, textwrap, uuid\n"
        "assert uuid.uuid5(uuid.NAMESPACE_DNS, 'a').version == 5\n"
        "print(json.dumps([before, platform.python_implementation(), platform.system(), textwrap.dedent('  a')]))\n"
    )
    assert before == ["msgspec", "uuid"]
    assert platform == sys.implementation.name.replace("cpython", "CPython")
    assert system == "Linux"
    assert text == "a"


def test_the_schema_of_a_documented_class_is_written_as_ever() -> None:
    source = (
        "import json, sys\n{load}"
        "import msgspec\n"
        "class Thing(msgspec.Struct):\n    '''One\n    thing.'''\n    name: str\n"
        "print(json.dumps(msgspec.json.schema(Thing)))\n"
    )
    lean = run(source.format(load="from envcheck.system.spared import load_msgspec\nload_msgspec()\n"))
    assert lean == run(source.format(load=""))


def test_what_a_stand_in_has_not_comes_from_the_real_module() -> None:
    assert run(
        "import json, sys\n"
        "from envcheck.system.spared import stand_in, standing_in\n"
        "with standing_in(stand_in('string', capwords=str.upper)):\n"
        "    import string\n"
        "    own = string.capwords('a b')\n"
        "    real = string.digits\n"
        "import string as again\n"
        "print(json.dumps([own, real, again.capwords('a b'), again.__name__]))\n"
    ) == ["A B", "0123456789", "A B".title(), "string"]


def test_a_module_that_is_loaded_already_is_left_alone() -> None:
    assert run(
        "import json, string\n"
        "from envcheck.system.spared import stand_in, standing_in\n"
        "with standing_in(stand_in('string', capwords=str.upper)):\n"
        "    import string as again\n"
        "print(json.dumps(again is string))\n"
    )
