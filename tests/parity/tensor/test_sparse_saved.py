"""Sparse tensors that were saved for backward and then written to: refused as PyTorch refuses them, and in place
functions that are recorded.
"""

import re

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

D = [[0.0, 2.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]


class Given:
    """What programs take: sparse tensors, one of which is recorded, and a dense one."""

    def __init__(self, m):
        self.m, self.d = m, m.tensor(D, dtype=m.float64)
        self.s, self.r = self.d.to_sparse(), self.d.to_sparse_csr()
        self.x = self.d.to_sparse().requires_grad_()
        self.y = self.x * 1
        self.w = m.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)


def written(made, write):
    """A program: something is made, something is written to, and backward is run."""

    def program(g):
        out = made(g)
        write(g)
        (g.m.sparse.sum(out) if out.layout != g.m.strided else out.sum()).backward()
        return [one.grad.to_dense().tolist() for one in (g.x, g.w) if one.grad is not None]

    return program


PRODUCT = lambda g: g.s @ g.w
PROGRAMS = {
    "a factor, mul_": written(PRODUCT, lambda g: g.s.mul_(2)),
    "a factor, its values": written(PRODUCT, lambda g: g.s._values().mul_(2)),
    "a factor, zero_": written(PRODUCT, lambda g: g.s.zero_()),
    "a factor, add_": written(PRODUCT, lambda g: g.s.add_(g.s)),
    "a factor, copy_": written(PRODUCT, lambda g: g.s.copy_(g.s * 2)),
    "a factor, div_": written(PRODUCT, lambda g: g.s.div_(2)),
    "a factor, neg_": written(PRODUCT, lambda g: g.s.neg_()),
    "a factor, what was detached": written(PRODUCT, lambda g: g.s.detach().mul_(2)),
    "a factor, data": written(PRODUCT, lambda g: g.s.data.mul_(2)),
    "a factor, twice": written(PRODUCT, lambda g: (g.s.mul_(2), g.s.mul_(2))),
    "a factor, a copy": written(PRODUCT, lambda g: g.s.clone().mul_(2)),
    "sparse.mm": written(lambda g: g.m.sparse.mm(g.s, g.w), lambda g: g.s.mul_(2)),
    "addmm": written(lambda g: g.m.addmm(g.d, g.s, g.w), lambda g: g.s.mul_(2)),
    "mv": written(lambda g: g.m.mv(g.s, g.w[0]), lambda g: g.s.mul_(2)),
    "csr, mul_": written(lambda g: g.r @ g.w, lambda g: g.r.mul_(2)),
    "csr, copy_": written(lambda g: g.r @ g.w, lambda g: g.r.copy_(g.r * 2)),
    "csr, zero_": written(lambda g: g.r @ g.w, lambda g: g.r.zero_()),
    "csr, values": written(lambda g: g.r @ g.w, lambda g: g.r.values().mul_(2)),
    "recorded, mul_": written(lambda g: g.y @ g.w, lambda g: g.y.mul_(2)),
    "recorded, a square": written(lambda g: g.y * g.y, lambda g: g.y.mul_(2)),
    "recorded, sin": written(lambda g: g.y.sin(), lambda g: g.y.mul_(2)),
    "a sum saves nothing": written(lambda g: g.w + g.s, lambda g: g.s.mul_(2)),
    "recorded, mul_ of a sparse one": written(lambda g: g.y.mul_(g.s), lambda g: None),
    "mul_ of what is recorded": written(lambda g: g.s.mul_(g.y), lambda g: None),
    "mul_ of itself": written(lambda g: g.y.mul_(g.y), lambda g: None),
    "log1p_": written(lambda g: g.y.log1p_(), lambda g: None),
    "log1p_, then mul_": written(lambda g: g.y.log1p_().mul_(3), lambda g: None),
    "add_": written(lambda g: g.y.add_(g.s).add_(g.y), lambda g: None),
    "div_": written(lambda g: g.y.div_(4).mul_(g.s), lambda g: None),
    "the old value is used as well": written(lambda g: (g.y * 2).add(g.y.mul_(3)), lambda g: None),
}


def result_of(program, m):
    try:
        return program(Given(m))
    except RuntimeError as error:
        found = re.findall(r"modified by an inplace operation|is at version \d+; expected version \d+", str(error))
        if not found:
            raise
        return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_written_to(name):
    theirs, ours = (result_of(PROGRAMS[name], m) for m in (torch, tapegrad))
    assert ours == theirs or np.allclose(ours, theirs)


def test_an_output_that_was_written_to():
    said = []
    for m in (torch, tapegrad):
        g = Given(m)
        out = g.y.sqrt()
        out.mul_(2)
        with pytest.raises(RuntimeError, match="which is output 0 of Sqrt, is at version 1; expected version 0"):
            m.sparse.sum(out).backward()
        said.append(out._version)
    assert said[0] == said[1]


def test_writes_are_not_recorded_in_no_grad():
    for m in (torch, tapegrad):
        g = Given(m)
        with m.no_grad():
            g.x.mul_(2)
        assert g.x.is_leaf and g.x.requires_grad and g.x._version == 1
        (g.x @ g.d).sum().backward()
        assert g.x.grad.to_dense().sum() > 0
