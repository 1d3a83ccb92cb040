import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.model.host import Container, Gpu, HostReport
from envcheck.rules.visible import Visible, visible

UUIDS = ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-8999aaaa-0000-0000-0000-000000000001", "GPU-2b2b0000-0000-0000-0000-000000000002")
A10S = [Gpu(index=index, name="NVIDIA A10", uuid=uuid) for index, uuid in enumerate(UUIDS)]
MIXED = [Gpu(index=0, name="NVIDIA GeForce GTX 1080 Ti", uuid=UUIDS[0]), Gpu(index=1, name="NVIDIA GeForce RTX 3090", uuid=UUIDS[1])]
SLICES = [
    Gpu(index=0, name="NVIDIA H100 MIG 3g.40gb", uuid="MIG-aaaa0000-0000-0000-0000-000000000000", mig="3g.40gb"),
    Gpu(index=0, name="NVIDIA H100 MIG 1g.10gb", uuid="MIG-bbbb0000-0000-0000-0000-000000000001", mig="1g.10gb"),
    Gpu(index=1, name="NVIDIA H100 80GB HBM3", uuid=UUIDS[0], mig=False),
]


def look(gpus, cuda=None, order=None, **container):
    environment = {"CUDA_VISIBLE_DEVICES": cuda, "CUDA_DEVICE_ORDER": order}
    inside = Container(kind="docker", **container) if container else None
    return visible(HostReport(gpus=gpus, environment={k: v for k, v in environment.items() if v is not None}, container=inside))


@pytest.mark.parametrize(
    ("value", "order", "unknown"),
    [
        (None, (0, 1, 2), ()),
        ("", (), ()),
        ("0", (0,), ()),
        ("2,1", (2, 1), ()),
        ("0,1,2", (0, 1, 2), ()),
        (" 1 , 0 ", (1, 0), ()),
        ("-1", (), ()),
        ("0,2,-1,1", (0, 2), ()),  # the guide's own example
        ("0,7,1", (0,), ("7",)),
        ("7", (), ("7",)),
        ("NoDevFiles", (), ("NoDevFiles",)),
        ("all", (), ("all",)),
        ('"0,1"', (), ('"0',)),  # a quotation mark that an environment file kept
        ("0,,1", (0,), ()),
        ("0,0", (), ("0",)),
        ("1,0,1", (), ("1",)),
        ("0,7,0", (0,), ("7",)),  # what comes after the first invalid entry is not read
        ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", (0,), ()),
        ("GPU-8932f937", (0,), ()),
        ("GPU-2b,GPU-8932", (2, 0), ()),
        ("GPU-89", (), ("GPU-89",)),  # two start so
        ("GPU-2b,GPU-89,GPU-8932", (2,), ("GPU-89",)),
        ("GPU-ffff", (), ("GPU-ffff",)),
        ("GPU-8932,GPU-8932f937", (), ("GPU-8932f937",)),  # one GPU by two names
        ("GPU-8932,1", (0,), ("1",)),
        ("0,GPU-2b", (0,), ("GPU-2b",)),
        ("gpu-8932f937", (), ("gpu-8932f937",)),
    ],
)
def test_what_the_variable_leaves_of_three_alike(value, order, unknown):
    hidden = tuple(place for place in range(3) if place not in order)
    by = None if value is None else "CUDA_VISIBLE_DEVICES"
    assert look(A10S, value) == Visible(order, hidden, unknown, by=by)


def test_a_number_with_letters_behind_it_is_read_as_the_number_but_nobody_promised():
    seen = look(A10S, "1gpu,2x")
    assert (seen.order, seen.certain) == ((1, 2), False)
    assert (look(A10S, "8932f937").order, look(A10S, "8932f937").certain) == ((), False)


@pytest.mark.parametrize(
    ("value", "order", "chosen", "certain", "ordered"),
    [
        (None, None, (0, 1), True, False),
        (None, "FASTEST_FIRST", (0, 1), True, False),
        (None, "PCI_BUS_ID", (0, 1), True, True),
        ("1", None, (1,), False, False),
        ("1", "PCI_BUS_ID", (1,), True, True),
        ("0,1", None, (0, 1), True, False),  # both, whichever is which
        ("", None, (), True, True),
        ("-1", None, (), True, True),
        ("5", None, (), True, True),
        ("GPU-8999,GPU-8932", None, (1, 0), True, True),
    ],
)
def test_numbers_on_unlike_boards_mean_what_the_order_says(value, order, chosen, certain, ordered):
    seen = look(MIXED, value, order)
    assert (seen.order, seen.certain, seen.order_certain) == (chosen, certain, ordered)


@pytest.mark.parametrize(
    ("value", "chosen", "certain", "unknown"),
    [
        (None, (0,), False, ()),
        ("MIG-bbbb0000-0000-0000-0000-000000000001", (1,), True, ()),
        ("MIG-bbbb0000-0000-0000-0000-000000000001,MIG-aaaa0000-0000-0000-0000-000000000000", (1,), False, ()),
        ("GPU-8932f937", (2,), True, ()),
        ("0", (0,), False, ()),
        ("1", (2,), False, ()),
        ("MIG-cccc0000", (), True, ("MIG-cccc0000",)),
        ("MIG-GPU-11110000-0000-0000-0000-000000000000/7/0", (), False, ("MIG-GPU-11110000-0000-0000-0000-000000000000/7/0",)),
        ("GPU-11110000", (), False, ("GPU-11110000",)),  # perhaps the board that is in slices
    ],
)
def test_one_slice_a_process_and_no_whole_gpu_beside_it(value, chosen, certain, unknown):
    seen = look(SLICES, value)
    assert (seen.order, seen.certain, seen.unknown_entries) == (chosen, certain, unknown)


def test_the_older_name_of_a_slice_is_known_where_nvml_still_uses_it():
    name = "MIG-GPU-11110000-0000-0000-0000-000000000000/7/0"
    seen = look([Gpu(index=0, name="NVIDIA A100 MIG 3g.20gb", uuid=name, mig="3g.20gb")], name)
    assert (seen.order, seen.certain) == ((0,), True)


def test_a_board_in_mig_mode_without_a_slice_is_not_shown():
    board = Gpu(index=0, name="NVIDIA H100 80GB HBM3", uuid=UUIDS[0], mig=True)
    assert look([board, A10S[1]]).order == (1,)
    assert look([board]).order == ()


def test_a_lost_gpu_is_not_shown_and_numbers_are_not_sure_beside_it():
    gpus = [A10S[0], Gpu(index=1, error="GpuIsLost"), A10S[2]]
    assert (look(gpus).order, look(gpus).hidden) == ((0, 2), (1,))
    assert (look(gpus, "0").order, look(gpus, "0").certain) == ((0,), False)
    assert (look(gpus, "GPU-2b").order, look(gpus, "GPU-2b").certain) == ((2,), True)


def test_an_identifier_that_could_be_that_of_a_gpu_without_one():
    gpus = [A10S[0], Gpu(index=1, name="NVIDIA A10")]
    assert look(gpus, "GPU-5").certain is False
    assert look(gpus, "GPU-8932").certain is True


@pytest.mark.parametrize(
    ("value", "devices", "order", "certain"),
    [
        ("all", None, (0, 1, 2), True),
        ("void", None, (), False),
        ("none", None, (), False),
        ("", None, (), False),
        ("void", [], (), True),
        ("void", ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidiactl"], (0, 1, 2), True),  # let in by another way
        ("1", None, (1,), True),
        ("2,0", None, (0, 2), True),  # inside they are in the order of the bus
        (UUIDS[2], None, (2,), True),
        ("0,1,2", None, (0, 1, 2), True),
        ("4,5,6", None, (0, 1, 2), True),  # their numbers outside; the three listed are these
        ("5", None, (), False),
        ("1", ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2"], (0, 1, 2), True),
    ],
)
def test_what_the_container_was_given(value, devices, order, certain):
    more = {} if devices is None else {"devices": devices}
    seen = look(A10S, environment={"NVIDIA_VISIBLE_DEVICES": value}, **more)
    assert (seen.order, seen.certain) == (order, certain)
    assert seen.by == (None if order == (0, 1, 2) else "NVIDIA_VISIBLE_DEVICES")


def test_a_slice_by_its_board_and_number_is_not_sure():
    seen = look(SLICES, environment={"NVIDIA_VISIBLE_DEVICES": "0:1"})
    assert (seen.order, seen.certain) == ((1,), False)


def test_the_containers_variable_means_nothing_outside_of_one():
    assert visible(HostReport(gpus=A10S, environment={"NVIDIA_VISIBLE_DEVICES": "void"})).order == (0, 1, 2)


def test_both_variables_one_after_the_other():
    seen = look(A10S, "GPU-8932", environment={"NVIDIA_VISIBLE_DEVICES": "1,2"})
    assert (seen.order, seen.unknown_entries, seen.by) == ((), ("GPU-8932",), "CUDA_VISIBLE_DEVICES")


def test_no_gpu_and_nobody_knows():
    assert visible(HostReport(gpus=[])) == Visible(())
    assert visible(HostReport(gpus=None)).certain is True
    assert visible(HostReport()).certain is False


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([A10S, MIXED, SLICES, []]))
def test_no_value_of_a_variable_is_too_odd(cuda, container, gpus):
    seen = look(gpus, cuda, environment={"NVIDIA_VISIBLE_DEVICES": container})
    assert sorted((*seen.order, *seen.hidden)) == list(range(len(gpus)))
    assert len(set(seen.order)) == len(seen.order)
    json.dumps(seen.unknown_entries)
