"""The names by which policies and logs call operators: PyTorch has each of them."""

import pytest
import torch

import tapegrad
from tapegrad.ops.operator import TABLE
from tapegrad.ops.overloads import OVERLOADS, OWN, identity_of


@pytest.mark.parametrize("name", sorted(set(TABLE) - OWN))
def test_operators_have_names_that_pytorch_has(name):
    x = tapegrad.ones(2, 2)
    ours = identity_of(TABLE[name], (x, x))
    theirs = getattr(getattr(torch.ops.aten, ours._opname), ours._overloadname)
    assert (str(ours), repr(ours), ours.name()) == (str(theirs), repr(theirs), theirs.name())


@pytest.mark.parametrize("name", sorted(OVERLOADS))
def test_overloads_are_such_as_pytorch_has(name):
    packet = getattr(torch.ops.aten, name)
    assert set(OVERLOADS[name]) <= set(packet.overloads())
