"""The package set: what is installed and where it came from."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.model.fact import Absent, Unreadable
from envcheck.probes import package_origins, package_problems, packages
from envcheck.probes.package_names import decides, may_decide, split_folder
from envcheck.probes.package_origins import parse_direct_url

V = "/srv/v/lib/python3.10/site-packages"
VENV = {"/srv/v/bin/python": b"", "/srv/v/pyvenv.cfg": "home = /usr/bin\nversion = 3.10.12\n", f"{V}/_distutils_hack.pth": ""}
ENV = {"VIRTUAL_ENV": "/srv/v"}


def dist(name, version, site=V, **files):
    folder = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
    made = {f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText\n"}
    return made | {f"{folder}/{inner.replace('direct_url', 'direct_url.json')}": text for inner, text in files.items()}


def problems(look, files, env=ENV, **host):
    fact = package_problems.probe(look(files=VENV | files, env=env, **host))["package_problems"]
    return [(one.kind, one.name, one.path) for one in fact.value]


def origins(look, files, **host):
    return package_origins.probe(look(files=VENV | files, env=ENV, **host))


def versions(look, files, env=ENV, **host):
    return packages.probe(look(files=VENV | files, env=env, **host))["packages"].value


DECIDING = (
    *("torch", "torchvision", "torchaudio", "triton", "pytorch-triton", "vllm", "vllm-flash-attn", "vllm-ascend", "flash-attn"),
    *("flash-attn-3", "flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache", "xformers", "transformers"),
    *("tokenizers", "numpy", "numba", "ray", "nvidia-nccl-cu12", "nvidia-cudnn-cu13", "outlines", "outlines-core", "xgrammar"),
    *("compressed-tensors", "bitsandbytes", "opencv-python-headless", "mistral-common", "huggingface-hub", "hf-xet"),
    *("modelscope", "setuptools", "protobuf", "pynvml", "nvidia-ml-py", "apex", "deepspeed", "sglang", "lmdeploy"),
    *("tensorflow", "jax", "uv", "pip", "ninja"),
)


@pytest.mark.parametrize("name", DECIDING)
def test_what_decides(name):
    assert decides(name)
    assert may_decide(f"{name.replace('-', '_')}-1.0.dist-info")


@pytest.mark.parametrize("name", ["requests", "uvloop", "pipdeptree", "rayon", "avro", "ninjago", "six", "vllm-envcheck"])
def test_what_does_not(name):
    assert not decides(name)


@given(st.text(alphabet=string.ascii_letters + string.digits + "._-+~", max_size=40))
def test_the_first_look_never_hides_a_package_that_decides(name):
    named = split_folder(name + ".dist-info")
    assert named is None or not decides(named[0]) or may_decide(name + ".dist-info")


def test_eggs_and_the_links_of_old_editable_installs(look):
    egg = f"{V}/flash_attn-2.5.8-py3.10-linux-x86_64.egg/EGG-INFO/PKG-INFO"
    files = {
        egg: "Metadata-Version: 2.1\nName: flash-attn\nVersion: 2.5.8\n",
        f"{V}/vllm.egg-link": "/root/vllm\n.",
        "/root/vllm/vllm.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: vllm\nVersion: 0.4.2+cu121\n",
    }
    found = versions(look, files)
    assert (found["flash-attn"], found["vllm"]) == ("2.5.8", "0.4.2+cu121")
    origin = origins(look, files)["package_origins"].value["vllm"]
    assert (origin.url, origin.editable) == ("file:///root/vllm", True)


def test_an_egg_info_may_be_one_file(look):
    text = "Metadata-Version: 1.1\nName: numpy\nVersion: 1.21.5\n"
    assert versions(look, {f"{V}/numpy-1.21.5.egg-info": text})["numpy"] == "1.21.5"
    assert problems(look, {f"{V}/numpy-1.21.5.egg-info": text}) == []


@pytest.mark.parametrize("link", ["", "relative/path\n", "\0\0", "/gone\n"])
def test_a_broken_link_is_no_package(look, link):
    assert versions(look, {f"{V}/vllm.egg-link": link})["vllm"] is None


def test_packages_are_named_by_their_folders_where_nothing_depends_on_more(look):
    visit = look(files=VENV | dist("ray", "2.46.0") | dist("torch", "2.6.0"), env=ENV)
    assert packages.probe(visit)["packages"].value["ray"] == "2.46.0"
    assert [path for path in visit.system.asked if "ray" in path] == []
    everything = look(files=VENV | dist("ray", "2.46.0"), env=ENV, full=True)
    packages.probe(everything)
    assert f"{V}/ray-2.46.0.dist-info/METADATA" in everything.system.asked


def test_absence_is_said_with_every_folder_looked_at(look):
    files = {"/usr/bin/python3.10": b"", "/usr/lib/python3/dist-packages/x": "", "/root/.local/lib/python3.10/site-packages/y": ""}
    host = {"links": {"/usr/bin/python3": "python3.10"}, "which": {"python3": "/usr/bin/python3"}, "env": {"HOME": "/root"}}
    fact = packages.probe(look(files=files, **host))["packages.vllm"]
    assert fact == Absent("not in /root/.local/lib/python3.10/site-packages, /usr/lib/python3/dist-packages")


# PEP 610's own forms of direct_url.json
GIT = b"""{
  "url": "https://github.com/vllm-project/vllm.git",
  "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": "7bd6e22D8739c93e3b5c"}
}"""
EDITABLE = b'{"url": "file:///root/vllm", "dir_info": {"editable": true}}'
LOCAL = b'{"url": "file:///root/vllm", "dir_info": {}}'
ARCHIVE = b'{"url": "https://files.example/vllm-0.6.3.whl", "archive_info": {"hash": "sha256=2dc6b5a470a1bde6"}}'


@pytest.mark.parametrize(
    ("data", "url", "editable", "vcs", "commit"),
    [
        (GIT, "https://github.com/vllm-project/vllm.git", False, "git", "7bd6e22d8739c93e3b5c"),
        (EDITABLE, "file:///root/vllm", True, None, None),
        (LOCAL, "file:///root/vllm", False, None, None),
        (ARCHIVE, "https://files.example/vllm-0.6.3.whl", False, None, None),
    ],
)
def test_origins_as_pep_610_writes_them(data, url, editable, vcs, commit):
    origin = parse_direct_url(data)
    assert (origin.url, origin.editable, origin.vcs or None, origin.commit or None) == (url, editable, vcs, commit)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"url": 3}', b'{"url": ""}', b'{"url": "x", "vcs_info": 1}', b"\xff\xfe", b"[" * 5000]
)
def test_what_is_no_origin(data):
    assert parse_direct_url(data) is None


def test_a_commit_that_is_none_is_left_out_and_texts_are_bounded():
    origin = parse_direct_url(
        b'{"url": "https://h/' + b"a" * 7000 + b'", "vcs_info": {"vcs": "' + b"g" * 500 + b'", "commit_id": "$(reboot)"}}'
    )
    assert len(origin.url) == 500
    assert len(origin.vcs) == 20
    assert not origin.commit


def test_a_build_from_source_is_told_without_its_password(look):
    text = '{"url": "https://me:hunter2@git.example/vllm.git?token=abc", "vcs_info": {"vcs": "git", "commit_id": "0123456"}}'
    found = origins(look, dist("vllm", "0.6.3", direct_url=text) | dist("torch", "2.4.0"))
    assert list(found["package_origins"].value) == ["vllm"]
    url = found["package_origins"].value["vllm"].url
    assert "git.example/vllm.git" in url
    assert "hunter2" not in url
    assert "abc" not in url
    assert found["package_origins.vllm"].source.endswith("direct_url.json")


def test_a_broken_origin_is_unreadable_and_others_stay(look):
    found = origins(look, dist("vllm", "0.6.3", direct_url="{") | dist("torch", "2.4.0", direct_url=EDITABLE.decode()))
    assert list(found["package_origins"].value) == ["torch"]
    assert isinstance(found["package_origins.vllm"], Unreadable)


def test_condas_build_machines_are_no_origin(look):
    text = '{"dir_info": {}, "url": "file:///home/conda/feedstock_root/build_artifacts/transformers_1718/work"}'
    assert origins(look, dist("transformers", "4.45.2", direct_url=text))["package_origins"].value == {}


@pytest.mark.parametrize("finder", ["__editable__.vllm-0.6.3.pth", "_editable_impl_vllm.pth"])
def test_editable_installs_without_a_stated_origin(look, finder):
    assert origins(look, dist("vllm", "0.6.3") | {f"{V}/{finder}": ""})["package_origins"].value["vllm"].editable is True


def test_origins_of_the_rest_are_read_only_where_everything_is(look):
    files = dist("ray", "2.46.0", direct_url=LOCAL.decode())
    assert origins(look, files)["package_origins"].value == {}
    assert list(origins(look, files, full=True)["package_origins"].value) == ["ray"]
