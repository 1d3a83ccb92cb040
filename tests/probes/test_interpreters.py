"""Kinds of interpreters and environments: which one is meant, where its packages lie, what may be done there."""

import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import packages, python_env
from envcheck.probes.compiler import compiler
from envcheck.probes.interpreter import elf_bits, implementation_of, target
from envcheck.probes.site_packages import sites

VENV = "home = /usr/bin\nversion = 3.11.2\n"
DEBIAN = {"/usr/bin/python3.11": b"", "/usr/lib/python3.11/os.py": "", "/usr/lib/python3/dist-packages/six.py": ""}
ON_PATH = {"links": {"/usr/bin/python3": "python3.11"}, "which": {"python3": "/usr/bin/python3"}}
IN_VENV = {"/srv/v/bin/python": b"", "/srv/v/pyvenv.cfg": VENV, "/srv/v/lib/python3.11/site-packages/six.py": ""}


def facts(look, files, **host):
    return python_env.probe(look(files=files, **host))


def test_debians_own_python_is_managed_and_cannot_make_environments(look):
    found = facts(look, DEBIAN | {"/usr/lib/python3.11/EXTERNALLY-MANAGED": "[externally-managed]\n"}, **ON_PATH)
    assert found["python.externally_managed"] == Found(True, "/usr/lib/python3.11/EXTERNALLY-MANAGED")
    assert found["python.can_make_venv"] == Found(False, "/usr/lib/python3.11/ensurepip")
    assert found["python.prefix"].value == "/usr"


def test_with_python3_venv_it_can(look):
    found = facts(look, DEBIAN | {"/usr/lib/python3.11/ensurepip/__init__.py": ""}, **ON_PATH)
    assert found["python.can_make_venv"].value is True
    assert found["python.externally_managed"].value is False


def test_the_rpm_family_has_the_library_in_lib64(look):
    files = {"/usr/bin/python3.11": b"", "/usr/lib/python3.11/site-packages/x.py": "", "/usr/lib64/python3.11/os.py": ""}
    files |= {"/usr/lib64/python3.11/ensurepip/__init__.py": ""}
    assert facts(look, files, **ON_PATH)["python.can_make_venv"] == Found(True, "/usr/lib64/python3.11/ensurepip")


def test_without_a_standard_library_in_sight_nothing_is_claimed(look):
    found = facts(look, {"/usr/bin/python3.11": b""}, **ON_PATH)
    assert isinstance(found["python.externally_managed"], Unreadable)
    assert isinstance(found["python.can_make_venv"], Unreadable)


def test_a_virtual_environment_is_never_managed(look):
    files = IN_VENV | DEBIAN | {"/usr/lib/python3.11/EXTERNALLY-MANAGED": ""}
    found = facts(look, files, env={"VIRTUAL_ENV": "/srv/v"})
    assert found["python.externally_managed"].value is False
    assert found["python.prefix"].value == "/srv/v"


def test_an_environment_whose_python_was_removed_is_passed_over_and_said(look):
    files = {"/srv/v/pyvenv.cfg": VENV} | DEBIAN
    fact = target(look(files=files, env={"VIRTUAL_ENV": "/srv/v"}, **ON_PATH))
    assert (fact.value.executable, fact.source) == ("/usr/bin/python3", "python3 on PATH")
    assert [gap.state for gap in fact.tried] == ["absent"]
    assert "/srv/v/bin/python is broken" in fact.tried[0].why
    gone = target(look(files=DEBIAN, env={"VIRTUAL_ENV": "/srv/v"}, **ON_PATH))
    assert "/srv/v/bin/python is not there" in gone.tried[0].why


def test_a_broken_environment_alone_is_no_interpreter(look):
    fact = target(look(files={"/srv/v/pyvenv.cfg": VENV}, env={"VIRTUAL_ENV": "/srv/v"}))
    assert isinstance(fact, Absent)


@pytest.mark.parametrize(
    ("files", "env", "kind"),
    [
        (
            {"/p/.pixi/envs/default/bin/python": b"", "/p/.pixi/envs/default/conda-meta/history": ""},
            {"CONDA_PREFIX": "/p/.pixi/envs/default"},
            "pixi",
        ),
        ({"/c/bin/python": b"", "/c/conda-meta/history": ""}, {"CONDA_PREFIX": "/c"}, "conda"),
        (
            {"/h/pypoetry/virtualenvs/x/bin/python": b"", "/h/pypoetry/virtualenvs/x/pyvenv.cfg": VENV},
            {"VIRTUAL_ENV": "/h/pypoetry/virtualenvs/x"},
            "poetry",
        ),
        (IN_VENV, {"VIRTUAL_ENV": "/srv/v"}, "venv"),
        ({"/srv/v/bin/python": b"", "/srv/v/pyvenv.cfg": VENV + "uv = 0.9.1\n"}, {"VIRTUAL_ENV": "/srv/v"}, "uv"),
    ],
)
def test_kinds_of_environments(look, files, env, kind):
    assert facts(look, files, env=env)["python.environment"].value == kind


def test_free_threaded_builds_have_folders_of_their_own(look):
    files = {
        "/srv/t/bin/python": b"",
        "/srv/t/pyvenv.cfg": "home = /opt/t/bin\nversion = 3.13.1\n",
        "/opt/t/include/python3.13t/Python.h": "",
    }
    free = files | {"/srv/t/lib/python3.13t/site-packages/numpy-2.1.0.dist-info/METADATA": "Name: numpy\nVersion: 2.1.0\n"}
    visit = look(files=free, env={"VIRTUAL_ENV": "/srv/t"})
    found = python_env.probe(visit)
    assert (found["python.free_threaded"].value, found["python.headers"].value) == (True, True)
    assert packages.probe(visit)["packages"].value["numpy"] == "2.1.0"
    locked = files | {"/srv/t/lib/python3.13/site-packages/x.py": ""}
    assert facts(look, locked, env={"VIRTUAL_ENV": "/srv/t"})["python.free_threaded"].value is False


@pytest.mark.parametrize(("name", "free"), [("python3.13t", True), ("python3.13", False)])
def test_a_systems_free_threaded_python_by_its_name(look, name, free):
    # The sibling's folder lies in the same place and must not speak for the other.
    files = {f"/usr/bin/{name}": b"", "/usr/lib/python3.13t/os.py": "", "/usr/lib/python3.13/os.py": ""}
    found = facts(look, files, links={"/usr/bin/python3": name}, which={"python3": "/usr/bin/python3"})
    assert (found["python.version"].value, found["python.free_threaded"].value) == ("3.13", free)


def test_other_implementations_and_32_bits_are_named(look):
    files = {"/srv/p/bin/python": b"", "/srv/p/pyvenv.cfg": "home = /opt/pypy/bin\nimplementation = PyPy\nversion_info = 3.10.14.final.0\n"}
    found = facts(look, files, env={"VIRTUAL_ENV": "/srv/p"})
    assert (found["python.implementation"].value, found["python.version"].value) == ("PyPy", "3.10.14")
    assert isinstance(found["python.bits"], Unreadable)  # an empty file is no program
    narrow = DEBIAN | {"/usr/bin/python3.11": b"\x7fELF\x01\x01\x01" + bytes(45)}
    assert facts(look, narrow, **ON_PATH)["python.bits"] == Found(32, "/usr/bin/python3")
    wide = DEBIAN | {"/usr/bin/python3.11": b"\x7fELF\x02\x01\x01" + bytes(57)}
    assert facts(look, wide, **ON_PATH)["python.bits"] == Found(64, "/usr/bin/python3")
    assert facts(look, wide, **ON_PATH)["python.implementation"].value == "CPython"


@pytest.mark.parametrize(
    ("path", "stated", "expected"),
    [
        ("/opt/bin/pypy3.10", "", "PyPy"),
        ("/v/bin/python", "GraalPy", "GraalPy"),
        ("/usr/bin/python3", "CPython", "CPython"),
        ("", "?", "CPython"),
    ],
)
def test_implementations(path, stated, expected):
    assert implementation_of(path, stated) == expected


@pytest.mark.parametrize(
    ("head", "bits"),
    [(b"", None), (b"\x7fELF", None), (b"#!/bin/sh", None), (b"\x7fELF\x03", None), (b"\x7fELF\x01", 32), (b"\x7fELF\x02", 64)],
)
def test_bits_of_a_file(head, bits):
    assert elf_bits(head) == bits


CONDA = {
    "/c/bin/python": b"",
    "/c/conda-meta/history": "",
    "/c/conda-meta/python-3.11.9-h955ad1f_0.json": "{}",
    "/c/lib/python3.11/site-packages/x.py": "",
}


def test_the_users_packages_come_before_condas_unless_turned_off(look):
    files = CONDA | {"/root/.local/lib/python3.11/site-packages/y.py": ""}
    env = {"CONDA_PREFIX": "/c", "HOME": "/root"}
    first = sites(look(files=files, env=env)).value[0].path
    assert first == "/root/.local/lib/python3.11/site-packages"
    assert sites(look(files=files, env=env | {"PYTHONNOUSERSITE": "1"})).value[0].path == "/c/lib/python3.11/site-packages"


def test_pythonpath_comes_first_of_all(look):
    files = IN_VENV | {"/opt/extra/x.py": ""}
    visit = look(files=files, env={"VIRTUAL_ENV": "/srv/v", "PYTHONPATH": ":relative:/opt/extra/:/nowhere"})
    assert [site.path for site in sites(visit).value] == ["/opt/extra", "/srv/v/lib/python3.11/site-packages"]


def test_lib64_that_is_a_link_is_no_second_folder(look):
    visit = look(files=IN_VENV, links={"/srv/v/lib64": "lib"}, env={"VIRTUAL_ENV": "/srv/v"})
    assert [site.path for site in sites(visit).value] == ["/srv/v/lib/python3.11/site-packages"]


def test_a_pythonpath_of_thousands_is_bounded(look):
    env = {"VIRTUAL_ENV": "/srv/v", "PYTHONPATH": ":".join(f"/p/{number}" for number in range(5000))}
    assert len(target(look(files=IN_VENV, env=env)).value.sites) == 18


def test_signs_of_patterns_in_a_path_are_taken_literally(look):
    files = {"/srv/[v]/bin/python": b"", "/srv/[v]/pyvenv.cfg": VENV, "/srv/[v]/lib/python3.11/site-packages/six.py": ""}
    assert sites(look(files=files, env={"VIRTUAL_ENV": "/srv/[v]"})).value[0].names == {"six.py"}


@pytest.mark.parametrize(
    ("files", "links", "level"),
    [
        ({"/c/lib/libstdc++.so.6.0.33": b""}, {"/c/lib/libstdc++.so.6": "libstdc++.so.6.0.33"}, "GLIBCXX_3.4.33"),
        ({"/c/lib/libstdc++.so.6": b"\0GLIBCXX_3.4.9\0GLIBCXX_3.4.29\0GLIBCXX_3.4.30\0"}, {}, "GLIBCXX_3.4.30"),
    ],
)
def test_condas_own_libstdcxx(look, files, links, level):
    assert facts(look, CONDA | files, links=links, env={"CONDA_PREFIX": "/c"})["python.libstdcxx"].value == level


def test_no_libstdcxx_of_its_own_and_one_that_does_not_tell(look):
    assert isinstance(facts(look, IN_VENV | {"/usr/lib/libstdc++.so.6": b""}, env={"VIRTUAL_ENV": "/srv/v"})["python.libstdcxx"], Absent)
    torn = CONDA | {"/c/lib/libstdc++.so.6": b"\x7fELF"}
    assert isinstance(facts(look, torn, env={"CONDA_PREFIX": "/c"})["python.libstdcxx"], Unreadable)


def test_a_compiler_that_cc_names_and_that_is_gone(look):
    fact = compiler(look(env={"CC": "/opt/gone/gcc"}, files={"/usr/bin/gcc": b""}, which={"gcc": "/usr/bin/gcc"}))
    assert isinstance(fact, Absent)
    assert "/opt/gone/gcc" in fact.why


def test_a_toolsets_compiler_has_its_version_beside_it(look):
    root = "/opt/rh/gcc-toolset-12/root/usr"
    files = {f"{root}/bin/gcc": b"", f"{root}/lib/gcc/x86_64-redhat-linux/12/x": "", "/usr/lib/gcc/x86_64-redhat-linux/8/x": ""}
    assert compiler(look(files=files, which={"gcc": f"{root}/bin/gcc"})).value == "gcc 12"
