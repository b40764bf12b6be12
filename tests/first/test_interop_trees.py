"""Tensors as arrays of jax and as trees: ``Tensor.jax``, ``from_jax_array``, jitted functions of tensors, optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from leaves import leaf

import tapegrad as torch
from tapegrad.autograd import forward_ad
from tapegrad.interop import from_jax_array, is_tensor, register, to_arrays, to_tensors

ON_THE_TAPE = (
    r"was given a tensor that is on the tape.*tapegrad.interop.from_jax\(function\).*tensor.detach\(\).jax\(\)"
)


def square(x):
    return (x * x).sum()


# -- arrays ------------------------------------------------------------------------------------------------------------

DTYPES = [torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16, torch.complex128, torch.uint8]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_and_arrays_share_memory(dtype):
    x = torch.tensor([[1, 0, 1]]).to(dtype)
    array = x.jax()
    assert array.dtype == dtype.numpy and array.shape == (1, 3)
    back = torch.from_jax_array(array)
    assert back.dtype is dtype and back.data_ptr() == x.data_ptr()
    assert back.jax().unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
    assert not back.requires_grad and back.is_leaf


def test_a_write_makes_memory_of_its_own():
    array = jnp.arange(3.0)
    x = from_jax_array(array)
    x.add_(1)
    assert array.tolist() == [0, 1, 2] and x.tolist() == [1, 2, 3]
    shown = x.jax()
    x[0] = 7
    assert shown.tolist() == [1, 2, 3] and x.jax().tolist() == [7, 2, 3]


def test_views_come_as_what_they_show():
    x = torch.arange(6.0).reshape(2, 3)
    assert x.t()[1:].jax().tolist() == [[1, 4], [2, 5]]
    assert torch.tensor([1j]).conj().jax().tolist() == [-1j]
    assert x[0, 1].jax().shape == ()


def test_arrays_that_require_grad():
    x = from_jax_array(jnp.arange(3.0), requires_grad=True)
    square(x).backward()
    assert x.grad.jax().tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        from_jax_array(jnp.arange(3), requires_grad=True)


def test_weakly_typed_arrays_do_not_promote_like_numbers():
    assert (from_jax_array(jnp.asarray(2.0)).reshape(1) + torch.ones(1, dtype=torch.float16)).dtype is torch.float32


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"expected jax.Array \(got ndarray\)"):
        from_jax_array(np.ones(2))
    with pytest.raises(TypeError, match="there are no tensors of random keys; use jax.random.key_data"):
        from_jax_array(jax.random.key(0))


def test_history_is_not_lost_silently():
    with pytest.raises(
        RuntimeError, match=r"Can't call jax\(\) on Tensor that requires grad. Use tensor.detach\(\).jax"
    ):
        leaf().jax()
    with torch.no_grad():
        assert leaf().jax().tolist() == [1, 2, 3]
    assert leaf().detach().jax().tolist() == [1, 2, 3]
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="has a forward gradient"):
            forward_ad.make_dual(torch.ones(2), torch.ones(2)).jax()


def test_trees_of_both():
    x = leaf()
    tree = {"x": [x, torch.ones(1)], "name": "n", "none": None}
    arrays = to_arrays(tree)
    assert isinstance(arrays["x"][0], jax.Array) and arrays["name"] == "n"
    tensors = to_tensors({**arrays, "numpy": np.arange(2), "key": jax.random.key(0)}, requires_grad=True)
    assert tensors["x"][0].requires_grad and not tensors["numpy"].requires_grad
    assert isinstance(tensors["key"], jax.Array)
    assert jax.tree.leaves(tensors["x"], is_leaf=is_tensor)[1] is tensors["x"][1]


# -- jax's functions ---------------------------------------------------------------------------------------------------

CALLS = {
    "ufunc": jnp.sin,
    "reduction": jnp.sum,
    "asarray": jnp.asarray,
    "stack": lambda x: jnp.stack([x, x]),
    "left operand": lambda x: x + jnp.ones(3),
    "right operand": lambda x: jnp.ones(3) * x,
    "matmul": lambda x: jnp.ones(3) @ x,
    "relu": jax.nn.relu,
    "einsum": lambda x: jnp.einsum("i,i", x, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_jax_refuse_tensors_that_are_on_the_tape_and_take_others(name):
    with pytest.raises(TypeError, match=ON_THE_TAPE):
        CALLS[name](leaf())
    assert isinstance(CALLS[name](leaf().detach()), jax.Array)


def test_primitives_of_jax_take_no_tensors_at_all():
    with pytest.raises((TypeError, ValueError)):
        jax.lax.sin(leaf())


def test_jax_does_not_differentiate_what_the_tape_does():
    for function in (square, lambda x: square(x).detach().jax()):
        for transformed in (jax.grad(function), jax.jit(jax.grad(function)), jax.jacfwd(function)):
            with pytest.raises(
                TypeError, match=r"jax differentiates a function of a tensor that requires grad.*detach\(\)"
            ):
                transformed(leaf())
    assert jax.grad(lambda x: square(x).jax())(torch.tensor([1.0, 2.0])).tolist() == [2, 4]


# -- tensors as trees --------------------------------------------------------------------------------------------------


def step(x):
    loss = square(x)
    loss.backward()
    return x, x.grad, loss.detach()


@pytest.mark.parametrize("make", [leaf, lambda: torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))])
def test_a_jitted_function_may_call_backward(make):
    x = make()
    same, grad, loss = jax.jit(step)(x)
    assert grad.tolist() == [2, 4, 6] and loss.item() == 14 and x.grad is None
    assert type(same) is type(x) and same.requires_grad and same.is_leaf and not grad.requires_grad
    assert same.grad is None  # .grad does not travel


def test_64_bit_tensors_enter_as_they_are():
    x = leaf(dtype=torch.float64)
    assert jax.jit(step)(x)[1].dtype is torch.float64
    assert jax.jit(lambda i: i + 1)(torch.tensor([2**40])).tolist() == [2**40 + 1]


def test_requiring_grad_is_a_part_of_the_structure():
    traces = []
    traced = jax.jit(lambda x: (traces.append(x.requires_grad), x.detach() * 2)[1])
    for x in (leaf(), leaf(), torch.ones(3), torch.ones(3)):
        traced(x)
    assert traces == [True, False]
    with pytest.raises(ValueError, match="different pytree metadata|Mismatch custom node data"):  # jax before 0.10.1
        jax.tree.map(jnp.add, leaf(), torch.ones(3))


@pytest.mark.parametrize("function", [square, lambda x: x], ids=["out", "in"])
def test_histories_do_not_travel(function):
    x = leaf() if function is square else leaf() * 2
    with pytest.raises(TypeError, match=r"a tensor with a history can't go into.*nor come out of one; detach\(\) it"):
        jax.jit(function)(x)


def test_duals_do_not_travel():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(TypeError, match="a tensor with a tangent can't go into a transformation of jax"):
            jax.jit(lambda x: x)(dual)


def test_memory_is_not_shared_inside():
    x = torch.zeros(3)
    written, view = jax.jit(lambda x, view: (x.add_(1), view))(x, x[:2])
    assert written.tolist() == [1, 1, 1] and view.tolist() == [0, 0] and x.tolist() == [0, 0, 0]


def test_loops_and_maps_of_jax_on_tensors():
    x = torch.tensor([1.0, 2.0, 3.0])
    total, products = jax.lax.scan(lambda carry, item: (carry + item, carry * item), x[0], x)
    assert total.item() == 7 and products.tolist() == [1, 4, 12]
    assert jax.vmap(square)(torch.ones(3, 2)).tolist() == [2, 2, 2]
    assert jax.device_put(x).tolist() == [1, 2, 3]


def test_what_jax_puts_in_place_of_arrays():
    assert "ShapeDtypeStruct(shape=(), dtype=float32)" in repr(jax.eval_shape(square, torch.ones(3)))
    shapes = jax.tree.map(lambda array: array.shape, {"x": leaf()})
    assert repr(shapes["x"]) == "tensor((3,))"
    assert jax.tree.structure(shapes, is_leaf=lambda x: x == (3,)) == jax.tree.structure({"x": leaf()})


def test_classes_of_users_have_to_be_registered():
    class Marked(torch.Tensor):
        pass

    x = Marked([1.0, 2.0])
    with pytest.raises(ValueError, match="register your object as a pytree"):
        jax.jit(lambda x: x)(x)
    register(Marked)
    assert type(jax.jit(lambda x: x * 2)(x)) is Marked


# -- optax -------------------------------------------------------------------------------------------------------------


def predicted(parameters, x):
    hidden = (x @ parameters["w1"] + parameters["b1"]).tanh()
    return hidden @ parameters["w2"] + parameters["b2"]


def regression():
    """Parameters, inputs and targets."""
    rng = np.random.default_rng(0)
    shapes = {"w1": (2, 8), "b1": (8,), "w2": (8, 1), "b2": (1,)}
    parameters = {name: torch.nn.Parameter(torch.tensor(rng.normal(0, 0.5, shape), dtype=torch.float32))
                  for name, shape in shapes.items()}  # fmt: skip
    x = torch.tensor(rng.uniform(-1, 1, (32, 2)), dtype=torch.float32)
    return parameters, x, (x[:, :1] * x[:, 1:]).detach()


def test_optax_trains_parameters_on_the_tape():
    parameters, x, y = regression()
    optimizer = optax.adam(0.05)
    state, losses, update = optimizer.init(to_arrays(parameters)), [], jax.jit(optimizer.update)
    for _ in range(40):
        loss = ((predicted(parameters, x) - y) ** 2).mean()
        loss.backward()
        grads = jax.tree.map(lambda p: p.grad.jax(), parameters, is_leaf=is_tensor)
        updates, state = update(grads, state)
        for name, change in updates.items():
            parameters[name].data.add_(from_jax_array(change))
            parameters[name].grad = None
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 5


def test_a_whole_training_step_can_be_jitted():
    parameters, x, y = regression()
    optimizer = optax.adam(0.05)

    @jax.jit
    def train(parameters, state, x, y):
        loss = ((predicted(parameters, x) - y) ** 2).mean()
        loss.backward()
        grads = jax.tree.map(lambda p: p.grad.jax(), parameters, is_leaf=is_tensor)
        arrays = to_arrays(parameters)
        updates, state = optimizer.update(grads, state, arrays)
        return to_tensors(optax.apply_updates(arrays, updates), requires_grad=True), state, loss.detach()

    state, losses = optimizer.init(to_arrays(parameters)), []
    for _ in range(40):
        parameters, state, loss = train(parameters, state, x, y)
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 5
