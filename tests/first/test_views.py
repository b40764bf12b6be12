"""Views and writes where nothing can be compared with PyTorch: long chains, work that is put off, refusals."""

import sys

import pytest

import tapegrad as torch
from tapegrad._src.tensor.tensor import edge_of

MANY = 2 * sys.getrecursionlimit()


@pytest.mark.ring("default")
def test_a_long_chain_of_writes_through_views():
    a = torch.ones(3, requires_grad=True)
    x = a * 1
    for i in range(MANY):
        x[i % 3].mul_(1.0)
    x.sum().backward()
    assert a.grad.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.ring("default")
def test_a_long_chain_of_views_that_show_other_numbers():
    a = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    x = a * 1
    v = torch.view_as_real(x)
    for _ in range(MANY):
        v = v[...]
    x.mul_(2)
    v.sum().backward()
    assert a.grad.tolist() == [2 + 2j] * 3


@pytest.mark.ring("default")
def test_a_long_chain_of_views_of_views_is_one_node_after_a_write():
    a = torch.ones(3, requires_grad=True)
    x = a * 1
    v = x
    for _ in range(MANY):
        v = v[...]
    x.mul_(2)
    assert v.grad_fn.name() == "AsStridedBackward0" and v.grad_fn.next_functions[0][0] is x.grad_fn


def test_the_place_of_a_view_is_made_when_somebody_asks():
    x = torch.ones(3, requires_grad=True) * 1
    v, u = x[1:], x[:1]
    v.mul_(2)
    for _ in range(3):
        x.mul_(2)
    assert v._edge[0].name() == u._edge[0].name() == "SliceBackward0"
    assert edge_of(v)[0].name() == edge_of(u)[0].name() == "AsStridedBackward0"


def test_a_place_that_is_made_late_takes_its_turn():
    x = torch.ones(3, requires_grad=True) * 1
    v = x[1:]
    v.mul_(2)
    later = x * 1
    assert v.grad_fn._sequence_nr() < later.grad_fn._sequence_nr()
    assert v.grad_fn._sequence_nr() > x.grad_fn._sequence_nr()


def test_reading_again_what_has_not_changed_reads_nothing():
    x = torch.ones(4)
    v = x[1:3]
    x.mul_(2)
    assert (v + 0).tolist() == [2.0, 2.0]
    seen = v._value
    v + 0
    assert v._value is seen
    x.mul_(2)
    assert (v + 0).tolist() == [4.0, 4.0]


def test_a_refused_write_changes_nothing():
    x = torch.ones(4, requires_grad=True) * 1
    first, _ = x.split(2)
    node, version = x.grad_fn, x._version
    for write in (lambda: first.mul_(2), lambda: first.copy_(torch.ones(3)), lambda: x.copy_(torch.ones(3))):
        with pytest.raises(RuntimeError):
            write()
    assert x.grad_fn is node and x._version == version and x.tolist() == [1.0] * 4
    assert first.grad_fn.name() == "SplitBackward0"


def test_a_tangent_that_is_kept_is_not_the_one_that_is_written_to():
    """What is copied has a tangent of its own, though both begin with the same numbers."""
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        source = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        target = torch.zeros(2)
        target.copy_(source)
        target[:1].mul_(5)
        assert forward_ad.unpack_dual(source).tangent.tolist() == [1.0, 1.0]
        assert forward_ad.unpack_dual(target).tangent.tolist() == [5.0, 1.0]
