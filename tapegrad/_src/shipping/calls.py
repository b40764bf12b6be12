"""Calls that leave structures: each is made at several shapes, forward, backward and double backward.

Letters are lengths; ``t`` is the library, ``F`` its functions for nets, ``r`` a float that is another one each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product
from typing import NamedTuple


class Specimen(NamedTuple):
    """An expression, and the shapes of the names in it: a letter for each length, or a digit.

    Names that begin with ``i`` are places along the first length, those with ``j`` among all, those with ``m`` true or
    false, others numbers between 0.5 and 1.5 (``y``) or around 0.
    """

    code: str
    shapes: dict[str, str]


RANKS = ("", "a", "ab", "abc", "abcd")

UNARY = [
    "abs",
    "neg",
    "exp",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "square",
    "erf",
    "erfc",
    "sinh",
    "cosh",
    "atan",
    "asinh",
    "exp2",
    "expm1",
    "relu",
    "sinc",
    "frac",
    "nan_to_num",
    "reciprocal",
    "tan",
    "ceil",
    "floor",
    "round",
    "sign",
    "trunc",
]

POSITIVE = [
    "log",
    "sqrt",
    "rsqrt",
    "log2",
    "log10",
    "log1p",
    "lgamma",
    "digamma",
    "i0",
    "special.entr",
    "special.ndtr",
    "special.log_ndtr",
    "special.i0e",
    "special.i1",
]

WITHIN = ["asin", "acos", "atanh", "erfinv"]

ACTIVATIONS = [
    "relu6",
    "elu",
    "selu",
    "celu",
    "gelu",
    "silu",
    "mish",
    "softplus",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "softshrink",
    "hardshrink",
    "hardswish",
    "hardsigmoid",
    "softsign",
    "tanhshrink",
]

BINARY = """
x + y; x - y; x * y; x / y; t.maximum(x, y); t.minimum(x, y); t.fmin(x, y); t.fmax(x, y); t.atan2(x, y); t.hypot(x, y);
t.logaddexp(x, y); t.xlogy(x, y); t.fmod(x, y); t.remainder(x, y); t.copysign(x, y); y ** x; t.where(x > 0, x, y);
t.lerp(x, y, r)
"""

NUMBERS = """
x + 2.5; x - 2.5; 2.5 - x; x * 2.5; x / 2.5; 2.5 / y; x + 2; x - 2; x * 2; x / 2; y ** 2; y ** 3; y ** 0.5; y ** 1.5;
y ** -1; x.clamp(-1, 1); x.clamp(-0.5, 0.5); x.clamp(min=0); x.clamp(min=0.5); x.clamp(r - 1, r);
x.masked_fill(x > 0, 0.0); x.masked_fill(x > 0, 0); x.masked_fill(x > 0, -1e9); x.masked_fill(x > 0, float("-inf"));
t.where(x > 0, x, 0.0); t.logit(y * 0.5, 0.1); F.dropout(x, r); F.leaky_relu(x, r); F.elu(x, r);
F.threshold(x, 0.1, 2.0); y.clone(); x.detach() + x
"""

ALONG = """
x.sum({d}); x.mean({d}); x.prod({d}); x.amax({d}); x.amin({d}); x.max({d})[0]; x.min({d})[0]; x.var({d}); x.std({d});
x.norm(dim={d}); x.logsumexp({d}); x.median({d})[0]; x.cumsum({d}); x.cumprod({d}); x.logcumsumexp({d});
x.cummax({d})[0]; x.sort({d})[0]; x.topk(2, {d})[0]; x.kthvalue(2, {d})[0]; x.softmax({d}); x.log_softmax({d});
x.flip({d}); x.roll(1, {d}); t.stack([x, x * 2], {d}); t.cat([x, x * 2], {d}); t.cat([x, x, x], {d});
t.stack([x] * 3, {d}); t.stack([x] * 4, {d}); t.stack([x] * 5, {d}); t.stack([x] * 6, {d}); x.unsqueeze({d}) * 2;
x.select({d}, 1) * 2; x.narrow({d}, 1, 2) * 2; x.split(2, {d})[0] * 2; x.chunk(2, {d})[1] * 2; x.unbind({d})[1] * 2;
x.sum({d}, keepdim=True); x.mean({d}, keepdim=True); x.amax({d}, keepdim=True); F.normalize(x, dim={d});
F.glu(x.repeat_interleave(2, {d}), {d}); x.index_select({d}, i); x.renorm(2, {d}, 1.0); x.argmax({d}); x.any({d});
F.softmin(x, {d}); x.diff(dim={d}); x.nansum({d}); x.unfold({d}, 2, 1) * 2
"""

ALL = """
x.sum(); x.mean(); x.prod(); x.max(); x.min(); x.std(); x.var(); x.norm(); x.nansum(); t.var_mean(x)[0]; x.logsumexp(0);
x.reshape(-1) * 2; x.flatten() * 2; x[1] * 2; x[1:3] * 2; x[0] * 2; x[-1] * 2; x[:, None] * 2; x[None] * 2; x[i];
x[x > 0]; x.tile(2); x.take(j0); x.square().sum(); x.abs().sum(); x.square().mean(); t.numel(x) * x;
x.repeat_interleave(2, 0); x.to(t.float64) * 2; x.double().sum(); x.double().mean(); x.view(-1) * 2
"""

LOSSES = """
F.mse_loss(x, y); F.l1_loss(x, y); F.smooth_l1_loss(x, y); F.huber_loss(x, y); F.kl_div(x, y, reduction="sum");
F.binary_cross_entropy_with_logits(x, y); F.binary_cross_entropy(x.sigmoid(), y * 0.5);
F.mse_loss(x, y, reduction="sum"); F.mse_loss(x, y, reduction="none"); t.dist(x, y); F.cosine_similarity(x, y, dim=-1);
(x - y).square().mean(); t.addcmul(x, y, x * 2); t.addcdiv(x, x * 2, y); t.cat([x, y]); t.stack([x, y]);
F.gaussian_nll_loss(x, y, y)
"""

MATRICES = """
x.t().contiguous(); x.mT.contiguous(); x.tril(); x.triu(); x.diagonal() * 2; x.rot90(); x.repeat(2, 1);
x.expand(2, a, b) * 2; x.reshape(a * b) * 2; x.view(b, a) * 2; x.reshape(b, a) * 2; x.gather(0, j); x.gather(1, j1);
x.index_add(0, i, y); x.scatter_add(0, j, y); x.scatter(0, j, y); x.index_fill(0, i, 1.0); x.index_copy(0, i, y);
x.take(j); F.cross_entropy(x, k); F.nll_loss(x.log_softmax(1), k); F.embedding(i, x); F.layer_norm(x, (b,));
F.layer_norm(x, (b,), v, v); F.pairwise_distance(x, y); F.pad(x, (1, 1)); F.pad(x, (1, 1, 1, 1)); t.block_diag(x, y);
F.batch_norm(x, None, None, training=True); F.batch_norm(x, None, None, v, v, training=True); x.trace();
t._weight_norm(x, y[:, :1], 0); t.fft.rfft(x).abs(); t.fft.rfft(z).abs();
t.fft.rfft(v).abs(); t.fft.fft(x).abs(); t.fft.fft2(x).abs(); t.fft.ifft(x).abs();
F.linear(x, w.t()); F.linear(x, w.t(), u); F.linear(x, w.t(), bias=None); x @ w; x @ v; t.mv(x, v); t.addmm(u, x, w);
t.addmm(x @ w, x, w); t.addmv(x @ v, x, v); t.tensordot(x, w, 1); t.kron(x, z); x.t() @ x; x @ x.t(); x.sum((0, 1));
x.t() * 2; x.argmax(); t.outer(v, u); t.cdist(x, y)
"""

CONTRACTIONS = """
ij,jk->ik(x,w); ij,j->i(x,v); ij,ij->ij(x,y); ij,ij->(x,y); ij,ij->i(x,y); ij,ij->j(x,y); ij->ji(x); ij->i(x); ij->j(x);
ij->(x); bij,bjk->bik(e,f); bij,jk->bik(e,w); bij,j->bi(e,v); bij->bji(e); bij->b(e); bij->ij(e); bij,ij->b(e,x);
bij,ij->bij(e,x); ij,jk,kl->il(x,w,z); ij,jk,kl->il(z2,z1,z0);
ij,kj->ik(x,y); ij,ik->jk(x,y); bhid,bhjd->bhij(h,h); bhij,bhjd->bhid(g,h)
"""

VECTORS = """
i,j->ij(v,u); i,i->(v,v); i,i->i(v,v)
"""

SQUARE = """
ii->i(d); ii->(d)
"""

VIEWS = """
v.view(1, -1) * 2; v.view(-1, 1, 1) * 2; v.view(1, -1, 1, 1) * 2; x.view(a, 1, b) * 2; x.view(a, b, 1, 1) * 2;
e.view(p, -1) * 2; e.view(p, a * b, 1) * 2; e.view(p, a, 1, b) * 2; h.view(a, -1) * 2; h.view(a, c * b, p) * 2;
h.view(1, a * c, b, p) * 2; x.view(-1).view(b, a) * 2; x.view(b, a) * 2;
e.view(-1).view(b, p, a) * 2; h.view(-1).view(a, c, p, b) * 2
"""


PRODUCTS = """
t.dot(v, v); t.outer(v, v); t.outer(v, u); t.diag(v); v @ w; t.bmm(e, f); e @ f; e @ w; t.baddbmm(e @ f, e, f);
t.cross(q, q + 1, dim=-1); (h @ h.mT).softmax(3) @ h; h.transpose(1, 2) * 2; h.transpose(1, 2).reshape(a, c, b * p) * 2;
e.permute(1, 0, 2) * 2; e.permute(2, 0, 1).contiguous(); F.scaled_dot_product_attention(h, h, h);
F.scaled_dot_product_attention(h, h, h, is_causal=True)
"""

LINALG = """
inv(d); det(d); slogdet(d)[1]; cholesky(d + d.mT); qr(d)[1]; svd(d)[1]; svdvals(d); eigh(d)[0]; eigvalsh(d); pinv(d);
matrix_exp(d / 8); solve(d, o); solve(d, l); lstsq(d, o)[0]; norm(d); vector_norm(d); matrix_norm(d);
matrix_power(d, 2); matrix_power(d, 3); cond(d); lu(d)[1]; inv_ex(d)[0]; solve_triangular(d, o, upper=True);
solve_triangular(d, o, upper=False); multi_dot([x, w, z])
"""

NETS = """
F.conv2d(n, k4); F.conv2d(n, k4, padding=1); F.conv1d(s3, k3); F.max_pool2d(o4, 2); F.avg_pool2d(o4, 2);
F.adaptive_avg_pool2d(n, 1); F.adaptive_avg_pool2d(o4, 2); F.batch_norm(n, None, None, training=True);
F.group_norm(n, 1); F.group_norm(n, c); F.instance_norm(n); F.unfold(n, 2);
F.interpolate(o4, scale_factor=2, mode="bilinear"); F.interpolate(n, scale_factor=2);
F.pixel_shuffle(t.cat([o4, o4, o4, o4], 1), 2); F.pixel_unshuffle(o4, 2);
t.fft.fft2(n).abs(); n.mean((2, 3)); n.sum((0, 2, 3)); n.amax((2, 3)); n.flatten(1) * 2; F.layer_norm(e, (b,));
e.sum((0, 1)); e.mean((1, 2)); t.var(n, (0, 2, 3)); F.max_pool1d(s3, 2); F.avg_pool1d(s3, 2); F.pad(n, (1, 1, 1, 1));
F.dropout2d(n, r)
"""

SHAPES = {
    "x": "ab", "y": "ab", "w": "bc", "z": "cp", "v": "b", "u": "c", "e": "pab", "f": "pbc", "d": "aa", "h": "acbp",
    "g": "acbb", "i": "a", "j": "ab", "j1": "ab", "k": "a", "o": "ab", "l": "a", "q": "a3", "n": "acpp", "k4": "bc33",
    "s3": "acp", "k3": "bc3", "j0": "a", "o4": "acps",
    "z0": "ba", "z1": "cb", "z2": "pc",
}  # fmt: skip
"""The shapes of names in the tables from ``MATRICES`` on."""


def written(text: str, form: str = "{}") -> list[str]:
    """The calls of a table, in full."""
    return [form.replace("{}", call) for call in " ".join(text.split()).strip(" ;").split("; ")]


def contraction(text: str) -> str:
    """A call of ``einsum``.

    >>> contraction("ij->ji(x)")
    "t.einsum('ij->ji', x)"
    """
    equation, given = text.strip(")").split("(")
    return f"t.einsum({equation!r}, {given})"


def calls() -> Iterator[Specimen]:
    """All calls."""
    for shape in RANKS:
        for name in UNARY:
            yield Specimen(f"t.{name}(x)", {"x": shape})
        for name in POSITIVE:
            yield Specimen(f"t.{name}(y)", {"y": shape})
        yield Specimen("t.acosh(y + 1)", {"y": shape})
        for name in WITHIN:
            yield Specimen(f"t.{name}(y - 0.9)", {"y": shape})
        for name in ACTIVATIONS:
            yield Specimen(f"F.{name}(x)", {"x": shape})
        for code in [*written(NUMBERS), *written(BINARY), *(written(LOSSES) if len(shape) < 4 else ())]:
            yield Specimen(code, {"x": shape, "y": shape})
        for code in written(ALL) if shape else ():
            yield Specimen(code, {"x": shape, "i": "a", "j0": "a"})
        for axis in range(len(shape)) if len(shape) < 4 else (3,):
            for code in written(ALONG, "{}"):
                yield Specimen(code.replace("{d}", str(axis)), {"x": shape, "i": shape[axis]})
    for left, right in product(("", "b", "ab", "a1", "1b"), ("ab", "pab", "b")):
        for code in written(BINARY):
            if left != right:
                yield Specimen(code, {"x": left, "y": right})
                yield Specimen(code, {"x": right, "y": left})
    tables = written(MATRICES), written(VIEWS), written(PRODUCTS), written(LINALG, "t.linalg.{}"), written(NETS)
    for code in chain(*tables):
        yield Specimen(code, SHAPES)
    for text in [*written(CONTRACTIONS), *written(VECTORS), *written(SQUARE)]:
        yield Specimen(contraction(text), SHAPES)


LENGTHS = ({"a": 6, "b": 9, "c": 14, "d": 22, "p": 16, "s": 20}, {"a": 10, "b": 17, "c": 11, "d": 41, "p": 28, "s": 12})
"""The lengths that letters stand for, twice: what differs becomes a symbol."""

SAME: tuple[dict[str, str], ...] = (
    {}, {"b": "a"}, {"a": "1"}, {"b": "1"}, {"c": "a"}, {"c": "b"}, {"p": "a"}, {"p": "c"},
)  # fmt: skip
"""Which letters are other ones, or 1, in turn."""
