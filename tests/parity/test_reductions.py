"""Reductions, norms, softmax, products and scans, against PyTorch."""

import itertools
import warnings

import numpy as np
import pytest
from harness import agree, attempt, same, same_error, warned

pytestmark = pytest.mark.parity

INF, NAN = float("inf"), float("nan")
NAMES = {"inf": INF, "nan": NAN}

A = np.array([[0.5, -1.25, 2.0], [3.5, 0.75, -0.25]])
POINT = np.array(1.5)
EMPTY = np.zeros((0, 3))
TIES = np.array([[1.0, 3.0, 3.0], [3.0, 1.0, 3.0]])
NANS = np.array([[1.0, NAN, NAN], [NAN, 2.0, 1.0]])
ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0]])
INFS = np.array([[-INF, 1.0, 2.0], [0.5, -INF, -INF]])
Z = np.array([[1 + 2j, -0.5 + 1j, 2 - 1j], [0.5 - 1j, 1.5 + 0.5j, -1 - 1j]])
INTS = np.array([[1, 2, 3], [4, 0, 6]])
BOOLS = INTS > 2
BYTES = INTS.astype("uint8")
HALF = A.astype("float16")


def program(text):
    """A program from its text, in which the inputs are called x, y and w."""

    def run(torch, *inputs):
        return eval(text, {"torch": torch, "F": torch.nn.functional, **NAMES, **dict(zip("xyw", inputs, strict=False))})

    return run


def cases(*groups):
    """Parameters ``(text, array)`` with readable ids, from pairs of lists."""
    made = []
    for texts, arrays in groups:
        for text, (name, array) in itertools.product(texts, arrays.items()):
            made.append(pytest.param(text, array, id=f"{text}-{name}"))
    return made


SHAPES = {"matrix": A, "0-dim": POINT}
DIMS = {"matrix": A, "empty": EMPTY}


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.sum()", "x.sum(0)", "x.sum(-1)", "x.sum(())", "x.sum(None)", "x.sum([])"], {**SHAPES, "empty": EMPTY}),
        (["x.sum((0, 1), True)", "x.sum(dim=[1], keepdim=True)", "torch.sum(x, 1)", "x.sum(axis=0, keepdims=True)"],
         {**DIMS, "complex": Z}),
        (["x.sum()", "x.sum(0)"], {"complex": Z, "ints": INTS, "bools": BOOLS, "bytes": BYTES, "nan": NANS}),
        (["x.sum(dtype=torch.float32)", "x.sum(0, dtype=torch.float32)"], {"matrix": A, "ints": INTS}),
        (["x.sum(dtype=torch.uint8)", "x.sum(dtype=torch.bool)"], {"ints": INTS}),
        (["x.mean()", "x.mean(0)", "x.mean(())", "x.mean(None, True)"], {**SHAPES, "empty": EMPTY, "complex": Z}),
        (["x.mean((0, 1), True)", "torch.mean(x, dim=1)"], DIMS),
        (["x.mean(dtype=torch.float32)", "x.mean(0, dtype=torch.float32)"], {"matrix": A, "ints": INTS}),
        (["x.nansum()", "x.nansum(0)", "x.nansum(-1, True)", "torch.nansum(x, ())"], {**SHAPES, "nan": NANS}),
        (["x.nansum()", "x.nansum(0, dtype=torch.float32)"], {"ints": INTS, "bools": BOOLS, "empty": EMPTY}),
        (["x.nanmean()", "x.nanmean(0)", "torch.nanmean(x, -1, True)"], {**SHAPES, "nan": NANS}),
        (["x.count_nonzero()", "x.count_nonzero(0)", "torch.count_nonzero(x, (0, 1))"], {"ints": INTS, "zeros": ZEROS}),
        (["x.trace()"], {"matrix": A, "complex": Z, "ints": INTS, "empty": EMPTY}),
    ),
)  # fmt: skip
def test_sums(text, x):
    same(program(text), x)


@pytest.mark.parametrize(
    "text, x",
    cases(
        ([f"x.{name}({arguments})" for name in ("all", "any") for arguments in ("", "0", "(0, 1), True", "()", "None")],
         {"zeros": ZEROS, "ints": INTS, "bools": BOOLS, "bytes": BYTES, "complex": Z, "nan": NANS, "empty": EMPTY}),
        (["x.all(0)", "x.any(-1, keepdim=True)", "torch.all(x)"], {"0-dim": POINT}),
    ),
)  # fmt: skip
def test_truth(text, x):
    same(program(text), x)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.max()", "x.min()", "torch.max(x)"], {**SHAPES, "ties": TIES, "nan": NANS, "ints": INTS, "bools": BOOLS}),
        (["x.max(0)", "x.min(-1)", "torch.max(x, 0, True)", "x.min(dim=-1, keepdim=True)", "x.max(axis=0)"],
         {**SHAPES, "ties": TIES, "nan": NANS, "ints": INTS, "bools": BOOLS}),
        (["torch.max(x, x * x)", "x.min(x * x)", "torch.max(x, other=x)"], {"matrix": A, "ties": TIES, "ints": INTS}),
        (["x.amax()", "x.amin(())", "x.amax(0)", "x.amin(1)", "torch.amax(x, (0, -1), True)", "x.amin(keepdim=True)"],
         {"matrix": A, "ties": TIES, "nan": NANS, "ints": INTS, "bools": BOOLS}),
        (["x.amax()", "x.amin(0)"], {"0-dim": POINT}),
        (["x.aminmax()", "x.aminmax(dim=0)", "torch.aminmax(x, dim=-1, keepdim=True)", "x.aminmax(keepdim=True)"],
         {"matrix": A, "ties": TIES, "nan": NANS, "ints": INTS}),
        (["x.aminmax()[0]", "x.aminmax(dim=0).max"], {"matrix": A, "0-dim": POINT}),
        (["x.argmax()", "x.argmin()", "x.argmax(0)", "x.argmin(-1, True)", "torch.argmax(x, keepdim=True)"],
         {**SHAPES, "ties": TIES, "nan": NANS, "ints": INTS}),
        (["x.max(1)", "x.amax(1)", "x.argmin(1)", "x.aminmax(dim=1)", "x.median(1)"], {"empty": EMPTY}),
        (["x.max(0)", "x.amax((0,))", "x.argmax(0)"], {"half": HALF}),
    ),
)  # fmt: skip
def test_extrema(text, x):
    same(program(text), x)


@pytest.mark.parametrize("form", ["x.amax()", "x.max()", "x.max(0)[0]", "x.median()", "x.sort(0)[0]", "x.min(1)[0]"])
def test_second_order_through_extrema(form):
    same(program(f"({form} * {form}).sum()"), TIES)


@pytest.mark.parametrize(
    "text, x",
    cases(
        ([f"{name}({arguments})" for name in ("x.std", "x.var", "torch.std_mean", "torch.var_mean")
          for arguments in ("{}", "{}0", "{}(0, 1), keepdim=True", "{}dim=0, correction=0", "{}False", "{}-1, False",
                            "{}unbiased=False", "{}correction=0.5", "{}correction=None", "{}None, True, True")],
         {"matrix": A, "complex": Z}),
    ),
)  # fmt: skip
def test_variance(text, x):
    head, arguments = text.split("(", 1)
    same(program(f"{head}({arguments.format('x, ' if head.startswith('torch') else '')}"), x)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.std()", "x.var()", "x.std(correction=0)", "torch.std_mean(x, -1)", "x.std(0)"],
         {"constant": np.full((2, 3), 2.0), "one": np.array([1.5]), "row": A[:1], "nan": NANS}),
        (["x.std()", "x.var(0)", "x.var(correction=0)"], {"0-dim": POINT, "empty": EMPTY}),
        (["x.var(correction=6)", "x.std(correction=6)", "x.var(correction=7)", "x.std(correction=7.5)"], {"matrix": A}),
        (["x.var(1)"], {"empty": EMPTY}),
    ),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_variance_without_freedom(text, x):
    same(program(text), x)


def test_variance_over_no_dimensions_is_that_of_all():
    """PyTorch's value; its gradient, which counts the elements of no dimension, is infinite there."""
    same(program("x.var(()), torch.std_mean(x, ())"), A, grads=False)


def test_variance_warns_without_freedom():
    def account(torch):
        calls = [
            lambda: torch.ones(1).std(),
            lambda: torch.ones(0, 3).var(1),
            lambda: torch.var_mean(torch.ones(2), correction=2),
            lambda: torch.ones(2).std(),
        ]
        return [[text.split(" (Triggered")[0] for _, text in warned(call)] for call in calls]

    agree(account)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.median()", "x.nanmedian()", "x.median(0)", "x.nanmedian(-1)", "x.median(-1, True)"],
         {**SHAPES, "ties": TIES, "nan": NANS, "ints": INTS}),
        (["x.median()", "x.nanmedian()"], {"empty": EMPTY, "even": np.array([1.0, 4.0, 2.0, 3.0]),
                                           "all nan": np.full(2, NAN), "no ints": np.zeros(0, int)}),
        (["x.median(0)", "x.nanmedian(0)"], {"long ties": np.array([3.0, 1, 1, 1, 1, 1, 2, 2]),
                                             "all nan": np.full(2, NAN)}),
    ),
)  # fmt: skip
def test_median(text, x):
    same(program(text), x)


NORM_ORDERS = ["'fro'", "None", "0", "1", "2", "3", "0.5", "1.5", "4.", "-1", "-2", "inf", "-inf"]


@pytest.mark.parametrize("x", [A, ZEROS, np.zeros((2, 3)), Z], ids=["matrix", "with zeros", "all zeros", "complex"])
@pytest.mark.parametrize("ord", NORM_ORDERS)
def test_norm(ord, x):
    same(program(f"x.norm({ord})"), x)
    same(program(f"torch.norm(x, {ord}, 1)"), x)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.norm()", "x.norm(dim=0)", "torch.norm(x, 2, (0, 1), True)", "x.norm('fro', [0, 1])", "x.norm(2, ())",
          "torch.norm(x, 3, None, True)", "x.norm(2, dtype=torch.complex128 if x.is_complex() else torch.float64)",
          "torch.linalg.vector_norm(x)", "torch.linalg.vector_norm(x, 1, 0)",
          "torch.linalg.vector_norm(x, 3., (0,), True)", "torch.linalg.norm(x)", "torch.linalg.norm(x, dim=0)",
          "torch.linalg.norm(x, 1)", "torch.linalg.norm(x, 'fro')", "torch.linalg.norm(x, inf, (0, 1))",
          "torch.linalg.norm(x, 1, keepdim=True)", "torch.linalg.norm(x, 2, 1)",
          "torch.linalg.matrix_norm(x)", "torch.linalg.matrix_norm(x, 1)",
          "torch.linalg.matrix_norm(x, -1, (1, 0), True)", "torch.linalg.matrix_norm(x, -inf)",
          "torch.linalg.matrix_norm(x, inf, (1, 0))"],
         {"matrix": A, "ties": TIES, "complex": Z}),
        (["x.norm()", "x.norm(3, 0)", "torch.linalg.norm(x)"], {"0-dim": POINT}),
        (["x.norm()", "x.norm(0)", "x.norm('fro', 1)", "x.norm(1, 0)", "x.norm(inf, 1)"], {"empty": EMPTY}),
        (["x.norm()", "x.norm(inf)", "x.norm(1)", "x.norm(1.5, 0)"], {"nan": NANS}),
        (["x.norm(torch.tensor(3.))"], {"matrix": A}),
        (["torch.linalg.norm(x, 2)", "torch.linalg.norm(x)", "torch.linalg.norm(x, 0)"], {"vector": A[0]}),
        (["x.norm() ** 2", "x.norm(inf)"], {"zeros": np.zeros(2), "inf ties": np.array([-3.0, 3.0, 1.0])}),
    ),
)  # fmt: skip
def test_norm_forms(text, x):
    same(program(text), x)


@pytest.mark.parametrize("p", ["2", "1", "3", "0.5", "inf", "0", "-1"])
def test_dist(p):
    for x, y in [(A, TIES), (A, A[0]), (A, A), (Z, Z * 2), (A, POINT), (A.astype("float32"), TIES)]:
        rtol = 1e-5 if x.dtype == np.float32 else 1e-7
        # PyTorch raises in the backward of p = 0
        same(program(f"torch.dist(x, y, {p})"), x, y, rtol=rtol, second=x is not y, grads=p != "0")


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["torch.softmax(x, 0)", "x.softmax(-1)", "F.softmax(x, 1, _stacklevel=5)", "F.softmin(x, dim=1)",
          "torch.log_softmax(x, 0)", "x.log_softmax(1)", "F.log_softmax(x, dim=-1)", "torch.special.softmax(x, 0)",
          "torch.special.log_softmax(x, 0)"], {**SHAPES, "big": A * 1000, "infs": INFS} | {"matrix": A}),
        (["torch.softmax(x, 0)", "x.log_softmax(1)"], {"empty": EMPTY, "nan": NANS, "+inf": -INFS}),
        (["x.softmax(1, torch.float32)", "torch.log_softmax(x, 0, dtype=torch.float32)",
          "F.softmax(x, 1, 3, torch.float32)", "F.softmin(x, 0, dtype=torch.float32)"], {"matrix": A, "ints": INTS}),
        (["x.logsumexp(0)", "torch.logsumexp(x, (0, 1))", "x.logsumexp(-1, True)", "torch.special.logsumexp(x, 0)"],
         {"matrix": A, "big": A * 1000, "infs": INFS, "+inf": -INFS, "complex": Z, "ints": INTS, "bools": BOOLS}),
        (["x.logsumexp(0)", "x.logsumexp(-1)"], {"0-dim": POINT, "empty": EMPTY, "nan": NANS}),
    ),
)  # fmt: skip
def test_softmax(text, x):
    if text.startswith("F.") and x.ndim == 0 and "1" in text:
        text = text.replace("1", "0")
    if "log_softmax(1)" in text and x.ndim == 0:
        text = text.replace("1", "0")
    rtol = 1e-5 if "float32" in text or x.dtype.kind in "ib" else 1e-7
    same(program(text), x, rtol=rtol, atol=rtol / 100)


def test_softmax_without_a_dimension_warns():
    agree(lambda torch: [
        warned(lambda name=name, shape=shape: getattr(torch.nn.functional, name)(torch.ones(shape)))
        for name in ("softmax", "softmin", "log_softmax") for shape in ((3,), (2, 3), (2, 2, 2))
    ])  # fmt: skip


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.prod()", "x.prod(0)", "x.prod(-1, True)", "torch.prod(x, dim=1)"],
         {"matrix": A, "zeros": ZEROS, "one zero": np.array([[2.0, 0.0], [3.0, 1.0]]), "complex": Z,
          "complex zero": Z * (INTS != 0)}),
        (["x.prod()", "x.prod(0)"], {"0-dim": POINT, "0-dim zero": np.array(0.0), "empty": EMPTY, "ints": INTS,
                                     "bools": BOOLS, "bytes": BYTES}),
        (["x.prod(1)"], {"empty": EMPTY}),
        (["x.prod(dtype=torch.float64)", "x.prod(0, dtype=torch.float64)"], {"float32": A.astype("float32")}),
        (["x.prod(dtype=torch.float32)"], {"ints": INTS}),
        (["x.cumsum(0)", "x.cumsum(-1)", "torch.cumsum(x, dim=0)"],
         {**SHAPES, "empty": EMPTY, "complex": Z, "ints": INTS, "bools": BOOLS, "bytes": BYTES, "nan": NANS}),
        (["x.cumsum(0, dtype=torch.float32)", "x.cumprod(0, dtype=torch.float32)"], {"ints": INTS}),
        (["x.cumprod(0)", "x.cumprod(-1)"],
         {**SHAPES, "empty": EMPTY, "complex": Z, "zeros": ZEROS, "ints": INTS, "bools": BOOLS}),
        (["x.cumprod(0)"], {"more zeros": np.array([2.0, 0.0, 3.0, 0.0, 4.0])}),
        (["x.logcumsumexp(0)", "x.logcumsumexp(-1)"], {**SHAPES, "empty": EMPTY, "big": A * 1000}),
        (["x.logcumsumexp(1)"], {"complex": Z}),
        (["x.cummax(0)", "x.cummin(-1)", "torch.cummax(x, 1 if x.ndim else 0)"],
         {**SHAPES, "empty": EMPTY, "ties": TIES, "nan": NANS, "ints": INTS, "bools": BOOLS}),
        (["x.diff()", "x.diff(n=2)", "x.diff(dim=0)", "x.diff(n=5)", "torch.diff(x, 1, 0, x[:1], x)",
          "torch.diff(x, append=x)"], {"matrix": A, "ints": INTS, "bools": BOOLS, "bytes": BYTES}),
    ),
)  # fmt: skip
def test_products_and_scans(text, x):
    same(program(text), x, rtol=1e-5 if x.dtype == np.float32 else 1e-7)


def test_logcumsumexp_from_minus_infinity():
    same(program("x.logcumsumexp(0)"), np.array([-INF, 1.0, 2.0]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    "text",
    ["x.sum(0)", "x.mean()", "x.prod()", "x.std()", "x.var(0)", "x.norm()", "x.norm(3, 0)", "x.softmax(1)", "x.max()",
     "x.log_softmax(0)", "x.logsumexp(0)", "x.cumsum(1)", "x.cumprod(1)", "x.logcumsumexp(1)", "x.amax(0)",
     "x.median()", "x.cummax(0)[0]", "x.nansum(0)", "x.sort()[0]", "x.topk(2)[0]", "x.max(1)[0]", "torch.std_mean(x)",
     "x.trace()"],
)  # fmt: skip
def test_narrow_types(text, dtype):
    rtol = 1e-5 if dtype == "float32" else 2**-7
    same(program(text.replace("x.", f"x.to(torch.{dtype}).", 1).replace("(x)", f"(x.to(torch.{dtype}))")),
         A.astype("float32"), rtol=rtol, atol=rtol, second=False)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_summed_in_float32(dtype):
    agree(lambda torch: [
        getattr(torch.full((5000,), 1.1).to(getattr(torch, dtype)), name)().item()
        for name in ("sum", "mean", "norm", "std")
    ], rtol=2**-8)  # fmt: skip


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.sum(2)", "x.sum((0, 0))", "x.sum((0, -2))", "x.mean(-3)", "x.sum(0, keepdim=1)", "x.prod(2)", "x.max(2)",
          "x.amax((0, 0))", "x.argmax(2)", "x.all(2)", "x.std(2)", "x.softmax(2)", "x.logsumexp((0, 0))", "x.cumsum(2)",
          "x.cummax(-3)", "x.norm(2, 2)", "x.median(2)", "x.norm(2, (0, 0))", "x.nansum(2)", "x.count_nonzero(2)",
          "x.logcumsumexp(2)", "x.diff(dim=2)", "x.diff(n=-1)", "x.diff(prepend=torch.tensor(1.))", "x.norm('bad')",
          "x.diff(append=torch.ones(1, 3))", "torch.linalg.norm(x, 'bad')", "torch.linalg.norm(x, 3)",
          "torch.linalg.norm(x, 2, (0, 1, 0))", "torch.linalg.matrix_norm(x, 1, (0, 0))", "x.sum(dtype=torch.int64)",
          "torch.linalg.matrix_norm(x, 0)", "torch.linalg.norm(x, 'fro', 0)", "x.mean(dtype=torch.int64)",
          "x.norm(dtype=torch.float32)", "torch.linalg.vector_norm(x, dtype=torch.int64)",
          "torch.linalg.vector_norm(x, dtype=torch.complex128)", "torch.dist(x, torch.ones(4))",
          "torch.linalg.matrix_norm(x, dtype=torch.float32)"], {"matrix": A}),
        (["x.sum(1)", "x.max(1)", "x.sum((0, -1))", "x.softmax(-2)", "x.diff()", "torch.linalg.norm(x, 2)", "x.trace()",
          "torch.linalg.matrix_norm(x)"], {"0-dim": POINT}),
        (["x.max()", "x.min()", "x.max(0)", "x.min(0)", "x.amax()", "x.amin(0)", "x.amax((0, 1))", "x.aminmax()",
          "x.aminmax(dim=0)", "x.argmax()", "x.argmin(0)", "x.median(0)", "x.norm(inf)", "x.norm(-1)",
          "x.norm(inf, 0)"], {"empty": EMPTY}),
        (["x.mean()", "x.mean(0)", "x.std()", "x.var(0)", "torch.var_mean(x)", "x.norm()", "x.softmax(0)",
          "x.softmax(1)", "x.log_softmax(-1)", "x.nanmean()", "x.logcumsumexp(0)", "torch.dist(x, x)",
          "torch.linalg.norm(x)",
          "torch.linalg.matrix_norm(x)"], {"ints": INTS}),
        (["x.mean()", "x.argmax()", "x.median()", "x.trace()", "x.norm()", "F.softmin(x, 0)"], {"bools": BOOLS}),
        (["x.max()", "x.max(0)", "x.amax()", "x.aminmax()", "x.argmax()", "x.median()", "x.cummax(0)", "x.softmax(0)",
          "x.log_softmax(1)", "x.nansum()", "torch.linalg.vector_norm(x, dtype=torch.float64)",
          "torch.linalg.vector_norm(x, dtype=torch.complex64)"], {"complex": Z}),
    ),
)  # fmt: skip
def test_errors(text, x):
    same_error(program(text), x)


@pytest.mark.parametrize(
    "text",
    ["x.sum('a')", "x.sum(1.0)", "x.sum(keepdim=True)", "x.sum(foo=1)", "x.sum(dtype='float')", "x.mean(keepdim=True)",
     "x.prod((0, 1))", "x.prod(None)", "x.max((0, 1))", "x.max(None)", "x.max(keepdim=True)", "x.std(True, 0)",
     "x.cumsum()", "x.std(0, unbiased=True, correction=1)", "x.argmax((0, 1))", "x.softmax()", "x.softmax('a')",
     "x.cumsum((0,))",
     "torch.sum([1])", "x.median(keepdim=True)", "torch.linalg.vector_norm(x, 'fro')", "x.logsumexp()", "x.aminmax(0)",
     "x.sum(True)", "x.all(keepdim=1)"],
)  # fmt: skip
def test_wrong_arguments(text):
    same_error(program(text), A, match="")


def test_named_tuples_print_and_unpack():
    def account(torch):
        x = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
        found = x.max(0)
        values, indices = found
        return [repr(found), str(x.min(1, keepdim=True)), repr(x.aminmax()), repr(x.cummin(0)),
                values is found.values, indices,
                type(found).__name__, type(found).__module__.split(".")[-1], found.n_fields, type(found[:1]).__name__,
                isinstance(found, tuple), attempt(lambda: type(found)(1)), attempt(lambda: type(found)([1])),
                type(found)((1, 2)).values]  # fmt: skip

    agree(account)


def test_out():
    def account(torch):
        x = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
        total, values, indices = torch.empty(2), torch.empty(2), torch.empty(2, dtype=torch.int64)
        torch.sum(x, 0, out=total)
        torch.max(x, 0, out=(values, indices))
        return [total, values, indices, torch.norm(x, 2, 0, False, torch.empty(2))]

    agree(account)


def test_unused_results():
    """Only one of several results is used: the gradients of the others are zero."""
    for text in ("torch.std_mean(x, 0)[1].sum()", "torch.var_mean(x, 0)[0].sum()", "x.aminmax(dim=0).max.sum()"):
        same(program(text), A)


def test_the_count_of_nonzero_has_no_gradient():
    def account(torch):
        x = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
        norm = x.norm(0)
        return [norm, torch.autograd.grad(norm, x, allow_unused=True)]

    agree(account)


def test_saved_fields():
    def account(torch):
        x = torch.tensor([[1.0, 2.0], [4.0, 3.0]], requires_grad=True)
        out = x.softmax(1)
        return [x.sum(0).grad_fn._saved_dim, x.sum(0, True).grad_fn._saved_keepdim, out.grad_fn._saved_dim,
                out.grad_fn._saved_result, x.amax(0).grad_fn._saved_self, x.max(1)[0].grad_fn._saved_indices,
                x.norm(3).grad_fn._saved_ord, x.std(0, correction=0).grad_fn._saved_correction]  # fmt: skip

    agree(account)


def test_products_stay_exact_where_dividing_fails():
    """PyTorch divides by the factor and gives nan; the derivative of a product by an infinite factor is the others."""
    import tapegrad as torch

    x = torch.tensor([INF, 2.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(x.prod(), x)
    assert gradient.tolist() == [2.0, INF]


@pytest.mark.parametrize("function", ["std", "var"])
def test_the_mean_of_single_elements_has_a_gradient_though_their_spread_has_none(function):
    with warnings.catch_warnings(action="ignore"):  # of the degrees of freedom
        for item in range(2):
            same(program(f"torch.{function}_mean(x, 1)[{item}]"), np.array([[1.0], [2.0]]), second=False)
    agree(lambda torch: [
        grad.requires_grad for item in range(2)
        for grad in torch.autograd.functional.jacobian(
            lambda x, item=item: torch.std_mean(x, 0)[item],
            torch.tensor([1.0, 2.0], requires_grad=True), create_graph=True,
        )
    ])  # fmt: skip


@pytest.mark.parametrize("text", ["x.cumprod(1)", "x[0].cumprod(-1)", "x[0, 0].cumprod(0)"])
def test_products_of_one_number_have_no_second_derivative(text):
    same(program(text), np.array([[1.5], [2.0]]))
    agree(lambda torch: [
        torch.autograd.grad(eval(text, {"x": x}).sum(), x, create_graph=True)[0].requires_grad
        for x in [torch.tensor([[1.5], [2.0]], requires_grad=True)]
    ])  # fmt: skip


@pytest.mark.parametrize("function", ["softmax", "log_softmax", "softmin"])
def test_nothing_has_a_softmax_of_any_real_dtype(function):
    def program(torch):
        softmax = getattr(torch.nn.functional, function)
        empty = [torch.ones(shape).to(dtype) for shape in ((0,), (0, 3)) for dtype in (torch.int64, torch.float32)]
        return [attempt(lambda x=x: softmax(x, -1)) for x in (*empty, torch.ones(1, dtype=torch.int64))]

    agree(program)


@pytest.mark.parametrize("function", ["cummin", "cummax"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,)], ids=str)
def test_running_extrema_of_complex_numbers_if_there_are_none_to_compare(function, shape):
    def program(torch):
        x = torch.ones(shape, dtype=torch.complex64)
        run = getattr(torch, function)
        return attempt(lambda: list(run(x, 0))), attempt(lambda: run(x.clone().requires_grad_(), 0))

    agree(program)
