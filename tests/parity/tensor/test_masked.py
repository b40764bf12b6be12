"""``torch.masked`` beside PyTorch's."""

import numpy as np
import pytest
from harness import agree, attempt, same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

A = array(2, 3, low=0.5, high=4.0)
B = array(2, 3, seed=1)
COMPLEX = array(2, 3, dtype="complex128")
INTS = np.array([[3, 1, 2], [4, -5, 6]])
MASK = [[True, False, True], [False, True, True]]
HOLES = [[True, False, True], [False, False, False]]
"""Nothing of the second row is selected."""

REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "logsumexp", "norm", "var", "std")
ALONG = ("cumsum", "cumprod", "softmax", "log_softmax", "softmin", "median", "normalize")


def call(torch, name, x, *args, mask=None, **options):
    """The function of this name; the norms get their order."""
    given = (2.0,) if name in ("norm", "normalize") else ()
    mask = None if mask is None else torch.tensor(mask)
    return getattr(torch.masked, name)(x, *given, *args, mask=mask, **options)


@pytest.mark.parametrize("name", REDUCTIONS + ALONG)
def test_a_mask(name):
    same(lambda torch, x: call(torch, name, x, 1, mask=MASK), A)


@pytest.mark.parametrize("name", REDUCTIONS + ALONG)
def test_without_a_mask(name):
    same(lambda torch, x: call(torch, name, x, 1), A)


@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name not in ("var", "std")] + list(ALONG))
def test_nothing_is_selected(name):
    same(lambda torch, x: call(torch, name, x, 1, mask=HOLES), A, second=False)


@pytest.mark.parametrize("name", ["var", "std"])
def test_variance_of_what_is_not_there(name):
    same(lambda torch, x: call(torch, name, x, 1, mask=HOLES), A, second=False)
    same(lambda torch, x: call(torch, name, x, 1, correction=0, mask=MASK), A)
    same(lambda torch, x: call(torch, name, x, 0, unbiased=False), A)
    agree(lambda torch: call(torch, name, torch.tensor([[1, 2, 5]]), 1, mask=[[True, False, True]]))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_all_dimensions(name):
    def program(torch, x):
        return call(torch, name, x, mask=MASK), call(torch, name, x, (1, 0), keepdim=True)

    same(program, A, second=False)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "logsumexp", "norm", "var", "cumsum", "cumprod", "normalize"])
def test_complex(name):
    same(lambda torch, x: call(torch, name, x, 1, mask=MASK), COMPLEX)


@pytest.mark.parametrize("ord", [0, 1, 3, float("inf"), -float("inf")])
def test_norms(ord):
    same(lambda torch, x: torch.masked.norm(x, ord, 1, mask=torch.tensor(MASK)), A, second=False)


@pytest.mark.parametrize(("mine", "other"), [(MASK, None), (None, MASK), (MASK, HOLES), (HOLES, HOLES)])
def test_logaddexp(mine, other):
    def program(torch, x, y):
        masks = [None if mask is None else torch.tensor(mask) for mask in (mine, other)]
        return torch.masked.logaddexp(x, y, input_mask=masks[0], other_mask=masks[1])

    same(program, A, B)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places(name):
    def program(torch, x):
        found = [call(torch, name, x, 1, mask=MASK), call(torch, name, x, 1, keepdim=True), call(torch, name, x)]
        return [*found, call(torch, name, x.long(), 1, mask=HOLES), call(torch, name, x, 0, dtype=torch.int64)]

    same(program, A)


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "cumsum", "logsumexp", "median", "std"])
def test_dtypes(name, dtype):
    def program(torch):
        x = torch.tensor([[3.0, 1.0, 2.0], [4.0, 0.0, 6.0]]).to(getattr(torch, dtype))
        return [attempted(lambda options=options: call(torch, name, x, 1, mask=MASK, **options)) for options in OPTIONS]

    def attempted(action):
        try:
            return action()
        except Exception as error:  # what it raises is what is compared
            return [type(error).__name__, str(error)]

    OPTIONS = ({}, {"keepdim": True} if name != "cumsum" else {})
    agree(program, rtol=2e-3)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "mean", "cumsum", "softmax", "log_softmax", "var"])
def test_a_dtype_that_is_asked_for(name):
    program = lambda torch, x: call(torch, name, x, 1, dtype=torch.float32, mask=MASK)
    same(program, A, second=False, rtol=1e-5, atol=1e-6)


SHAPES = {
    "a row": lambda torch, x: torch.masked.sum(x, 1, mask=torch.tensor(MASK[0])),
    "a column": lambda torch, x: torch.masked.mean(x, 1, mask=torch.tensor([[True], [False]])),
    "0-dim": lambda torch, x: torch.masked.amax(x[0, 0], 0, mask=torch.tensor(False)),
    "numbers": lambda torch, x: torch.masked.sum(x, 1, mask=torch.tensor([1.0, 0.0, 0.5])),
    "nothing": lambda torch, x: torch.masked.prod(x[:0], 0, mask=torch.tensor(MASK)[:0]),
    "several dimensions for one": lambda torch, x: torch.masked.cumsum(x, (0, 1), mask=torch.tensor(MASK)),
    "not contiguous": lambda torch, x: torch.masked.std(x.T, 0, mask=torch.tensor(MASK).T),
    "median of even numbers": lambda torch, x: torch.masked.median(x, mask=torch.tensor(MASK), keepdim=True),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes(case):
    same(SHAPES[case], A, second=False)


ERRORS = {
    "mask, dimensions": lambda torch, x: torch.masked.sum(x, 1, mask=torch.ones(1, 2, 3) > 0),
    "mask, shape": lambda torch, x: torch.masked.mean(x, 1, mask=torch.ones(2, 2) > 0),
    "dim twice": lambda torch, x: torch.masked.amax(x, (0, 0), mask=torch.tensor(MASK)),
    "dim": lambda torch, x: torch.masked.cumsum(x, 5, mask=torch.tensor(MASK)),
    "mean of integers": lambda torch, x: torch.masked.mean(x.long(), 1, mask=torch.tensor(MASK)),
    "mean in integers": lambda torch, x: torch.masked.mean(x, 1, dtype=torch.int64),
    "amin of bool": lambda torch, x: torch.masked.amin(x > 1, 1, mask=torch.tensor(MASK)),
    "softmax of bool": lambda torch, x: torch.masked.softmax(x > 1, 1, mask=torch.tensor(MASK)),
    "median of nothing": lambda torch, x: torch.masked.median(x.long(), 1, mask=torch.tensor(HOLES)),
    "norm of integers": lambda torch, x: torch.masked.norm(x.long(), 2.0, 1, mask=torch.tensor(MASK)),
    "norm in a narrower type": lambda torch, x: torch.masked.norm(x, 2.0, 1, dtype=torch.float32),
    "cumprod of bool": lambda torch, x: torch.masked.cumprod(x > 1, 1),
    "unbiased and correction": lambda torch, x: torch.masked.var(x, 1, True, correction=0),
    "argmax, several": lambda torch, x: torch.masked.argmax(x.bool(), 1, mask=torch.tensor(MASK)),
    "largest of nothing": lambda torch, x: torch.masked.amax(x[:0], 0),
    "logaddexp, shapes": lambda torch, x: torch.masked.logaddexp(x, x[:, :2]),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    same_error(ERRORS[case], A)


@pytest.mark.parametrize("name", REDUCTIONS + ALONG)
def test_no_dimensions(name):
    """``()`` means all, as None does; ``[]`` means none to ``prod``, and there is none to go along."""
    mask = [[True, True, False], [True, False, False]]

    def program(torch, dim, dtype, **options):
        x, given = torch.tensor([[1.0, 2.0, 4.0], [3.0, -0.0, 5.0]]), torch.tensor(mask)
        order = (2.0,) if name in ("norm", "normalize") else ()
        return getattr(torch.masked, name)(x, *order, dim, dtype=getattr(torch, dtype), mask=given, **options).tolist()

    for dim in ([], (), None, [0], (1,), (0, 1)):
        for dtype in ("float32", "float64"):
            for options in ({},) if name in ALONG else ({}, {"keepdim": True}):
                agree(lambda torch: attempt(lambda: program(torch, dim, dtype, **options)))  # noqa: B023 - at once
