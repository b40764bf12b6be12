"""Sparse tensors that become others in place, and small attributes, beside PyTorch's."""

import pytest
from sparse_programs import same, split

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

BEGIN = """
x = s.clone().requires_grad_()
y = x * 2
z = C(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0), (3, 3))
j = s.coalesce() * 1j

def after(write, a, *others):
    out = write(a)
    return out is a, a._version, a.shape, [one._version for one in others], a, others

def backward(out):
    (torch.sparse.sum(out) if out.layout != torch.strided else out.sum()).backward()
    return x.grad.to_dense()
"""

RESIZED = split("""
after(lambda a: a.sparse_resize_((2, 3), 2, 0), s), after(lambda a: a.sparse_resize_((4, 5), 2, 0), s, s.detach())
after(lambda a: a.sparse_resize_((4, 5), 2, 0), c, c._values()), after(lambda a: a.sparse_resize_((5, 2), 1, 1), h)
after(lambda a: a.sparse_resize_(size=(4, 4), sparse_dim=2, dense_dim=0), u)
s.sparse_resize_((1, 3), 2, 0)
h.sparse_resize_((3, 1), 1, 1)
h.sparse_resize_((1, 2), 1, 1)
s.sparse_resize_((2, 3), 1, 1)
s.sparse_resize_((2, 3, 3), 2, 1)
s.sparse_resize_(3, 2, 0)
s.sparse_resize_((3, 3), 2, 1)
s.sparse_resize_((-1, 3), 2, 0)
after(lambda a: a.sparse_resize_((2, 2), 2, 0), z), after(lambda a: a.sparse_resize_((2, 2, 2), 1, 2), z)
after(lambda a: a.sparse_resize_and_clear_((2, 3), 2, 0), s), after(lambda a: a.sparse_resize_and_clear_((5,), 1, 0), c)
after(lambda a: a.sparse_resize_and_clear_((5, 4), 1, 1), h, h.detach()), s.sparse_resize_and_clear_((1, 1), 2, 0)
u.sparse_resize_and_clear_((2, 3), 2, 0).is_coalesced(), u.sparse_resize_((2, 3), 2, 0).is_coalesced()
s.sparse_resize_and_clear_((3, 3), 2, 1)
x.sparse_resize_((4, 4), 2, 0)
x.sparse_resize_and_clear_((4, 4), 2, 0)
y.sparse_resize_((4, 4), 2, 0).grad_fn.name()
backward(y.sparse_resize_((4, 4), 2, 0))
(y.sparse_resize_((2, 3), 2, 0), y.sparse_resize_((2, 3), 2, 0))[1].grad_fn.next_functions[0][0].name()
r.sparse_resize_((4, 4), 2, 0)
r.sparse_resize_and_clear_((4, 4), 2, 0)
d.sparse_resize_((4, 4), 2, 0)
d.sparse_resize_and_clear_((4, 4), 2, 0)
after(lambda a: a.resize_as_sparse_(torch.zeros(4, 4).to_sparse()), s), s.resize_as_(s), s.resize_as_sparse_(u)._version
s.resize_as_sparse_(h)
after(lambda a: a.resize_as_sparse_(r), r.clone())
r.resize_as_sparse_(s)
""")

TURNED = split("""
after(lambda a: a.t_(), s), after(lambda a: a.transpose_(0, 1), s), after(lambda a: a.swapaxes_(0, 1), c)
after(lambda a: a.swapdims_(-1, 0), c, c._values()), after(lambda a: a.transpose_(1, 1), s)
after(lambda a: a.t_().mul_(2), c), after(lambda a: a.t_()._values().fill_(5), c), C([[0, 1]], v[:2], (3,)).t_()
c.t_().is_coalesced()
h.transpose_(0, 1)
h.t_()
s.transpose_(0, 5)
x.t_()
r.t_()
r.transpose_(0, 1)
y.t_().grad_fn, y.transpose_(0, 1).grad_fn, y.transpose_(0, 0).grad_fn
backward(y.t_() * 2)
backward(y.transpose_(0, 1).transpose_(1, 1))
backward(y.t_() @ torch.ones(2, 2))
""")

SMALL = split("""
s._is_view(), s.is_distributed(), s.name, s.volatile, r._is_view(), r.is_distributed(), r.name, r.volatile
s.real is s, torch.real(r) is r, j.real, j.imag, torch.real(j)
s.imag
(r * 1j).real
s.flatten(1) is s, s.flatten(-1), r.flatten(0, 0) is r, C([[0, 1]], v[:2], (3,)).flatten()
s.flatten()
s.flatten(1, 0)
r.nbytes, r.double().nbytes
s.nbytes
s.new_zeros(2, 3), s.new_zeros((2, 3), dtype=torch.int32), s.new_zeros((2,), layout=torch.strided), s.new_empty((2, 2))
r.new_zeros(2, 3), d.to_sparse_csc().new_zeros((2, 2)), s.new_zeros(2, requires_grad=True).requires_grad
r.new_zeros(2)
d.to_sparse_bsr((1, 1)).new_zeros(2, 2)
s.new_tensor(c), s.new_tensor([1, 2]), s.new_tensor(2.0, requires_grad=True), s.new_tensor(c, dtype=torch.float64)
r.new_tensor([1.0])
s.dist(s * 2), s.dist(s * 2, 1), torch.dist(s, u), s.dist(s)
r.angle(), (r * -1).angle()
s.angle()
after(lambda a: a.fill_(2), r, r.values())
s.fill_(2)
after(lambda a: a.true_divide_(2), s), s.float_power(2).dtype, j.float_power(2).dtype
""")


@pytest.mark.parametrize("lines", [RESIZED, TURNED, SMALL], ids=["resized", "turned", "small"])
@pytest.mark.once("shapes, counts and texts: nothing depends on the order")
def test_writes(lines):
    for line in lines:  # each begins anew: what is written to is not what it was
        same(BEGIN, line)
