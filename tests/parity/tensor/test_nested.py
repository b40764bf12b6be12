"""Nested tensors, beside PyTorch's: what they are and show, their functions, gradients, errors, and layers."""

import io
import re

import pytest
import torch as pytorch
from harness import attempt
from late_database import listed
from nested_database import ENTRIES, OTHERWISE, compared
from transcripts import MODULES

import tapegrad
from tests.rings import reaches

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

BEGIN = """
import copy, pickle, io
T, F, N = torch, torch.nn.functional, torch.nested
I = __import__("importlib").import_module(f"{torch.__name__}.nested._internal.nested_tensor")
a, b = T.arange(6.).view(2, 3), T.arange(9.).view(3, 3) + .5
def nt(*ts, **k): return N.nested_tensor(list(ts) or [a, b], layout=T.jagged, **k)
def S(*ts, **k): return N.nested_tensor(list(ts) or [a, b], **k)
def P(*xs): return [R(x.values()) if isinstance(x, T.Tensor) and x.is_nested else x for x in xs]
def R(x): return str(x.dtype)[-7:], (__import__("numpy").round(x.detach().double().numpy(), 3) + 0.).tolist()
x, l, s = nt(), nt(requires_grad=True), S()
t = x.transpose(1, 2)
v, o = T.arange(10.).view(5, 2), T.tensor([0, 2, 5])
n, h = N.nested_tensor_from_jagged(v, o), N.nested_tensor_from_jagged(v, o, T.tensor([1, 2]))
def Q(q): return q, q.lengths(), q.offsets(), q.unbind(), q.contiguous().values(), q.numel()
w = (T.arange(12.).view(4, 3) / 7 - .7).requires_grad_()
"""


def shown(found):
    """A text of what a program gives, in which ragged lengths and objects have no numbers of their own."""
    raised = isinstance(found, list) and isinstance(found[0], str) and found[0] == "raised"
    text = ": ".join(found[1:3]) if raised else repr(found)
    text = text.partition("This could be")[0].partition("; ")[0].replace("tapegrad.", "torch.")
    return re.sub(r"j\d+", "j", re.sub(r" object at 0x\w+", "", text))


def same(*lines, begin=""):
    """Assert that lines show the same on both."""
    texts = []
    for module in MODULES:
        names = {"torch": module}
        exec(BEGIN + begin, names)
        texts.append([shown(attempt(lambda: eval(line, names))) for line in lines])  # noqa: B023 - called at once
    differ = [f"{line}\n{ours}\nexpected\n{theirs}"
              for line, theirs, ours in zip(lines, *texts, strict=True) if ours != theirs]  # fmt: skip
    assert not differ, "\n\n".join(differ)


def split(text):
    return [line for line in text.strip().splitlines() if line]


MADE = split("""
x, str(l), x.double(), n, h, t, isinstance(x.size(1), T.SymInt)
x.shape, x.size(), x.size(1), x.size(-1), x.size(0), x.dim(), x.ndim, len(x), x.numel(), x.stride(), x.dtype, x.device
x.layout, type(x), x.shape[1] * 2, 2 * x.shape[1], x.shape[1] == x.shape[1], x.shape[1] == 3, x.shape[1] >= 0
x.shape[1] > 1, x.size(1) == l.size(1), x.size(1) == (x + 1).size(1), x.size(1) == x.double().size(1)
x.shape[1] > 5
x.is_nested, x.is_leaf, l.is_leaf, (l * 2).is_leaf, l.grad_fn, x.is_sparse, x.is_contiguous(), t.is_contiguous()
T.ones(2).is_nested, T.ones(2).layout, x.storage_offset(), x.element_size(), x.nbytes, x.itemsize, x.is_pinned()
x.values(), x.offsets(), x.lengths(), x.unbind(), x._ragged_idx, x._values, t._ragged_idx, h.lengths()
x.requires_grad, x.get_device(), x.nelement(), x.is_floating_point(), x.is_inference(), x.dim_order(), x.type()
x.tolist()
x.numpy()
x.item()
bool(x)
x.new_zeros(2)
x.new_zeros(()), x.new_ones(()).shape
n.to_padded_tensor(0.).shape, n._max_seqlen, n.to_padded_tensor(0.).shape, n._min_seqlen, x._maybe_max_seqlen
h.unbind(), h.contiguous(), h.contiguous().values(), h.numel(), h.is_contiguous(), h.clone(), h.values().shape
h.sum(), h.mean(), h.max()
h.to_padded_tensor(0.)
N.nested_tensor_from_jagged(v)
N.nested_tensor_from_jagged(v, lengths=T.tensor([2, 3]))
N.nested_tensor_from_jagged(v, o, jagged_dim=0)
N.nested_tensor_from_jagged(v.t(), o, jagged_dim=2), N.nested_tensor_from_jagged(v, o, max_seqlen=7)._max_seqlen
N.nested_tensor_from_jagged(v, o, T.tensor([1]))
N.nested_tensor_from_jagged(v, o.view(3, 1))
nt([])
N.nested_tensor([], layout=T.jagged)
nt(a, b.double())
nt(a, b[0])
nt(T.tensor(1.))
nt(T.ones(2, 3), T.ones(3, 4))
nt(T.ones(2, 3), T.ones(2, 4)), nt([1, 2], [3]).values(), nt([1, 2], [3], dtype=T.float64).values()
S(a, layout=T.sparse_coo)
N.as_nested_tensor(3)
N.as_nested_tensor(T.ones(2))
N.as_nested_tensor(T.ones(2, 3, 4), layout=T.jagged), N.as_nested_tensor((a, b), layout=T.jagged, dtype=T.float64)
N.as_nested_tensor(x, layout=T.jagged) is x
N.as_nested_tensor(x)
[q for q in [N.narrow(v, 1, T.tensor([0, 1, 0, 1, 0]), T.tensor([2, 1, 1, 1, 2]), layout=T.jagged)] for q in Q(q)]
N.narrow(v, 1, 0, 1, layout=T.jagged), N.narrow(v, 1, 0, 2, layout=T.jagged).unbind()
N.narrow(v, 0, 0, 2, layout=T.jagged)
N.narrow(v, 1, 'a', 2, layout=T.jagged)
N.narrow(v, 1, T.tensor(0), 2)
N.narrow(v, 1, T.tensor([0, 1]), 2, layout=T.jagged)
N.masked_select(a, a > 1).unbind(), N.masked_select(a, T.tensor([False]))
N.masked_select(x, x > 1)
pickle.loads(pickle.dumps(l)), copy.deepcopy(l), copy.copy(x), pickle.loads(pickle.dumps(h)).unbind()
x.to(T.float64), x.double(), x.cpu() is x, x.to('cpu') is x, x.half().dtype, x.type(T.int32).dtype, x.float() is x
T.zeros_like(x), P(T.ones_like(x), T.full_like(t, 2.), T.zeros_like(h, dtype=T.int32)), T.randn_like(x).shape
I.NestedTensor(v, o), I.NestedTensor(v, o, lengths=T.tensor([1, 2]), requires_grad=True)
I.jagged_from_list([a, b], None)
I.nested_view_from_values_offsets(v, o), I.buffer_from_jagged(x), I.ViewNestedFromBuffer.apply(v, o)
I.nested_view_from_values_offsets_lengths(v, o, None), I.get_tensor_symint(o) == n.size(1)
I.nested_from_padded(T.arange(12.).view(2, 3, 2), o).values(), x.__tensor_flatten__()[0], h.__tensor_flatten__()
N.to_padded_tensor(x, 0.), x.to_padded_tensor(-1.), x.to_padded_tensor(0., (2, 5, 3)), x.to_padded_tensor(0, (2, 2, 3))
t.to_padded_tensor(7.), nt(T.tensor([1, 2]), T.tensor([3])).to_padded_tensor(9), (x > 1).to_padded_tensor(False)
T.ones(2).to_padded_tensor(0.)
x.to_dense()
x.data, x.detach(), l.detach().requires_grad, x.requires_grad_().is_leaf, v.requires_grad
""")


@pytest.mark.once("parts, shapes and texts: nothing depends on the order")
def test_how_they_are_made_and_shown():
    same(*MADE)


FUNCTIONS = split("""
P(x + x, x - x, x * x, x / (x + 1), x + 1, 2 * x, 1 - x, x ** 2, 2 ** x, x % 2, -x, +x, abs(x - 3), 2 / (x + 1))
P(x + T.ones(3), T.ones(3) * x, x * T.ones(2, 1, 3), x + T.tensor(2.), x + T.ones(1, 1, 3), t + T.ones(2, 3, 1))
P(x == x, x != 1, x > 1, x <= x, ~(x > 1), (x > 1) & (x < 5), T.atan2(x, x + 1), T.maximum(x, x), T.lerp(x, x, .5))
x + nt()
x + T.ones(2, 3)
x + T.ones(1, 2, 1, 3)
h + T.ones(2, 1, 2)
P(F.softmin(x, -1), x.real, x.conj())
x.imag
T.addcmul(x, x, x)
T.lerp(x, x, x)
x // 2
x.floor_divide(2)
x.cumsum(1)
x.sort()
x.std()
x.var(1)
x.norm()
x.t()
x.topk(1)
x.flip(1)
x.nonzero()
x.logsumexp(-1)
x.gather(1, x.long())
x.count_nonzero()
F.mse_loss(x, x)
F.glu(x)
F.pad(x, (1, 1))
F.logsigmoid(x)
T.allclose(x, x)
P(F.relu(x - 3), F.gelu(x), F.silu(x), F.leaky_relu(x - 3), F.elu(x - 3), F.softplus(x), F.hardtanh(x), x.sigmoid())
P(x.clamp(0, 1), x.clamp(min=x), T.nan_to_num(x), T.isnan(x), x.exp().log1p(), T.special.expit(x), x.round(decimals=1))
P(x.masked_fill(x > 1, 0.), T.where(x > 1, x, x), T.where(x > 1, x, 0.), T.where(x > 1, x, T.ones(3)))
T.where(T.ones(3) > 1, x, x)
T.where(x > 1, x, T.ones(2, 1, 3))
P(x.clone().mul_(2), x.detach().clone().add_(x), x.clone().clamp_(max=2), x.clone().zero_(), x.clone().fill_(3))
P(x.clone().copy_(nt(a + 1, b)), x.clone().relu_())
x.copy_(nt(b, a))
x.copy_(T.ones(2))
x.clone().masked_fill_(x > 1, 0.)
P(T.frexp(x)[0], T.frexp(x)[1]), x.bool().any(), x.bool().all(1), (x > 1).sum(1)
x.sum(1), x.sum(), x.sum(2), x.sum((0, 1)), x.mean(1), x.max(1), x.max(), x.mean(), x.min(1).indices, x.sum(2).values()
x.sum(dim=[0, 1], keepdim=True), x.mean((0, 1, 2)), x.sum(-1, keepdim=True).shape, x.sum(1, keepdim=True).shape
x.prod(), x.prod(1), x.amax(1), x.amin((0, 1)), x.argmax(), x.argmax(1), x.amax(2).values()
t.sum(1), t.sum(2), t.mean(2)
x.long().amax(1), x.long().min(1).values, x.sum(1, dtype=T.float64), T.sum(x, dim=1), T.max(x, x).values(), n.amax(1)
x.sum(0)
x.sum((1, 2))
x.mean((1, 2))
h.sum(1)
x.amax(0)
P(F.softmax(x, -1), F.softmax(x, 1), F.log_softmax(x, -1), x.softmax(-1), F.softmax(x, -1, dtype=T.float64))
F.softmax(x, 0)
t.softmax(2)
F.log_softmax(x, 1)
h.softmax(1)
P(F.layer_norm(x, (3,)), F.layer_norm(x, x.shape[1:]), F.rms_norm(x, (3,)), F.layer_norm(x, (3,), T.ones(3), T.ones(3)))
F.layer_norm(x.sum(2), (3,))
F.layer_norm(x, x.shape)
F.rms_norm(x, x.shape[1:])
P(F.dropout(x, 0.0), F.dropout(x, training=False), F.one_hot(x.long()), F.linear(x, T.ones(2, 3)))
F.linear(t, T.ones(2, 2))
F.embedding(nt(T.tensor([1, 2]), T.tensor([0])), w).values(), F.embedding_bag(nt(T.tensor([1, 2]), T.tensor([3])), w)
P(x @ T.ones(3, 2), T.bmm(x, T.ones(2, 3, 2)), T.matmul(T.ones(2, 3, 3), t), T.ones(2, 3) @ t), t @ x
x @ t
T.bmm(x, T.ones(3, 2))
T.einsum('bij,jk->bik', x, T.ones(3, 3))
""")


@pytest.mark.ring("full")
def test_functions():
    same(*FUNCTIONS)


SHAPES = split("""
P(x.reshape(2, -1, 3, 1), x.view(2, -1, 3, 1), x.view(2, x.size(1), 1, 3), x.unflatten(-1, (3, 1)), x.view_as(x))
x.reshape(2, -1)
t.view(2, 3, -1)
x.flatten(1)
x.flatten()
x.view(2, -1, 3, 1).flatten(2), x.unsqueeze(1).shape, x.unsqueeze(-1).shape, x.unsqueeze(-1).squeeze(-1), t.unsqueeze(1)
x.unsqueeze(0)
x.squeeze()
x.squeeze(1)
t.squeeze(-1)
t, t.contiguous(), x.permute(0, 2, 1).shape, x.mT, x.swapaxes(1, 2), x.movedim(1, 2), x.adjoint(), t.transpose(1, 2)
x.transpose(0, 1)
x.T
x.permute(0, 1)
x.permute(0, 1, 1)
x[0], x[-1], x[1, 0], list(x), x[..., 0].values(), x[0, :, 1], x.select(2, 1).values(), t.select(1, 1), x.select(0, 1)
x[:, 0]
x[1:]
x[5]
x[T.tensor([0, 1])]
x.select(1, 0)
h.select(2, 0)
x.unbind(1)
P(*x.split(1, -1), *x.chunk(2), *x.chunk(3, -1), x.narrow(2, 0, 2), *x.split([1, 2], 2)), x.chunk(2)
P(*T.tensor_split(x, 3, 2))
x.split(1)
x.chunk(2, 1)
h.narrow(2, 0, 1)
P(T.cat([x, x], -1), T.stack([x, x], 2), T.cat([x, T.ones(3)], 2), T.stack([x, x], -1))
T.cat([x, x], 1)
T.cat([x, x])
T.stack([x, x])
T.stack([x, nt()], 2)
T.stack([x, T.ones(3)], 2)
x.expand(2, x.size(1), 3), x.sum(2, keepdim=True).expand(2, -1, 4), x.expand_as(x), x.is_same_size(x)
x.expand(3, -1, 3)
x.repeat(1, 1, 2)
x.index_select(0, T.tensor([0]))
P(T.masked_select(x.sum(2), x.sum(2) > 4)), T.masked_select(x.sum(2), x.sum(2) > 4)
P(x.index_put([T.tensor([0, 1]), T.tensor([1, 2])], T.tensor(9.)), x.index_put([T.tensor([1])], T.tensor(9.)))
""")


@pytest.mark.ring("full")
def test_shapes_and_parts():
    same(*SHAPES)


GRADIENTS = split("""
(l * 2).grad_fn.name(), l.is_leaf, [p.requires_grad for p in l.unbind()], l.values().requires_grad, l.grad
P(*T.autograd.grad((l * l).sum(), l)), T.autograd.grad((l * l).sum(), l), P(*T.autograd.grad(l * l, l, T.ones_like(l)))
P(*T.autograd.grad(l.to_padded_tensor(3.).square().sum(), l))
P(*T.autograd.grad(l.amax(2).values().square().sum(), l))
P(*T.autograd.grad(F.linear(l, w).square().sum(), [l])), P(*T.autograd.grad((l @ w.t()).square().sum(), [l]))
P(*T.autograd.grad(F.layer_norm(l, (3,), w[0], w[1]).square().sum(), [l]))
P(*T.autograd.grad((l * w[:2].view(2, 1, 3)).square().sum(), [l, w]))
P(*T.autograd.grad((l + w[0]).square().sum(), [w]))
P(*T.autograd.grad((l.transpose(1, 2) @ l).square().sum(), l))
P(*T.autograd.grad(T.cat([l, l * 2], 2).square().sum(), l))
P(*T.autograd.grad(l[1].square().sum(), l)), P(*T.autograd.grad(sum(q.sum() for q in l.unbind()), l))
T.autograd.grad(F.embedding(nt(T.tensor([1, 2]), T.tensor([1])), w).square().sum(), w)
[T.autograd.grad((y * y).sum(), [w]) for y in [N.as_nested_tensor([w, w[:1]], layout=T.jagged)]]
(l * 3).backward()
[(l * 3).sum().backward(), l.grad, l.grad.values(), setattr(l, "grad", None), l.grad]
[l.register_hook(lambda g: g * 2) and 0, (l * 3).sum().backward(), l.grad.values()]
[(y.sum().backward(), T.optim.SGD([y], lr=.5).step(), R(y.values()))[2] for y in [nt(requires_grad=True)]]
N.as_nested_tensor([w, w[:1]], layout=T.jagged).requires_grad, N.as_nested_tensor([w], layout=T.jagged).is_leaf
""")


@pytest.mark.ring("full")
def test_gradients():
    same(*GRADIENTS)


LAYERS = split("""
P(m(x), T.nn.Sequential(m, T.nn.GELU(), T.nn.LayerNorm(4))(x), T.nn.RMSNorm(3)(x), T.nn.Dropout(0.)(x))
T.nn.Embedding(9, 2, _weight=T.ones(9, 2))(nt(T.tensor([1, 2]), T.tensor([3])))
A(q, k, q, scale=2.), P(A(q, k, q), A(q, q, q), A(q, r, r))
A(q, q, q, attn_mask=T.ones(2, 2))
A(q, q, T.ones(2, 2, 3, 4))
A(x, x, x)
A(q.double(), q, q)
A(q, q.transpose(1, 2), q)
A(x.sum(2), x, x)
P(A(f, f, f)), A(f, f, f)
[P(*T.autograd.grad(A(q, q * 2, q.sin()).values().square().sum(), q)) for q in [q.requires_grad_()]]
T.nn.MultiheadAttention(4, 2, batch_first=True)(z, z, z)
T.nn.MultiheadAttention(4, 2, batch_first=True).eval()(z, z, z)
T.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)(z)
no_grad(lambda: [P(W(T.nn.MultiheadAttention(4, 2, batch_first=True))(y, y, y)[0]), R(C(y, y, y)[1])])
no_grad(lambda: [P(C(y, y, y, average_attn_weights=False)[0]), C(y, y, y, need_weights=False)[1]])
C(y, y, y)
no_grad(lambda: C(y, y * 2, y))
no_grad(lambda: P(W(T.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True))(y)))
no_grad(lambda: P(W(T.nn.TransformerEncoder(T.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2))(y)))
""")

WITH_LAYERS = """
m = T.nn.Linear(3, 4)
m.load_state_dict({"weight": w.detach(), "bias": T.ones(4)})
A, z = F.scaled_dot_product_attention, nt(T.ones(2, 4), T.ones(3, 4))
c, d = T.arange(16.).view(2, 2, 4).sin(), T.arange(24.).view(3, 2, 4).cos()
q = nt(c, d).transpose(1, 2)
k, r = (q + 1).sin(), nt(d, c[:1]).transpose(1, 2)
f = nt(c.transpose(1, 2), d.transpose(1, 2)).unsqueeze(-1)
def W(module):
    module.load_state_dict({k: T.arange(float(p.numel())).view(p.shape).sin() for k, p in module.state_dict().items()})
    return module.eval()
def no_grad(function):
    with T.no_grad():
        return function()
y = S(c[0], d[:, 0])
C = W(T.nn.MultiheadAttention(4, 2, batch_first=True))
"""


@pytest.mark.ring("full")
def test_layers_and_attention():
    same(*LAYERS, begin=WITH_LAYERS)


STRIDED = split("""
s, S(requires_grad=True), S(requires_grad=True) * 2, S(T.ones(2), T.ones(3), dtype=T.int32), S(T.tensor([]))
S([1, 2], [3])
N.nested_tensor([]), N.nested_tensor([1, 2]), S(T.ones(2, 3, 4)), S(a.double()), N.as_nested_tensor(T.ones(2, 3, 4))
s.shape
s.size()
s.size(0), s.size(2), s.dim(), s.ndim, s.numel(), s.is_nested, s.layout, s.dtype, s.requires_grad, s.is_contiguous()
type(s).__name__, s.values(), s.unbind(), s[0], s[-1], s[0, 1], s[..., 0], s.select(1, 0), s.element_size(), s.nbytes
s.size(1)
s.stride()
len(s)
s.offsets()
s[5]
s[1:]
s[None]
S(T.ones(2), T.ones(2, 3))
N.nested_tensor(3)
S(T.ones(2, 3), T.ones(4, 1)).to_padded_tensor(0.), s.to_padded_tensor(0., (2, 4, 5)), N.to_padded_tensor(s, 7.)
s.to_padded_tensor(0., (2, 1, 3))
s.to_padded_tensor(0., (2, 4))
s + s, s * 2, s * T.tensor(2.), s - s, s / 2, -s, s.relu(), P(F.gelu(s)), s.sin(), s.abs(), s.tanh(), s.add(s, alpha=2)
s + T.ones(3)
s + S(b, a)
s.exp()
s.sqrt(), s.cos(), F.silu(s), s.sgn(), s.isnan(), s.isinf(), s.logical_not(), s.eq(1), s > 1, s.masked_fill(s > 2, 0.)
s == s
s.lt(1)
s.sum()
s.sum(-1)
s.sum(1)
s.sum(-1, keepdim=True), s.softmax(-1), F.softmax(s, 1)
F.softmax(s, 0)
F.linear(s, w.detach(), T.ones(4)), F.dropout(s, 0.), F.layer_norm(s, (3,), T.ones(3), T.zeros(3))
F.linear(s, T.ones(2, 4))
F.layer_norm(s, (3,))
F.embedding(S(T.tensor([1, 2]), T.tensor([0])), T.ones(3, 2)), s.transpose(1, 2), s.mT, s.transpose(1, 2) + 1
s.transpose(0, 1)
s @ s.transpose(1, 2), T.bmm(s, s.transpose(1, 2)), T.bmm(s, T.ones(2, 3, 1)), T.cat([s, s]), T.cat([s, s], -1)
s @ T.ones(3, 2)
T.cat([s, T.ones(2, 2, 3)])
s.clone(), s.detach(), s.contiguous(), s.to(T.float64), s.half().dtype, s.float() is s, s.cpu() is s, s.long(), s.data
s.view(2, -1, 3), s.reshape(2, -1, 1, 3), s.unsqueeze(1), s.unsqueeze(-1), s.squeeze(1), s.unsqueeze(1).squeeze(1)
s.reshape(2, -1)
s.view(1, -1, 3)
s.squeeze()
s.unsqueeze(0)
s.chunk(3, -1), s.narrow(0, 0, 1), N.narrow(v, 0, 1, 2)
s.chunk(2, 0)
s.chunk(2, -1)
s.narrow(1, 0, 1)
T.zeros_like(s), T.ones_like(s, dtype=T.int32), T.empty_like(s).dim(), T.randn_like(s).dim(), s.is_same_size(S(b, a))
s.clone().fill_(3), s.clone().zero_(), s.clone().add_(s), s.clone().mul_(2), s.clone().copy_(s * 2), s.clone().relu_()
s.copy_(S(b, a))
s.item()
P(F.scaled_dot_product_attention(*[S(T.ones(2, 3, 4), T.ones(2, 5, 4))] * 3))
T.autograd.grad((p * p).to_padded_tensor(0.).sum(), p), (p * 2).values().requires_grad, p.grad_fn, p.is_leaf
T.autograd.grad(F.softmax(p, -1) * p, p, S())
T.autograd.grad(F.linear(p, w) * 2, [p, w], S(T.ones(2, 4), T.ones(3, 4)))
N.as_nested_tensor([w, w * 2]), T.autograd.grad(N.as_nested_tensor([w, w * 2]).to_padded_tensor(0.).sum(), w)
s.requires_grad_(), s.detach().requires_grad
""")


@pytest.mark.ring("full")
def test_the_strided_layout():
    same(*STRIDED, begin="p = S(requires_grad=True)\n")


# PyTorch's own database ----------------------------------------------------------------------------------------------


@pytest.mark.once("it runs both libraries on many samples")
@pytest.mark.parametrize("name", listed(lambda: sorted(ENTRIES)))
def test_database(name, ring, record_property):
    every = 1 if reaches(ring, "whole") else 9
    found = list(compared(name, every))
    complaints = [f"{label}\n{complaint}" for label, _, complaint in found if complaint and name not in OTHERWISE]
    passed = [complaint for _, expected, complaint in found if "raised" not in expected]
    record_property("nested", {"name": name, "passes": len(passed), "agree": passed.count(None)})
    assert not complaints, "\n\n".join(complaints[:3])


def test_what_differs_still_does():
    for name in OTHERWISE:
        assert any(complaint for _, _, complaint in compared(name))


# Without PyTorch as the oracle ---------------------------------------------------------------------------------------


def made(*lengths, width=3):
    """A jagged tensor of double numbers that requires grad, and its values and offsets."""
    torch = tapegrad
    torch.manual_seed(sum(lengths))
    values = torch.randn(sum(lengths), width, dtype=torch.float64)
    return values.requires_grad_(), torch.tensor([0, *lengths]).cumsum(0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(1),
        lambda x: x.mean(1),
        lambda x: x.amax(1),
        lambda x: x.prod(1),
        lambda x: x.softmax(1).values(),
        lambda x: x.to_padded_tensor(0.5),
        lambda x: tapegrad.nn.functional.layer_norm(x, x.shape[1:]).values(),
        lambda x: (x.transpose(1, 2) @ x),
        lambda x: (x * x.sum(1, keepdim=True)).values(),
    ],
)  # fmt: skip
def test_gradients_are_those_of_finite_differences(function):
    values, offsets = made(2, 1, 3)
    of = tapegrad.nested.nested_tensor_from_jagged
    assert tapegrad.autograd.gradcheck(lambda v: function(of(v, offsets)), values)


def test_second_derivatives_of_sums_over_the_ragged_dimension():
    values, offsets = made(2, 1)
    of = tapegrad.nested.nested_tensor_from_jagged
    assert tapegrad.autograd.gradgradcheck(lambda v: (of(v, offsets).sin() * of(v, offsets)).sum(1), values)


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_is_that_of_each_entry(is_causal):
    torch, attention = tapegrad, tapegrad.nn.functional.scaled_dot_product_attention
    torch.manual_seed(0)
    parts = [[torch.randn(2, length, 4, requires_grad=True) for length in (3, 1, 5)] for _ in range(3)]
    jagged = [torch.nested.as_nested_tensor([p.transpose(0, 1) for p in one], layout=torch.jagged).transpose(1, 2)
              for one in parts]  # fmt: skip
    found = attention(*jagged, is_causal=is_causal)
    expected = [attention(*three, is_causal=is_causal) for three in zip(*parts, strict=True)]
    for got, wanted in zip(found.unbind(), expected, strict=True):
        torch.testing.assert_close(got, wanted)
    leaves = [p for one in parts for p in one]
    ours = torch.autograd.grad(found.values().square().sum(), leaves)
    theirs = torch.autograd.grad(sum(one.square().sum() for one in expected), leaves)
    torch.testing.assert_close(ours, theirs)


def test_attention_to_an_entry_without_rows_leaves_no_nan():
    torch = tapegrad
    q = torch.nested.nested_tensor([torch.ones(2, 1, 4), torch.ones(0, 1, 4)], layout=torch.jagged, requires_grad=True)
    turned = q.transpose(1, 2)
    torch.nn.functional.scaled_dot_product_attention(turned, turned, turned).values().sum().backward()
    assert bool(q.grad.values().isfinite().all())


def test_files_go_both_ways():
    for writer, reader in ((pytorch, tapegrad), (tapegrad, pytorch), (tapegrad, tapegrad)):
        names = {"torch": writer}
        exec(BEGIN, names)
        file = io.BytesIO()
        writer.save([names[name] for name in ("x", "l", "t", "h", "s")], file)
        for weights_only in (True, False):
            file.seek(0)
            found = reader.load(file, weights_only=weights_only)
            texts = [shown(one) for one in found[:4]], [shown(one) for one in (*found[3].unbind(), found[4])]
            assert texts[0] == [shown(names[name]) for name in ("x", "l", "t", "h")]
            assert texts[1] == [shown(one) for one in (*names["h"].unbind(), names["s"])]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"offsets": tapegrad.tensor([0, 9])}, "outside of its values"),
        ({"values": 3}, "something else"),
        ({"_ragged_idx": 7}, "do not go together"),
        ({"more": 1}, "lacks a part"),
    ],
)
def test_damaged_files_are_refused(change, says):
    from tapegrad.nested.saving import loaded_jagged

    good = {"values": tapegrad.ones(3, 2), "offsets": tapegrad.tensor([0, 1, 3])}
    assert loaded_jagged(good).unbind()[1].shape == (2, 2)
    with pytest.raises(ValueError, match=says):
        loaded_jagged({**good, **change})


@pytest.mark.once("it is compiled")
def test_a_compiled_step_makes_nested_tensors_of_values_and_offsets():
    torch = tapegrad
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))

    def step(values, offsets):
        x = torch.nested.nested_tensor_from_jagged(values, offsets, max_seqlen=3)
        loss = model(x).softmax(1).square().sum()
        return (loss.detach(), *torch.autograd.grad(loss, list(model.parameters())))

    compiled = torch.compile(step)
    for lengths in ((2, 1), (2, 1), (1, 2), (0, 3)):
        values, offsets = made(*lengths)
        given = values.detach().float(), offsets
        torch.testing.assert_close(compiled(*given), step(*given))
        torch.execution.wait_for_compiler()
    assert compiled.replayed


@pytest.mark.once("it is not compiled")
def test_a_step_that_is_given_nested_tensors_runs_as_it_is():
    torch = tapegrad
    compiled = torch.compile(lambda x: x.sum(1) * 2)
    for length in (1, 2, 3):
        x = torch.nested.nested_tensor([torch.ones(length)], layout=torch.jagged)
        assert compiled(x).tolist() == [2.0 * length]


def test_transforms_differentiate_functions_of_values():
    torch = tapegrad
    values, offsets = made(2, 1)

    def loss(v):
        return torch.nested.nested_tensor_from_jagged(v, offsets).softmax(1).square().sum()

    expected = torch.autograd.grad(loss(values), values)[0]
    torch.testing.assert_close(torch.func.grad(loss)(values.detach()), expected)
    _, tangent = torch.func.jvp(loss, (values.detach(),), (torch.ones_like(values),))
    torch.testing.assert_close(tangent, expected.sum())


def test_what_maps_batches_refuses_nested_ones():
    x = tapegrad.nested.nested_tensor([tapegrad.ones(2)], layout=tapegrad.jagged)
    with pytest.raises(NotImplementedError, match="values"):
        tapegrad.vmap(lambda row: row * 2)(x)
