"""``nn.init``: what isn't random as PyTorch has it; of what is, which draws are made, and what comes of them."""

import math

import pytest
import torch as pytorch
from harness import agree, attempt, recorded_warnings, warned
from modinfo import draws

import tapegrad

pytestmark = pytest.mark.once("fills tensors, in no order")

init = tapegrad.nn.init

EXACT = [
    lambda torch: torch.nn.init.constant_(torch.empty(2, 3), 0.3),
    lambda torch: torch.nn.init.ones_(torch.empty(3)),
    lambda torch: torch.nn.init.zeros_(torch.empty(2, 0, 3)),
    lambda torch: torch.nn.init.eye_(torch.empty(3, 2)),
    lambda torch: torch.nn.init.eye_(torch.empty(2, 4, dtype=torch.float64)),
    lambda torch: torch.nn.init.dirac_(torch.empty(3, 2, 3)),
    lambda torch: torch.nn.init.dirac_(torch.empty(2, 4, 3, 4)),
    lambda torch: torch.nn.init.dirac_(torch.empty(4, 2, 3, 1, 2), groups=2),
    lambda torch: torch.nn.init.dirac_(torch.empty(4, 0, 3)),
    lambda torch: torch.nn.init.dirac(torch.empty(6, 2, 3), 3),
    lambda torch: torch.nn.init.orthogonal_(torch.empty(0, 2)),
    lambda torch: [torch.nn.init.calculate_gain(name) for name in ("linear", "conv_transpose2d", "sigmoid", "tanh")],
    lambda torch: [torch.nn.init.calculate_gain(name) for name in ("relu", "selu", "leaky_relu")],
    lambda torch: [torch.nn.init.calculate_gain("leaky_relu", slope) for slope in (0, 0.2, -1, math.sqrt(5))],
    lambda torch: torch.nn.init._calculate_fan_in_and_fan_out(torch.empty(3, 5, 2, 7)),
    lambda torch: torch.nn.init._calculate_correct_fan(torch.empty(3, 5), "FAN_OUT"),
    lambda torch: torch.nn.init.constant_(torch.nn.Parameter(torch.ones(2)), 2.0),
    lambda torch: torch.nn.init.eye_(torch.nn.Parameter(torch.ones(2, 2))),
]


@pytest.mark.parametrize("program", EXACT)
def test_what_is_not_random(program):
    with recorded_warnings():
        agree(program)


REFUSED = [
    lambda torch: torch.nn.init.calculate_gain("sine"),
    lambda torch: torch.nn.init.calculate_gain("leaky_relu", True),
    lambda torch: torch.nn.init.calculate_gain("leaky_relu", "0.1"),
    lambda torch: torch.nn.init.eye_(torch.empty(3)),
    lambda torch: torch.nn.init.dirac_(torch.empty(3, 2)),
    lambda torch: torch.nn.init.dirac_(torch.empty(3, 2, 3), groups=2),
    lambda torch: torch.nn.init.xavier_uniform_(torch.empty(3)),
    lambda torch: torch.nn.init.xavier_normal_(torch.empty(())),
    lambda torch: torch.nn.init.kaiming_uniform_(torch.empty(3)),
    lambda torch: torch.nn.init.kaiming_uniform_(torch.empty(3, 2), mode="fan_sum"),
    lambda torch: torch.nn.init.kaiming_normal_(torch.empty(3, 2), nonlinearity="sine"),
    lambda torch: torch.nn.init.orthogonal_(torch.empty(3)),
    lambda torch: torch.nn.init.sparse_(torch.empty(3, 2, 2), 0.1),
    lambda torch: torch.nn.init.normal_(torch.empty(3), 0.0, -1.0),
    lambda torch: torch.nn.init.uniform_(torch.empty(3), 1.0, 0.0),
]


@pytest.mark.parametrize("program", REFUSED)
def test_what_is_refused(program):
    agree(lambda torch: attempt(lambda: program(torch)))


@pytest.mark.parametrize(
    "program",
    [
        lambda torch: torch.nn.init.kaiming_uniform_(torch.empty(0, 3)),
        lambda torch: torch.nn.init.kaiming_normal_(torch.empty(0)),
        lambda torch: torch.nn.init.trunc_normal_(torch.empty(3), mean=5.0),
        *(lambda torch, name=name: getattr(torch.nn.init, name)(torch.empty(2, 2)) for name in
          ("uniform", "normal", "eye", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
           "orthogonal")),
        lambda torch: torch.nn.init.constant(torch.empty(2), 1.0),
        lambda torch: torch.nn.init.sparse(torch.empty(2, 2), sparsity=0.5),
    ],
)  # fmt: skip
def test_warnings(program):
    agree(lambda torch: warned(lambda: program(torch)))


@pytest.mark.parametrize(
    "program",
    [
        lambda torch: torch.nn.init.uniform_(torch.empty(3), -1, 2.5),
        lambda torch: torch.nn.init.normal_(torch.empty(3), 1.0, 0.5),
        lambda torch: torch.nn.init.xavier_uniform_(torch.empty(3, 5, 2), gain=1.5),
        lambda torch: torch.nn.init.xavier_normal_(torch.empty(3, 5)),
        lambda torch: torch.nn.init.kaiming_uniform_(torch.empty(3, 5), a=math.sqrt(5)),
        lambda torch: torch.nn.init.kaiming_uniform_(torch.empty(3, 5, 2, 2), mode="fan_out", nonlinearity="relu"),
        lambda torch: torch.nn.init.kaiming_normal_(torch.empty(3, 5), nonlinearity="selu"),
        lambda torch: torch.nn.init.orthogonal_(torch.empty(3, 5)),
        lambda torch: torch.nn.init.sparse_(torch.empty(4, 2), 0.5, 0.1),
        lambda torch: torch.nn.init.trunc_normal_(torch.empty(5), a=-9.0, b=9.0),
    ],
)
def test_what_is_drawn(program):
    agree(lambda torch: draws(torch, program))


def test_orthogonal_matrices():
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        w = init.orthogonal_(tapegrad.empty(shape, dtype=tapegrad.float64), gain=2.0).reshape(shape[0], -1)
        product = w @ w.T if w.shape[0] < w.shape[1] else w.T @ w
        tapegrad.testing.assert_close(product, 4 * tapegrad.eye(min(w.shape), dtype=tapegrad.float64))


def test_sparse_matrices_have_zeros_in_each_column():
    w = init.sparse_(tapegrad.empty(10, 7), sparsity=0.25, std=3.0)
    assert ((w == 0).sum(0) == 3).all() and len({tuple(column) for column in (w == 0).T.tolist()}) > 1


@pytest.mark.parametrize(("mean", "std", "a", "b"), [(0, 1, -2, 2), (0, 1, -0.3, 0.2), (5, 1, 5.5, 5.9), (0, 2, 1, 9)])
def test_normal_numbers_are_cut_off(mean, std, a, b):
    tapegrad.manual_seed(0)
    w = init.trunc_normal_(tapegrad.empty(4000, dtype=tapegrad.float64), mean, std, a, b)
    assert (w >= a).all() and (w <= b).all()
    normal = pytorch.distributions.Normal(0.0, 1.0)
    low, high = (normal.cdf(pytorch.tensor((bound - mean) / std)).item() for bound in (a, b))
    below = [(w < a + (b - a) * part).double().mean().item() for part in (0.25, 0.5, 0.75)]
    places = [normal.cdf(pytorch.tensor((a + (b - a) * part - mean) / std)).item() for part in (0.25, 0.5, 0.75)]
    assert below == pytest.approx([(place - low) / (high - low) for place in places], abs=0.03)


def test_classes_that_override_functions_are_asked():
    def program(torch):
        names = []

        class Noting(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                names.append([function.__name__, sorted(kwargs or {})])
                return torch.zeros(()) if kwargs and "tensor" in kwargs else super().__torch_function__(
                    function, types, args, kwargs
                )

        x = torch.zeros(2, 2).as_subclass(Noting)
        for name in ("uniform_", "normal_", "kaiming_uniform_"):
            getattr(torch.nn.init, name)(x)
        torch.nn.init.constant_(x, 1.0)
        return names

    agree(program)


def test_a_parameter_keeps_its_place():
    weight = tapegrad.nn.Parameter(tapegrad.ones(3, 3))
    for fill in (init.uniform_, init.trunc_normal_, init.orthogonal_, init.eye_, init.kaiming_normal_):
        assert fill(weight) is weight
    assert weight.is_leaf and weight.requires_grad and weight.grad_fn is None
