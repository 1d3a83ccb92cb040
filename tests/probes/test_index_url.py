import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.model.fact import Found, Unreadable
from envcheck.probes.index_url import configured_index, parse_own_index, parse_pip_conf, parse_uv_toml, plain_url, uv_index

CONF = """# made by the image
[global]
index-url = http://mirror.example/pypi/simple/
extra-index-url = https://extra.example/simple
[install]
trusted-host=mirror.example
"""
TOML = """
index-strategy = "first-index"
[[index]]
name = "torch"
url = "https://torch.example/whl/cu128"
explicit = true
[[index]]
url = "https://uv.example/simple"   # ours
default = true
"""
OWN = """class PackageIndex:
    def __init__(self, url: str) -> None: ...


PyPI = PackageIndex("https://index.example/", file_storage_domain="files.example")
TestPyPI = PackageIndex("https://test.example/", file_storage_domain="t.example")
"""


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (CONF, "http://mirror.example/pypi/simple/"),
        ("[global]\nindex_url=https://a.example\n[install]\nindex-url=https://b.example\n", "https://b.example"),
        ("[list]\nindex-url=https://a.example\n", None),
        ("[global]\n--index-url = https://a.example", "https://a.example"),
        ("[global\nindex-url", None),
        ("", None),
    ],
)
def test_pips_configuration(text, url):
    assert parse_pip_conf(text) == url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (TOML, "https://uv.example/simple"),
        ('index-url = "https://a.example"\n', "https://a.example"),
        ("[pip]\nindex-url = 'https://a.example'\n", "https://a.example"),
        ('[tool]\nindex-url = "https://a.example"\n', None),
        ('[[index]]\nurl = "https://a.example"\n', None),
        ("[[index]]\nurl = https\ndefault = true\n", None),
        ("", None),
    ],
)
def test_uvs_configuration(text, url):
    assert parse_uv_toml(text) == url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://me:secret@index.example/simple/?token=x#y", "https://index.example/simple"),
        (" HTTPS://Index.example ", "https://Index.example"),
        ("http://mirror.example/simple", "http://mirror.example/simple"),
        ("file:///srv/wheels", None),
        ("/srv/wheels", None),
        ("https://", None),
        ("https://me@", None),
        ("https://a b.example", None),
        ("https://a.example/\x1b[31m", None),
        ("https://" + "a" * 600, None),
        ("", None),
    ],
)
def test_an_url_without_what_is_nobodys_business(text, url):
    assert plain_url(text) == url


@given(st.text(max_size=300))
def test_no_configuration_makes_the_parsers_fail(text):
    for parse in (parse_pip_conf, parse_uv_toml, parse_own_index, plain_url):
        parse(text)


def index(look, **host):
    fact = configured_index(look(**host))
    return fact.value if isinstance(fact, Found) else None


HOME = {"HOME": "/home/me"}


def test_the_more_special_place_wins(look):
    files = {
        "/etc/pip.conf": "[global]\nindex-url = https://etc.example/simple",
        "/home/me/.config/pip/pip.conf": "[global]\nindex-url = https://mine.example/simple",
        "/etc/uv/uv.toml": TOML,
    }
    assert index(look, env=HOME | {"PIP_INDEX_URL": "https://env.example/simple"}, files=files) == "https://env.example/simple"
    assert index(look, env=HOME, files=files) == "https://mine.example/simple"
    assert index(look, env={}, files=files) == "https://etc.example/simple"
    assert index(look, env={"PIP_CONFIG_FILE": "/dev/null"}, files=files) == "https://uv.example/simple"


def test_the_environments_own_file(look):
    files = {
        "/venv/bin/python": "",
        "/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.12.3\n",
        "/venv/pip.conf": "[global]\nindex-url = https://venv.example/simple",
        "/etc/pip.conf": "[global]\nindex-url = https://etc.example/simple",
    }
    assert index(look, env={"VIRTUAL_ENV": "/venv"}, files=files) == "https://venv.example/simple"


def test_pips_own_default_where_nothing_is_configured(look):
    """An environment made by uv has no pip: that of the interpreter beneath is read."""
    files = {
        "/venv/bin/python": "",
        "/venv/pyvenv.cfg": "home = /usr/bin\nuv = 0.8.0\nversion_info = 3.12.3\n",
        "/usr/lib/python3/dist-packages/pip/_internal/models/index.py": OWN,
    }
    assert index(look, env={"VIRTUAL_ENV": "/venv"}, files=files) == "https://index.example/simple"


def test_an_index_that_nobody_names(look):
    fact = configured_index(look())
    assert isinstance(fact, Unreadable)


def test_a_folder_of_wheels_is_no_place_to_ask(look):
    fact = uv_index(look(env={"UV_DEFAULT_INDEX": "file:///srv/wheels"}))
    assert fact.why == "UV_DEFAULT_INDEX: no http URL"


def test_a_password_never_comes_along(look):
    fact = configured_index(look(env={"PIP_INDEX_URL": "https://me:secret@index.example/simple?token=t"}))
    assert fact == Found("https://index.example/simple", "PIP_INDEX_URL")
