"""Sorting, ranks, searching, counting, distinct elements, against PyTorch."""

import math

import numpy as np
import pytest
from case_tables import cases
from harness import agree, attempt, same, same_error

from tests.parity.functions.test_reductions import (
    BOOLS,
    BYTES,
    EMPTY,
    INTS,
    NAN,
    NANS,
    POINT,
    SHAPES,
    TIES,
    ZEROS,
    A,
    Z,
    program,
)

pytestmark = pytest.mark.parity

LINE = np.array([3.0, NAN, 1.0, NAN, 2.0])
REPEATED = np.array([3, 1, 3, 1, 2])


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.sort()", "x.sort(0)", "x.sort(descending=True)", "torch.sort(x, -1, True)", "x.sort(stable=True)",
          "torch.sort(x, dim=0, descending=True, stable=True)", "x.sort(axis=0)"],
         {**SHAPES, "empty": EMPTY, "ints": INTS, "bytes": BYTES, "bools": BOOLS}),
        (["x.sort(stable=True)", "x.sort(stable=True, descending=True)", "torch.argsort(x, stable=True)",
          "x.argsort(dim=-1, descending=True, stable=True)"], {"nan": NANS, "ties": TIES, "line": LINE,
          "many": REPEATED}),
        (["x.argsort()", "torch.argsort(x, 0, True)", "x.msort()"], {**SHAPES, "empty": EMPTY, "ints": INTS}),
        (["x.topk(1)", "torch.topk(x, k=1, dim=0, largest=False)", "x.topk(1, 0, True, False)"],
         {**SHAPES, "ints": INTS}),
        (["x.topk(2)", "x.topk(2, 0)", "x.topk(3, largest=False)", "x.topk(0)"], {"matrix": A, "ints": INTS}),
        (["x.topk(3)", "x.topk(4, largest=False)"], {"line": LINE}),
        (["x.topk(0)"], {"0-dim": POINT}),
        (["x.topk(1)", "x.topk(0, 0)"], {"empty": EMPTY}),
        (["x.kthvalue(1)", "x.kthvalue(2, 0)", "torch.kthvalue(x, k=2, dim=0, keepdim=True)"],
         {"matrix": A, "ints": INTS}),
        (["x.kthvalue(1)", "x.mode()", "x.mode(0, True)"], {"0-dim": POINT, "row": A[:1]}),
        (["x.kthvalue(5)", "(x > 0)[0].kthvalue(1)"], {"line": LINE}),
        (["x.mode()", "x.mode(0)", "torch.mode(x, dim=1, keepdim=True)"], {"matrix": A, "ties": TIES, "bools": BOOLS}),
        (["x.mode()"], {"many": REPEATED, "line": LINE, "long": np.array([5.0, 2.0, 5.0, 2.0, 2.0, 7.0])}),
    ),
)  # fmt: skip
def test_order(text, x):
    same(program(text), x)


@pytest.mark.parametrize("text", ["x.sort()[0]", "x.topk(2).values", "x.kthvalue(2).values", "x.mode().values"])
def test_second_order_through_values(text):
    same(program(f"({text} ** 3).sum()"), A)


def test_gradients_go_to_the_elements_that_were_picked():
    same(program("x.sort(stable=True)[0] * torch.arange(3.)"), TIES)
    same(program("x.sort(stable=True, descending=True)[0] * torch.arange(3.)"), NANS, rtol=1e-6)


@pytest.mark.parametrize(
    "text, x",
    cases(
        ([f"x.nonzero({form})" for form in ("", "as_tuple=True", "as_tuple=False")] + ["torch.argwhere(x)"],
         {"zeros": ZEROS, "ints": INTS, "bools": BOOLS, "complex": Z, "empty": EMPTY, "0-dim": POINT, "nan": NANS,
          "0-dim zero": np.array(0)}),
        (["torch.searchsorted(torch.tensor([1, 3, 5]), x)",
          "torch.bucketize(x, torch.tensor([0., 1, 1, 4]), right=True)",
          "torch.searchsorted(torch.tensor([-1.0, nan]), x, right=True)", "torch.searchsorted(torch.ones(0), x)",
          "torch.searchsorted(torch.tensor([0., 1, 2]), x, side='right', out_int32=True)",
          "torch.searchsorted(torch.tensor([5, 3, 1]), x, sorter=torch.tensor([2, 1, 0]))",
          "torch.bucketize(x, torch.tensor([0., 1, 1, 4]))"],
         {"matrix": A.astype("float32"), "nan": NANS.astype("float32"), "ints": INTS,
          "0-dim": POINT.astype("float32"), "empty": EMPTY.astype("float32")}),
        (["torch.searchsorted(x.sort()[0], x)", "torch.searchsorted(x.sort()[0], x, right=True)"],
         {"matrix": A, "ties": TIES, "ints": INTS}),
        (["torch.searchsorted(x, 3)", "torch.searchsorted(x, 3, right=True)", "torch.searchsorted(x, 3.5)",
          "torch.bucketize(3, x, out_int32=True)"], {"line": np.array([1, 3, 5])}),
        (["torch.bincount(x)", "x.bincount(minlength=6)", "torch.bincount(x, None, 2)",
          "torch.bincount(x, torch.arange(5.))", "torch.bincount(x, torch.arange(5.).double())",
          "torch.bincount(x, torch.arange(5))"], {"many": REPEATED}),
        (["torch.bincount(x)", "torch.bincount(x, minlength=2)"], {"none": np.zeros(0, int)}),
        (["x.bincount()"], {"bytes": BYTES.ravel()}),
        (["x.histc(3)", "torch.histc(x, 3, 0, 2)", "x.histc(4, 0, 0)", "torch.histc(x, bins=2, min=-1, max=1)"],
         {"matrix": A, "constant": np.zeros(3), "empty": EMPTY}),
    ),
)  # fmt: skip
def test_searching_and_counting(text, x):
    same(program(text), x)


UNIQUE = ["x.unique()", "torch.unique(x, return_inverse=True, return_counts=True)", "x.unique(return_counts=True)"]
CONSECUTIVE = ["torch.unique_consecutive(x)", "x.unique_consecutive(return_inverse=True, return_counts=True)"]
ROWS = np.array([[1, 2], [1, 2], [0, 5]])


@pytest.mark.parametrize(
    "text, x",
    cases(
        (UNIQUE + CONSECUTIVE,
         {"ties": TIES, "ints": INTS, "many": REPEATED, "bools": BOOLS, "runs": np.array([1, 1, 2, 2, 1]),
          "line": LINE}),
        (UNIQUE + CONSECUTIVE[:1], {"0-dim": POINT, "empty": EMPTY}),
        ([text.replace("()", "(dim=0)").replace("return_counts=True)", "return_counts=True, dim=0)")
          for text in UNIQUE] + ["torch.unique_consecutive(x, True, True, 0)", "torch.unique(x, dim=1)",
                                 "torch.unique_consecutive(x, dim=1)"], {"rows": ROWS, "ties": TIES, "bools": BOOLS}),
        (["torch.unique(x, dim=0)"], {"empty": EMPTY}),
    ),
)  # fmt: skip
def test_distinct_elements(text, x):
    same(program(text), x, grads=False)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.sort(2)", "x.topk(4)", "x.topk(-1)", "x.topk(2, 2)", "x.kthvalue(0)", "x.kthvalue(4)", "x.kthvalue(1, 2)",
          "x.mode(2)", "x.argsort(-3)", "x.bincount()", "x.unique(dim=2)", "x.histc(0)", "x.histc(3, 5, 1)",
          "torch.bucketize(x, x)", "torch.searchsorted(x, torch.ones(1))", "torch.searchsorted(x, 3)",
          "torch.searchsorted(x[0], x, side='foo')", "torch.searchsorted(x[0], x, side='left', right=True)",
          "x.unique().sum().backward()", "x.unique(dim=0).sum().backward()", "x.unique_consecutive().sum().backward()"],
         {"matrix": A}),
        (["x.topk(2)", "x.kthvalue(2)", "torch.searchsorted(x, x)"], {"0-dim": POINT}),
        (["x.topk(1, 0)", "x.kthvalue(1, 0)", "x.mode(0)", "torch.unique(x, dim=1)"], {"empty": EMPTY}),
        (["x.sort()", "x.topk(1)", "x.kthvalue(1)", "x.mode()", "x.unique()", "x.argsort()"], {"complex": Z}),
        (["x.topk(1)", "x.kthvalue(1)", "x.median(0)", "x.median()"], {"bools": BOOLS}),
        (["x.bincount()", "x.histc(3)"], {"ints": INTS}),
        (["x.bincount()", "x.bincount(minlength=-1)", "x.bincount(torch.ones(3))"], {"negative": np.array([1, -1])}),
        (["x.histc(2)"], {"infinite": np.array([1.0, np.inf])}),
    ),
)  # fmt: skip
def test_errors(text, x):
    same_error(program(text), x)


@pytest.mark.parametrize("size", [(6, 2), (7, 1), (40, 2), (120, 1)], ids=str)
def test_distinct_rows_with_nans(size):
    """They can't be ordered: they come out as PyTorch's sort happens to compare them."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 3, size) * np.where(rng.random(size) < 0.2, np.nan, 1.0)
    rows[rng.random(size) < 0.1] = -0.0

    def program(torch):
        x = torch.tensor(rows.tolist())
        for function in (torch.unique, torch.unique_consecutive):
            for dim in (0, 1):
                yield [part.tolist() for part in function(x, return_inverse=True, return_counts=True, dim=dim)]

    agree(lambda torch: str(list(program(torch))))


def test_distinct_narrow_numbers_among_nans():
    def program(torch):
        for dtype in (torch.bfloat16, torch.float16):
            x = torch.tensor([math.nan, 1.0, math.nan, 0.0, 1.0, math.inf, -1.0, math.nan], dtype=dtype)
            for function, of in ((torch.unique, x), (torch.unique_consecutive, x), (torch.unique, -x)):
                yield [part.tolist() for part in function(of, return_inverse=True, return_counts=True)]

    agree(lambda torch: str(list(program(torch))))


@pytest.mark.parametrize(
    "text",
    ["torch.sort(x, True)", "x.sort(0, descending=1)", "x.topk(1.)", "x.topk()", "x.sort('a')",
     "torch.searchsorted(x, x, 'right')"],
)  # fmt: skip
def test_wrong_arguments(text):
    same_error(program(text), A, match="")


def test_outside_of_the_graph():
    """What counts or finds places needs no gradient, though its input does."""
    for text in ("x.argsort()", "x.histc(3)", "x.nonzero()", "torch.searchsorted(x[0], x)"):
        same(program(text), A)
    same_error(program("torch.bincount(torch.tensor([0, 1]), x[0, :2]).sum().backward()"), A)


def test_named_tuples_print():
    def account(torch):
        x = torch.tensor([[2.0, 1.0], [4.0, 3.0]])
        found = [x.sort(), x.topk(1, 0), x.kthvalue(1), x.mode(), x.median(0), x.nanmedian(0)]
        return [repr(item) for item in found]

    agree(account)


def test_the_mode_of_complex_numbers_where_there_is_nothing_to_count():
    def account(torch):
        shapes = [((), 0), ((0, 3), 1), ((3, 0), 0), ((0, 3), 0), ((2,), 0)]
        given = [(torch.ones(shape, dtype=torch.complex64), dim) for shape, dim in shapes]
        seen = [attempt(lambda x=x, dim=dim: list(x.mode(dim, True))) for x, dim in given]
        return seen, [attempt(lambda x=x, dim=dim: list(x.requires_grad_().mode(dim))) for x, dim in given]

    agree(account)
