"""Functions in place, and what is written to their results before backward asks for what they saved."""

import pytest
from harness import agree, attempt

pytestmark = pytest.mark.parity

CALLS = [
    "F.leaky_relu_(x)", "F.leaky_relu(x, 0.2, inplace=True)", "F.elu_(x)", "F.elu_(x, 0.0)", "F.celu_(x, 2.0)",
    "F.selu_(x)", "F.rrelu_(x, 0.2, 0.2)", "F.hardtanh_(x, -0.5, 0.5)", "F.threshold_(x, 0.25, 0.1)", "F.relu_(x)",
    "x.pow_(w)", "x.pow(w)", "x.float_power(w)", "x.ldexp_(w)", "x.addcdiv_(w, w)", "x.addcdiv(w, w)",
    "x.addcmul_(w, w)",
    "x.sigmoid_()", "x.exp_()", "x.sin_()", "F.silu(x, inplace=True)", "F.mish(x, inplace=True)",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_write_before_backward(call):
    """Nothing is written, or the result, the base of what was written, the other operand."""

    def backward(torch, written):
        leaf = torch.tensor([-1.5, 0.0, 0.25, 2.0], dtype=torch.float64, requires_grad=True)
        base = leaf * 1 if "pow" not in call else leaf.abs()
        x, w = base[:], torch.tensor([0.5, 1.5, 1.0, 2.0], dtype=torch.float64)
        y = eval(call, {"x": x, "w": w, "F": torch.nn.functional})
        with torch.no_grad():
            {"": torch.ones(1), "y": y, "base": base, "w": w}[written].mul_(1.5)
        (g,) = torch.autograd.grad(y.sum(), leaf, create_graph=True)
        return g, torch.autograd.grad((g * g).sum(), leaf, allow_unused=True)[0] if g.requires_grad else None

    agree(lambda torch: [attempt(lambda w=w: backward(torch, w)) for w in ("", "y", "base", "w")])


def test_slopes_that_are_drawn():
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        torch.nn.functional.rrelu_(x * 1, 0.2, 0.3, True).sum().backward()
        return x.grad

    agree(program)
