"""Sparse tensors, beside PyTorch's: what they are, their functions, gradients, and what optimizers do with them."""

import pytest
from sparse_programs import BEGIN, same, split
from transcripts import MODULES

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

MADE = split("""
C(i, v, (2, 2))
C(i, v, (2, 2), check_invariants=True)
C(-i, v, (2, 3), check_invariants=True)
C(i, v[:2], (2, 3))
C(i, v, (2,))
C([[0, 1], [1, 1]], [1, 2], (2, 3), dtype=torch.float64, requires_grad=True)
C([[0, 1]], 3.0), C(i, torch.tensor([1 + 1j, 2, 3]), (2, 3)), C((2, 3))
C(torch.empty(1, 0), torch.empty(0)), h, h.sparse_dim(), h.dense_dim(), h._nnz(), C(i, v)
s.layout, s.is_sparse, s.is_sparse_csr, s.requires_grad, s.shape, s.numel(), len(s), s.dtype, s.type(), s.stride()
s.is_coalesced(), c.is_coalesced(), c.indices(), c.values(), u.coalesce(), h.coalesce()
u.indices()
u.values()
s.crow_indices()
torch.ones(2).coalesce()
s.storage()
s.numpy()
s.tolist()
s.item()
bool(s)
s.nbytes
s.to_dense(), u.to_dense(), h.to_dense(), C(i, torch.tensor([True, False, True]), (2, 3)).to_dense()
s.to_dense(dtype=torch.float64)
w.to_sparse(), w.view(3, 2, 1).to_sparse(1), torch.tensor(3.0).to_sparse(), s.to_sparse()
w.to_sparse(3)
w.to_sparse(0)
s.to_sparse(1)
w.t().sparse_mask(s), w.t().sparse_mask(u), s.sparse_mask(s), s.sparse_mask(u)
w.sparse_mask(u)
s.t(), s.T, s.mT, s.transpose(0, 1), s.permute(1, 0), s.t().is_coalesced(), s.unsqueeze(0), h.unsqueeze(2)
h.t()
h.transpose(0, 1)
s.mH, s.H, s.adjoint(), (s * 1j).mH, (s * 1j).H, (s * 1j).mT.is_conj(), s.unsqueeze(0).mT, s.unsqueeze(0).mH, s[0].T
s[0].mT
s[0].mH
s[0].H
h.mT
h.mH
s.unsqueeze(0).H
s[0].adjoint()
h.permute(0, 2, 1)
h.permute(1, 0)
s.new(s._indices(), s._values() * 2, s.size()), s.new(s._indices(), s._values().double()), s.new(), s.new(2, 3)
s.new(s.size()), s.new(s._indices(), x[:3], s.size())
s.new([2, 3])
s.new(s)
s.new("a")
s.to_sparse_csr().new(2, 3)
s.clone(), s.detach(), s.double(), s.half(), s.to(torch.float64), s.float() is s, torch.zeros_like(u), s.detach() is s
torch.sparse.FloatTensor(i, v, (2, 3)), torch.sparse.DoubleTensor(), torch.sparse.LongTensor(i, v.long())
torch.sparse.FloatTensor(2, 3), isinstance(s, torch.sparse.FloatTensor), isinstance(s, torch.Tensor)
torch.sparse.check_sparse_tensor_invariants.is_enabled()
torch.sparse.spdiags(w.t(), torch.tensor([0, 1]), (3, 3))
""")


@pytest.mark.once("indices and texts: nothing depends on the order")
def test_how_they_are_made_and_shown():
    same("", *MADE)


FUNCTIONS = split("""
s + u, s - u, s.sub(u, alpha=2), torch.add(s, u, alpha=2), s + s, (s + u).is_coalesced(), s + u.double()
s + C((2, 4))
s + 1
1 - s
w.t() + s, w.t() - s, w.t().add(s, alpha=3)
w + s
c * e, (c * e).is_coalesced(), s * s, s * 2, 2 * u, s * torch.tensor(2.0), torch.tensor(2.0) * s, s / 2, -u, -s
s * torch.ones(3), u * w.t(), w.t() * s, s // 2
s / s
u.sin(), u.abs(), u.relu(), s.sqrt(), torch.tanh(s), s.isnan(), C(i, v.long(), (2, 3)).sin(), s ** 2, s.pow(-1)
s.pow(0)
s.exp()
s.clone().mul_(2), s.clone().add_(u), s.clone().zero_(), c.clone().sin_(), s.any(), u.norm(), h.norm()
s.clone().sin_()
torch.ones(2, 3).add_(s), torch.ones(3, 2).sub_(h, alpha=2)
torch.sparse.sum(u), torch.sparse.sum(s, 0), torch.sparse.sum(s, 1), torch.sparse.sum(h, 0), torch.sparse.sum(h, 1)
torch.sparse.sum(s, dtype=torch.float64), u.sum(0), u.sum((0, 1)), s.sum()
torch.sparse.sum(torch.ones(2))
torch.sparse.softmax(u, 1), torch.sparse.softmax(s, 0), torch.sparse.log_softmax(s, 1, dtype=torch.float64)
torch.sparse.softmax(h, 0), torch.sparse.softmax(h, 1)
torch.sparse.mm(s, w), s @ w, torch.mm(s, w), s.matmul(w[:, 0]), torch.mv(s, w[:, 0]), w.t() @ s.t()
s @ s.t(), (s @ s.t()).is_coalesced(), torch.sparse.mm(s, torch.ones(3, 0))
torch.mm(s, torch.ones(2, 2))
torch.sparse.addmm(torch.ones(2, 2), s, w, beta=2, alpha=3), torch.addmm(torch.ones(2, 2), s, w)
torch.hspmm(s, w), torch.smm(s, w), torch.sspaddmm(C((2, 2)), s, w), torch.dsmm(s, w)
torch.bmm(C([[0, 1], [0, 1], [1, 0]], [1.0, 2.0], (2, 2, 2)), torch.ones(2, 2, 2))
torch.cat([s, u]), torch.cat([s, u], 1), torch.stack([s, u], 1), torch.cat([h, h], 1)
torch.cat([s, w])
s[0], s[1, 2], u[0, 1], s[-1], h[0], h[0, 1], h[2], s.select(1, 2), list(s)
s[5]
s.index_select(1, torch.tensor([2, 0, 2])), h.index_select(0, torch.tensor([1, 1]))
h.index_select(1, torch.tensor([1]))
F.relu(s), F.dropout(s, 0.0), F.linear(w.t(), s)
""")


@pytest.mark.ring("full")
def test_functions():
    same("", *FUNCTIONS)


GRADIENTS = split("""
s, s.grad_fn, s.is_leaf, s.t(), s.coalesce(), s * 2, -s, s + s, s.sin(), s.clone(), s.double()
torch.sparse.mm(s, x).grad_fn, (s @ x).grad_fn, s.to_dense().grad_fn, c.to_sparse().values().grad_fn
grad(torch.sparse.mm(s, x).square().sum(), v, x)
grad((s @ x).square().sum(), v, x)
grad((x.t() @ s.t()).square().sum(), v, x)
grad(s.to_dense().square().sum(), v)
grad(s.coalesce().values().square().sum(), v)
grad(torch.sparse.sum(s), v), grad(torch.sparse.sum(torch.sparse.sum(s * s, 0)), v)
grad((s * x.t()).to_dense().square().sum(), v), grad(((x.t() + s) ** 2).sum(), v, x)
grad((s + s.detach() * 3).to_dense().square().sum(), v), grad((s - s * s).to_dense().sum(), v)
grad((torch.sparse.softmax(s, 1) * x.t()).to_dense().sum(), v)
grad((torch.sparse.log_softmax(s, 1) * x.t()).to_dense().sum(), v)
grad(torch.sparse.addmm(torch.ones(2, 2), s, x, alpha=2).square().sum(), v, x)
grad(x.to_sparse().to_dense().square().sum(), x), grad(x.to_sparse(1).to_dense().square().sum(), x)
after(lambda a: torch.sparse.mm(a, x).sum()), after(lambda a: a.to_dense().sum())
after(lambda a: (a * 2).to_dense().sum())
""")

WITH_GRADIENTS = """
v = v.requires_grad_()
x = (w + 1).requires_grad_()
s = C(i, v, (2, 3))

def grad(loss, *inputs):
    return torch.autograd.grad(loss, inputs, retain_graph=True)

def after(loss):
    a = C(i, v.detach(), (2, 3)).requires_grad_()
    loss(a).backward()
    return a.grad, a.is_leaf, a
"""


def test_gradients():
    same(WITH_GRADIENTS, *GRADIENTS)


DENSE = {
    "torch.sparse.mm(s, x)": "s.to_dense() @ x",
    "torch.cat([s, s * 2])": "torch.cat([s.to_dense(), s.to_dense() * 2])",
    "torch.stack([s, -s], 1)": "torch.stack([s.to_dense(), -s.to_dense()], 1)",
    "s.index_select(1, torch.tensor([2]))": "s.to_dense()[:, 2:]",
    "s.sin()": "s.to_dense().sin()",
    "(s.t() * x)[0]": "(s.to_dense().t() * x)[0]",
    "s @ s.t()": "s.to_dense() @ s.to_dense().t()",
}


@pytest.mark.ring("full")
@pytest.mark.parametrize("program", DENSE)
def test_derivatives_which_pytorch_has_not_are_those_of_dense_tensors(program):
    names = {"torch": MODULES[1]}
    exec(BEGIN + WITH_GRADIENTS, names)
    twice = "torch.autograd.grad((({}).to_dense() ** 3).sum(), v, create_graph=True)[0]"
    found = []
    for one in (program, DENSE[program]):
        first = eval(twice.format(one), names)
        found.append([first.tolist(), names["grad"](first.square().sum(), names["v"])[0].tolist()])
    for sparse, dense in zip(*found, strict=True):
        assert sparse == pytest.approx(dense, rel=1e-5)


def test_transforms():
    names = {"torch": MODULES[1]}
    exec(BEGIN, names)
    names["loss"] = eval("lambda v: (torch.sparse.mm(C(i, v, (2, 3)), w) ** 2).sum()", names)
    names["dense"] = eval("lambda v: ((torch.zeros(2, 3).index_put((i[0], i[1]), v) @ w) ** 2).sum()", names)
    for transform in ("grad({})(v)", "hessian({})(v)", "jvp({}, (v,), (v * 2,))[1]", "jacfwd({})(v)"):
        sparse, dense = (eval(f"torch.func.{transform.format(one)}", names) for one in ("loss", "dense"))
        assert sparse.tolist() == dense.tolist()


EMBEDDINGS = split("""
after(lambda w: F.embedding(L([[0, 1], [3, 3]]), w, sparse=True, padding_idx=1).sum())
after(lambda w: F.embedding(L([1, 1]), w, sparse=True, scale_grad_by_freq=True).sum())
after(lambda w: S(F.embedding(L([3, 1]), w, sparse=True)) + S(F.embedding(L([2, 3]), w, sparse=True)))
after(lambda w: F.embedding(L([1, 1]), w, sparse=True).sum() + w.sum())
after(lambda w: F.embedding_bag(L([1, 2, 2, 0]), w, L([0, 3]), mode="mean", sparse=True, padding_idx=2).sum())
after(lambda w: F.embedding_bag(L([1, 2, 2, 0]), w, L([0, 3]), mode="sum", sparse=True, per_sample_weights=p).sum())
twice(lambda w: S(F.embedding(L([1, 0]), w, sparse=True)), lambda w: S(F.embedding(L([2, 1]), w, sparse=True)))
twice(lambda w: F.embedding(L([1, 0]), w, sparse=True).sum(), lambda w: w.sum())
twice(lambda w: w.sum(), lambda w: F.embedding(L([1, 0]), w, sparse=True).sum())
hooked(lambda w: F.embedding(L([1, 0]), w, sparse=True).sum())
torch.autograd.grad(F.embedding(L([1, 1]), t, sparse=True).square().sum(), t, create_graph=True)
again(F.embedding(L([1]), t, sparse=True).square().sum())
F.embedding(L([1]), t, sparse=True).grad_fn, torch.nn.Embedding(4, 2, sparse=True)
""")

WITH_TABLES = """
S, L, p = lambda x: (x * x).sum(), torch.tensor, torch.tensor([1.0, 2.0, 3.0, 4.0])
t = torch.arange(8.0).view(4, 2).requires_grad_()

def after(*losses):
    w = torch.arange(8.0).view(4, 2).requires_grad_()
    for loss in losses:
        loss(w).backward()
    return w.grad, w.grad.layout

twice = after

def again(loss):
    return torch.autograd.grad(torch.sparse.sum(torch.autograd.grad(loss, t, create_graph=True)[0]), t)

def hooked(loss):
    w, seen = torch.ones(4, 2, requires_grad=True), []
    w.register_hook(lambda g: (seen.append(g), g * 2)[1])
    loss(w).backward()
    return seen, w.grad

def steps(make, loss=lambda w: F.embedding(L([1, 1, 2]), w, sparse=True).pow(2).sum()):
    w = torch.arange(8.0).view(4, 2).requires_grad_()
    optimizer = make([w])
    for keep in (True, False):
        loss(w).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=not keep)
    return w.detach().double().mul(1000).round(), w.grad, sorted(optimizer.state[w])
"""


def test_gradients_of_embeddings():
    same(WITH_TABLES, *EMBEDDINGS)


OPTIMIZERS = split("""
steps(lambda w: torch.optim.SGD(w, lr=0.1)), steps(lambda w: torch.optim.SGD(w, lr=0.1, maximize=True))
steps(lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.9)), steps(lambda w: torch.optim.Adagrad(w, lr=0.1))
steps(lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.5, nesterov=True))
steps(lambda w: torch.optim.SGD(w, lr=0.1, weight_decay=0.1))
steps(lambda w: torch.optim.Adagrad(w, lr=0.1, weight_decay=0.1))
steps(lambda w: torch.optim.SparseAdam(w, lr=0.1)), steps(lambda w: torch.optim.SparseAdam(w, lr=0.1, maximize=True))
steps(lambda w: torch.optim.SparseAdam(w, lr=0.1), lambda w: w.sum())
steps(lambda w: torch.optim.Adam(w, lr=0.1))
steps(lambda w: torch.optim.RMSprop(w, lr=0.1))
torch.optim.SparseAdam([s.clone().requires_grad_()])
after(lambda w: F.embedding(L([1, 2]), w, sparse=True).sum()), torch.nn.utils.clip_grad_norm_([t], 1.0)
""")


@pytest.mark.ring("full")
def test_optimizers():
    same(WITH_TABLES, *OPTIMIZERS)


COMPRESSED = split("""
r, d.to_sparse_csc(), d.to_sparse_bsr((2, 2)), d.to_sparse_bsc((2, 2)), d.to_sparse(layout=torch.sparse_csr)
r.crow_indices(), r.col_indices(), r.values(), d.to_sparse_csc().ccol_indices(), d.to_sparse_csc().row_indices()
r.ccol_indices()
r.indices()
r.coalesce()
r.layout, r.is_sparse, r.is_sparse_csr, r._nnz(), r.sparse_dim(), r.dense_dim(), r.numel()
r.stride()
r.to_sparse(), r.to_sparse_csc(), r.to_dense(), d.to_sparse_bsr((2, 2)).to_dense(), d.to_sparse_coo().to_sparse_csr()
d.to_sparse_csc().to_dense(), d.to_sparse_bsc((2, 1)).to_dense()
torch.arange(8.0).view(2, 2, 2).to_sparse_csr(dense_dim=1)
d.to_sparse_bsr((3, 2))
r.t(), r.transpose(0, 1).layout, r * 2, r + r, r * r, -r, r.sin(), r.sum(), r.clone(), r.double(), r.detach()
r + d, d + r, r * d, d.sparse_mask(r), r[0], r[0, 1], r.to_sparse_csr() is r, torch.zeros_like(r)
r @ w[:1].expand(4, 2), r @ d, d @ r, r @ d[0], d.to_sparse_csc() @ d, d.to_sparse_bsr((2, 2)) @ d
(r @ r).to_dense(), torch.addmm(d, r, d), torch.sparse.mm(r, d), torch.sparse.sampled_addmm(r, d, d)
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0]), torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2))
torch.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0], [3, 4]]], (2, 2))
torch.sparse_csr_tensor([0, 1, 3], [0, 1], v[:2], (2, 2))
torch.sparse_csr_tensor([0, 1, 3], [0, 1], v[:2], (2, 2), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 2], [0, 5], v[:2], (2, 2), check_invariants=True)
torch.sparse_compressed_tensor([0, 1], [0], [1.0])
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), layout=torch.sparse_csc).to_dense()
k, k.grad_fn, (k @ d).grad_fn, torch.autograd.grad((k @ d).square().sum(), q), k.to_dense()
""")


@pytest.mark.ring("full")
def test_compressed():
    begin = """
q = torch.arange(1.0, 6.0).requires_grad_()
k = torch.sparse_csr_tensor(r.crow_indices(), r.col_indices(), q, (4, 4))
"""
    same(begin, *COMPRESSED)


BATCHES = split("""
b.shape, b.crow_indices(), b.col_indices(), b.values(), b._nnz(), b.sparse_dim(), b.dense_dim(), b.layout
b, b.to_dense(), b[1], b[0].to_dense(), b.sum(), torch.zeros_like(b), torch.zeros_like(b, layout=torch.sparse_csc)
torch.zeros_like(b, layout=torch.sparse_coo)._nnz(), b.clone(), b.double().dtype, torch.stack([d, d]).to_sparse_csr()
torch.stack([d, d]).to_sparse_bsr((2, 2)).values().shape, torch.stack([d, d.t()]).to_sparse_csc().to_dense()
torch.stack([d, d * 0]).to_sparse_csr()
torch.zeros_like(r, layout=torch.strided)
torch.zeros_like(d.to_sparse_bsr((2, 2)), layout=torch.sparse_bsc)
torch.sparse_compressed_tensor([[0, 1], [0, 1]], [0], [1.0], (2, 1, 1), layout=torch.sparse_csr, check_invariants=True)
""")


@pytest.mark.ring("full")
def test_batches_of_compressed_matrices():
    begin = """
heads, columns = torch.tensor([[0, 1, 2], [0, 0, 2]]), torch.tensor([[1, 0], [0, 2]])
b = torch.sparse_csr_tensor(heads, columns, torch.arange(1.0, 5.0).view(2, 2), (2, 2, 3))
"""
    same(begin, *BATCHES)


REDUCED = split("""
[torch.sparse.mm(r, y, how) for how in ("sum", "mean", "amax", "amin")]
[reduced(how) for how in ("sum", "mean", "amax", "amin")]
torch.sparse.mm(r, y, "prod")
torch.sparse.mm(r, y, "median")
torch.sparse.mm(d.to_sparse_csc(), y, "amax")
torch.sparse.mm(d, y, "amax")
torch.sparse.mm(r, r, "amax")
torch.sparse.mm(r, y[1:], "amax")
torch.masked.sum(c, 0, mask=c.to_dense() > 3), torch.masked.amax(c, 1, mask=c.to_dense() > 0)
torch.masked.mean(r, 0, keepdim=True, mask=r), torch.masked.prod(c, mask=c.to_dense() > 0)
torch.masked.prod(c)
r.sum(0, keepdim=True), r.sum(1, keepdim=True), r.sum((0, 1), keepdim=True)
r.sum(0)
""")


@pytest.mark.ring("full")
def test_reductions_of_what_is_there():
    begin = """
y = torch.arange(8.0).view(4, 2).sub(3.5)
def reduced(how):
    a, b = d.to_sparse_csr().requires_grad_(), y.clone().requires_grad_()
    out = torch.sparse.mm(a, b, how)
    (out * torch.arange(8.0).view(4, 2)).sum().backward()
    return out.grad_fn.name(), a.grad, b.grad
"""
    same(begin, *REDUCED)


CHECKS = split("""
check(lambda x: torch.sparse.mm(x, y), d.to_sparse(), True), check(lambda x: torch.sparse.mm(x, y), r, True)
check(lambda x: torch.sparse.sum(x), d.to_sparse(), True), check(lambda x: (x * x).to_dense(), d.to_sparse(), True)
check(lambda x: x * x, d.to_sparse(), True)
check(lambda x: torch.sparse.mm(x, y), d.to_sparse(), False)
check(lambda x: torch.sparse.mm(x, y), r, False)
check(lambda x: x @ y, d.to_sparse(), False), check(lambda x: (x * 2).t() @ y, r, False)
check(lambda x: x.to_dense(masked_grad=False).sin(), d.to_sparse(), False), check(lambda x: x.sum(), r, False)
check(lambda x: x.to_dense().sin(), d.to_sparse(), True), check(lambda x: x.to_dense(masked_grad=True), r, False)
gradcheck(lambda z: torch.sparse.mm(r.double(), z), (y.requires_grad_(),))
check(lambda x: x @ y, d.to_sparse(), True), check(lambda x: x @ y, r, True), check(lambda x: x.sum(), r, True)
check(lambda x: x.sum(), d.to_sparse(), True), check(lambda x: d.double() + x, d.to_sparse(), True)
check(lambda x: x.to_dense(masked_grad=False), r, True), check(lambda x: x.to_dense(masked_grad=True), r, True)
check(lambda x: (x * 2).to_dense(masked_grad=False), d.to_sparse(), True), check(lambda x: x @ y, r, True, True)
check(lambda x: x.sum(), d.to_sparse(), True, True)
""")


@pytest.mark.ring("full")
def test_gradcheck():
    begin = """
from importlib import import_module
gradcheck, y = torch.autograd.gradcheck, torch.arange(8.0, dtype=torch.float64).view(4, 2).sub(3.5)
def check(function, x, masked, fast=False):
    x = x.double().requires_grad_()
    return gradcheck(function, (x,), masked=masked, raise_exception=False, fast_mode=fast)
"""
    same(begin.replace("from importlib import import_module\n", ""), *CHECKS)


DENSE_GRADIENTS = split("""
after(s, lambda a: a.sum()), after(r, lambda a: a.sum()), after(s, lambda a: (a * 2).sum() + a.t().coalesce().sum())
after(h, lambda a: a.sum()), after(h, lambda a: a.sum(0).square().sum()), after(s, lambda a: a.sum((0, 1), True))
after(u, lambda a: a.sum() + torch.sparse.sum(a)), after(u, lambda a: torch.sparse.sum(a)), after(u, lambda a: a.sum())
after(u, lambda a: torch.sparse.mm(a, w).sum()), after(s, lambda a: (a - a * 3).sum(dtype=torch.float64))
torch.autograd.grad(L(s).sum() ** 2, [x := L(s)], allow_unused=True)
torch.autograd.grad(L(s).sum() ** 2, [L(s)])
torch.autograd.grad((x := L(s)).sum() ** 2, [x], materialize_grads=True), [x.sum().backward(inputs=[x]), x.grad][1]
[y.sum().backward(), y.grad.zero_(), y.sum().backward()], y.grad, y.grad is y.grad, setattr(y, "grad", None)
setattr(y, "grad", 3)
setattr(y, "grad", torch.ones(2, 3))
setattr(y, "grad", s.double())
setattr(y, "grad", C(i, v, (3, 3)))
step(lambda a: torch.sparse.sum(a)), step(lambda a: torch.sparse.mm(a, w).sum(), momentum=0.9)
step(lambda a: a.sum())
""")


@pytest.mark.once("layouts of gradients: nothing depends on the order")
def test_sums_give_dense_gradients():
    same("""
L = lambda a: a.detach().requires_grad_()
y = L(s)

def after(a, loss):
    a = L(a)
    loss(a).backward()
    loss(a).backward()
    return a.grad

def step(loss, **options):
    a = L(c)
    optimizer = torch.optim.SGD([a], lr=0.5, **options)
    for _ in range(2):
        optimizer.zero_grad()
        loss(a).backward()
        optimizer.step()
    return a, a.grad, a.is_leaf
""", *DENSE_GRADIENTS)  # fmt: skip


COPIES = split("""
copy.deepcopy(s), copy.copy(c).is_coalesced(), pickle.loads(pickle.dumps(c)), pickle.loads(pickle.dumps(r))
pickle.loads(pickle.dumps(c)).is_coalesced(), copy.deepcopy(s.clone().requires_grad_()), f"{s}"
""")


@pytest.mark.once("indices and texts: nothing depends on the order")
def test_copies():
    same("import copy, pickle", *COPIES)


@pytest.mark.once("indices and texts: nothing depends on the order")
@pytest.mark.parametrize("program", ["c", "s", "h", "r", "d.to_sparse_bsc((2, 2))"])
def test_files_are_read_by_both(program, tmp_path):
    for writer in MODULES:
        names = {"torch": writer}
        exec(BEGIN, names)
        tensor = eval(program, names)
        writer.save({"a": tensor}, tmp_path / "file")
        for reader in MODULES:
            assert repr(reader.load(tmp_path / "file")["a"]) == repr(tensor)
