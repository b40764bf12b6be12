"""Quantiles, histograms, membership, hashes, masked indices, and functions that fit no family, beside PyTorch's."""

import numpy as np
import pytest
import torch as pytorch
from harness import agree, attempt, same, same_error
from samples import array

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

A, V = array(2, 3), array(4)


def test_functions_without_derivative_write_into_tensors():
    """``out=`` is refused where gradients are wanted, but not of results that never have one."""

    def program(torch):
        x, y = torch.tensor(V.tolist(), requires_grad=True), torch.zeros(4)
        flags, places = torch.empty(0, dtype=torch.bool), torch.empty(0, dtype=torch.int64)
        calls = (
            lambda: torch.gt(x, y, out=flags), lambda: torch.isin(x, y, out=flags), lambda: torch.argmax(x, out=places),
            lambda: torch.searchsorted(y, x, out=places), lambda: torch.nonzero_static(x, size=2, out=places),
            lambda: torch.sign(x, out=torch.empty(0)), lambda: torch.histc(x, 3, out=torch.empty(0)),
        )  # fmt: skip
        return [attempt(call) for call in calls]

    agree(program)


READING = ("cat", "stack", "gather", "take", "index_select", "masked_select", "diff", "kthvalue")


@pytest.mark.parametrize("name", READING)
def test_results_that_may_not_be_written_where_they_are_read(name):
    def program(torch):
        x, places = torch.tensor(V.tolist()), torch.arange(4)
        arguments = {
            "cat": ([x, x],), "stack": ([x],), "gather": (x, 0, places), "take": (x, places),
            "index_select": (x, 0, places), "masked_select": (x, x > 9), "diff": (x,), "kthvalue": (x, 2),
        }  # fmt: skip
        function, shown_twice = getattr(torch, name), torch.zeros(3, 1).expand(3, 4)
        if name == "kthvalue":
            return attempt(lambda: function(*arguments[name], out=(x, torch.empty(0, dtype=torch.int64))))
        return [attempt(lambda out=out: function(*arguments[name], out=out)) for out in (shown_twice, x)]

    agree(program)


# -- masked indices, chunks, fills, sums -------------------------------------------------------------------------------

PLACES = np.array([0, 1, 9]), np.array([2, -1, -9])
FLAGS = np.array([True, True, False])

MASKED = {
    "read": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, m, [i, j], 7.0),
    "rows": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, m, [i], 7),
    "broadcast": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, m.long()[:, None], [i], True),
    "clamped": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, m | ~m, [i, j], 7.0),
    "of nothing": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x[:0], m, [i], 7.0),
    "added": lambda torch, x, v, i, j, m: torch._unsafe_masked_index_put_accumulate(x, m, [i, j], v[:3]),
    "rows added": lambda torch, x, v, i, j, m: torch._unsafe_masked_index_put_accumulate(x, m[:, None], [i], v[:1]),
}


@pytest.mark.parametrize("case", MASKED)
def test_masked_indices(case):
    same(MASKED[case], A, V, *PLACES, FLAGS)


MASKED_ERRORS = {
    "float": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, m, [i.float()], 1.0),
    "bool": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, m, [m], 1.0),
    "none": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, m, [None, i], 1.0),
    "too many": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, m, [i, i, i], 1.0),
    "shape": lambda torch, x, v, i, j, m: torch._unsafe_masked_index(x, torch.ones(5) > 0, [i], 1.0),
    "dtypes": lambda torch, x, v, i, j, m: torch._unsafe_masked_index_put_accumulate(x, m, [i, j], v[:3].float()),
    "values": lambda torch, x, v, i, j, m: torch._unsafe_masked_index_put_accumulate(x, m[:1], [i], v),
}


@pytest.mark.parametrize("case", MASKED_ERRORS)
def test_masked_index_errors(case):
    same_error(MASKED_ERRORS[case], A, V, *PLACES, FLAGS)


SINGLE = {
    "fill": lambda torch, x, y: torch.fill(x, 3),
    "fill, tensor": lambda torch, x, y: torch.fill(x, y[0, 0]),
    "fill, int": lambda torch, x, y: torch.fill(x.long(), 3.7),
    "sum_to_size": lambda torch, x, y: x.sum_to_size(2, 1),
    "sum_to_size, fewer": lambda torch, x, y: x.sum_to_size((3,)),
    "sum_to_size, none": lambda torch, x, y: x.sum_to_size(()),
    "sum_to_size, same": lambda torch, x, y: [x.sum_to_size(2, 3) is x, x.T.sum_to_size(3, 1)],
    "sum_to_size, int": lambda torch, x, y: x.int().sum_to_size(1, 3),
    "isclose, bool": lambda torch, x, y: torch.isclose(x > 0, y > 0, atol=1.0) & torch.isclose(x > 0, x > 0),
    "addr, bool": lambda torch, x, y: torch.addr(x > 0, x[:, 0] > 0, y[0] > 0, alpha=2),
    "heaviside": lambda torch, x, y: torch.heaviside(x.detach().round(), values=y.detach()),
    "round, no decimals": lambda torch, x, y: torch.round(x, decimals=0),
    "diff, none": lambda torch, x, y: torch.diff(x, 0),
    "arange, whole steps": lambda torch, x, y: torch.arange(0, 2, 0.5, dtype=torch.int32),
    "chunks": lambda torch, x, y: torch._chunk_cat([x.detach(), y.detach()[:1]], 0, 2),
    "chunks, last dimension": lambda torch, x, y: torch._chunk_cat([x.detach(), y.detach()[:, :1]], -1, 2),
}


@pytest.mark.parametrize("case", SINGLE)
def test_single_functions(case):
    same(SINGLE[case], A, array(2, 3, seed=1))


SINGLE_ERRORS = {
    "fill, vector": lambda torch, x: torch.fill(x, x[0]),
    "fill, complex": lambda torch, x: torch.fill(x, 1j),
    "sum_to_size": lambda torch, x: x.sum_to_size(2, 2),
    "sum_to_size, longer": lambda torch, x: x.sum_to_size(1, 2, 3),
    "sum_to_size, nothing": lambda torch, x: x.sum_to_size(),
    "chunks, none": lambda torch, x: torch._chunk_cat([], 0, 2),
    "chunks, number": lambda torch, x: torch._chunk_cat([x], 0, 0),
    "chunks, dtypes": lambda torch, x: torch._chunk_cat([x, x.float()], 0, 2),
    "chunks, empty": lambda torch, x: torch._chunk_cat([x, x[:0]], 0, 2),
    "chunks, shapes": lambda torch, x: torch._chunk_cat([x, x[:1]], 1, 2),
    "chunks, dim": lambda torch, x: torch._chunk_cat([x, x], 2, 2),
    "chunks, backward": lambda torch, x: torch._chunk_cat([x, x], 0, 2).sum().backward(),
    "round, int": lambda torch, x: torch.round(x.long(), decimals=0),
    "round, bool": lambda torch, x: torch.round(x > 0, decimals=2),
    "gcd, number": lambda torch, x: torch.gcd(x.long(), 2),
    "heaviside, number": lambda torch, x: torch.heaviside(x, 2),
    "masked_fill, complex": lambda torch, x: x.long().masked_fill(x > 0, torch.tensor(1j)),
    "masked_fill, too large": lambda torch, x: x.long().masked_fill(x > 0, torch.tensor(1e30)),
    "narrow, vector": lambda torch, x: torch.narrow(x, 0, torch.tensor([0]), 1),
    "narrow, bool": lambda torch, x: torch.narrow(x, 0, torch.tensor(True), 1),
    "narrow_copy, dim": lambda torch, x: torch.narrow_copy(x, 2, 0, 1),
    "narrow_copy, length": lambda torch, x: torch.narrow_copy(x, 0, 0, -1),
    "hsplit, 0": lambda torch, x: torch.hsplit(x, 0),
    "vsplit, floats": lambda torch, x: torch.vsplit(x, (1, 2.0)),
    "arange, step": lambda torch, x: torch.arange(0, 2, 0.5, dtype=torch.int64),
    "linspace, vectors": lambda torch, x: torch.linspace(x[0], x[1], 3),
    "multinomial, negative": lambda torch, x: torch.multinomial(x.detach(), 2, True),
    "multinomial, nan": lambda torch, x: torch.multinomial(x.detach().abs() / 0.0, 2, True),
    "multinomial, out": lambda torch, x: torch.multinomial(x.detach().abs(), 2, out=torch.empty(0)),
    "cumsum of bool": lambda torch, x: torch.cumsum(x, 0, dtype=torch.bool),
    "slice, step": lambda torch, x: torch.ops.aten.slice.Tensor(x, 0, 0, 1, 0),
    "slice, 0-dim": lambda torch, x: torch.ops.aten.slice.Tensor(x[0, 0], 0),
}


@pytest.mark.parametrize("case", SINGLE_ERRORS)
def test_single_errors(case):
    same_error(SINGLE_ERRORS[case], A)


# -- where derivatives are easy to get wrong ---------------------------------------------------------------------------

ONE, TIES, WITH_NAN = np.array([1.5]), np.array([1.0, 3.0, 3.0, 3.0]), np.array([1.0, np.nan, 3.0])

TRAPS = {
    "nextafter": (lambda torch, x: torch.nextafter(x, x + 1), ONE),
    "nextafter, the direction": (lambda torch, x, y: torch.nextafter(x, y), ONE, ONE + 1),
    "a cast to float32 and back": (lambda torch, x: x.to(torch.float32), ONE),
    "a cast to int64 cuts the graph": (lambda torch, x: x.to(torch.int64), ONE),
    "a cast to complex64": (lambda torch, x: x.to(torch.complex64), ONE),
    "squeeze of a longer dimension": (lambda torch, x: x.squeeze(0), TIES),
    "overlapping windows": (lambda torch, x: x.as_strided((2, 2), (1, 1)) + x[:3].unfold(0, 2, 1), TIES),
    "the first of largest": (lambda torch, x: [x.max(0), x.max(), x.argmax(), x.argmin()], TIES),
    "nan is the largest": (lambda torch, x: [x.argmax(), x.max(0), x.sort(), x.sort(descending=True)], WITH_NAN),
    "the latest of equals": (lambda torch, x: [x.cummax(0), x.cummin(0)], TIES),
    "stable sorting, downwards": (lambda torch, x: x.sort(stable=True, descending=True), TIES),
    "like, but without gradients": (lambda torch, x: [torch.zeros_like(x), torch.full_like(x, 2), x.new_ones(2)], ONE),
    "comparisons": (lambda torch, x: [x == x, x.isnan(), x.allclose(x), x.allclose(x, equal_nan=True)], WITH_NAN),
    "types of sums": (lambda torch, x: [x.int().sum(), x.bool().cumsum(0), x.int().prod(), x.int() * 1.5], TIES),
    "numbers of dimension 0": (lambda torch, x: [x[0] * x.float(), x.int() * x[0].float()], TIES),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_trap(trap):
    program, *inputs = TRAPS[trap]
    same(program, *inputs)


def test_integers_are_not_divided_by_zero():
    def program(torch):
        one, zero = torch.tensor([1, 2]), torch.tensor([1, 0])
        functions = (torch.remainder, torch.fmod, torch.floor_divide)
        seen = [attempt(lambda: function(one, zero)) for function in functions]  # noqa: B023
        seen += [attempt(lambda: torch.div(one, zero, rounding_mode=mode)) for mode in ("floor", "trunc")]  # noqa: B023
        seen += [attempt(lambda: one.clone().remainder_(zero)), attempt(lambda: 3 % zero), attempt(lambda: one // 0)]
        return seen + [one / zero, one[:0] % zero[1:], one % zero.double(), torch.remainder(one, torch.tensor(3))]

    agree(program)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_that_meet_at_one_place_are_added_up_in_float32(dtype):
    """In PyTorch too, except where whole rows are read (``index``, ``index_select``, ``embedding``)."""
    ones, places = np.full(4096, 1.001), np.zeros(4096, int)

    def program(torch):
        x = torch.tensor(ones).to(getattr(torch, dtype))
        index, row = torch.tensor(places), torch.ones(2).to(x.dtype).requires_grad_()
        reads = [row.gather(0, index), torch.take_along_dim(row, index, 0)]
        if torch is tapegrad:
            reads += [row[index], row.index_select(0, index), torch.nn.functional.embedding(index, row[:, None])[:, 0]]
        grads = [torch.autograd.grad(read, row, x)[0].float() for read in reads]
        return [torch.zeros(2).to(x.dtype).scatter_add(0, index, x).float(), *grads]

    theirs, ours = program(pytorch), program(tapegrad)
    exact = float(pytorch.tensor(ones).to(getattr(pytorch, dtype)).double().sum())
    for result in [*theirs, *ours]:
        assert result[0].item() == pytest.approx(exact, rel=2**-8)
