"""Ways on the screen: the first with what to type, two more in short, the price of each, and nothing that contradicts the verdict."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.model.finding import Finding, Remedy, Severity, Verdict
from envcheck.model.plan import Plan
from envcheck.model.report import CheckReport
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.model.ways import INTRUSION, Cost, ImageUse, Pin, Way, WayKind
from envcheck.render.catalogue import LANGUAGES, Catalogue, Lang
from envcheck.render.check_text import View, check_text
from envcheck.render.layout import cells
from envcheck.render.paint import Role
from envcheck.render.plan_text import plan_text, written_text
from envcheck.render.ways_text import by_hand, cost_line, variables

EN, ZH = Catalogue("en"), Catalogue("zh")
FULL = View("full")
DRIVER = Way(
    kind="driver",
    title=Text("way.driver.host", {"branch": 580, "flavour": "open", "vllm": "0.33.0"}),
    commands=("sudo apt-get install -y nvidia-driver-580-open", "sudo reboot"),
    cost=Cost(root=True, reboot=True, shared=True),
    proof=Verdict.READY,
    why=(Text("way.why.secure-boot"), Text("way.why.smallest-branch", {"branch": 580, "date": "2028-06"})),
)
IMAGE = Way(
    kind="image",
    title=Text("way.image", {"image": "vllm/vllm-openai:v0.33.0", "vllm": "0.33.0", "cuda": "13.0"}),
    commands=(
        "docker pull vllm/vllm-openai:v0.33.0",
        'docker run --rm --gpus all --entrypoint vllm vllm/vllm-openai:v0.33.0 serve "${MODEL:?}" --enforce-eager',
    ),
    image=ImageUse("vllm/vllm-openai:v0.33.0", "0.33.0", "13.0"),
    proof=Verdict.READY_WITH_WARNINGS,
)
FABRIC = Way(
    kind="service",
    title=Text("remedy.start-fabric-manager"),
    commands=("sudo systemctl enable --now nvidia-fabricmanager",),
    cost=Cost(root=True),
    proof=Verdict.READY,
)
VISIBLE = Way(kind="setting", title=Text("remedy.visible-devices", {"names": "RTX 3090"}), commands=("export CUDA_VISIBLE_DEVICES=0",))
NOTHING = Way(kind="hardware", title=Text("way.hardware.none"), why=(Text("way.why.hardware.none"),))
TOO_OLD = Finding(
    "driver-too-old-for-cuda",
    Severity.ERROR,
    Text("x"),
    remedies=(Remedy("driver", Text("remedy.driver", {"floor": "580", "vllm": "0.33.0"}), (), True),),
)


@pytest.fixture
def wheel(stack: Stack) -> Way:
    return Way(
        kind="wheel",
        title=Text("way.wheel", {"vllm": "0.32.0+cu129", "cuda": "12.9"}),
        commands=("uv venv vllm-env", "uv pip install vllm==0.32.0+cu129"),
        stack=msgspec.structs.replace(stack, vllm="0.32.0", variant="cu129"),
        cost=Cost(download_mib=3072, lost=(Text("way.lost.gpus", {"count": 1}),)),
        proof=Verdict.READY,
        breaks=("vllm",),
    )


def blocked(report: CheckReport, *ways: Way, stack: Stack | None = None) -> CheckReport:
    assert report.plan is not None
    out = tuple(way.stack for way in ways if way.stack)
    plan = msgspec.structs.replace(report.plan, stack=stack, ways=ways, ways_out=out, alternatives=(), serve=None, size=None)
    return msgspec.structs.replace(report, verdict=Verdict.BLOCKED, findings=(TOO_OLD,), plan=plan)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_check_shows_the_first_way_with_its_commands_and_two_more_in_short(report: CheckReport, wheel: Way) -> None:
    text = check_text(blocked(report, wheel, IMAGE, FABRIC, DRIVER), EN, View())
    assert "\n    uv pip install vllm==0.32.0+cu129\n" in text
    assert "2. Run the container image" in text
    assert "3. Start the fabric manager" in text
    assert "docker pull" not in text
    assert "580" not in text.split("What to do:")[1].split("Findings")[0]
    assert "All 4, with their commands: `envcheck plan -v`" in text


def test_check_in_full_has_all_ways_with_commands_and_reasons(report: CheckReport, wheel: Way) -> None:
    text = check_text(blocked(report, wheel, IMAGE, FABRIC, DRIVER), EN, FULL)
    for command in (*IMAGE.commands[:1], *FABRIC.commands, *DRIVER.commands):
        assert f"\n       {command}\n" in text
    assert "4. Install NVIDIA's driver of branch 580" in flat(text)
    assert "gets fixes until 2028-06" in flat(text)


def test_what_a_release_was_asked_for_stays_in_what_to_type_next(report: CheckReport, wheel: Way) -> None:
    asked = msgspec.structs.replace(blocked(report, DRIVER, wheel), subject="requested", vllm="0.33.0")
    text = check_text(asked, EN, View())
    assert "Then ask again: `envcheck check --vllm 0.33.0`" in text
    assert "`envcheck plan --vllm 0.33.0 -v`" in text


def test_the_price_says_all_of_it(wheel: Way) -> None:
    assert cost_line(wheel, EN) == "another wheel · no root · download over 3.0 GiB · proved: ready afterwards"
    assert cost_line(DRIVER, EN) == "driver · as root · with a restart · others on this machine notice · proved: ready afterwards"
    whole = msgspec.structs.replace(wheel, cost=Cost(download_mib=512, download_more=False), proof=None)
    assert cost_line(whole, EN) == "another wheel · no root · download 0.5 GiB · not provable here"
    assert "download size not known" in cost_line(IMAGE, EN)
    assert "download" not in cost_line(FABRIC, EN)


def test_what_is_given_up_or_lost_has_lines_of_its_own(report: CheckReport, wheel: Way) -> None:
    text = check_text(blocked(report, wheel), EN, View())
    assert "\n  gives up the vLLM release asked for\n" in text
    assert "\n  costs: GPUs left unused: 1.\n" in text


@pytest.mark.parametrize("kind", INTRUSION)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_kind_proof_and_wish_has_its_words(kind: WayKind, lang: Lang, report: CheckReport) -> None:
    pins: tuple[Pin, ...] = ("vllm", "torch", "python", "driver")
    for proof in (None, *Verdict):
        if proof is Verdict.BLOCKED:  # is never offered
            continue
        way = Way(kind=kind, title=Text("way.installed", {"vllm": "1"}), proof=proof, breaks=pins, image=IMAGE.image)
        text = check_text(blocked(report, way), Catalogue(lang), FULL)
        assert not re.search(r"\bway[s]?\.[a-z]", text)


def test_what_must_be_known_before_typing_is_said_without_asking(report: CheckReport) -> None:
    text = flat(check_text(blocked(report, DRIVER), EN, View()))
    assert "Secure Boot is on" in text
    assert "gets fixes until" not in text


def test_another_way_out_is_not_told_beside_the_ways(report: CheckReport, wheel: Way) -> None:
    assert "Driver 580 or newer opens" not in flat(check_text(blocked(report, wheel), EN, View()))


def test_the_same_sentence_above_other_commands_is_still_told(report: CheckReport) -> None:
    note = Text("remedy.install-packages")
    mend = Way(kind="mend", title=note, commands=("python -m pip install 'numpy<2.3'",))
    others = tuple(
        Finding(code, Severity.ERROR, Text(code), remedies=(Remedy("setting", note, (f"python -m pip install {what}",)),))
        for code, what in (("numpy-mismatch", "'numpy<2.3'"), ("transformers-mismatch", "transformers"))
    )
    text = check_text(msgspec.structs.replace(blocked(report, mend), findings=others), EN, View())
    assert text.count("'numpy<2.3'") == 1
    assert "pip install transformers" in text


def test_the_verdict_names_a_wheel_only_where_that_is_the_first_way(report: CheckReport, wheel: Way) -> None:
    assert "0.32.0+cu129 of the release page does" in flat(check_text(blocked(report, wheel, DRIVER), EN, View("brief")))
    assert "release page" not in flat(check_text(blocked(report, IMAGE, wheel), EN, View("brief")))


def test_ready_names_what_is_planned_and_shows_no_ways(report: CheckReport, plan: Plan, wheel: Way) -> None:
    other = msgspec.structs.replace(plan, ways=(wheel, DRIVER), choice=(Text("choice.young", {"other": "0.33.0", "days": 3, "least": 21}),))
    text = check_text(msgspec.structs.replace(report, vllm="0.33.0", plan=other), EN, View())
    assert "vLLM 0.19.1 runs on this host" in text.splitlines()[0]
    assert "What to do" not in text
    assert "Why this release: 0.33.0 is newer, but has been out for only 3 days" in flat(text)


def test_nothing_helps_is_said_as_that(report: CheckReport) -> None:
    text = check_text(blocked(report, NOTHING), EN, View())
    assert "What would help:" in text
    assert "envcheck plan --model" not in text


def test_after_a_change_of_the_host_the_install_follows_or_the_question_again(report: CheckReport, stack: Stack) -> None:
    text = check_text(blocked(report, msgspec.structs.replace(FABRIC, stack=stack), stack=stack), EN, View())
    assert text.index("sudo systemctl") < text.index("When that is done:") < text.index("uv venv")
    again = check_text(blocked(report, DRIVER), EN, View())
    assert "uv venv" not in again
    assert "Then ask again: `envcheck`" in again


def test_a_plan_of_an_image_installs_nothing_and_serves_with_the_planned_settings(plan: Plan) -> None:
    image = msgspec.structs.replace(plan, stack=None, ways=(IMAGE,))
    text = plan_text(image, EN)
    assert text.startswith("Plan: vLLM 0.33.0 in the container image vllm/vllm-openai:v0.33.0\n")
    assert "uv venv" not in text
    assert "bin/vllm" not in text
    assert '"${MODEL:?}" --max-model-len 8192 --enforce-eager' in flat(text).replace(" \\ ", " ")
    assert "`MODEL` is the model" not in text
    assert "--enforce-eager" in plan_text(msgspec.structs.replace(image, serve=None), EN)
    assert "`MODEL` is the model" in plan_text(msgspec.structs.replace(image, serve=None), EN)


def test_a_plan_begins_with_what_is_done_by_hand(plan: Plan, stack: Stack) -> None:
    first = msgspec.structs.replace(FABRIC, stack=stack)
    text = plan_text(msgspec.structs.replace(plan, ways=(first,)), EN)
    assert text.startswith("Plan: change the host first, then install vLLM 0.19.1\n")
    assert text.index("First, on the host:") < text.index("sudo systemctl") < text.index("uv venv")
    assert text.count("sudo systemctl") == 1


def test_a_setting_is_typed_where_the_server_starts(plan: Plan) -> None:
    assert by_hand(VISIBLE) == ()
    assert variables(VISIBLE) == ("export CUDA_VISIBLE_DEVICES=0",)
    text = plan_text(msgspec.structs.replace(plan, stack=None, install=(), ways=(VISIBLE,)), EN)
    assert "In the shell that starts the server:\n  export CUDA_VISIBLE_DEVICES=0\n" in text
    assert "Then ask again: `envcheck plan`" in text


def test_a_variable_is_no_step_on_the_host(plan: Plan) -> None:
    commands = ("sudo apt-get install -y cuda-compat-13-0", "export LD_LIBRARY_PATH=/usr/local/cuda-13.0/compat")
    way = Way(kind="compat", title=Text("x"), commands=commands, cost=Cost(root=True))
    assert [step.commands for step in by_hand(way)] == [commands[:1]]
    text = plan_text(msgspec.structs.replace(plan, ways=(way,)), EN)
    assert text.index("apt-get") < text.index("In the shell that starts the server:") < text.index("LD_LIBRARY_PATH")
    assert text.count("LD_LIBRARY_PATH") == 1


def test_what_goes_along_and_is_no_command_is_nothing_to_do_by_hand(wheel: Way) -> None:
    half = Remedy("setting", Text("remedy.dtype-half"))
    service = Remedy("service", Text("remedy.start-fabric-manager"), FABRIC.commands, True)
    assert by_hand(msgspec.structs.replace(wheel, first=(half,))) == ()
    assert by_hand(msgspec.structs.replace(wheel, first=(half, service))) == (service,)


def test_a_plan_that_runs_shows_other_ways_only_when_asked(plan: Plan, stack: Stack, wheel: Way) -> None:
    own = msgspec.structs.replace(wheel, kind="environment", title=Text("way.environment", {"vllm": "0.19.1"}), stack=stack, breaks=())
    runs = msgspec.structs.replace(plan, ways=(own, DRIVER))
    assert "sudo" not in plan_text(runs, EN)
    assert "each a greater change: 1; -v shows them" in flat(plan_text(runs, EN))
    assert "\n       sudo reboot\n" in plan_text(runs, EN, verbose=True)


def test_what_was_written_leads_to_the_steps_then_the_scripts(plan: Plan) -> None:
    bare = msgspec.structs.replace(plan, serve=None, ways=(FABRIC,))
    text = written_text(bare, ("/x/HOST-STEPS.txt", "/x/install.sh", "/x/plan.json"), EN)
    assert text.index("  cat /x/HOST-STEPS.txt") < text.index("  bash /x/install.sh")
    image = msgspec.structs.replace(bare, stack=None, ways=(IMAGE,))
    assert "  MODEL=NAME bash /x/run.sh" in written_text(image, ("/x/run.sh",), EN)
    assert "  bash /x/run.sh" in written_text(msgspec.structs.replace(image, serve=plan.serve), ("/x/run.sh",), EN)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_ways_fit_80_columns_and_colour_adds_nothing(report: CheckReport, wheel: Way, lang: Lang) -> None:
    def painted(line: str, role: Role) -> str:
        return f"<{role}>{line}</{role}>"

    found = blocked(report, wheel, IMAGE, FABRIC, DRIVER, VISIBLE)
    assert found.plan is not None
    for catalogue in (Catalogue(lang),):
        plain = check_text(found, catalogue, FULL) + plan_text(found.plan, catalogue, verbose=True)
        colours = check_text(found, catalogue, FULL, painted) + plan_text(found.plan, catalogue, verbose=True, paint=painted)
        assert max(cells(line) for line in plain.splitlines()) <= 80
        assert re.sub(r"</?[a-z]+>", "", colours) == plain


BIDI = "\u202e\u2066\u200b\ufeff"
NAMES = st.text(st.one_of(st.characters(), st.sampled_from("'\"`$\n\r\t\x1b\x9b\\{}# ()!" + BIDI)), max_size=60)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES)
def test_no_name_breaks_the_page(report: CheckReport, wheel: Way, name: str) -> None:
    told = Text("way.image", {"image": name, "vllm": name, "cuda": name})
    way = msgspec.structs.replace(
        IMAGE,
        title=told,
        commands=(name, f"docker pull {name}", f"docker run {name} serve {name}"),
        image=ImageUse(name, name, name, environment={name: name}, mirror=name),
        first=(Remedy("setting", told), Remedy("service", Text(name, {name: name}), (name,), True)),
        cost=Cost(root=True, lost=(told,)),
        why=(told, Text("way.why.image-mirror", {"mirror": name, "image": name})),
        asks=name,
    )
    found = blocked(report, way, msgspec.structs.replace(wheel, title=told, commands=(name,)), way)
    assert found.plan is not None
    for catalogue in (EN, ZH):
        text = check_text(found, catalogue, FULL) + plan_text(found.plan, catalogue, verbose=True)
        assert all(line.isprintable() for line in text.split("\n"))
