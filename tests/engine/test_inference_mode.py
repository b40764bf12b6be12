"""Inference mode where it is not as in PyTorch, or can't be compared: what it costs, and the edges of its rules."""

import threading

import pytest

import tapegrad as torch
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import value_of
from tapegrad.ops import arithmetic


def inference(values, **options):
    with torch.inference_mode():
        return torch.tensor(values, **options)


def test_plans_of_other_modes_do_not_know_it():
    """The same call, the same objects: what inference mode wants is in plans of its own."""
    x = torch.ones(2)
    before = thread.modes
    with torch.inference_mode():
        inside = (x * x)._spec
        assert thread.modes is not before
    assert thread.modes is before
    assert inside.inference and inside.bare is (x * x)._spec
    assert inside.replace(inference=False) is (x * x)._spec


def test_kernels_are_shared_with_normal_mode():
    """What a kernel is kept under does not know of the mode. (Which one a call finds depends on calls before.)"""
    x = torch.ones(2, 3, 5, 7)
    with torch.inference_mode():
        inside = torch.ones(2, 3, 5, 7)
        inside * inside, x * inside
    kept = [spec for _, *specs in arithmetic.mul.kernels for spec in specs if isinstance(spec, Spec)]
    assert inside._spec.inference and kept and not any(spec.inference for spec in kept)


def test_a_refused_write_leaves_the_data_alone():
    """PyTorch has written by the time it raises."""
    f = inference([1.0, 2.0])
    before = value_of(f)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        f.add_(1)
    assert value_of(f) is before


def test_some_numbers_are_normal_tensors():
    """A call on inference tensors only is not recorded outside; of some numbers PyTorch makes normal tensors."""
    g = inference([1.0, 2.0], requires_grad=True)
    assert not (g**2).requires_grad and not (g * g).requires_grad
    assert (g * 2).requires_grad and (g + torch.ones(2)).requires_grad
    (g * 3).sum().backward()
    assert g.grad.tolist() == [3.0, 3.0]


def test_other_threads_are_not_in_the_mode():
    seen = []
    with torch.inference_mode():
        other = threading.Thread(target=lambda: seen.append(torch.ones(1).is_inference()))
        other.start()
        other.join()
    assert seen == [False]
