"""Arrays that were pickled, as batches from workers are: their dtype is equal to NumPy's own, and another object."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.tensor.tensor import value_of

pytestmark = pytest.mark.once("what arrays are at once")


def pickled(x):
    return pickle.loads(pickle.dumps(x))


WAYS = {
    "from_numpy": torch.from_numpy, "tensor": torch.tensor, "as_tensor": torch.as_tensor, "asarray": torch.asarray,
    "Tensor": torch.Tensor, "new_tensor": lambda x: torch.ones(1).new_tensor(x),
    "a pickled tensor": lambda x: pickled(torch.from_numpy(x)),
    "a part of a pickled tensor": lambda x: pickled(torch.from_numpy(x)[:, 1:]),
    "a pickled parameter": lambda x: pickled(torch.nn.Parameter(torch.from_numpy(x))),
    "data": lambda x: setattr(made := torch.ones(2, 3), "data", torch.from_numpy(x)) or made,
    "copy_": lambda x: torch.ones(2, 3).copy_(torch.from_numpy(x)),
    "computed": lambda x: torch.from_numpy(x) * 2,
}  # fmt: skip


@pytest.mark.parametrize("made", WAYS.values(), ids=WAYS)
def test_tensors_have_the_dtype_that_numpy_has_once(made):
    array = pickled(np.ones((2, 3), "float32"))
    assert array.dtype is not np.dtype("float32")
    assert value_of(made(array)).dtype is np.dtype("float32")


def test_memory_is_shared_with_them():
    array = pickled(np.zeros(3))
    x = torch.from_numpy(array)
    array[0] = 5
    assert x.add_(1).tolist() == array.tolist() == [6, 1, 1]


def test_a_kernel_that_is_given_one_is_not_left_to_xla():
    kernel = Kernel(lambda x: x + x, name="twice", wide=False, arguments=[((2,), np.dtype("float32"))], checked=1)
    found = kernel.run(pickled(np.ones(2, "float32")))
    assert type(found) is np.ndarray and found.tolist() == [2, 2]


def test_gradients_have_the_same_bits():
    def grads(array):
        x = torch.from_numpy(array)
        w = torch.from_numpy(np.linspace(0, 1, 9, dtype="float32").reshape(3, 3)).requires_grad_()
        (x @ w).softmax(1).log().sum().backward()
        return w.grad.numpy().tobytes()

    array = np.arange(6, dtype="float32").reshape(2, 3)
    assert grads(pickled(array)) == grads(array)
