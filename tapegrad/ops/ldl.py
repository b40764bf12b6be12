"""Symmetric indefinite equations, by ``A = L D L^T`` with pivoting (Bunch and Kaufman): LAPACK's, on the host.

XLA has no such decomposition. PyTorch has, and its packed results are LAPACK's; so are these. Neither PyTorch nor we
can differentiate them.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.linear_algebra import lapack
from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import general
from tapegrad.ops.memory_formats import by_columns
from tapegrad.ops.solving import batch_of, expanded


def _routine(like, hermitian, name):
    """LAPACK's routine for symmetric or Hermitian matrices of this type."""
    kind = "he" if hermitian and like.dtype.kind == "c" else "sy"
    return lapack(kind + name, like.dtype)


def _factored(x, hermitian):
    matrices = np.asarray(x)
    batch, size = matrices.shape[:-2], matrices.shape[-1]
    factor, pivots, info = np.zeros_like(matrices), np.zeros((*batch, size), np.int32), np.zeros(batch, np.int32)
    routine = _routine(matrices, hermitian, "trf")
    for i in np.ndindex(*batch) if size else ():
        found, pivots[i], info[i] = routine(matrices[i], lower=1)
        factor[i] = np.tril(found)
    return factor, pivots, info


def _solved(hermitian, factor, pivots, y):
    factor, pivots, y = np.asarray(factor), np.asarray(pivots, np.int32), np.asarray(y)
    out = np.zeros_like(y)
    routine = _routine(y, hermitian, "trs")
    for i in np.ndindex(*y.shape[:-2]) if y.size else ():
        out[i] = routine(factor[i], pivots[i], y[i], lower=1)[0]
    return out


@general(
    x=underivable("aten::linalg_ldl_factor_ex"), outputs=("factor", "pivots", "info"), aten="linalg_ldl_factor_ex",
    node="torch::autograd::NotImplemented", xla="pure_callback", on_host="cuda, tpu",
    lies=by_columns,
)  # fmt: skip
def ldl_factor(x, *, hermitian):
    """The packed factors of symmetric (or ``hermitian``) matrices, LAPACK's pivots and its verdicts (int32)."""
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype)]
    results += [jax.ShapeDtypeStruct(shape, jnp.int32) for shape in (x.shape[:-1], x.shape[:-2])]
    return tuple(jax.pure_callback(lambda x: _factored(x, hermitian), tuple(results), x, vmap_method="broadcast_all"))


@general(
    factor=underivable("aten::linalg_ldl_solve"),
    y=underivable("aten::linalg_ldl_solve"),
    aten="linalg_ldl_solve", node="torch::autograd::NotImplemented", xla="pure_callback", on_host="cuda, tpu",
    lies=by_columns,
)  # fmt: skip
def ldl_solve(factor, pivots, y, *, hermitian):
    """The solution of ``A @ out = y`` by the packed factors of A; batches broadcast."""
    batch = batch_of(factor, y)
    arguments = expanded(factor, batch), expanded(pivots, batch, 1), expanded(y, batch)
    result = jax.ShapeDtypeStruct(arguments[2].shape, y.dtype)
    return jax.pure_callback(partial(_solved, hermitian), result, *arguments, vmap_method="broadcast_all")
