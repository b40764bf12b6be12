"""``torch.utils.flop_counter`` beside PyTorch's: forward and backward, by modules; and what libraries ask for."""

import pytest
import torch
import torch.utils._foreach_utils as their_groups
import torch.utils.flop_counter as theirs

import tapegrad
import tapegrad.utils._foreach_utils as our_groups
import tapegrad.utils.flop_counter as ours

pytestmark = [pytest.mark.parity, pytest.mark.once("counts what is called")]


def net(lib):
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(4, 6, 2, stride=2), nn.Flatten(),
        nn.Linear(6 * 256, 5), nn.Linear(5, 3, bias=False),
    )(lib.ones(2, 3, 8, 8)).sum().backward()  # fmt: skip


def products(lib):
    a, b = lib.ones(2, 3, 4), lib.ones(2, 4, 5)
    lib.ones(3, 4) @ lib.ones(4, 5), a @ b, lib.einsum("bij,bjk->bik", a, b), lib.addmm(a[0], lib.ones(3, 2), a[:, 0])
    lib.baddbmm(lib.zeros(2, 3, 5), a.requires_grad_(), b).sum().backward()


def convolutions(lib):
    nn, x = lib.nn, lib.ones(2, 4, 8, 8, requires_grad=True)
    for layer in (nn.Conv2d(4, 8, 3, groups=2), nn.ConvTranspose2d(4, 8, 3, stride=2), nn.Conv2d(4, 4, 3, groups=4)):
        layer(x).sum().backward()


def attention(lib):
    q, k, v = (lib.ones(2, 3, 5, 8, requires_grad=True) for _ in range(3))
    lib.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()


def encoder(lib):
    lib.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(lib.ones(2, 5, 8)).sum().backward()


def counted(lib, counter, program):
    with counter.FlopCounterMode(display=False) as mode:
        program(lib)
    counts = {name: {str(kind): n for kind, n in found.items()} for name, found in mode.get_flop_counts().items()}
    return mode.get_total_flops(), counts


@pytest.mark.parametrize("program", [net, products, convolutions, attention])
def test_counts(program):
    assert counted(tapegrad, ours, program) == counted(torch, theirs, program)


def test_counts_of_attention():
    """Which products PyTorch adds a bias to on its way differs with strides; how many there are doesn't."""
    mine, other = counted(tapegrad, ours, encoder), counted(torch, theirs, encoder)
    assert mine[0] == other[0]
    assert {name: sum(found.values()) for name, found in mine[1].items()} == {
        name: sum(found.values()) for name, found in other[1].items()}  # fmt: skip


def test_nothing_is_counted_outside():
    with ours.FlopCounterMode(display=False) as mode:
        y = tapegrad.ones(2, 3, requires_grad=True) @ tapegrad.ones(3, 2)
    y.sum().backward()
    assert mode.get_total_flops() == 24


def test_groups_of_tensors():
    def program(lib, groups):
        ints, floats = lib.ones(1).int(), [lib.ones(1), lib.zeros(2)]
        lists = [[floats[0], ints, floats[1]], [None, ints, floats[0]], []]
        return [(str(device), str(dtype), [[one is not None and one.shape for one in part] for part in parts], places)
                for with_indices in (False, True) for (device, dtype), (parts, places)
                in groups._group_tensors_by_device_and_dtype(lists, with_indices).items()]  # fmt: skip

    mine, other = program(tapegrad, our_groups), program(torch, their_groups)
    assert sorted(map(repr, mine)) == sorted(map(repr, other))


@pytest.mark.parametrize("given", [(1.0,), (0.0,), (0.0, "why"), ([1.0, 2.0],)], ids=str)
def test_assert_async(given):
    def program(lib):
        try:
            return lib._assert_async(lib.tensor(given[0]), *given[1:])
        except RuntimeError as error:
            return str(error)

    assert program(tapegrad) == program(torch)


def test_records_of_files(tmp_path):
    torch.save({"w": torch.ones(3)}, tmp_path / "w.pt")
    readers = [lib.PyTorchFileReader(str(tmp_path / "w.pt")) for lib in (tapegrad, torch)]
    mine, other = [
        (sorted(one.get_all_records()), one.get_record("data/0"), one.has_record("data.pkl"), one.has_record("x"))
        for one in readers
    ]
    assert mine == other
