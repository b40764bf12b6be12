"""Calls with very many arguments or results, against PyTorch. See Note [Many operands]."""

import numpy as np
import pytest
from harness import same, same_error
from samples import array

import tapegrad
from tapegrad.ops.operator import TABLE

pytestmark = pytest.mark.parity

X = array(100, 4)
COUNTS = (66, 70, 90)


def together(torch, x):
    rows = x.unbind()
    return [torch.stack([row * row.sum() for row in rows[:n]], dim) for n in COUNTS for dim in (0, 1)]


def one_after_another(torch, x):
    return [torch.cat([x[i : i + 1 + i % 3, :2] for i in range(n)], 0).square() for n in COUNTS]


def side_by_side(torch, x):
    return torch.cat([x[:3, :1] * i for i in range(80)], 1)


def iterated(torch, x):
    state = torch.zeros(4, dtype=x.dtype)
    for row in x:
        state = (0.5 * state + row).tanh()
    return state


def in_pieces(torch, x):
    flat = x.reshape(-1)
    sizes = [1 + i % 7 for i in range(100)]
    pieces = [*flat.split(5), *flat[:398].split(6), *flat[: sum(sizes)].split(sizes), *x[:, 1:2].chunk(90)]
    return torch.cat([piece.flip(0).reshape(-1) * i for i, piece in enumerate(pieces)])


def some_of_them(torch, x):
    pieces = x.unbind()
    return pieces[3] * pieces[80] + pieces[99]


def of_a_view(torch, x):
    return torch.stack([one.exp() for one in x.t()[1]]) + torch.stack(list(x[:, 2]))


def single_numbers(torch, x):
    return torch.stack([number * i for i, number in enumerate(x[:, 0])]).cumsum(0)


@pytest.mark.parametrize("program", [
    together, one_after_another, side_by_side, iterated, in_pieces, some_of_them, of_a_view, single_numbers,
])  # fmt: skip
def test_many_pieces(program):
    same(program, X)


def test_dtypes_are_promoted_as_ever():
    same(lambda torch, x: torch.cat([x[0]] + [torch.ones(2, dtype=torch.int64)] * 80), X)


def test_lengths_that_do_not_fit_are_refused_as_ever():
    same_error(lambda torch, x: torch.stack([x[0]] * 80 + [x[0, :2]]), X)
    same_error(lambda torch, x: torch.cat([x[:1]] * 80 + [x[:1, :2]]), X)
    same_error(lambda torch, x: x.reshape(-1).split([4] * 99), X)


def test_pieces_are_views():
    def program(torch, x):
        base = x.detach().clone()
        rows = base.unbind()
        rows[7].mul_(2)
        list(base.split(1))[8].zero_()
        base[3] = 5
        return [base, rows[7], rows[3], torch.stack(rows)]

    same(program, X)


def test_a_piece_of_many_may_not_be_written_to():
    same_error(lambda torch, x: (x * 1).unbind()[3].mul_(2), X.astype("float32"))


def test_nodes_are_ordinary_ones():
    def program(torch, x):
        joined = torch.stack([row * 2 for row in x])
        edges = joined.grad_fn.next_functions
        return [joined.grad_fn.name(), len(edges), edges[99][0].name(), x.unbind()[80].grad_fn.name()]

    from_pytorch, found = (program(torch, tensor) for torch, tensor in both())
    assert found == from_pytorch


def test_gradients_of_gradients():
    def program(torch, x):
        joined = torch.stack([row * row * row for row in x.unbind()])
        (grad,) = torch.autograd.grad(joined.sum(), x, create_graph=True)
        return torch.autograd.grad(grad.sum(), x)[0].detach().numpy()

    from_pytorch, found = (program(torch, tensor) for torch, tensor in both())
    np.testing.assert_allclose(found, from_pytorch)


def both():
    pytorch = pytest.importorskip("torch")
    return [(torch, torch.tensor(X, requires_grad=True)) for torch in (pytorch, tapegrad)]


ARRAYS = [array(2, 3, seed=i) for i in range(3)]


@pytest.mark.parametrize(("name", "arrays", "settings"), [
    ("stack", ARRAYS, {"axis": 1}), ("stack", ARRAYS, {"axis": 2}), ("cat", ARRAYS, {"axis": 1}),
    ("unbind", ARRAYS[:1], {"axis": 1}), ("split", ARRAYS[:1], {"axis": 1, "size": 2}),
    ("unsafe_split", ARRAYS[:1], {"axis": 0, "size": 2}),
    ("split_with_sizes", ARRAYS[:1], {"axis": 1, "sizes": (2, 0, 1)}),
    ("unsafe_split_with_sizes", ARRAYS[:1], {"axis": 0, "sizes": (1, 1)}),
])  # fmt: skip
def test_what_numpy_does_with_pieces_is_what_the_kernel_does(name, arrays, settings):
    op, shapes = TABLE[name], [one.shape for one in arrays]
    tensors = [tapegrad.tensor(one, requires_grad=True) for one in arrays]
    results = op(*tensors, **settings)
    results = results if isinstance(results, tuple) else (results,)
    found = op.loop.forward(arrays, **settings)
    assert [tuple(result.shape) for result in results] == list(map(tuple, op.loop.shapes(shapes, **settings)))
    for one, result in zip(found, results, strict=True):
        np.testing.assert_array_equal(one, result.detach().numpy())
    grads = [array(*result.shape, seed=9 + i) for i, result in enumerate(results)]
    expected = tapegrad.autograd.grad(results, tensors, list(map(tapegrad.tensor, grads)))
    for one, grad in zip(op.loop.backward(grads, shapes, **settings), expected, strict=True):
        np.testing.assert_array_equal(one, grad.numpy())
