"""Writes are kernels on the backend interface: under the user's ``jax.jit`` they update buffers, in place where XLA
may."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.tensor.tensor import describe, value_of, wrap

MEMORY = np.arange(12, dtype="float32").reshape(3, 4)
ROW = np.array([10.0, 20.0, 30.0, 40.0], "float32")


def tensor(value):
    return wrap(value, describe(value))


def by_row(x, row):
    x[1] = row


def by_column(x, row):
    x[:, 2] = row[:3]


def by_step(x, row):
    x[::2, 1:3] = row[:2]


def through_a_view(x, row):
    x[1].mul_(row)


def through_a_view_of_a_view(x, row):
    x.t()[2].add_(row[:3])


def in_place(x, row):
    x.add_(row)


def through_another_shape(x, row):
    x.view(-1)[4:8] = row


def through_detached(x, row):
    x.detach()[0].copy_(row)


def several(x, row):
    upper, lower = x[:2], x[1:]
    upper.add_(1)
    lower.mul_(row)
    upper.zero_()


WRITES = [
    by_row, by_column, by_step, through_a_view, through_a_view_of_a_view, in_place, through_another_shape,
    through_detached, several,
]  # fmt: skip
AT_ONE_PLACE = [by_row, through_a_view, through_another_shape]


def written(write):
    """The program as a function of arrays."""

    def function(memory, row):
        x = tensor(memory)
        write(x, tensor(row))
        return value_of(x)

    return function


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_it_is_the_same_at_once_and_compiled(write):
    at_once = written(write)(jnp.asarray(MEMORY), jnp.asarray(ROW))
    compiled = jax.jit(written(write))(MEMORY, ROW)
    np.testing.assert_array_equal(at_once, compiled)
    assert not np.array_equal(at_once, MEMORY)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_the_user_sees_operations_of_jax_only(write):
    equations = jax.make_jaxpr(written(write))(MEMORY, ROW).eqns
    assert not {str(equation.primitive) for equation in equations} & {"closed_call", "pure_callback", "custom_jvp_call"}
    called = {equation.params["name"] for equation in equations if "jaxpr" in equation.params}
    assert not called & {"read_window", "write_window", "copy_slices", "select", "slice", "mul", "add", "fill", "copy"}


@pytest.mark.parametrize("write", AT_ONE_PLACE, ids=lambda write: write.__name__)
def test_a_donated_buffer_is_updated_in_place(write):
    """The result lies in the buffer that was given, and XLA needs no second one of that size."""
    memory = np.zeros((64, 4), "float32")
    compiled = jax.jit(written(write), donate_argnums=0).lower(memory, ROW).compile()
    usage = compiled.memory_analysis()
    assert usage.alias_size_in_bytes == memory.nbytes
    assert usage.temp_size_in_bytes < memory.nbytes
    assert "dynamic-update-slice" in compiled.as_text()


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_its_gradient_compiles(write):
    def gradient(memory, row):
        base, factors = tensor(memory).requires_grad_(), tensor(row).requires_grad_()
        x = base * 1
        write(x, factors)
        grads = torch.autograd.grad((x * x).sum(), [base, factors], allow_unused=True, materialize_grads=True)
        return [value_of(grad) for grad in grads]

    at_once = gradient(jnp.asarray(MEMORY), jnp.asarray(ROW))
    for compiled, grad in zip(jax.jit(gradient)(MEMORY, ROW), at_once, strict=True):
        np.testing.assert_allclose(compiled, grad, rtol=1e-6)


def test_an_assignment_is_one_kernel(kernel_calls):
    """``x[1] = row`` reads no slice and makes no index array: one call updates the memory."""
    x = torch.zeros(5, 7)
    kernel_calls.clear()
    x[3] = torch.ones(7)
    x[2, 1:4] = 5.0
    assert [name for name in kernel_calls.read() if name != "ones"] == ["copy_slices", "copy_slices"]
