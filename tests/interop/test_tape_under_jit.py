"""Programs that build a tape and run it while jax traces: jit, vmap, grad, jvp, scan, checkpoint and shard_map."""

import os
import subprocess
import sys
from collections import Counter
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from benchmarks import under_jit
from benchmarks.models import SMALL_MODELS, Model
from benchmarks.timing import Timing
from benchmarks.under_jit import JAX, TAPE, by_tape, contestants, operations, tensor
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import value_of

W = np.array([[0.5, -1.0, 0.3], [0.2, 0.7, -0.4]], "float32")
X = np.array([0.3, -0.6, 0.9], "float32")
BATCH = np.stack([X, 2 * X, X - 1, X * X])


def loss_of(w, x):
    return ((w @ x).tanh() ** 2).sum()


def by_grad(w, x):
    """Loss and gradient by ``autograd.grad``, on arrays or tracers."""
    leaf = tensor(w, True)
    loss = loss_of(leaf, tensor(x))
    return value_of(loss), value_of(torch.autograd.grad(loss, leaf)[0])


def by_backward(w, x):
    """The same by ``backward``."""
    leaf = tensor(w, True)
    loss = loss_of(leaf, tensor(x))
    loss.backward()
    return value_of(loss), value_of(leaf.grad)


def plain(w, x):
    return jnp.sum(jnp.tanh(w @ x) ** 2)


EXPECTED = jax.value_and_grad(plain)


def close(ours, expected, rtol=2e-5):
    jax.tree.map(partial(np.testing.assert_allclose, rtol=rtol, atol=1e-6), ours, expected)


@pytest.mark.parametrize("function", [by_grad, by_backward])
def test_jit(function):
    with jax.checking_leaks():
        close(jax.jit(function)(W, X), EXPECTED(W, X))


def test_a_compiled_program_is_traced_once_and_leaves_the_thread_as_it_was():
    before, traced = thread.modes, []

    @jax.jit
    def function(w, x):
        traced.append(thread.modes)
        return by_grad(w, x)

    function(W, X), function(2 * W, X)
    assert traced == [before] and thread.modes is before and thread.backward_call is None
    leaf = torch.tensor(W, requires_grad=True)  # what was planned while tracing serves at once too
    loss_of(leaf, torch.tensor(X)).backward()
    close(leaf.grad.numpy(), EXPECTED(W, X)[1])


def test_vmap():
    close(jax.vmap(by_grad, (None, 0))(W, BATCH), jax.vmap(EXPECTED, (None, 0))(W, BATCH))
    assert jax.jit(jax.vmap(by_backward, (None, 0), (0, 2)))(W, BATCH)[1].shape == (2, 3, 4)


def test_jax_differentiates_through_the_tape():
    def slope(gradient, x, w):
        return jnp.sum(gradient(w, x)[1] * jnp.arange(1.0, 7.0).reshape(2, 3))

    close(jax.jit(jax.grad(partial(slope, by_grad, X)))(W), jax.grad(partial(slope, EXPECTED, X))(W))
    hessian = jax.jacfwd(lambda w: EXPECTED(w, X)[1])(W)
    close(jax.jacfwd(lambda w: by_grad(w, X)[1])(W), hessian)
    close(jax.jvp(lambda w: by_backward(w, X), (W,), (W,)), jax.jvp(lambda w: EXPECTED(w, X), (W,), (W,)))
    close(jax.grad(jax.checkpoint(partial(slope, by_grad, X)))(W), jax.grad(partial(slope, EXPECTED, X))(W))


def test_the_tape_differentiates_itself_while_jax_traces():
    @jax.jit
    def hessian_vector_product(w, x, v):
        leaf = tensor(w, True)
        (first,) = torch.autograd.grad(loss_of(leaf, tensor(x)), leaf, create_graph=True)
        return value_of(torch.autograd.grad((first * tensor(v)).sum(), leaf)[0])

    expected = jax.jvp(lambda w: EXPECTED(w, X)[1], (W,), (W,))[1]
    close(hessian_vector_product(W, X, W), expected, rtol=1e-4)


def test_writes_hooks_and_accumulation():
    def function(w, x, gradients):
        leaf = tensor(w, True)
        leaf.register_hook(lambda grad: 2 * grad)
        for row in gradients(leaf, x):
            row.backward(retain_graph=True)
        return value_of(leaf.grad)

    def rows(leaf, x):
        y = leaf * 1
        y[0].mul_(tensor(x))
        return [(y[0] ** 2).sum(), y[1].exp().sum()]

    def expected(w):
        return jnp.sum((w[0] * X) ** 2) + jnp.sum(jnp.exp(w[1]))

    close(jax.jit(partial(function, gradients=rows))(W, X), 2 * jax.grad(expected)(W))


def test_training_in_a_scan():
    def step(gradient, w, x):
        loss, grad = gradient(w, x)
        return w - 0.1 * grad, loss

    ours, expected = (jax.jit(partial(jax.lax.scan, partial(step, f)))(W, BATCH) for f in (by_backward, EXPECTED))
    close(ours, expected)


def sharded(gradient, devices):
    """The mean of the gradients of a batch that lies on several devices."""
    mesh = jax.sharding.Mesh(jax.devices()[:devices], ("batch",))
    split, whole = jax.sharding.PartitionSpec("batch"), jax.sharding.PartitionSpec()

    def mean(w, batch):
        return jax.lax.pmean(jax.vmap(gradient, (None, 0))(w, batch)[1].mean(0), "batch")

    return jax.jit(jax.shard_map(mean, mesh=mesh, in_specs=(whole, split), out_specs=whole))


def test_shard_map_on_one_device():
    close(sharded(by_grad, 1)(W, BATCH), jax.vmap(EXPECTED, (None, 0))(W, BATCH)[1].mean(0))


TWO_DEVICES = """
import jax, numpy as np
from tests.interop.test_tape_under_jit import BATCH, EXPECTED, W, by_grad, close, sharded
assert jax.device_count() == 2
close(sharded(by_grad, 2)(W, BATCH), jax.vmap(EXPECTED, (None, 0))(W, BATCH)[1].mean(0))
"""


@pytest.mark.ring("full")
@pytest.mark.once("a process of its own knows nothing of this one's execution")
def test_shard_map_on_two_devices():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    flags["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", TWO_DEVICES]
    done = subprocess.run(command, env={**os.environ, **flags}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- the program that XLA gets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", SMALL_MODELS)
def test_models_have_the_gradients_that_jax_finds(title):
    model = SMALL_MODELS[title]
    arguments = model.arrays(np.random.default_rng(0))
    quickly = {"xla_backend_optimization_level": "0"}
    ours, expected = (
        jax.jit(function, compiler_options=quickly)(*arguments)
        for function in (by_tape(model), contestants(model)[JAX])
    )
    close(ours, expected, rtol=1e-3)


def test_the_program_of_a_perceptron_is_as_short_as_that_of_jax():
    model = SMALL_MODELS["MLP"]
    arguments = model.arrays(np.random.default_rng(0))
    functions = contestants(model)
    counts = {
        name: operations(jax.jit(functions[name]).lower(*arguments).compile().as_text()) for name in (TAPE, JAX)
    }
    assert counts[TAPE]["dot"] == counts[JAX]["dot"] == 8
    assert counts[TAPE].total() <= 1.1 * counts[JAX].total()


def test_operations_are_counted():
    compiled = jax.jit(lambda x: jnp.sin(x) * x + 1).lower(X).compile()
    assert operations(compiled.as_text()) == {"fusion": 1, "sine": 1, "multiply": 1, "add": 1, "broadcast": 1}


def test_nothing_of_the_tape_is_left_in_the_program():
    primitives = {str(equation.primitive) for equation in jax.make_jaxpr(by_grad)(W, X).eqns}
    assert primitives <= {"dot_general", "tanh", "integer_pow", "mul", "sub", "reduce_sum", "broadcast_in_dim", "jit",
                          "convert_element_type", "transpose", "pow", "reshape", "copy", "neg"}  # fmt: skip


# -- the benchmark -----------------------------------------------------------------------------------------------------

TINY = Model(
    lambda rng: ([W], [], [X]),
    lambda torch, parameters, buffers, data: loss_of(*parameters, *data),
    lambda parameters, buffers, data: (plain(*parameters, *data), buffers),
)


def test_the_benchmark_compiles_and_times_all_three(monkeypatch, capsys):
    monkeypatch.setattr(under_jit, "SMALL_MODELS", {"a small one": TINY})
    monkeypatch.setattr(jax, "clear_caches", lambda: None)  # they are those of the tests after this one, too
    (result,) = under_jit.under_jit(rounds=2, quick=True)
    said, saved = capsys.readouterr().out, under_jit.as_json(result)
    assert said.splitlines()[0] == "a small one" and all(name in said for name in contestants(TINY))
    assert list(saved["contestants"]) == list(contestants(TINY))
    assert saved["contestants"][JAX]["ratios"] == (1, 1, 1, 1, 1)
    assert len(saved["contestants"][TAPE]["rounds_s"]) == len(saved["contestants"][TAPE]["lowering_s"]) == 2


def test_ratios_are_to_jax_by_hand():
    programs = {
        TAPE: under_jit.Compiled(None, Counter(add=3), [2.0, 6.0, 9.0], [1.0, 1.0, 1.0]),
        JAX: under_jit.Compiled(None, Counter(add=2), [1.0, 2.0, 3.0], [2.0, 2.0, 2.0]),
    }
    timings = {TAPE: Timing(TAPE, (2.0, 4.0), 0.0), JAX: Timing(JAX, (2.0, 1.0), 0.0)}
    result = under_jit.Result("a case", programs, timings)
    assert result.ratios(TAPE) == (1.5, 2.5, 2.0, 3.0, 0.5)
    assert under_jit.table(result).splitlines()[2].split()[2:] == [
        "3", "(1.50)", "3000.000", "(2.50)", "2000.000", "(2.00)", "6.000", "(3.00)", "1.000", "(0.50)"
    ]  # fmt: skip
