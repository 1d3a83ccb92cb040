"""The cheap import of nvidia-ml-py is the import of nvidia-ml-py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("processes")

BOTH = """
import ctypes, importlib, json, sys, warnings
from envcheck.system.nvml_binding import binding

lazy = binding()
put_off = set(getattr(vars(lazy)["__builtins__"], "later", ()))
left = [name for name in ("ctypes.util", "string") if name in sys.modules]
del sys.modules["pynvml"]
import pynvml as plain


def shape(thing):
    if isinstance(thing, type) and issubclass(thing, (ctypes.Structure, ctypes.Union)):
        size = ctypes.sizeof(thing) if hasattr(thing, "_fields_") else None
        return [thing.__mro__[1].__name__, size, [[f[0], f[1].__name__] for f in getattr(thing, "_fields_", ())]]
    if isinstance(thing, type):
        return [base.__name__ for base in thing.__mro__]
    return repr(thing) if isinstance(thing, (int, str, tuple)) else type(thing).__name__


names = sorted(name for name in vars(plain) if not name.startswith("__"))
differ = [name for name in names if shape(getattr(plain, name)) != shape(getattr(lazy, name))]
known = {name for name in vars(lazy) if not name.startswith("__")}
json.dump([len(put_off), len(names), differ, sorted(known ^ set(names)), left], sys.stdout)
"""


def run(program: str, *search: Path) -> Any:
    here = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*search, here)))}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_name_of_the_module_is_what_a_plain_import_makes_it() -> None:
    put_off, names, differ, unlike, left = run(BOTH)
    assert (differ, unlike) == ([], [])
    assert put_off > 100  # else this compares two plain imports
    assert names > 1500
    assert left == []


ODD = """
import json, sys
from envcheck.system.nvml_binding import binding
module = binding()
json.dump([sys.modules["pynvml"] is module, module.Late().word, module.Base.word], sys.stdout)
"""


@pytest.mark.parametrize(
    "source",
    [
        "class Base:\n    word = 'b'\nclass Late(Base):\n    word = 'l'\n",
        "def mark(cls):\n    cls.word = 'l'\n    return cls\nclass Base:\n    word = 'b'\n@mark\nclass Late(Base):\n    pass\n",
        "class Base:\n    word = 'b'\nclass Late(Base):\n    word = 'x'\nLate.word = 'l'\n",
        "class Base:\n    word = 'x'\nclass Late(Base):\n    word = 'x'\nclass Late(Base):\n    word = 'l'\nBase.word = 'b'\n",
        "class Base:\n    word = 'b'\nclass Late(Base):\n    pass\ndel Late\ndef make():\n    class Late(Base):\n        word = 'l'\n"
        "    return Late\nLate = make()\n",
        "class Base:\n    word = 'b'\nclass Late(Base):\n    word = 'l'\nif 'Late' not in globals():\n    raise RuntimeError\n",
    ],
    ids=["plain", "decorated", "changed", "made twice", "deleted and made in a function", "looks at its own names"],
)
def test_modules_that_use_their_classes_at_once(tmp_path: Path, source: str) -> None:
    (tmp_path / "pynvml.py").write_text(source)
    assert run(ODD, tmp_path) == [True, "l", "b"]


FAILS = """
import json, sys
from envcheck.system.nvml_binding import binding
try:
    binding()
except Exception as error:
    json.dump([type(error).__name__, str(error), "pynvml" in sys.modules, "string" in sys.modules], sys.stdout)
"""


def test_a_module_that_fails_fails_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("class Base: pass\nclass Late(Base): pass\nraise ValueError('of its own')\n")
    assert run(FAILS, tmp_path) == ["ValueError", "of its own", False, False]


def test_what_it_asks_of_the_stand_ins_for_small_modules_is_there(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(
        "import string\nfrom string import digits\nclass Base:\n    word = string.capwords('b_bb', '_')\n"
        "class Late(Base):\n    word = digits[:2]\n"
    )
    assert run(ODD, tmp_path) == [True, "01", "B_Bb"]


CHILD = """
import json, sys
from envcheck.system.forked import forked
from envcheck.system import nvml_child
from envcheck.system.nvml_binding import binding
before = set(sys.modules)
binding()
json.dump(sorted(set(sys.modules) - before), sys.stdout)
"""


def test_reading_it_imports_nothing_dear() -> None:
    loaded = set(run(CHILD))
    assert "pynvml" in loaded
    assert not loaded & {"string", "ctypes.util", "subprocess", "shutil", "tempfile", "re", "importlib.util", "inspect", "ast", "dis"}
