"""Softmax and sums of exponentials, against PyTorch."""

import pytest
from case_tables import cases
from harness import agree, attempt, same, same_error, warned

from tests.parity.functions.test_reductions import BOOLS, EMPTY, INFS, INTS, NANS, POINT, SHAPES, A, Z, program

pytestmark = pytest.mark.parity


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


@pytest.mark.parametrize("function", ["softmax", "log_softmax", "softmin"])
def test_nothing_has_a_softmax_of_any_real_dtype(function):
    def program(torch):
        softmax = getattr(torch.nn.functional, function)
        empty = [torch.ones(shape).to(dtype) for shape in ((0,), (0, 3)) for dtype in (torch.int64, torch.float32)]
        return [attempt(lambda x=x: softmax(x, -1)) for x in (*empty, torch.ones(1, dtype=torch.int64))]

    agree(program)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.softmax(2)", "x.logsumexp((0, 0))"], {"matrix": A}),
        (["x.softmax(-2)"], {"0-dim": POINT}),
        (["x.softmax(0)", "x.softmax(1)", "x.log_softmax(-1)"], {"ints": INTS}),
        (["F.softmin(x, 0)"], {"bools": BOOLS}),
        (["x.softmax(0)", "x.log_softmax(1)"], {"complex": Z}),
    ),
)  # fmt: skip
def test_errors(text, x):
    same_error(program(text), x)


@pytest.mark.parametrize(
    "text",
    ["x.softmax()", "x.softmax('a')", "x.logsumexp()"],
)  # fmt: skip
def test_wrong_arguments(text):
    same_error(program(text), A, match="")
