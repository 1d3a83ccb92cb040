import pytest

from envcheck.model.fact import Found, Unreadable
from envcheck.probes import disk
from envcheck.probes.look import Look
from envcheck.probes.places import home, parse_home, places
from envcheck.system.port import DiskSpace

PLAIN = "29 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
HOME_ON_A_SERVER = PLAIN + "90 29 0:50 / /home rw,relatime - nfs4 10.0.0.5:/export/home rw,hard\n"
PASSWD = "root:x:0:0:root:/root:/bin/bash\nme:x:1000:1000:,,,:/home/me:/bin/bash\n"


def by_purpose(look, env):
    return {purpose: place.path for place in reversed(places(look(env=env))) if not place.if_closed for purpose in place.purposes}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "/home/me/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/var/cache/me"}, "/var/cache/me/huggingface/hub"),
        ({"HF_HOME": "/data/hf"}, "/data/hf/hub"),
        ({"HF_HOME": "~/hf"}, "/home/me/hf/hub"),
        ({"HF_HUB_CACHE": "/models", "HF_HOME": "/data/hf"}, "/models"),
        ({"HUGGINGFACE_HUB_CACHE": "/old"}, "/old"),
        ({"TRANSFORMERS_CACHE": "/tf"}, "/home/me/.cache/huggingface/hub"),  # weights are fetched by the hub's client
        ({"VLLM_USE_MODELSCOPE": "True"}, "/home/me/.cache/modelscope/hub"),
        ({"VLLM_USE_MODELSCOPE": "1", "MODELSCOPE_CACHE": "/ms"}, "/ms"),
        ({"MODELSCOPE_CACHE": "/ms"}, "/home/me/.cache/huggingface/hub"),
    ],
)
def test_where_models_will_lie(look, env, expected):
    found = by_purpose(look, {"HOME": "/home/me", **env})
    assert found["model-cache"] == expected


def test_a_second_model_cache_is_listed_too(look):
    found = [place.path for place in places(look(env={"HOME": "/h", "TRANSFORMERS_CACHE": "/tf", "MODELSCOPE_CACHE": "/ms"}))]
    assert found[:3] == ["/h/.cache/huggingface/hub", "/tf", "/ms"]


def test_the_other_caches_and_what_names_them(look):
    usual = by_purpose(look, {"HOME": "/home/me"})
    assert (usual["vllm-cache"], usual["wheel-cache"], usual["temporary"]) == ("/home/me/.cache/vllm", "/home/me/.cache/uv", "/tmp")
    assert "jit-cache" not in usual
    env = {"HOME": "/home/me", "VLLM_CACHE_ROOT": "/v", "UV_CACHE_DIR": "/u", "TMPDIR": "/scratch", "TRITON_CACHE_DIR": "/t"}
    named = by_purpose(look, env)
    assert [named[one] for one in ("vllm-cache", "wheel-cache", "temporary", "jit-cache")] == ["/v", "/u", "/scratch", "/t"]


def test_one_path_for_two_purposes_is_one_place(look):
    found = {place.path: place.purposes for place in places(look(env={"HOME": "/h", "PIP_CACHE_DIR": "//tmp/", "TMPDIR": "/tmp"}))}
    assert found["/tmp"] == ("wheel-cache", "temporary")


@pytest.mark.parametrize(
    ("env", "files", "expected"),
    [
        ({"HOME": "/home/me"}, {}, "/home/me"),
        ({"HOME": "/"}, {}, "/"),
        ({"HOME": ""}, {}, "/"),
        ({}, {"/proc/self/status": "Uid:\t1000\t1000\t1000\t1000\n", "/etc/passwd": PASSWD}, "/home/me"),
        ({}, {"/proc/self/status": "Uid:\t0\t0\t0\t0\n", "/etc/passwd": PASSWD}, "/root"),
    ],
)
def test_the_home_folder(look, env, files, expected):
    assert home(look(env=env, files=files)).value == expected


@pytest.mark.parametrize(
    ("env", "files"),
    [
        ({"HOME": "relative"}, {}),
        ({}, {}),
        ({}, {"/proc/self/status": "Uid:\t1000660000\t1000660000\t0\t0\n", "/etc/passwd": PASSWD}),  # a number OpenShift made up
    ],
)
def test_nobody_knows_the_home_folder(look, env, files):
    visit = look(env=env, files=files, disk={"/": DiskSpace(1 << 40, 1 << 39)})
    assert not isinstance(home(visit), Found)
    facts = disk.probe(visit)
    assert isinstance(facts["disk.~"], Unreadable)
    assert [one.path for one in facts["disk"].value] == ["/tmp"]


def test_a_user_file_of_anything():
    assert parse_home("me:x:1000:1000:,,,:relative:/bin/sh\n", 1000) is None
    assert parse_home("\n:::\nx", 1000) is None


def entries(look, **host):
    facts = disk.probe(look(**host))
    return {one.path: one for one in facts["disk"].value}, facts


def test_space_type_and_leave(look):
    files = {"/proc/self/mountinfo": HOME_ON_A_SERVER, "/tmp/.x": ""}
    space = {"/": DiskSpace(1 << 40, 100 << 30), "/home": DiskSpace(1 << 41, 7 << 30)}
    found, facts = entries(look, env={"HOME": "/home/me"}, files=files, disk=space, writable={"/home": True, "/tmp": False})
    hub, temporary = found["/home/me/.cache/huggingface/hub"], found["/tmp"]
    assert (hub.free_mib, hub.total_mib, hub.file_system, hub.network, hub.read_only, hub.writable) == (
        7168,
        2097152,
        "nfs4",
        True,
        False,
        True,
    )
    assert (temporary.free_mib, temporary.file_system, temporary.network, temporary.writable) == (102400, "ext4", False, False)
    assert hub.purposes == ["model-cache"]
    assert set(facts) == {"disk"}


def test_a_link_leads_to_the_file_system_that_will_be_filled(look):
    files = {"/proc/self/mountinfo": PLAIN + "93 29 259:3 / /data rw - xfs /dev/b rw\n", "/data/cache/x": ""}
    found, _ = entries(look, env={"HOME": "/root"}, files=files, links={"/root/.cache": "/data/cache"}, disk={"/": DiskSpace(2, 1)})
    assert found["/root/.cache/huggingface/hub"].file_system == "xfs"
    assert found["/tmp"].file_system == "ext4"


def test_a_place_nobody_could_ask(look):
    env = {"HOME": "/home/me", "TMPDIR": "/scratch"}
    found, facts = entries(look, env=env, disk={"/home": DiskSpace(1 << 40, 100 << 30)})
    assert {path: one.free_mib for path, one in found.items()} == {
        "/home/me/.cache/huggingface/hub": 102400,
        "/home/me/.cache/vllm": 102400,
        "/home/me/.cache/uv": 102400,
    }
    assert isinstance(facts["disk./scratch"], Unreadable)
    assert isinstance(disk.probe(look(env=env))["disk"], Unreadable)


def test_a_server_that_does_not_answer_still_has_a_name(in_memory):
    class Silent(in_memory):
        def disk(self, path):
            self.asked.append(path)
            return Unreadable("no answer for 1 s") if path.startswith("/home") else super().disk(path)

        def writable(self, path):
            assert not path.startswith("/home")
            return Found(True, path)

        def resolve(self, path):
            assert not path.startswith("/home")
            return super().resolve(path)

    files = {"/proc/self/mountinfo": HOME_ON_A_SERVER}
    host = Silent(files=files, env={"HOME": "/home/me"}, disk={"/": DiskSpace(2 << 20, 1 << 20)})
    facts = disk.probe(Look(host))
    found = {one.path: one for one in facts["disk"].value}
    hub = found["/home/me/.cache/huggingface/hub"]
    assert (hub.file_system, hub.network) == ("nfs4", True)
    assert not isinstance(hub.free_mib, float)
    assert "no answer" in facts["disk./home/me/.cache/huggingface/hub"].why
    assert found["/tmp"].free_mib == 1
    assert [path for path in host.asked if path.startswith("/home")] == ["/home/me/.cache/huggingface/hub"]


def test_caches_of_compilers_matter_where_home_is_closed(look):
    host = {"env": {"HOME": "/nonexistent"}, "disk": {"/": DiskSpace(2, 1)}}
    closed, _ = entries(look, **host, writable={"/": False, "/tmp": True})
    assert closed["/nonexistent/.triton"].purposes == ["jit-cache"]
    assert closed["/nonexistent/.triton"].writable is False
    open_home, _ = entries(look, **host, writable={"/": True})
    assert "/nonexistent/.triton" not in open_home


def test_hostile_variables_cost_nothing_but_their_own_place(look):
    env = {"HOME": "/h", "HF_HOME": "x" * 10_000, "TMPDIR": "/" + "y/" * 9_000, "UV_CACHE_DIR": "/a\0b", "VLLM_CACHE_ROOT": "/../../x"}
    found, _ = entries(look, env=env, disk={"/": DiskSpace(2, 1)})
    assert all(len(path) <= 4097 for path in found)
    assert "/x" in found
