"""Functions on tensors as functions of jax: ``interop.to_jax`` under every transformation of jax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad.autograd import forward_ad
from tapegrad.interop import from_jax, to_jax

X = np.array([0.5, -1.5, 2.0], "float32")


def energy(x):
    return (x.sin() * x).sum()


def energy_of_array(x):
    return jnp.sum(jnp.sin(x) * x)


TRANSFORMATIONS = {
    "value": lambda f: f(X),
    "jit": lambda f: jax.jit(f)(X),
    "grad": lambda f: jax.grad(f)(X),
    "value_and_grad": lambda f: jax.jit(jax.value_and_grad(f))(X),
    "jvp": lambda f: jax.jvp(f, (X,), (X + 1,)),
    "vjp": lambda f: jax.vjp(f, X)[1](jnp.float32(2)),
    "hessian": lambda f: jax.hessian(f)(X),
    "vmap": lambda f: jax.vmap(jax.grad(f))(np.stack([X, X + 1])),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f))(X),
    "scan": lambda f: jax.lax.scan(lambda total, x: (total + f(x), f(x)), 0.0, np.stack([X, X + 1])),
    "linearize": lambda f: jax.linearize(f, X)[1](X),
    "eval_shape": lambda f: jnp.zeros(jax.eval_shape(f, X).shape),
}


@pytest.mark.parametrize("rules", ["jax", "tape"])
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations_do_as_with_the_same_in_jnp(name, rules):
    ours, theirs = (TRANSFORMATIONS[name](f) for f in (to_jax(energy, rules=rules), energy_of_array))
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), ours, theirs)


def test_a_step_of_scan_and_its_gradient():
    step = to_jax(lambda h, x: ((h * x).tanh(), {"h": h}))
    last = lambda h: jax.lax.scan(step, h, X)[0]
    expected = lambda h: jax.lax.scan(lambda h, x: (jnp.tanh(h * x), None), h, X)[0]
    np.testing.assert_allclose(jax.grad(last)(0.5), jax.grad(expected)(0.5), rtol=1e-5)


def gradient_of_cube(x):
    """What a program on the tape does inside."""
    x.requires_grad_()
    (x**3).sum().backward()
    return x.grad


def gradient_by_grad(x):
    x.requires_grad_()
    return torch.autograd.grad((x**3).sum(), x)[0]


@pytest.mark.parametrize("program", [gradient_of_cube, gradient_by_grad])
def test_the_tape_may_be_used_inside_and_jax_differentiates_what_it_did(program):
    f = to_jax(program)
    np.testing.assert_allclose(jax.jit(f)(X), 3 * X**2, rtol=1e-5)
    np.testing.assert_allclose(jax.jacfwd(f)(X), np.diag(6 * X), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda x: f(x).sum())(X), 6 * X, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(f)(X[None]), 3 * X[None] ** 2, rtol=1e-5)


def test_jax_differentiates_the_arithmetic_whatever_the_tape_was_told():
    def unrecorded(x):
        with torch.no_grad():
            return (x.detach() * 3).sum()

    assert jax.grad(to_jax(unrecorded))(X).tolist() == [3, 3, 3]
    stopped = lambda x: (from_jax(jax.lax.stop_gradient)(x) * x).sum()
    assert jax.grad(to_jax(stopped))(X).tolist() == X.tolist()


def test_by_the_rules_of_the_tape_what_it_detached_has_no_derivative():
    assert jax.grad(to_jax(lambda x: (x.detach() * x).sum(), rules="tape"))(X).tolist() == X.tolist()


KINKS = {
    "norm": (lambda x: x.norm(), [np.nan, np.nan], [0, 0]),
    "clamp": (lambda x: x.clamp(0, 1).sum(), [0.5, 0.5], [1, 1]),
}


@pytest.mark.parametrize("name", KINKS)
def test_at_kinks_the_rules_differ(name):
    function, by_jax, by_tape = KINKS[name]
    x = torch.zeros(2, requires_grad=True)
    function(x).backward()
    assert x.grad.tolist() == by_tape
    np.testing.assert_array_equal(jax.grad(to_jax(function))(jnp.zeros(2)), by_jax)
    np.testing.assert_array_equal(jax.grad(to_jax(function, rules="tape"))(jnp.zeros(2)), by_tape)


def test_the_rules_of_the_tape_hold_at_any_order():
    def third(f):
        along = lambda t: f(t * X)
        return jax.jit(jax.grad(jax.jacfwd(jax.grad(along))))(1.0)

    np.testing.assert_allclose(third(to_jax(energy, rules="tape")), third(energy_of_array), rtol=1e-4)
    np.testing.assert_allclose(jax.jacobian(to_jax(gradient_of_cube, rules="tape"))(X), np.diag(6 * X), rtol=1e-5)


def test_gradients_of_complex_numbers_are_those_of_jax():
    z = np.array([1 + 2j], "complex64")
    function = lambda z: (z * z).real.sum()
    theirs = jax.grad(function)(z)
    for rules in ("jax", "tape"):
        np.testing.assert_allclose(jax.grad(to_jax(function, rules=rules))(z), theirs)
    x = torch.tensor(z, requires_grad=True)
    (x * x).real.sum().backward()
    np.testing.assert_allclose(x.grad.conj().resolve_conj(), theirs)


def test_there_and_back_is_the_same():
    assert jax.grad(to_jax(from_jax(energy_of_array)))(X).tolist() == jax.grad(energy_of_array)(X).tolist()
    x = torch.tensor(X, requires_grad=True)
    from_jax(to_jax(energy))(x).backward()
    np.testing.assert_allclose(x.grad, jax.grad(energy_of_array)(X), rtol=1e-5)


@pytest.mark.parametrize("rules", ["jax", "tape"])
def test_trees_and_what_is_no_array(rules):
    def f(tree, scale, *, flip=False):
        return {"sum": tree["a"] + tree["b"][0] * scale, "flip": flip, "types": type(scale).__name__, "x": None}

    arrays = {"a": jnp.ones(2), "b": (np.ones(2, "float32"),)}
    result = to_jax(f, rules=rules)(arrays, 2.0, flip=True)
    assert isinstance(result["sum"], jax.Array) and result["sum"].tolist() == [3, 3]
    assert (result["flip"], result["types"], result["x"]) == (True, "float", None)
    assert to_jax(f).__name__ == "f"


def test_64_bit_arrays_are_kept_and_jax_differentiates_them_in_its_64_bit_mode():
    wide = jax.jit(to_jax(lambda x: (x.double() / 3, x.argmax())))(X)
    assert (wide[0].dtype, wide[1].dtype) == (jnp.dtype("float64"), jnp.dtype("int64"))
    with jax.enable_x64(True):
        g = jax.jit(jax.grad(to_jax(lambda x: x[1:].prod())))(X.astype("float64"))
    np.testing.assert_allclose(g, [0, 2, -1.5])
    assert g.dtype == jnp.dtype("float64")


def test_results_that_require_grad_come_out_as_arrays():
    w = torch.ones(3, requires_grad=True)
    assert to_jax(lambda x: x * w)(X).tolist() == X.tolist()


def test_integers_come_and_go_through_the_rules_of_the_tape():
    largest = to_jax(lambda x, i: (x * i, x.argmax()), rules="tape")
    (_, index), tangents = jax.jvp(largest, (X, np.arange(3)), (X, np.zeros(3, jax.dtypes.float0)))
    assert index.item() == 2 and tangents[0].tolist() == (X * np.arange(3)).tolist()
    assert tangents[1].dtype == jax.dtypes.float0


def test_function_transforms_inside_and_around():
    cube = lambda x: (x**3).sum()
    np.testing.assert_allclose(jax.jit(to_jax(torch.func.grad(cube)))(X), 3 * X**2, rtol=1e-5)
    np.testing.assert_allclose(torch.func.grad(from_jax(to_jax(cube)))(torch.tensor(X)), 3 * X**2, rtol=1e-5)


def test_refused():
    f = to_jax(energy)
    with pytest.raises(ValueError, match="to_jax: no such rules: expected 'jax' or 'tape', got 'mine'"):
        to_jax(energy, rules="mine")
    with pytest.raises(
        TypeError, match=r"was given a tensor that requires grad.*give this one tensor.detach\(\).jax\(\)"
    ):
        f(torch.ones(3, requires_grad=True))
    assert f(torch.ones(3)).shape == ()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(TypeError, match="returned a tensor with a forward gradient; return its primal"):
            to_jax(lambda x: x * dual)(X)
    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.jit(to_jax(lambda x: x if x.sum() > 0 else -x))(X)
