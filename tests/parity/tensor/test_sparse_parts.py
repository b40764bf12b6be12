"""Parts of sparse tensors, their conversion and products, beside PyTorch's: names of nodes, order, refusals."""

import pytest
from sparse_programs import same, split

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

PARTS = split("""
s[:, 2], s[..., 2], s[None], s[:, 1], s[1, ..., 2], s[torch.tensor(1)], h[:, 0], h[..., 1], h[None], c[:, 2]
s[0:1]
s[[0, 1]]
s[torch.tensor([1, 0])]
s[0, 0, 0]
s[:, 5]
s.__setitem__(0, 1)
r.__setitem__((0, 0), 1.0)
c.unsqueeze(0).is_coalesced(), c[1].is_coalesced(), c.select(0, 1).is_coalesced(), c.unbind()[1].is_coalesced()
c.narrow_copy(1, 1, 2).is_coalesced(), s.narrow_copy(1, 1, 2), torch.hspmm(s, w).is_coalesced(), s.movedim(0, 1)
s.storage_offset(), s.is_inference(), r.storage_offset(), r.is_inference()
d.to_sparse_csc().stride()
d.to_sparse_bsc((2, 2)).numpy()
""")

NODES = split("""
[one.grad_fn for one in (a.unsqueeze(0), a[0], a[:, 1], a[None], a.permute(1, 0), a.movedim(0, 1))]
a.narrow_copy(0, 0, 1).grad_fn
[one.grad_fn for one in (torch.stack([a, a]), torch.sparse.softmax(a, 0), torch.sparse.log_softmax(a, 1), a @ w[:, 0])]
[one.grad_fn for one in (torch.sparse.sum(a, 0), a.sparse_mask(u), z.sparse_mask(s), z.to_sparse(), z.to_sparse(1))]
[one.grad_fn for one in (a.to_sparse_csr(), a.to_sparse_csc(), a.to_sparse_bsr((1, 1)), z.to_sparse_csr())]
z.to_sparse_coo().grad_fn
[one.grad_fn for one in (b.t(), b.transpose(0, 1), b.to_sparse(), b.to_sparse_csc(), b @ d[0], z.to_sparse_bsc((1, 1)))]
torch.sparse.sampled_addmm(b, d, d).grad_fn, z.to_sparse(layout=torch.sparse_csr).grad_fn
torch.nn.Parameter(c), (w @ torch.nn.Parameter(s)).grad_fn
a.unsqueeze(0).is_leaf, a[None].is_leaf
""")

CONVERTED = split("""
d.to_sparse(layout=torch.strided), s.to_sparse(layout=torch.strided), r.to_sparse(layout=torch.strided)
d.to_sparse(layout=torch.sparse_coo, blocksize=(1, 1))
d.to_sparse(layout=torch.sparse_csr, blocksize=(1, 1))
s.to_sparse(layout=torch.sparse_csr, blocksize=(1, 1))
d.to_sparse(layout=torch.sparse_bsr)
d.to_sparse(layout=torch.sparse_bsr, blocksize=(1, 1, 1))
d.to_sparse(layout=torch.sparse_csr, dense_dim=1)
d.to_sparse_bsr((0, 1))
d.to_sparse_bsr(2), d.to_sparse_bsc(1)
d.to_sparse_bsr((1,))
d.to_sparse_csr(1)
d.to_sparse(dense_dim=3)
d.to_sparse(dense_dim=-1)
s[0].to_sparse_csr()
r.to_sparse(1)
""")

PRODUCTS = split("""
torch.sparse.mm(w, w.t()), torch.sparse.addmm(torch.ones(3, 3), w, w.t(), beta=2, alpha=3)
torch.mm(s, w.double())
torch.sparse.mm(s, w.double())
torch.mm(w.t().double(), s.t())
torch.mm(s, s.t().double())
torch.addmm(torch.ones(2, 2).double(), s, w)
s @ torch.ones(3, dtype=torch.int64)
torch.ones(2, 4, 2) @ s, torch.ones(5, 2, 4, 2) @ s
s @ torch.ones(2, 3, 2)
torch.addmv(torch.ones(4), r, d[0], beta=2, alpha=3)
s * r
torch.sparse.sum(s, (0, -2))
torch.sparse.softmax(C(i, v.long(), (2, 3)), 0)
C(i, v.long(), (2, 3)).mul_(2)
B.sum(0), torch.sparse.sum(B, 1), B[1, 2], B[0, 0], torch.sparse.sum(C(i, v.int(), (2, 3)), 0)
B - B
h.select(1, 0).is_coalesced(), h.coalesce().select(1, 0).is_coalesced()
(a + a).grad_fn, (a + u).grad_fn, (a - u).grad_fn, (b + d.t().to_sparse_csr()).grad_fn
torch.addmm(torch.ones(2, 2), a, w).grad_fn, torch.sparse.addmm(torch.ones(2, 2), a, w).grad_fn
""")

LEAVES = """
a, b = s.clone().requires_grad_(), r.clone().requires_grad_()
B = C(i, torch.tensor([True, False, True]), (2, 3))
z = w.t().clone().requires_grad_()
"""


@pytest.mark.once("indices and texts: nothing depends on the order")
@pytest.mark.parametrize("lines", [PARTS, NODES, CONVERTED, PRODUCTS], ids=["parts", "nodes", "converted", "products"])
def test_parts(lines):
    same(LEAVES, *lines)
