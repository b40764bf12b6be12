"""Tensors as a user meets them, where PyTorch is no oracle: values and hosts, keys and draws, copies, subclasses."""

import copy
import os
import pickle
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.execution.array_functions import host, random
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device
from tapegrad._src.tensor.tensor import describe, value_of, wrap
from tapegrad.nn.parameter import Parameter

CPU = device("cpu")

# -- values and the host -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [torch.tensor, torch.as_tensor, torch.from_numpy, torch.asarray])
@pytest.mark.parametrize("size", [3, 100_000])
def test_arrays_are_shared_on_the_way_in_but_by_tensor(make, size):
    array = np.ones(size)
    made = make(array)
    array[0] = 7
    assert made[0].item() == (1 if make is torch.tensor else 7)


@pytest.mark.parametrize("size", [3, 100_000])
def test_arrays_are_shared_on_the_way_out(size):
    x = torch.ones(size)
    array, copy = x.numpy(), np.array(x)
    array[0] = 7
    assert (x[0].item(), np.asarray(x)[0], copy[0]) == (7, 7, 1)


def test_small_shapes_take_the_compiled_way_after_a_while():
    for _ in range(host.SEEN_ENOUGH + 4):
        value = host.from_host(np.full((2, 5), 3.5), CPU)
        assert value.dtype == np.float64
        assert np.asarray(value).tolist() == [[3.5] * 5] * 2


def test_large_constants_are_made_by_a_kernel():
    x = torch.full((1025, 1025), 3, dtype=torch.int64)
    assert (x.dtype, x[1024, 1024].item()) == (torch.int64, 3)


def test_values_are_not_committed_where_there_is_one_device():
    made = [torch.ones(2), torch.tensor([1.0, 2.0]), torch.rand(2), torch.arange(2), torch.ones(2).to("cpu")]
    assert not any(x.detach().jax().committed for x in made)


def test_arrays_of_jax_are_data():
    x = torch.tensor(jnp.arange(3.0))
    assert (x.dtype, x.tolist()) == (torch.float32, [0, 1, 2])
    assert jnp.asarray(x).tolist() == [0, 1, 2]


def test_numpy_and_jax_refuse_a_tensor_that_requires_grad():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        np.sin(x)
    with pytest.raises(TypeError, match="on the tape"):
        jnp.sin(x)


def test_a_traced_tensor_has_a_text_but_no_numbers():
    def function(value):
        x = wrap(value, describe(value, on=CPU))
        assert "traced" in repr(x)
        with pytest.raises(jax.errors.TracerArrayConversionError):
            x.tolist()
        return value

    jax.jit(function)(jnp.ones(2))


def test_other_layouts_are_refused_by_name():
    with pytest.raises(NotImplementedError, match="sparse_coo"):
        torch.zeros(2, layout=torch.sparse_coo)


def test_dlpack_shares_unless_it_is_told_to_copy():
    x = torch.ones(1000)
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()


# -- keys and draws ----------------------------------------------------------------------------------------------------

DRAWS = [
    (random.uniform, (0.0, 1.0)),
    (random.normal, (0.0, 1.0)),
    (random.log_normal, (0.0, 1.0)),
    (random.exponential, (1.0,)),
    (random.cauchy, (0.0, 1.0)),
    (random.geometric, (0.5,)),
    (random.bernoulli, (0.5,)),
    (random.integers, (0, 10)),
]


@pytest.mark.parametrize(("what", "parameters"), DRAWS, ids=[what.__name__ for what, _ in DRAWS])
def test_a_draw_is_the_same_by_the_bucket(what, parameters):
    by_the_bucket = random.draw(what, random.KeyStream(5), (2, 3), dtypes.float32, CPU, *parameters)
    key = random.KeyStream(5).next_key()
    wide, made = what is random.integers, random.made_on()
    exact = random._kernel(what, (2, 3), np.dtype("float32"), wide, made)(key, *parameters)
    assert np.asarray(by_the_bucket).tolist() == np.asarray(exact).tolist()


def test_larger_draws_begin_with_the_smaller_ones():
    small, large = (torch.rand(n, generator=torch.Generator().manual_seed(1)) for n in (3, 60))
    assert small.tolist() == large[:3].tolist()


def test_uniform_numbers_stay_below_the_upper_bound():
    x = torch.empty(4000, dtype=torch.bfloat16).uniform_(1, 2)
    assert 1 <= x.min().item() <= x.max().item() < 2


def test_no_two_threads_get_the_same_key():
    stream, keys = random.KeyStream(0), []

    def take():
        keys.extend(stream.next_key().tobytes() for _ in range(500))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 2000


def test_a_draw_inside_a_jitted_function_is_a_constant_of_it():
    function = jax.jit(lambda x: x + value_of(torch.rand(2)))
    torch.manual_seed(0)
    expected = torch.rand(2).tolist()
    torch.manual_seed(0)
    assert function(jnp.zeros(2)).tolist() == expected
    assert function(jnp.zeros(2)).tolist() == expected


@pytest.mark.parametrize("protocol", range(6))
def test_generators_are_pickled_with_their_state(protocol):
    generator = torch.Generator().manual_seed(3)
    torch.rand(1, generator=generator)
    other = pickle.loads(pickle.dumps(generator, protocol))
    assert torch.rand(2, generator=generator).tolist() == torch.rand(2, generator=other).tolist()


def test_a_generator_that_is_none_is_named():
    with pytest.raises(TypeError, match=r"invalid combination of arguments - got \(int, generator=int\)"):
        torch.rand(2, generator=3)


# -- copies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "complex128", "bool"])
def test_pickles_keep_values_and_requires_grad(protocol, dtype):
    d = getattr(torch, dtype)
    x = torch.ones(2, dtype=d, requires_grad=d.is_floating_point)
    y = pickle.loads(pickle.dumps(x, protocol))
    assert (y.dtype, y.tolist(), y.requires_grad, y.device) == (d, x.tolist(), x.requires_grad, x.device)


class Noted(torch.Tensor):
    """A subclass of this module, so that it can be pickled."""


class Weight(Parameter):
    pass


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_subclasses_survive_copies(copied):
    x = Noted([1.0, 2.0])
    x.note = ["a"]
    y = copied(x)
    assert (type(y), y.tolist(), y.note, y._spec.overrides) == (Noted, [1, 2], ["a"], True)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_parameters_survive_copies(copied):
    y = copied(Weight(torch.ones(2)))
    assert (type(y), y.tolist(), y.requires_grad, y._spec.overrides) == (Weight, [1, 1], True, False)


def test_a_deep_copy_has_a_tape_of_its_own():
    x = torch.ones(2, requires_grad=True)
    y = copy.deepcopy(x)
    (y * 3).sum().backward()
    assert (x.grad, y.grad.tolist()) == (None, [3, 3])


def test_a_deep_copy_of_data_is_apart_from_its_origin():
    x = torch.ones(2)
    data, twin = copy.deepcopy([x.data, x])
    twin.add_(1)
    assert (x.tolist(), data.tolist(), twin.tolist()) == ([1, 1], [2, 2], [2, 2])


# -- the surface -------------------------------------------------------------------------------------------------------


def test_everything_in_dir_can_be_read():
    for x in (torch.ones(2, 2), torch.ones((), dtype=torch.complex64), torch.arange(3)):
        for name in dir(x):
            if name == "imag" and not x.is_complex():
                with pytest.raises(RuntimeError, match="imag is not implemented"):
                    _ = x.imag
            elif name not in ("T", "H", "mT", "mH"):
                assert hasattr(x, name), name


def test_tensors_are_keys_by_identity():
    x, y = torch.ones(1), torch.ones(1)
    assert {x: 1, y: 2}[x] == 1
    assert list({x: 1, y: 2}.values()) == [1, 2]


def test_methods_and_functions_have_docstrings():
    for home in ("torch", "Tensor", "random", "overrides"):
        undocumented = [
            name
            for name, function in NAMESPACES[home].items()
            if callable(function) and not name.startswith("_") and not function.__doc__
        ]
        assert undocumented == []


def test_data_and_detached_stay_in_step_with_writes_from_both_sides():
    x = torch.zeros(2, requires_grad=True)
    data, detached = x.data, x.detach()
    data.add_(1)
    detached.add_(1)
    with torch.no_grad():
        x.add_(1)
    assert [t.tolist() for t in (x, data, detached)] == [[3, 3]] * 3
    assert [t._version for t in (x, data, detached)] == [2, 1, 2]


def test_as_subclass_of_a_leaf_is_recorded_once():
    x = torch.ones(2, requires_grad=True)
    y = x.as_subclass(Noted)
    assert [node.name() if node else None for node, _ in y.grad_fn.next_functions] == [
        "torch::autograd::AccumulateGrad"
    ]
    (y * y).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_subclass_under_no_grad():
    with torch.no_grad():
        y = torch.ones(2, requires_grad=True).as_subclass(Noted) * 2
    assert (type(y), y.requires_grad, y.is_leaf) == (Noted, False, True)


TWO_DEVICES = """
import tapegrad as torch
x = torch.ones(3, requires_grad=True)
y = x.to("cpu:1")
assert (str(y.device), y.grad_fn.name(), y.dtype) == ("cpu:1", "ToCopyBackward0", torch.float32)
(y * 3).sum().backward()
assert (x.grad.tolist(), str(x.grad.device)) == ([3, 3, 3], "cpu")
g, = torch.autograd.grad((x.to("cpu:1", torch.float64) ** 3).sum(), x, create_graph=True)
assert (g.dtype, str(g.device)) == (torch.float32, "cpu")
assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6, 6, 6]
a, b = (torch.randn(5, generator=torch.Generator().manual_seed(3), device=d) for d in ("cpu", "cpu:1"))
assert a.tolist() == b.tolist() and str(b.device) == "cpu:1"
assert repr(torch.zeros(1, device="cpu:1")) == "tensor([0.], device='cpu:1')"
assert torch.as_tensor(x, device="cpu:1").requires_grad and str(torch.arange(2).to(b).device) == "cpu:1"
with torch.device("cpu:1"):
    assert str(torch.tensor(1.0).device) == "cpu:1"
p = torch.bernoulli(torch.ones(2, device="cpu:1"))
for made in (p, torch.randperm(3, device="cpu:1"), b.new_ones(2), b.detach()):
    assert str(made.device) == "cpu:1"
assert b.get_device() == -1 and b.cpu().device == a.device
m, source = torch.zeros(2, 3, device="cpu:1"), torch.ones(2, 3, requires_grad=True)
m.copy_(source)
(m * 3).sum().backward()
assert str(m.device) == "cpu:1" and source.grad.tolist() == [[3.0] * 3] * 2 and source.grad.device == a.device
n = torch.zeros(2, 3, device="cpu:1")
n[0], n[:, 1] = torch.ones(3), torch.tensor(5.0)
assert n.tolist() == [[1, 5, 1], [0, 5, 0]] and n[torch.tensor([1])].tolist() == [[0, 5, 0]]
assert str(n.device) == str(torch.ones(2, out=torch.empty(2, device="cpu:1")).device) == "cpu:1"
"""


@pytest.mark.once("a process of its own knows nothing of this one's execution")
def test_two_devices():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    environment["XLA_FLAGS"] += " " + os.environ.get("XLA_FLAGS", "")
    subprocess.run([sys.executable, "-c", TWO_DEVICES], check=True, env=environment)
