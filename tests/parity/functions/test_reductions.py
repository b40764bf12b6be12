"""Sums, means, extrema, spreads and medians, against PyTorch."""

import warnings

import numpy as np
import pytest
from case_tables import cases
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
        (["x.sum(2)", "x.sum((0, 0))", "x.sum((0, -2))", "x.mean(-3)", "x.sum(0, keepdim=1)", "x.max(2)",
          "x.amax((0, 0))", "x.argmax(2)", "x.all(2)", "x.std(2)", "x.median(2)", "x.nansum(2)",
          "x.count_nonzero(2)", "x.sum(dtype=torch.int64)", "x.mean(dtype=torch.int64)"], {"matrix": A}),
        (["x.sum(1)", "x.max(1)", "x.sum((0, -1))", "x.trace()"], {"0-dim": POINT}),
        (["x.max()", "x.min()", "x.max(0)", "x.min(0)", "x.amax()", "x.amin(0)", "x.amax((0, 1))",
          "x.aminmax()", "x.aminmax(dim=0)", "x.argmax()", "x.argmin(0)", "x.median(0)"], {"empty": EMPTY}),
        (["x.mean()", "x.mean(0)", "x.std()", "x.var(0)", "torch.var_mean(x)", "x.nanmean()"], {"ints": INTS}),
        (["x.mean()", "x.argmax()", "x.median()", "x.trace()"], {"bools": BOOLS}),
        (["x.max()", "x.max(0)", "x.amax()", "x.aminmax()", "x.argmax()", "x.median()", "x.nansum()"], {"complex": Z}),
    ),
)  # fmt: skip
def test_errors(text, x):
    same_error(program(text), x)


@pytest.mark.parametrize(
    "text",
    [
    "x.sum('a')", "x.sum(1.0)", "x.sum(keepdim=True)", "x.sum(foo=1)", "x.sum(dtype='float')", "x.mean(keepdim=True)",
    "x.max((0, 1))", "x.max(None)", "x.max(keepdim=True)", "x.std(True, 0)", "x.std(0, unbiased=True, correction=1)",
    "x.argmax((0, 1))", "torch.sum([1])", "x.median(keepdim=True)", "x.aminmax(0)", "x.sum(True)", "x.all(keepdim=1)",
],
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


def test_saved_fields():
    def account(torch):
        x = torch.tensor([[1.0, 2.0], [4.0, 3.0]], requires_grad=True)
        out = x.softmax(1)
        return [x.sum(0).grad_fn._saved_dim, x.sum(0, True).grad_fn._saved_keepdim, out.grad_fn._saved_dim,
                out.grad_fn._saved_result, x.amax(0).grad_fn._saved_self, x.max(1)[0].grad_fn._saved_indices,
                x.norm(3).grad_fn._saved_ord, x.std(0, correction=0).grad_fn._saved_correction]  # fmt: skip

    agree(account)


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
