"""Memory where PyTorch is no oracle: made-up addresses, and a derivative that PyTorch has the wrong way round."""

import gc
import weakref

import pytest

import tapegrad as torch
from tapegrad._src.tensor import placing
from tapegrad.autograd import gradcheck, gradgradcheck


def test_addresses_are_not_given_twice():
    seen = set()
    for _ in range(50):
        x = torch.zeros(3)
        v = x[1:]
        x.add_(1)
        assert v.data_ptr() == x.data_ptr() + 4
        assert x.data_ptr() not in seen
        seen.add(x.data_ptr())


def test_handles_on_one_array_have_one_address():
    seen, x = [], torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append(g.data_ptr()))
    (x * 2).sum().backward()
    assert x.grad.data_ptr() == seen[0]
    shared = torch.from_dlpack(x.detach())
    assert shared.data_ptr() == x.data_ptr()


def test_nobody_remembers_addresses_of_what_is_gone():
    x = torch.zeros(5)
    x.data_ptr()
    reference, known = weakref.ref(x), len(placing._addresses)
    del x
    gc.collect()
    assert reference() is None
    assert len(placing._addresses) < known


def test_a_storage_is_one_object_as_long_as_somebody_holds_it():
    x = torch.zeros(2)
    storage = x.untyped_storage()
    reference = weakref.ref(storage)
    assert x[1:].untyped_storage() is storage
    del storage
    gc.collect()
    assert reference() is None


def test_elements_beyond_a_memory_that_was_made_smaller_are_not_read():
    x = torch.arange(4.0)
    v = x[2:]
    x.untyped_storage().resize_(0)
    assert (x.shape, v.shape, x.untyped_storage().nbytes()) == ((4,), (2,), 0)
    x.untyped_storage().resize_(16)
    assert v.tolist() == [0, 0]


@pytest.mark.parametrize("transposed", [False, True])
def test_the_gradient_of_as_strided_scatter_is_the_right_one(transposed):
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
    source = torch.tensor([10.0, 20.0], dtype=torch.float64, requires_grad=True)

    def scatter(x, source):
        y = (x * x).t() if transposed else x * x
        return torch.as_strided_scatter(y, source * source, (2,), (2,), 1)

    assert gradcheck(scatter, (x, source))
    assert gradgradcheck(scatter, (x, source))
