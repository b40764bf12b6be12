"""Transforms where PyTorch can't be asked: what works only here, what jax says, what a failure leaves behind."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad import func
from tapegrad._src.tape.modes import thread

pytestmark = pytest.mark.parity


def vector():
    return torch.tensor([0.5, 1.0, 2.0])


def equal(result, expected):
    assert torch.allclose(result, expected, rtol=1e-5, atol=1e-6), f"{result}, expected {expected}"


# -- of third order, against jax ---------------------------------------------------------------------------------------


def attention(m, x):
    """One number of a vector: weights by softmax, a mean, and a distance."""
    scores = m.tanh(x[:, None] * x[None, :])
    weights = m.exp(scores) / m.exp(scores).sum(1)[:, None]
    return ((weights @ x - x) ** 2).sum()


def waves(m, x):
    """As many numbers as there are, each of all of them."""
    return m.sin(x).cumsum(0) * m.exp(-x) + x.prod() * x


THIRD = [
    ("jacfwd of hessian", attention, lambda m, f: m.jacfwd(m.hessian(f))),
    ("jacrev of jacfwd of jacrev", waves, lambda m, f: m.jacrev(m.jacfwd(m.jacrev(f)))),
]


@pytest.mark.parametrize("name, function, derivative", THIRD, ids=[name for name, _, _ in THIRD])
def test_derivatives_of_high_order_equal_those_of_jax(name, function, derivative):
    x = np.array([0.5, -0.25, 1.5], np.float32)
    ours = derivative(func, lambda x: function(torch, x))(torch.tensor(x))
    theirs = jax.jit(derivative(jax, lambda x: function(jnp, x)))(x)
    np.testing.assert_allclose(ours.numpy(), np.asarray(theirs), rtol=1e-4, atol=1e-5)


# -- what PyTorch refuses ----------------------------------------------------------------------------------------------


def test_autograd_grad_and_requires_grad_inside_a_transform():
    def slope(x):
        y = x.sin().detach()
        y.requires_grad = True  # PyTorch refuses ``requires_grad_``
        (g,) = torch.autograd.grad((y**3 * x).sum(), y, create_graph=True)  # 3 y² x
        return (g * x).sum()

    x = vector()
    equal(func.grad(slope)(x), 6 * x.sin() ** 2 * x)
    equal(func.jvp(slope, (x,), (torch.ones(3),))[1], (6 * x.sin() ** 2 * x).sum())
    equal(func.vmap(func.grad(slope))(x.expand(2, 3)), (6 * x.sin() ** 2 * x).expand(2, 3))


def test_negative_argnums_of_jacfwd():
    x = vector()
    equal(func.jacfwd(lambda x, y: (x * x * y).sum(), argnums=-1)(x, x), x * x)


# -- linearize ---------------------------------------------------------------------------------------------------------


def test_linearize_runs_the_function_twice():
    calls = []
    x = vector()
    output, push = func.linearize(lambda x: calls.append(x) or x.sin() * x, x)
    results = [push(t) for t in (x, torch.ones(3), x)]
    assert len(calls) == 2
    equal(output, x.sin() * x)
    equal(torch.stack(results), (x.cos() * x + x.sin()) * torch.stack([x, torch.ones(3), x]))


def test_linearize_inside_other_transforms():
    x = vector()
    curvature = lambda x: func.linearize(func.grad(lambda x: (x**3).sum()), x)[1](x)
    equal(curvature(x), 6 * x * x)
    equal(func.vmap(curvature)(x[:, None]), 6 * (x * x)[:, None])
    equal(func.jacrev(curvature)(x), (12 * x).diag())
    equal(func.jacfwd(lambda t: func.linearize(torch.sin, x)[1](t))(x), x.cos().diag())


def test_linearize_does_not_take_what_a_hook_makes_of_gradients_for_derivatives():
    def f(x):
        y = x * x
        y.register_hook(lambda g: g * 100)
        return y

    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        func.linearize(f, vector())


def test_linearize_runs_custom_functions_in_forward_mode():
    calls = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x):
            calls.append("forward")
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 2

    x = vector()
    _, push = func.linearize(Double.apply, x)
    equal(push(x), 2 * x)
    assert calls == ["forward"] * 3  # for the value, to be differentiated, and for the tangent


# -- what is left behind -----------------------------------------------------------------------------------------------


class Mine(BaseException):
    """No error that anybody would catch."""


TRANSFORMS = {
    "grad": func.grad,
    "vjp": lambda f: lambda x: func.vjp(f, x),
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (x,)),
    "jacrev": func.jacrev,
    "jacfwd": func.jacfwd,
    "hessian": func.hessian,
    "linearize": lambda f: lambda x: func.linearize(f, x),
    "vmap": func.vmap,
    "vmap of grad": lambda f: func.vmap(func.grad(f)),
}


@pytest.mark.parametrize("error", [ValueError, Mine])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS.keys())
def test_a_function_that_raises_leaves_everything_as_it_was(transform, error):
    def f(x):
        torch.set_grad_enabled(False)
        raise error("stop")

    state = thread.modes, thread.levels, thread.duals, thread.saved_hooks_disabled
    with pytest.raises(error, match="stop"):
        transform(f)(vector() if transform is not TRANSFORMS["vmap of grad"] else torch.ones(2, 3))
    assert (thread.modes, thread.levels, thread.duals, thread.saved_hooks_disabled) == state
    assert torch.is_grad_enabled()


def test_a_backward_that_raises_leaves_everything_as_it_was():
    def f(x):
        y = x * x
        y.register_hook(lambda g: 1 / 0)
        return y.sum()

    for transform in (func.grad, func.jacrev, lambda f: func.vmap(func.grad(f), in_dims=None)):
        with pytest.raises((ZeroDivisionError, ValueError)):
            transform(f)(vector())
        assert not thread.levels and not thread.modes.level and thread.modes.grad


def test_a_grad_mode_that_a_function_leaves_behind_ends_with_it():
    def f(x):
        out = (x * x).sum()
        torch.set_grad_enabled(False)
        return out

    equal(func.grad(f)(vector()), 2 * vector())
    assert torch.is_grad_enabled()


def test_the_graph_that_vjp_keeps_can_be_used_at_other_levels():
    x = vector()
    _, pull = func.vjp(lambda x: x.sin(), x)
    equal(func.vmap(lambda g: pull(g)[0])(torch.eye(3)), x.cos().diag())
    equal(func.grad(lambda g: (pull(g)[0] * g).sum())(x), 2 * x.cos() * x)
    equal(func.jacfwd(lambda g: pull(g)[0])(x), x.cos().diag())
