"""Two hundred calls for a process that has met none of them, each written once, for PyTorch's language.

The names in a call are ``t``, the library; ``F``, its functions for nets; and what ``ARGUMENTS`` says. It gives one
tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

import numpy as np

ARGUMENTS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "x": lambda rng: rng.standard_normal((4, 5)),
    "y": lambda rng: rng.uniform(0.5, 1.5, (4, 5)),
    "u": lambda rng: rng.uniform(-0.9, 0.9, (4, 5)),
    "v": lambda rng: rng.standard_normal(5),
    "w": lambda rng: rng.standard_normal((5, 3)),
    "z": lambda rng: rng.standard_normal((3, 2)),
    "b": lambda rng: rng.standard_normal((2, 4, 5)),
    "c": lambda rng: rng.standard_normal((2, 5, 3)),
    "d": lambda rng: (lambda a: a @ a.T + np.diag([1, 2, 4, 8]))(rng.standard_normal((4, 4))),
    "n": lambda rng: rng.standard_normal((2, 3, 6, 6)),
    "k": lambda rng: rng.standard_normal((4, 3, 3, 3)),
    "s": lambda rng: rng.standard_normal((2, 3, 8)),
    "q": lambda rng: rng.standard_normal((4, 3, 3)),
    "h": lambda rng: rng.standard_normal((2, 2, 3, 4)),
    "i": lambda rng: np.array([0, 2, 1, 3]),
    "j": lambda rng: rng.integers(0, 4, (4, 5)),
}
"""What the names of arguments stand for, in float32; those of integers have no gradient."""

ELEMENTWISE = """
x + y; x - y; x * y; x / y; y ** x; x * 2.0; y ** 3; x + v; t.maximum(x, y); t.fmin(x, y); t.atan2(x, y);
t.hypot(x, y); t.addcmul(x, y, u); t.addcdiv(x, u, y); t.lerp(x, y, 0.3); t.where(x > 0, x, y); t.logaddexp(x, y);
t.xlogy(x, y); t.fmod(x, y); t.remainder(x, y); t.copysign(x, y); t.abs(x); t.neg(x); t.exp(x); t.sin(x); t.cos(x);
t.tanh(x); t.sigmoid(x); t.square(x); t.erf(x); t.erfc(x); t.sinh(x); t.cosh(x); t.atan(x); t.asinh(x); t.exp2(x);
t.expm1(x); t.relu(x); t.sinc(x); t.frac(x); t.clamp(x, -1, 1); t.nan_to_num(x); t.log(y); t.sqrt(y); t.rsqrt(y);
t.reciprocal(y); t.log2(y); t.log10(y); t.log1p(y); t.lgamma(y); t.digamma(y); t.i0(y); t.acosh(y + 1); t.tan(u);
t.asin(u); t.acos(u); t.atanh(u); t.erfinv(u); t.logit(u * u, 0.1); t.special.entr(y); t.special.ndtr(x);
t.special.log_ndtr(x)
"""

REDUCTIONS = """
x.sum(); x.sum(1); x.mean(); x.mean(0); x.prod(); x.prod(1); x.amax(1); x.amin(0); x.max(); x.max(1)[0]; x.std();
x.var(1); x.norm(); x.norm(dim=1); x.logsumexp(1); x.nansum(); x.median(1)[0]; x.cumsum(1); x.cumprod(1);
x.logcumsumexp(1); x.cummax(1)[0]; x.sort(1)[0]; x.topk(2)[0]; x.kthvalue(2)[0]; x.softmax(1); x.log_softmax(1);
x.renorm(2, 0, 1.0); t.dist(x, y); t.trace(d); t.var_mean(x)[0]
"""

SHAPES = """
x.t().contiguous(); x.reshape(20) * 2; x.expand(2, 4, 5) * 2; x.flip(1); x.roll(1, 0); x.rot90(); x.tril(); x.triu();
t.diag(v); x.diagonal() * 2; t.cat([x, y]); t.stack([x, y]); x.split(2)[0] * 2; x.chunk(2)[1] * 2; x.unbind()[1] * 2;
x.repeat(2, 1); x.tile(2); x.repeat_interleave(2, 0); x[1:3] * 2; x[i]; x[x > 0]; x.gather(0, j);
x.index_select(0, i); x.take(j); x.masked_fill(x > 0, 0.0); x.index_add(0, i, y); x.scatter_add(0, j, y);
x.scatter(0, j, y); x.index_fill(0, i, 1.0); x.index_copy(0, i, y); x.unfold(0, 2, 1) * 2; t.block_diag(x, y);
t.kron(x, z); t.tensordot(x, w, 1)
"""

PRODUCTS = """
x @ w; t.mv(x, v); t.dot(v, v); t.outer(v, v); t.bmm(b, c); t.addmm(t.ones(4, 3), x, w); t.addmv(t.ones(4), x, v);
t.baddbmm(t.ones(2, 4, 3), b, c)
"""

EINSUM = """
ij,jk->ik(x,w); ij,j->i(x,v); ij,ij->ij(x,y); ij,ij->(x,y); ij,ij->i(x,y); ij->ji(x); ij->i(x); ij->j(x); ij->(x);
i,j->ij(v,v); i,i->(v,v); bij,bjk->bik(b,c); bij,jk->bik(b,w); bij,j->bi(b,v); bij->bji(b); bij->b(b); bij->ij(b);
bij,ij->b(b,x); bij,ij->bij(b,x); ij,jk,kl->il(x,w,z); ii->i(d); ii->(d); ij,kj->ik(x,y); ij,ik->jk(x,y)
"""

LINALG = """
inv(d); det(d); slogdet(d)[1]; cholesky(d + d.mT); qr(d)[1]; svd(d)[1]; svdvals(d); eigh(d)[0]; eigvalsh(d); pinv(d);
matrix_exp(d / 8); solve(d, x); lstsq(d, x)[0]; norm(d); vector_norm(x); matrix_norm(d); multi_dot([x, w, z]);
matrix_power(d, 3); cond(d); cross(w, w + 1); lu(d)[1]; inv_ex(d)[0]; solve_triangular(d, x, upper=True)
"""

NETS = """
F.relu6(x); F.elu(x); F.selu(x); F.celu(x); F.gelu(x); F.silu(x); F.mish(x); F.softplus(x); F.hardtanh(x);
F.leaky_relu(x); F.logsigmoid(x); F.softshrink(x); F.hardshrink(x); F.hardswish(x); F.glu(b, 1); F.normalize(x);
F.linear(x, w.t()); F.conv2d(n, k); F.conv1d(s, q); F.max_pool2d(n, 2); F.avg_pool2d(n, 2);
F.adaptive_avg_pool2d(n, 2); F.layer_norm(x, (5,)); F.batch_norm(n, None, None, training=True); F.group_norm(n, 3);
F.instance_norm(n); F.mse_loss(x, y); F.l1_loss(x, y); F.smooth_l1_loss(x, y); F.huber_loss(x, y);
F.cross_entropy(x, i); F.nll_loss(x, i); F.kl_div(x, y, reduction="sum"); F.binary_cross_entropy_with_logits(x, y);
F.cosine_similarity(x, y); F.pairwise_distance(x, y); F.pad(x, (1, 1)); F.embedding(i, x);
F.interpolate(n, scale_factor=2, mode="bilinear"); F.pixel_shuffle(n.reshape(1, 12, 3, 6), 2); F.unfold(n, 2);
(h @ h.mT).softmax(3) @ h; t._weight_norm(x, y[:, :1], 0); t.fft.rfft(x).abs(); t.fft.fft2(x).abs()
"""


def calls_in(text: str, written: str = "{}") -> list[str]:
    """The calls of a table, in full."""
    return [written.format(call) for call in text.replace("\n", " ").strip(" ;").split("; ")]


def contraction(text: str) -> str:
    """A call of ``einsum``.

    >>> contraction("ij->ji(x)")
    "t.einsum('ij->ji', x)"
    """
    equation, given = text.strip(")").split("(")
    return f"t.einsum({equation!r}, {given})"


CALLS: dict[str, list[str]] = {
    "elementwise": calls_in(ELEMENTWISE),
    "reductions": calls_in(REDUCTIONS),
    "shapes": calls_in(SHAPES),
    "products": calls_in(PRODUCTS),
    "einsum": list(map(contraction, calls_in(EINSUM))),
    "linalg": calls_in(LINALG, "t.linalg.{}"),
    "nets": calls_in(NETS),
}
"""By family."""


def code_of(call: str) -> tuple[CodeType, list[str]]:
    """A call, compiled, and the arguments that it names.

    >>> code_of("t.outer(v, v)")[1]
    ['v']
    """
    code = compile(call, call, "eval")
    return code, [name for name in code.co_names if name in ARGUMENTS]
