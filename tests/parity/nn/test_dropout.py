"""Dropout, beside PyTorch's."""

import pytest
from case_tables import case_of
from harness import agree, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
ROW = array(3)


def shares(torch, name, shape, p, **settings):
    """What dropout does to ones, apart from which: the values that occur, and whether their shares are right."""
    torch.manual_seed(0)
    x = torch.ones(shape, requires_grad=True)
    y = getattr(torch.nn.functional, name)(x, p, **settings)
    y.sum().backward()
    values = sorted({round(float(value), 5) for value in y.detach().reshape(-1).tolist()})
    slopes = sorted({round(float(value), 5) for value in x.grad.reshape(-1).tolist()})
    kept = float((y.detach() == values[-1]).double().mean())
    return values, slopes, abs(kept - (1 - p)) < 0.08, y.grad_fn is None or y.grad_fn.name()


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", ["dropout", "alpha_dropout"])
def test_dropout(name, p):
    if p == 0.0:
        agree(lambda torch: getattr(torch.nn.functional, name)(torch.ones(3), p, True).tolist())
    else:
        agree(lambda torch: shares(torch, name, (60, 60), p, training=True)[: 4 if p < 1 else 2])


CHANNEL_DROPOUTS = [
    ("dropout1d", (400, 5)), ("dropout1d", (20, 50, 3)), ("dropout2d", (20, 50, 2, 2)),
    ("dropout3d", (20, 50, 1, 2, 2)), ("feature_alpha_dropout", (20, 50, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape"), CHANNEL_DROPOUTS, ids=str)
def test_dropout_of_channels(name, shape):
    def whole(torch):
        x = getattr(torch.nn.functional, name)(torch.ones(shape), 0.4, True)
        lead = 1 if name == "dropout1d" and len(shape) == 2 else 2
        flat = x.reshape(*shape[:lead], -1)
        return bool((flat == flat[..., :1]).all())

    agree(whole)
    agree(lambda torch: shares(torch, name, shape, 0.4, training=True)[: 3 if name == "dropout1d" else 4])


def test_dropout_differs_between_calls_and_repeats_with_the_seed():
    def program(torch):
        def once():
            return torch.nn.functional.dropout(torch.ones(50)).tolist()

        torch.manual_seed(3)
        first, second = once(), once()
        torch.manual_seed(3)
        return first == second, first == once()

    agree(program)


def test_dropout_in_place():
    def program(torch):
        x = torch.ones(4)
        y = torch.nn.functional.dropout(x, 1.0, inplace=True)
        z = torch.nn.functional.dropout(x, 0.5, training=False)
        return x is y, x is z, x.tolist(), x._version > 0

    agree(program)


DROPOUT_ERRORS = {
    "p": lambda F, x: F.dropout(x, 1.5),
    "negative p": lambda F, x: F.dropout(x, -0.1),
    "int": lambda F, x: F.dropout(x.long()),
    "bool": lambda F, x: F.dropout(x > 0),
    "complex": lambda F, x: F.dropout(x + 0j),
    "1d": lambda F, x: F.dropout1d(x),
    "alpha": lambda F, x: F.alpha_dropout(x, 2.0),
    "features": lambda F, x: F.feature_alpha_dropout(x, 0.5, True),
    "leaf": lambda F, x: F.dropout(x, inplace=True),
}


@case_of(DROPOUT_ERRORS)
def test_dropout_errors(case):
    same_error(lambda torch, x: DROPOUT_ERRORS[case](torch.nn.functional, x), ROW)
