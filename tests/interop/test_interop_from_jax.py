"""jax functions on the tape: ``interop.from_jax`` and foreign operators, against jax's own derivatives."""

import functools
import gc
import weakref

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from leaves import leaf

import tapegrad as torch
from tapegrad._src.execution.array_functions.host import address, array_of
from tapegrad.autograd import forward_ad
from tapegrad.autograd.graph import save_on_cpu, saved_tensors_hooks
from tapegrad.interop import from_jax, is_tensor, to_arrays, to_tensors
from tapegrad.ops.foreign import foreign

X, Y = [0.5, -1.5, 2.0], [1.0, 2.0, 0.25]


def tangent_of(function, x, t):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, t))).tangent


def sine(x, y=2.0):
    return jnp.sin(x) * y


# -- one operator ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bring", [foreign, from_jax])
def test_derivatives_of_any_order_are_those_of_jax(bring):
    x, on_tape = leaf(X), bring(sine)
    derivatives = [on_tape(x)]
    for _ in range(3):
        (derivative,) = torch.autograd.grad(derivatives[-1].sum(), x, create_graph=True)
        derivatives.append(derivative)
    expected = [2 * np.sin(X), 2 * np.cos(X), -2 * np.sin(X), -2 * np.cos(X)]
    for ours, theirs in zip(derivatives, expected, strict=True):
        np.testing.assert_allclose(ours.detach(), theirs, rtol=1e-6)


def test_nodes_are_named_after_the_function():
    x = leaf(X)
    y = from_jax(sine)(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert (y.grad_fn.name(), g.grad_fn.name()) == ("SineBackward0", "SineBackwardBackward0")
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert from_jax(lambda x: x)(x).grad_fn.name() == "LambdaBackward0"
    assert from_jax(sine, name="my_wave")(x).grad_fn.name() == "MyWaveBackward0"
    assert from_jax(sine, node="Wave")(x).grad_fn.name() == "Wave"
    assert from_jax(functools.partial(sine, y=1.0))(x).grad_fn.name() == "SineBackward0"


def square_times_conjugate(z):
    return z * z * jnp.conj(z)


def test_complex_gradients_have_the_convention_of_the_tape():
    z, seed = leaf([1 + 2j, 0.5 - 1j]), torch.tensor([1 + 1j, 2 - 3j])
    on_tape = from_jax(square_times_conjugate)
    for create_graph in (False, True):
        (ours,) = torch.autograd.grad(on_tape(z), z, seed, create_graph=create_graph)
        (theirs,) = torch.autograd.grad(z * z * z.conj(), z, seed)
        np.testing.assert_allclose(ours.detach(), theirs, rtol=1e-5)
    theirs = tangent_of(lambda d: d * d * d.conj(), z, seed)
    np.testing.assert_allclose(tangent_of(on_tape, z, seed).detach(), theirs.detach(), rtol=1e-5)


def moments(x, i):
    return {"mean": jnp.mean(x), "order": (jnp.argsort(x), i + 1), "note": "static", "none": None, "scaled": x * i}


def test_results_and_arguments_are_trees_of_anything():
    x, i = leaf(X), torch.tensor([1, 2, 3])
    on_tape = from_jax(moments)
    result = on_tape(x, i=i)
    assert result["note"] == "static" and result["none"] is None
    assert [part.tolist() for part in result["order"]] == [[1, 0, 2], [2, 3, 4]]
    assert not result["order"][0].requires_grad and result["mean"].requires_grad
    result["scaled"].sum().backward(retain_graph=True)
    assert x.grad.tolist() == [1, 2, 3]
    (g,) = torch.autograd.grad((result["mean"] * 3).sum() + result["scaled"].sum(), x, create_graph=True)
    assert g.tolist() == [2, 3, 4]
    assert tangent_of(lambda d: on_tape(d, i=i)["scaled"], x, torch.ones(3)).tolist() == [1, 2, 3]


def test_only_what_is_wanted_gets_a_gradient():
    x, y = leaf(X), leaf(Y)
    product = from_jax(lambda a, b, c: a * b * c)(x, y, torch.tensor(2.0))
    assert torch.autograd.grad(product.sum(), y, retain_graph=True)[0].tolist() == [1, -3, 4]
    assert [grad.tolist() for grad in torch.autograd.grad(product.sum(), (x, y))] == [[2, 4, 0.5], [1, -3, 4]]
    assert not from_jax(jnp.sin)(x.detach()).requires_grad
    with torch.no_grad():
        assert not from_jax(jnp.sin)(x).requires_grad


def test_a_constant_result_has_a_gradient_of_zero():
    x = leaf(X)
    torch.autograd.backward(from_jax(lambda a: jnp.ones(2))(x).sum())
    assert x.grad.tolist() == [0, 0, 0]


def pair(x):
    return jnp.sin(x), jnp.cos(x)


def test_of_several_results_some_may_get_no_gradient():
    x = leaf(X)
    (_, cosine) = from_jax(pair)(x)
    cosine.sum().backward()
    np.testing.assert_allclose(x.grad, -np.sin(X), rtol=1e-6)


# -- what jax has ------------------------------------------------------------------------------------------------------


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))


def test_custom_vjp():
    x = leaf(X)
    (from_jax(clipped)(x) * torch.tensor(Y)).sum().backward()
    assert x.grad.tolist() == [1, 1, 0.25]
    with pytest.raises(TypeError, match="custom_vjp"):
        tangent_of(from_jax(clipped), x, torch.ones(3)).tolist()


def recurrent(w, xs, *, reverse=False):
    def step(h, x):
        h = jnp.tanh(w * h + x)
        return h, h

    return jax.lax.scan(step, jnp.zeros(()), xs, reverse=reverse)


def test_scan_and_second_derivatives_through_it():
    w, xs, on_tape = leaf(0.5), torch.tensor(X), from_jax(recurrent)
    last, hidden = on_tape(w, xs)
    assert hidden.shape == (3,) and last.grad_fn is hidden.grad_fn
    (first,) = torch.autograd.grad(last, w, create_graph=True)
    (second,) = torch.autograd.grad(first, w)
    plain = lambda w: recurrent(w, jnp.array(X))[0]
    np.testing.assert_allclose(first.item(), jax.grad(plain)(0.5), rtol=1e-5)
    np.testing.assert_allclose(second.item(), jax.grad(jax.grad(plain))(0.5), rtol=1e-5)
    np.testing.assert_allclose(
        tangent_of(lambda d: on_tape(d, xs)[0], w, torch.tensor(1.0)).item(), first.item(), rtol=1e-5
    )
    assert on_tape(w, xs, reverse=True)[1][-1].item() == pytest.approx(np.tanh(2.0))


def test_an_equinox_module_is_an_argument_like_others():
    module = equinox.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
    parameters, x = to_tensors(module, requires_grad=True), torch.tensor([[1.0, 2.0], [-1.0, 0.5]])
    apply = from_jax(lambda module, x: jax.vmap(module)(x))
    apply(parameters, x).sum().backward()
    expected = equinox.filter_grad(lambda module: jnp.sum(jax.vmap(module)(x.jax())))(module)
    for ours, theirs in zip(parameters.layers, expected.layers, strict=True):
        np.testing.assert_allclose(ours.weight.grad, theirs.weight, rtol=1e-5)
        np.testing.assert_allclose(ours.bias.grad, theirs.bias, rtol=1e-5)
    assert from_jax(parameters)(x[0]).grad_fn.name() == "MlpBackward0"  # the module itself, as a function


def test_random_keys_are_traced():
    draw = from_jax(lambda key, x: x * jax.random.bernoulli(key, 0.5, x.shape))
    x = torch.ones(64)
    assert draw(jax.random.key(0), x).tolist() == draw(jax.random.PRNGKey(0), x).tolist()
    assert draw(jax.random.key(0), x).tolist() != draw(jax.random.key(1), x).tolist()


def test_under_jit_it_is_traced_like_the_rest():
    on_tape = from_jax(sine)

    def gradient(array):
        x = torch.from_jax_array(array, requires_grad=True)
        return torch.autograd.grad(on_tape(x).sum(), x)[0].jax()

    np.testing.assert_allclose(jax.jit(gradient)(jnp.array(X)), 2 * np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(gradient)(jnp.array([X])), [2 * np.cos(X)], rtol=1e-6)


def test_function_transforms_of_the_tape_take_it():
    on_tape = from_jax(lambda x: jnp.sum(jnp.sin(x)))
    x, batch = torch.tensor(X), torch.tensor([X, Y])
    np.testing.assert_allclose(torch.func.vmap(torch.func.grad(on_tape))(batch), np.cos([X, Y]), rtol=1e-6)
    np.testing.assert_allclose(torch.func.hessian(on_tape)(x), np.diag(-np.sin(X)), rtol=1e-6)


# -- what is traced, and what is not -----------------------------------------------------------------------------------


def counted(function):
    """``function`` and a list that grows by one with each time that it is traced."""
    traces = []

    @functools.wraps(function)
    def counting(*args, **kwargs):
        traces.append(args)
        return function(*args, **kwargs)

    return from_jax(counting), traces


def test_numbers_and_arrays_are_traced_once_and_settings_each_time():
    on_tape, traces = counted(lambda x, scale, axis=0: jnp.sum(x, axis) * scale)
    x = torch.ones(2, 3)
    on_tape(x, 2.0).tolist()
    known = len(traces)
    assert on_tape(x, 3.0).tolist() == [6, 6, 6] and len(traces) == known
    assert on_tape(x, 3.0, axis=1).tolist() == [9, 9] and len(traces) > known


def test_flags_can_be_branched_on_and_one_is_not_true():
    on_tape = from_jax(lambda x, flag: x if flag is True else -x)
    assert [on_tape(torch.ones(()), flag).item() for flag in (True, 1, False)] == [1, -1, -1]


def test_without_tensors_the_results_are_tensors_too():
    assert from_jax(jnp.zeros)((2,)).tolist() == [0, 0]
    assert from_jax(jnp.sin)(0.0).item() == 0
    assert torch.equal(from_jax(jnp.abs)(jnp.array([-1.0])), from_jax(jnp.abs)(np.array([-1.0], "float32")))


@pytest.mark.parametrize(("wide", "expected"), [(False, torch.float32), (True, torch.float64)])
def test_the_64_bit_mode_is_on_exactly_if_it_is_needed(wide, expected):
    x = leaf(X, dtype=torch.float64 if wide else torch.float32)
    y = from_jax(lambda x: x * jnp.ones(3))(x)
    y.sum().backward()
    assert y.dtype is x.grad.dtype is expected
    assert jnp.ones(1).dtype == jnp.float32  # the mode of the process is what it was


def test_the_64_bit_mode_of_the_process_counts():
    with jax.enable_x64(True):
        assert from_jax(lambda x: x * jnp.ones(3))(torch.tensor(X)).dtype is torch.float64


def test_results_do_not_promote_like_numbers():
    y = from_jax(lambda x: jnp.asarray(2.0))(torch.ones(()))  # weakly typed in jax
    assert (y.reshape(1) + torch.ones(1, dtype=torch.float16)).dtype is torch.float32


def test_bad_calls():
    with pytest.raises(
        TypeError, match="lambda: an argument that is neither an array nor hashable.*register its class"
    ):
        from_jax(lambda x, s: x)(torch.ones(1), {1})
    with pytest.raises(TypeError, match="lambda: there is no array in its result, None"):
        from_jax(lambda x: None)(torch.ones(1))
    with pytest.raises(TypeError, match="incompatible shapes"):
        from_jax(jnp.add)(torch.ones(2), torch.ones(3))


# -- what is kept for backward -----------------------------------------------------------------------------------------


def test_what_was_computed_on_the_way_is_kept_and_freed():
    x = leaf(X)
    y = from_jax(lambda x: jnp.tanh(jnp.sin(x)))(x)
    node = y.grad_fn
    assert node.residuals and all(residual.shape == (3,) for residual in node.residuals)
    y.sum().backward()
    assert not node.residuals
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()


def test_the_forward_is_not_run_again_unless_jax_is_told_so():
    def computed_in_backward(function):
        x = leaf(X)
        y = from_jax(function)(x)
        node = y.grad_fn
        kernel = node.parts.backward((True,), (True,))
        return jax.make_jaxpr(kernel)(y.detach().jax(), *map(array_of, node.residuals))

    layered = lambda x: jnp.sin(jnp.exp(x))
    assert "exp" not in str(computed_in_backward(layered))
    assert "exp" in str(computed_in_backward(jax.checkpoint(layered)))


def test_arguments_and_results_are_not_kept_twice():
    x, y = leaf(X), leaf(Y)
    exponential, product = from_jax(jnp.exp)(x), from_jax(lambda a, b: a * b)(x, y)
    assert addresses(exponential.grad_fn.residuals) == addresses([exponential.detach().jax()])
    assert sorted(addresses(product.grad_fn.residuals)) == sorted(addresses(to_arrays([x, y])))


def addresses(arrays):
    return [address(array) for array in arrays]


def test_hooks_on_saved_tensors_decide_what_is_kept():
    x, packed = leaf(X), []
    with saved_tensors_hooks(lambda saved: packed.append(saved) or saved, lambda saved: saved):
        y = from_jax(jnp.sin)(x)
    assert len(packed) == 1 and not y.grad_fn.residuals
    y.sum().backward()
    np.testing.assert_allclose(x.grad, np.cos(X), rtol=1e-6)
    with save_on_cpu():
        from_jax(jnp.sin)(x).sum().backward()


def test_a_write_to_an_argument_is_noticed():
    x = leaf(X)
    z = x * 1
    y = from_jax(jnp.sin)(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


def test_a_checkpoint_runs_it_again():
    x = leaf(X)
    on_tape = from_jax(jnp.sin)
    torch.utils.checkpoint.checkpoint(lambda x: on_tape(on_tape(x)), x, use_reentrant=False).sum().backward()
    np.testing.assert_allclose(x.grad, np.cos(np.sin(X)) * np.cos(X), rtol=1e-6)


def test_gradcheck():
    x, y = leaf(X, dtype=torch.float64), leaf(Y, dtype=torch.float64)
    on_tape = from_jax(lambda x, y: {"out": jnp.tanh(x) * y})
    assert torch.autograd.gradcheck(lambda x, y: on_tape(x, y)["out"], (x, y), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x, y: on_tape(x, y)["out"], (x, y))


# -- how long operators live -------------------------------------------------------------------------------------------


@pytest.mark.once("a program keeps the operators that it calls")
def test_an_operator_lives_as_long_as_its_function():
    function = lambda x: x + 1
    assert foreign(function) is foreign(function)
    assert foreign(function, name="other") is not foreign(function)
    reference = weakref.ref(foreign(function))
    foreign(function)(torch.ones(1))
    del function
    gc.collect()
    assert reference() is None


def test_a_wrapper_that_takes_over_attributes_has_an_operator_of_its_own():
    inner = lambda x: x + 1
    assert foreign(inner)(torch.ones(())).item() == 2
    outer = functools.wraps(inner)(lambda x: x + 2)
    assert foreign(outer)(torch.ones(())).item() == 3
    assert foreign(inner)(torch.ones(())).item() == 2 and foreign(inner) is foreign(inner)


def test_a_function_that_takes_no_attributes_has_no_memory():
    method = [3].count
    assert foreign(method) is not foreign(method)


def test_foreign_operators_compute_on_arrays_and_are_not_in_the_table():
    assert foreign(jnp.sin)(jnp.zeros(())) == 0
    assert repr(foreign(jnp.sin)) == "<foreign operator sin>"
    assert to_arrays(torch.ones(1)).tolist() == [1] and is_tensor(torch.ones(1))
