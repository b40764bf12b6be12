"""Gradients of what sparse tensors have not, beside PyTorch's: of which functions there are some, and what becomes of
them on their way to a dense tensor, or a sparse leaf. See Note [Fill values].
"""

import pytest
from sparse_programs import same, split
from transcripts import MODULES

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

PROGRAM = """
X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
D = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
NUMBERS = [[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]]
E = torch.tensor([[0.0, 0.0, 4.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
F = torch.nn.functional

def leaf_of(origin, convert):
    dense = torch.tensor(NUMBERS, requires_grad=origin == "dense")
    return (dense, convert(dense)) if origin == "dense" else [convert(dense).requires_grad_()] * 2

def gradients(origin, convert, function):
    leaf, s = leaf_of(origin, convert)
    x = X.clone().requires_grad_()
    out = function(s, x)
    (out * torch.arange(1.0, 1 + out.numel()).view(out.shape)).sum().backward()
    layout, own = leaf.grad.layout, leaf.layout is not torch.strided
    places = leaf.grad._nnz() == leaf._nnz() if own and layout is not torch.strided else None
    return out.grad_fn.name(), layout, places, leaf.grad.to_dense(), x.grad
"""

CONVERSIONS = {
    "coo": "d.to_sparse()", "csr": "d.to_sparse_csr()", "csc": "d.to_sparse_csc()", "bsr": "d.to_sparse_bsr((1, 1))",
    "rows": "d.to_sparse(1)",
}  # fmt: skip

CONSUMERS = split("""
s @ x
torch.mm(s, x)
torch.mv(s, x[:, 0])
s.matmul(x[:, 1])
torch.addmm(torch.ones(3, 2), s, x, beta=2, alpha=3)
torch.addmm(torch.ones(3, 2), s, x, beta=0)
torch.addmv(torch.ones(3), s, x[:, 0])
torch.dsmm(s, x)
F.linear(s, x.t())
F.linear(D, s)
x.t() @ s
D @ s
x[:, 0] @ s
torch.bmm(s.unsqueeze(0), x.unsqueeze(0))
torch.sparse.mm(s, x)
torch.sparse.addmm(torch.ones(3, 2), s, x, beta=2, alpha=3)
torch.sparse.mm(s, x) + s @ x
s.to_dense() + s @ D
s.sum()
torch.sparse.sum(s)
s.to_dense()
s.to_dense(masked_grad=True)
s.to_dense(masked_grad=False)
D + s
D - s
torch.add(D, s, alpha=3)
D.clone().add_(s)
D.clone().sub_(s, alpha=2)
s[0, 1]
s[0].sum()
s[0] @ x
(s @ E.to_sparse()) @ x
(s @ E.to_sparse_csr()) @ x
s.sum(0) @ x
s.sum(1, keepdim=True).sum()
""")

CHAINS = split("""
s * 2
s * torch.tensor(2.0)
-s
s / 2
s / torch.tensor(4.0)
s.t()
s.transpose(0, 1)
s.mT
s.permute(1, 0)
s.movedim(0, 1)
s.clone()
s.coalesce()
s + s
s - s * 3
s + s.detach()
E.to_sparse() + s
s - E.to_sparse()
E.to_sparse_csr() + s
(s * 1).mul_(3)
(s * 1).add_(E.to_sparse())
s.to_sparse()
s.to_sparse_csr()
s.to_sparse_csc()
s.to_sparse_coo() * 2
s.to(torch.float64).to(torch.float32)
s.double().float()
s.conj()
s.deg2rad()
s.unsqueeze(0).sum(0)
s.unsqueeze(0)[0]
torch.stack([s, s * 2]).sum(0)
torch.cat([s, s * 2])
torch.cat([s, -s], 1).t()
s.index_select(0, torch.tensor([2, 0, 2]))
s * E
s * E.to_sparse()
s * s
s.sparse_mask(s.detach())
F.dropout(s, 0.0)
torch.stack([s, s])[1]
""")

OTHER_PLACES = {"E.to_sparse() + s", "s - E.to_sparse()", "(s * 1).add_(E.to_sparse())", "E.to_sparse_csr() + s"}
"""Sums that have places that a leaf has not: ``torch.sparse.mm`` gives a leaf no gradient there, other than PyTorch."""


def found(program, origin, conversion):
    """What both give: names of nodes, layouts and numbers, or what one raises."""
    results = []
    for module in MODULES:
        names = {"torch": module}
        exec(PROGRAM, names)
        convert, function = (eval(f"lambda {names_of}: {text}", names) for names_of, text in (
            ("d", CONVERSIONS[conversion]), ("s, x", program)))  # fmt: skip
        try:
            results.append(names["gradients"](origin, convert, function))
        except Exception as error:
            results.append(error)
    return results


def agree(program, origin, conversion):
    """Assert that gradients are PyTorch's, if it has some; whether it has."""
    theirs, ours = found(program, origin, conversion)
    if isinstance(theirs, Exception):
        return False
    assert not isinstance(ours, Exception), ours
    assert ours[0] == theirs[0]
    if repr(theirs[1]) == "torch.strided" or (theirs[2] and "masked_grad=False" not in program):
        assert repr(ours[1]) == repr(theirs[1]), "layout"
    for one, two in zip(ours[3:], theirs[3:], strict=True):
        assert (one is None) == (two is None)
        assert one is None or one.tolist() == [pytest.approx(row, rel=1e-5) for row in two.tolist()]
    return True


@pytest.mark.ring("full")
@pytest.mark.parametrize("program", CONSUMERS)
def test_functions(program):
    done = [agree(program, origin, conversion) for origin in ("dense", "leaf") for conversion in CONVERSIONS]
    assert any(done)


@pytest.mark.ring("full")
@pytest.mark.parametrize("chain", CHAINS)
def test_what_is_made_of_them(chain):
    columns = "[:, 0]" if chain.startswith("torch.cat([s, -s]") else ""
    done = []
    for origin in ("dense", "leaf"):
        for conversion in ("coo", "csr", "csc"):
            done.append(agree(f"({chain}) @ x{columns}", origin, conversion))
            done.append(agree(f"({chain}).sum()", origin, conversion))
            if origin == "dense" or chain not in OTHER_PLACES:
                done.append(agree(f"torch.sparse.mm({chain}, x)", origin, conversion))
                done.append(agree(f"({chain}).to_dense()", origin, conversion))
    assert any(done)


TWO = split("""
torch.sparse.mm(a + b, X)
(a - b * 2) @ X + torch.sparse.mm(a - b, X)
torch.sparse.mm(((a + b) * 3 + b).t(), X)
((a + b) * 3 + b).t() @ X
(a @ b).to_dense()
torch.sparse.mm(a, b).to_dense()
((a @ b) + a) @ X
((a @ b) + a).to_dense()
(a * (b + a)) @ X
((a + b) * D) @ X
torch.cat([a, b, a + b]) @ X
torch.sparse.mm(a.to_sparse_csr() + b.to_sparse_csr(), X)
(a.to_sparse_csr() @ b.to_sparse_csr()) @ X
(a + b)[0] @ X
torch.add(D, a, alpha=2).sub(b, alpha=3)
torch.hspmm(a, X).to_dense()
torch.smm(a, X).to_dense()
torch.sspaddmm(C((3, 2)), a, X).to_dense()
""")

CHECKS = split("""
second(lambda d: (d.to_sparse() @ X).pow(3).sum()), second(lambda d: (X.t() @ d.to_sparse_csr()).pow(3).sum())
second(lambda d: (d.to_sparse() @ (d @ X)).sum()), second(lambda d: ((D + d.to_sparse() * 2) ** 3).sum())
second(lambda d: torch.bmm(d.to_sparse().unsqueeze(0), X[None]).pow(3).sum())
mixed(lambda d, x: (d.to_sparse() @ x).pow(3).sum())
mixed(lambda d, x: torch.mv(d.to_sparse() * x[0, 0], x[:, 1]).sum())
several(lambda a: (a @ X).sum(), lambda a: torch.sparse.mm(a, X).sum(), lambda a: (a @ X).sum())
several(lambda a: torch.sparse.mm(a, X).sum(), lambda a: (a @ X).sum())
several(lambda a: a.sum(), lambda a: a.to_dense().sum())
written(lambda e: e.mul_(5)), written(lambda e: e[0].zero_()), written(lambda e: e.detach().zero_())
(s := L(), (s @ X).sum().backward(), s.grad.zero_(), (s.to_dense() @ X).sum().backward(), s.grad)[4]
(s := L(), (s @ X).sum().backward(), setattr(s, "grad", None), torch.sparse.mm(s, X).sum().backward(), s.grad.layout)[4]
(s := L(), x := X.clone().requires_grad_(), (s @ x).sum().backward(inputs=[x]), s.grad, x.grad)[3:]
(s := L(), x := X.clone().requires_grad_(), (s @ x).sum().backward(inputs=[s]), s.grad, x.grad)[3:]
(s := L(), torch.autograd.grad((s @ X).sum(), s))[1]
(s := W().to_sparse(), torch.autograd.grad((s @ X).sum(), s))[1]
(s := W().to_sparse(), s.retain_grad(), (s @ X).sum().backward(), s.grad)[3]
(s := L(), t := s.detach().requires_grad_(), (t @ X).sum().backward(), s.grad, t.grad)[3:]
(d := W(), s := d.to_sparse() * 2, unrecorded(s), (s @ X).sum().backward(), d.grad)[4]
torch.func.grad(lambda d: ((d.to_sparse() @ X) ** 2).sum())(D), torch.func.jacrev(lambda d: d.to_sparse() @ X)(D)
torch.func.jacrev(torch.func.jacrev(lambda d: ((d.to_sparse() @ X) ** 2).sum()))(D)
(d := W(), checkpoint(lambda d: (d.to_sparse() * 2) @ X, d, use_reentrant=False).sum().backward(), d.grad)[2]
(s := L(), long(s).sum().backward(), s.grad)[2]
(b := B(), b.to_sparse_csr().sum().backward(), b.grad)[2]
(b := B(), torch.bmm(b.to_sparse(), torch.stack([X, -X])).sum().backward(), b.grad)[2]
(b := B(), b.to_sparse_csr().to_dense(masked_grad=False).sum().backward(), b.grad)[2]
(v := torch.tensor([3.0, 4.0], requires_grad=True), (C([[0, 1], [2, 0]], v, (3, 3)) @ X).sum().backward(), v.grad)[2]
""")

HELPERS = """
checkpoint = torch.utils.checkpoint.checkpoint
C = torch.sparse_coo_tensor
W = lambda: torch.tensor(NUMBERS, requires_grad=True)
B = lambda: torch.tensor([NUMBERS, NUMBERS[::-1]], requires_grad=True)
L = lambda: torch.tensor(NUMBERS).to_sparse().requires_grad_()

@torch.no_grad()
def unrecorded(s):
    return s @ X

def two(function):
    a, b = W(), E.clone().requires_grad_()
    out = function(a.to_sparse(), b.to_sparse())
    (out * torch.arange(1.0, 1 + out.numel()).view(out.shape)).sum().backward()
    return out.grad_fn.name(), a.grad, b.grad

def second(function):
    d = W()
    first, = torch.autograd.grad(function(d), d, create_graph=True)
    return first.detach(), torch.autograd.grad((first ** 2).sum(), d)

def mixed(function):
    inputs = W(), X.clone().requires_grad_()
    first = torch.autograd.grad(function(*inputs), inputs, create_graph=True)
    return [one.detach() for one in first], torch.autograd.grad(sum((one ** 2).sum() for one in first), inputs)

def several(*losses):
    a, shown = L(), ["gradients"]
    for loss in losses:
        loss(a).backward()
        shown.append(a.grad.clone())
    return shown

def written(write):
    d = W()
    e = d * 1
    s = e.to_sparse()
    write(e)
    ((s @ X).sum() + e.sum()).backward()
    return d.grad

def long(s):
    for _ in range(1200):
        s = s * 1.0
    for _ in range(10):
        s = s + s
    return s @ X
"""


def test_sums_and_products_of_two():
    same(PROGRAM + HELPERS, *[f"two(lambda a, b: {program})" for program in TWO])


def test_orders_accumulation_writes_and_transforms():
    same(PROGRAM + HELPERS, *CHECKS)


def test_steps_that_are_compiled():
    names = {"torch": tapegrad}
    exec(PROGRAM, names)

    def losses(step):
        shown = []
        for _ in range(4):
            dense, x = tapegrad.tensor(names["NUMBERS"], requires_grad=True), names["X"].clone().requires_grad_()
            loss = step(dense, x)
            loss.backward()
            shown.append([loss.item(), dense.grad.tolist(), x.grad.tolist()])
        return shown

    def step(dense, x):
        return ((dense.to_sparse() @ x) ** 2).sum()

    assert losses(tapegrad.compile(step)) == losses(step)


def test_nothing_is_made_of_the_size_of_a_large_matrix():
    """Its gradient would take 160 GB."""
    count = 200_000
    places = tapegrad.arange(10) * 1000
    leaf = tapegrad.sparse_coo_tensor(tapegrad.stack([places, places]), tapegrad.ones(10), (count, count))
    leaf.requires_grad_()
    other = tapegrad.sparse_coo_tensor(tapegrad.stack([places, places + 1]), tapegrad.ones(10), (count, count))
    x = tapegrad.ones(count, 2)
    tapegrad.sparse.mm(leaf * 2 + other, x).sum().backward()
    assert leaf.grad.layout is tapegrad.sparse_coo and leaf.grad._values().tolist() == [4.0] * 10
    assert (leaf @ x).sum() == 20 and leaf.t().sum() == 10
    with tapegrad.no_grad():
        assert (leaf @ x).sum() == 20


def test_tangents_are_those_of_dense_products():
    names = {"torch": tapegrad}
    exec(PROGRAM, names)
    dense, x, tangent = (names[name] for name in ("E", "X", "D"))
    for function in (lambda d: d.to_sparse() @ x, lambda d: x.t() @ (d.to_sparse() * 2), lambda d: d.to_sparse().sum(),
                     lambda d: tangent + d.to_sparse()):  # fmt: skip
        found = tapegrad.func.jvp(function, (dense,), (tangent,))[1]
        zero = function(tapegrad.zeros(3, 3))
        assert found.tolist() == (function(tangent) - zero).tolist()
