"""Functions of two tensors of which one is 0-dim, and of another dtype: the dtype of the result and of the gradients.

A 0-dim tensor decides the dtype only where it is of a higher kind, unless a function expands it first.
"""

import itertools

import pytest
from harness import agree, attempt

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore::UserWarning")]

DTYPES = ["float16", "float32", "float64", "int64"]
PAIRS = [pair for pair in itertools.permutations(DTYPES, 2) if pair != ("int64", "int64")]

LOSSES = """mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss kl_div poisson_nll_loss
binary_cross_entropy_with_logits""".split()  # noqa: SIM905 - a table is easier to read without the quotes
FUNCTIONS = """add sub mul div floor_divide remainder fmod pow float_power atan2 maximum minimum fmax fmin hypot
copysign nextafter ldexp logaddexp logaddexp2 xlogy eq lt logical_and heaviside rsub true_divide clamp_min igamma
dist outer kron cosine_similarity""".split()  # noqa: SIM905

CALLS = {
    **{name: lambda torch, a, b, name=name: getattr(torch, name)(a, b) for name in FUNCTIONS},
    **{name: lambda torch, a, b, name=name: getattr(torch.nn.functional, name)(a, b) for name in LOSSES},
    **{f"{name}, elements": lambda torch, a, b, name=name: getattr(torch.nn.functional, name)(a, b, reduction="none")
       for name in LOSSES[:4]},
    **{name: lambda torch, a, b, how=how: torch.nn.functional.huber_loss(a.detach(), b.detach(), reduction=how)
       for name, how in (("huber_loss", "mean"), ("huber_loss, elements", "none"))},
    "special.xlog1py": lambda torch, a, b: torch.special.xlog1py(a, b),
    "cosine_similarity": lambda torch, a, b: torch.cosine_similarity(a, b, dim=0),
    "pairwise_distance": lambda torch, a, b: torch.pairwise_distance(a, b),
    "where": lambda torch, a, b: torch.where(torch.tensor([True, False, True]), a, b),
    "addcmul": lambda torch, a, b: torch.addcmul(a, b, b),
    "clamp": lambda torch, a, b: torch.clamp(a, b),
    "cat of rows": lambda torch, a, b: torch.cat([a.reshape(-1), b.reshape(-1)]),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_dtypes(call):
    """Values are compared as far as half precision has them. PyTorch's huber_loss has no gradients of two dtypes."""

    def dtypes(torch, first, second, is_first):
        whole, one = torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0)
        a, b = (one, whole) if is_first else (whole, one)
        a, b = a.to(getattr(torch, first)), b.to(getattr(torch, second))
        leaves = [x.requires_grad_() for x in (a, b) if x.is_floating_point()]
        out = CALLS[call](torch, a, b)
        grads = torch.autograd.grad(out.sum(), leaves, allow_unused=True) if out.requires_grad else []
        told = [g if g is None else [str(g.dtype), tuple(g.shape)] for g in grads]
        return str(out.dtype), tuple(out.shape), out.requires_grad, told, (out.detach().double() + 0.0).tolist()

    def program(torch):
        cases = [(*pair, is_first) for pair in PAIRS for is_first in (True, False)]
        outcomes = [attempt(lambda case=case: dtypes(torch, *case)) for case in cases]
        return [outcome[:2] if outcome[:1] == ["raised"] else outcome for outcome in outcomes]

    agree(program, rtol=2e-3, atol=2e-3)
