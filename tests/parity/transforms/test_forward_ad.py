"""Forward mode on both: dual tensors through operators, its mixtures with reverse mode, and its errors."""

import forward_mode  # noqa: F401 - for what it does
import pytest
from harness import agree, attempt

import tapegrad

A, B = [[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]], [[0.5, 0.25, -0.75], [1.5, -0.125, 2.0]]

FUNCTIONS = {
    "mul": lambda torch, x, y: x * y,
    "a dual and a constant": lambda torch, x, y: x / y.detach(),
    "a number": lambda torch, x, y: 3 * x - 1,
    "broadcast": lambda torch, x, y: x * y[0],
    "exp saves its output": lambda torch, x, y: x.exp() * y,
    "pow": lambda torch, x, y: x.abs() ** y,
    "matmul": lambda torch, x, y: x @ y.t(),
    "sum and mean": lambda torch, x, y: x.sum(0) * y.mean(),
    "softmax": lambda torch, x, y: torch.softmax(x * y, -1),
    "max": lambda torch, x, y: x.max(),
    "max along a dimension": lambda torch, x, y: x.max(1).values,
    "where": lambda torch, x, y: torch.where(x > 0, x, y),
    "cat": lambda torch, x, y: torch.cat([x, y], 1),
    "stack": lambda torch, x, y: torch.stack([x, y.detach()]),
    "index": lambda torch, x, y: x[:, 1:] * y[0, 0],
    "gather": lambda torch, x, y: x.gather(1, torch.tensor([[0], [2]])),
    "reshape and transpose": lambda torch, x, y: x.reshape(3, 2).t() + y,
    "linear": lambda torch, x, y: torch.nn.functional.linear(x, y),
    "layer norm": lambda torch, x, y: torch.nn.functional.layer_norm(x * y, (3,)),
    "cross entropy": lambda torch, x, y: torch.nn.functional.cross_entropy(x, torch.tensor([0, 2])) * y[0, 0],
    "cumsum and logsumexp": lambda torch, x, y: x.cumsum(1).logsumexp(0),
    "var": lambda torch, x, y: (x * y).var(1),
    "to another dtype": lambda torch, x, y: x.double() * 2,
    "clone": lambda torch, x, y: x.clone(),
    "einsum": lambda torch, x, y: torch.einsum("ij,kj->ik", x, y),
    "conv": lambda torch, x, y: torch.nn.functional.conv1d(x[None], y[None, :, :2]),
    "an in-place operator": lambda torch, x, y: x.clone().mul_(y),
    "into a tensor without a tangent": lambda torch, x, y: torch.ones(2, 3).add_(x),
    "overwritten": lambda torch, x, y: x.clone().fill_(2.0),
    "a constant result": lambda torch, x, y: y.detach() * 2,
    "detached": lambda torch, x, y: x.detach(),
    "a comparison": lambda torch, x, y: x > y,
}


def duals(torch, grads=False):
    forward_ad = torch.autograd.forward_ad
    x, y = torch.tensor(A, requires_grad=grads), torch.tensor(B, requires_grad=grads)
    return x, y, forward_ad.make_dual(x, torch.tensor(B)), forward_ad.make_dual(y, torch.tensor(A) * 2)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_operators_propagate_tangents(function):
    def program(torch):
        with torch.autograd.forward_ad.dual_level():
            _, _, x, y = duals(torch)
            out = function(torch, x, y)
            return list(torch.autograd.forward_ad.unpack_dual(out))

    agree(program, rtol=1e-5, atol=1e-6)


MIXED = [name for name in FUNCTIONS if name not in ("detached", "a comparison", "overwritten", "a constant result")]


BROKEN = ("softmax", "cross entropy", "cumsum and logsumexp")
"""PyTorch's own forward derivatives of these change a saved output in place, and can't be differentiated again."""


@pytest.mark.parametrize("name", [name for name in MIXED if name not in BROKEN])
def test_reverse_over_forward(name):
    def program(torch):
        with torch.autograd.forward_ad.dual_level():
            x, y, dx, dy = duals(torch, grads=True)
            tangent = torch.autograd.forward_ad.unpack_dual(FUNCTIONS[name](torch, dx, dy)).tangent
        if tangent.grad_fn is None:  # PyTorch may give a graph of zeros where ours has none
            return [torch.zeros(2, 3).numpy()] * 2
        grads = torch.autograd.grad(tangent.double().cos().sum(), [x, y], allow_unused=True, materialize_grads=True)
        return [(grad + 0).numpy() for grad in grads]

    agree(program, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MIXED)
def test_forward_over_reverse(name):
    def program(torch):
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            _, _, dx, dy = duals(torch, grads=True)
            out = FUNCTIONS[name](torch, dx, dy).cos().sum()
            grads = torch.autograd.grad(out, [dx, dy], allow_unused=True, materialize_grads=True)
            parts = map(forward_ad.unpack_dual, grads)
            return [[(p + 0).numpy(), None if t is None else (t + 0).numpy()] for p, t in parts]

    def without_zeros(torch):
        account = program(torch)
        return [[p, t if t is not None and t.any() else None] for p, t in account]  # zero or absent: either may be

    agree(without_zeros, rtol=1e-4, atol=1e-5)


def grad_modes(torch):
    forward_ad, account = torch.autograd.forward_ad, []
    with forward_ad.dual_level():
        x, _, dx, _ = duals(torch, grads=True)
        with torch.no_grad():
            out = dx * 2
        account += [out.requires_grad, forward_ad.unpack_dual(out).tangent]
        with forward_ad._set_fwd_grad_enabled(False):
            account.append(forward_ad.unpack_dual(dx * 2).tangent)
        account.append(forward_ad.unpack_dual(dx * x).tangent.requires_grad)
    return account


def the_end_of_a_level(torch):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        _, _, dx, _ = duals(torch)
        out = dx.exp()
        inside = repr(out)
    with forward_ad.dual_level():
        later = forward_ad.unpack_dual(out).tangent
    return [inside, repr(out), later, forward_ad.unpack_dual(dx).tangent]


def memory_is_shared(torch):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x, _, dx, _ = duals(torch)
        dx.add_(1)
        primal = forward_ad.unpack_dual(dx).primal
        primal.mul_(2)
        return [x, forward_ad.unpack_dual(dx).primal, dx._version, x._version, forward_ad.unpack_dual(dx).tangent]


def the_tangent_is_kept(torch):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        tangent = torch.tensor([3.0])
        return forward_ad.unpack_dual(forward_ad.make_dual(torch.tensor([1.0]), tangent)).tangent is tangent


def mistakes(torch):
    forward_ad = torch.autograd.forward_ad
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    account = [attempt(lambda: forward_ad.make_dual(x, t)), attempt(lambda: forward_ad.exit_dual_level())]
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        for bad in (
            lambda: forward_ad.make_dual(torch.tensor([1, 2]), t),
            lambda: forward_ad.make_dual(x, torch.tensor([1, 2])),
            lambda: forward_ad.make_dual(x, torch.ones(3)),
            lambda: forward_ad.make_dual(x, d),
            lambda: forward_ad.make_dual(d, t),
            lambda: forward_ad.make_dual(3, t),
            lambda: forward_ad.make_dual(x, t, level=1),
            lambda: forward_ad.unpack_dual(3),
            lambda: forward_ad.dual_level().__enter__(),
        ):
            account.append(attempt(bad))
    return account


PROGRAMS = [grad_modes, the_end_of_a_level, memory_is_shared, the_tangent_is_kept, mistakes]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program)


@pytest.mark.parametrize("count", [1, 2])
def test_the_tangent_of_a_sum_has_a_node_of_its_own(count):
    """Its hooks and captures are not those of the tensor that was given for a tangent."""

    def program(torch):
        x, seen = torch.ones(2, requires_grad=True), []
        direction = x if count == 1 else x * 2
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(torch.ones(2), direction)
            tangent = torch.autograd.forward_ad.unpack_dual(dual + torch.ones(2)).tangent
        tangent.register_hook(lambda grad: seen.append(grad.tolist()))
        (tangent + direction * 3).sum().backward()
        return [seen, tangent.is_leaf, tangent.grad_fn.name(), x.grad, torch.func.jvp(lambda v: v + 1, (x,), (x,))[1]]

    agree(program)


def test_an_operator_without_a_forward_formula_says_so():
    import tapegrad as torch
    from tapegrad.ops.operator import TABLE

    names = [name for name, op in TABLE.items() if op.kind == "general" and op.formulas and op.jvp_formula is None]
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.eye(2), torch.ones(2, 2))
        for name in names:
            with pytest.raises(NotImplementedError, match=f"Trying to use forward AD with {name} that does not"):
                TABLE[name].jvp([x], [x], x)


@pytest.mark.parametrize("name", BROKEN)
def test_reverse_over_forward_equals_forward_over_reverse(name):
    """Where PyTorch can't be asked: the derivatives of the tangent, once each way."""
    import tapegrad as torch

    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x, _, dx, _ = duals(torch, grads=True)
        y = torch.tensor(B)
        tangent = forward_ad.unpack_dual(FUNCTIONS[name](torch, dx, y).cos().sum()).tangent
        (reverse,) = torch.autograd.grad(tangent, x)
        (gradient,) = torch.autograd.grad(FUNCTIONS[name](torch, dx, y).cos().sum(), dx)
        forward = forward_ad.unpack_dual(gradient).tangent
    assert torch.allclose(reverse, forward, rtol=1e-4, atol=1e-5)


def test_functions_of_inference_tensors_keep_tangents():
    """PyTorch loses the tangent where all that a function is given are inference tensors."""
    with tapegrad.inference_mode():
        x = tapegrad.tensor([1.0, 2.0])
    with tapegrad.autograd.forward_ad.dual_level():
        dual = tapegrad.autograd.forward_ad.make_dual(x, tapegrad.tensor([1.0, 0.5]))
        assert tapegrad.autograd.forward_ad.unpack_dual(dual.unsqueeze(0) ** 2).tangent.tolist() == [[2.0, 2.0]]
