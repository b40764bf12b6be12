"""The backend interface: kernels run at once or inline into the user's trace, in 64 bits or not, and leave JAX's
settings alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.dispatch.codegen.runner import source_of
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.tensor.tensor import describe, value_of, wrap

MATRIX = np.array([[0.5, -0.25], [0.75, 1.5]], "float32")


def leaf(value):
    return wrap(value, describe(value)).requires_grad_()


def loss(w):
    return ((w @ w).tanh() * 2.0 + 1).sum().log()


def by_grad(value):
    w = leaf(value)
    return array_of(value_of(torch.autograd.grad(loss(w), w)[0]))


def by_backward(value):
    w = leaf(value)
    loss(w).backward()
    return array_of(value_of(w.grad))


def in_jax(value):
    return jnp.log((jnp.tanh(value @ value) * 2.0 + 1).sum())


@pytest.mark.parametrize("gradient", [by_grad, by_backward])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["at once", "jitted"])
def test_the_tape_runs_at_once_and_under_the_users_jit(gradient, transform):
    np.testing.assert_allclose(transform(gradient)(jnp.asarray(MATRIX)), jax.grad(in_jax)(MATRIX), rtol=1e-5)


def test_the_tape_under_vmap():
    batch = jnp.stack([jnp.asarray(MATRIX), 2 * jnp.asarray(MATRIX)])
    expected = jnp.stack([by_grad(one) for one in batch])
    np.testing.assert_allclose(jax.vmap(by_grad)(batch), expected, rtol=1e-5, atol=1e-6)


def test_kernels_inline_into_a_trace():
    """What the user's jit sees are the operations themselves, no calls of ours and no tape."""
    names = {str(equation.primitive) for equation in jax.make_jaxpr(by_grad)(MATRIX).eqns}
    assert "dot_general" in names
    assert not names & {"jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "pure_callback"}


def test_a_backward_is_one_kernel_call_for_each_node(kernel_calls):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], requires_grad=True)
    w = torch.tensor([5.0, 4.0, 3.0, 2.0, 1.0], requires_grad=True)
    total = ((x * w).cos() * w.exp()).sum()
    kernel_calls.clear()
    total.backward()
    called = [name for name in kernel_calls.read() if name != "accumulate"]
    assert called == ["SumBackward0", "MulBackward0", "ExpBackward0", "CosBackward0", "MulBackward0"]


def test_gradients_that_nobody_wants_are_not_computed():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    node = (x * w).grad_fn
    backward = node.plan.backward((True, False), (True,))
    jaxpr = jax.make_jaxpr(backward)(jnp.ones(2), value_of(x), value_of(w))
    assert len(jaxpr.out_avals) == 1
    assert [str(equation.primitive) for equation in jaxpr.eqns] == ["mul"]


def test_64_bit_types_leave_the_configuration_alone():
    assert not jax.config.jax_enable_x64
    x = torch.linspace(0, 1, 3, dtype=torch.float64, requires_grad=True)
    index = x.argmax()
    (x[index] * x.sin().sum()).backward()
    assert x.grad.dtype is torch.float64
    assert value_of(x.grad).dtype == "float64"
    assert index.dtype is torch.int64
    assert not jax.config.jax_enable_x64
    assert jnp.ones(2).dtype == "float32"
    assert jnp.asarray(np.ones(2)).dtype == "float32"


def test_plans_that_differ_in_flags_share_their_kernels():
    x, y = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([4.0, 3.0, 2.0, 1.0])
    recorded = (x.clone().requires_grad_() * y).grad_fn.plan
    written = x.clone().requires_grad_()
    with torch.no_grad():
        written += 1
    other = (written * y).grad_fn.plan
    assert other is not recorded
    assert other.kernels is recorded.kernels


def test_a_plan_is_a_record():
    plan = (torch.ones(2, requires_grad=True) * torch.ones(2)).grad_fn.plan
    with pytest.raises(AttributeError, match=r"replace\(needed="):
        plan.needed = (False, False)
    other = plan.replace(needed=(False, False))
    assert (plan.needed, other.needed) == ((True, False), (False, False))
    assert other.specs is plan.specs and other.late is not plan.late


def test_a_runner_is_straight_line_code(execution):
    plan = (torch.ones(2, requires_grad=True) * torch.ones(2)).grad_fn.plan
    assert isinstance(plan, Plan)
    lines = source_of(plan).splitlines()
    assert lines[0] == "def run(x0, x1):"
    calls = {"immediate": "value0 = forward(x0._value, x1._value)", "deferred": "instruction = call, s0, s1"}
    assert calls[execution] in map(str.strip, lines)
    assert "    node.saved = (x1,)" in lines
    assert not any(word in source_of(plan) for word in ("for ", "while "))
    assert execution == "deferred" or "if " not in source_of(plan)
