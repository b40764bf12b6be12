"""Cases of primitives that move elements, multiply matrices, call functions, and solve. See ``host_cases.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from host_cases import BOOL, COMPLEX, FLOATS, INTEGERS, case, random
from jax import lax

MOVED = [np.dtype("float32"), np.dtype(jnp.bfloat16), np.dtype("int64"), np.dtype("complex64"), *BOOL]
"""Enough for what looks at no element."""

# -- shapes ------------------------------------------------------------------------------------------------------------

for dtype in MOVED:
    x = random(2, 3, 4, dtype=dtype)
    case("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 5, 3, 4), (0, 2, 3)), x)
    case("broadcast_in_dim", lambda x: jnp.broadcast_to(x[:1, :, None], (2, 3, 2, 4)), x)
    case("reshape", lambda x: (x.reshape(6, 4), x.T.reshape(-1), x.reshape(1, 24)), x)
    case("squeeze", lambda x: (lax.squeeze(x[:1], (0,)), lax.squeeze(x[:, :1, :1], (1, 2))), x)
    case("transpose", lambda x: (x.T, lax.transpose(x, (1, 0, 2)), x.T.T), x)
    case("rev", lambda x: (lax.rev(x, (0,)), lax.rev(x, (1, 2))), x)
    case("slice", lambda x: (x[1:, ::2, :3], x[:, 1:1], lax.slice(x, (0, 1, 0), (2, 3, 4), (1, 1, 3))), x)
    case("concatenate", lambda x: (jnp.concatenate([x, x[:, :0], x[:, 1:]], 1), lax.concatenate([x], 0)), x)
    case("pad", lambda x: lax.pad(x, x[0, 0, 0], [(1, 2, 0), (0, 0, 1), (-1, -1, 0)]), x)
    case("pad", lambda x: lax.pad(x, x[0, 0, 0], [(-1, 2, 2), (-2, 0, 0), (0, 0, 0)]), x)
    for places in ((0, 1, 1), (-5, 1, -1), (9, 9, 9)):
        starts = [np.int32(place) for place in places]
        case("dynamic_slice", lambda x, *starts: lax.dynamic_slice(x, starts, (1, 2, 2)), x, *starts)
        update = random(1, 2, 2, dtype=dtype, seed=2)
        case("dynamic_update_slice", lambda x, y, *starts: lax.dynamic_update_slice(x, y, starts), x, update, *starts)
for dtype in (*FLOATS, *INTEGERS, *COMPLEX):
    case("iota", lambda dtype=dtype: (lax.iota(dtype, 5), lax.broadcasted_iota(dtype, (2, 3), 1)))
case("tile", lambda x: jnp.tile(x, (2, 1, 3)), random(2, 3))
case("split", lambda x: tuple(lax.split(x, (1, 0, 2), 1)), random(2, 3))
case("stack", lambda x, y: jnp.stack([x, y], 1), random(2, 3), random(2, 3, seed=1))
case("unstack", lambda x: tuple(jnp.unstack(x, axis=1)), random(2, 3))

# -- gathers and scatters ----------------------------------------------------------------------------------------------

PLACES = np.array([[2, -1], [0, 7], [-9, 1]], "int32")
MODES = ("clip", "fill", "promise_in_bounds", "wrap")
for dtype in MOVED:
    x = random(4, 5, dtype=dtype)
    for mode in MODES[:2]:
        case("gather", lambda x, i, mode=mode: x.at[i].get(mode=mode), x, PLACES)
        case("gather", lambda x, i, mode=mode: x.at[:, i].get(mode=mode), x, PLACES)
        case("gather", lambda x, i, j, mode=mode: x.at[i, j].get(mode=mode), x, PLACES, PLACES[::-1])
        case("gather", lambda x, i, mode=mode: jnp.take_along_axis(x, i, 1, mode=mode), x, np.tile(PLACES, (2, 1))[:4])
    case("gather", lambda x, i: x[i], x, np.int32(-1))
    case("gather", lambda x, i: x.at[i].get(mode="promise_in_bounds"), x, abs(PLACES) % 4)
    from_each = jax.vmap(lambda row, i: lax.dynamic_slice(row, (i,), (2,)))
    case("gather", from_each, x, np.array([0, 4, -3, 9]))
for number in (np.nan, 7):
    case("gather", lambda x, i, n=number: x.at[i].get(mode="fill", fill_value=n), random(4, 5), PLACES)
for name, update in (("scatter", "set"), ("scatter-add", "add"), ("scatter-mul", "multiply"), ("scatter-min", "min"),
                     ("scatter-max", "max")):  # fmt: skip
    for dtype in MOVED[: 4 if update == "add" else 3]:
        x, y = random(4, 5, dtype=dtype), random(3, 2, dtype=dtype, seed=3)
        for mode in ("clip", "drop"):
            apply = lambda x, i, y, mode=mode, update=update: getattr(x.at[i, i[::-1]], update)(y, mode=mode)
            places = PLACES if update != "set" else np.array([[2, 9], [0, 7], [1, 3]], "int32")
            if mode == "drop" or update != "set":
                case(name, apply, x, places, y, ulps=2)
        rows = lambda x, i, y, update=update: getattr(x.at[i], update)(y)
        case(name, rows, x, np.array([3, 0], "int32"), random(2, 5, dtype=dtype), ulps=2)
        case(name, lambda x, i, y, update=update: getattr(x.at[:, i], update)(y[:, :1]), x, np.array([1, 4]), x, ulps=2)

# -- products ----------------------------------------------------------------------------------------------------------

EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("i,i->", (3,), (3,)), ("ij,j->i", (2, 3), (3,)), ("i,j->ij", (2,), (3,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)),
    ("ijk,kjl->il", (2, 3, 4), (4, 3, 2)), ("ij,jk->ik", (2, 0), (0, 3)),
    ("abij,abjk->abik", (2, 1, 3, 2), (2, 1, 2, 3)), ("ij,ij->ij", (2, 3), (2, 3)),
]  # fmt: skip
for dtype in (*FLOATS, *COMPLEX, np.dtype("int32"), np.dtype("int64"), np.dtype("uint8")):
    for spec, left, right in EINSUMS if dtype in ("float32", "float64", "complex64") else EINSUMS[:2]:
        product = lambda x, y, spec=spec: jnp.einsum(spec, x, y)
        case("dot_general", product, random(*left, dtype=dtype), random(*right, dtype=dtype, seed=1), ulps=8, near=1e-5)
wide = lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32)
case("dot_general", wide, random(2, 3, dtype=jnp.bfloat16), random(3, 2, dtype=jnp.bfloat16), ulps=4, near=1e-5)
for strides, padding, groups in (((1,), [(1, 1)], 1), ((2,), [(0, 2)], 2)):
    convolve = lambda x, w, s=strides, p=padding, g=groups: lax.conv_general_dilated(x, w, s, p, feature_group_count=g)
    case("conv_general_dilated", convolve, random(2, 4, 7), random(6, 4 // groups, 3), ulps=16, near=1e-4)
dilated = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), [(0, 1), (-1, 0)], (2, 1), (1, 2))
case("conv_general_dilated", dilated, random(1, 2, 5, 6), random(3, 2, 2, 2), ulps=16, near=1e-4)

# -- windows -----------------------------------------------------------------------------------------------------------

for name, start, combine in (("reduce_window_sum", 0, lax.add), ("reduce_window_max", -np.inf, lax.max),
                             ("reduce_window_min", np.inf, lax.min)):  # fmt: skip
    slide = lambda x, start=start, combine=combine: lax.reduce_window(
        x, np.float32(start), combine, (1, 2, 3), (1, 2, 1), [(0, 0), (1, 0), (0, 2)]
    )
    case(name, slide, random(2, 5, 6), ulps=4, near=1e-5, zeros=False)

# -- functions and control flow ----------------------------------------------------------------------------------------

case("jit", jax.jit(lambda x: (x + 1, x)), random(3))
case("custom_jvp_call", jax.nn.relu, random(3))
case("cond", lambda p, x: lax.cond(p, lambda x: x + 1, lambda x: -x, x), np.array(True), random(3))
case("cond", lambda i, x: lax.switch(i, [lambda x: x, lambda x: -x, lambda x: x * 2], x), np.int32(7), random(3))
case("cond", lambda i, x: lax.switch(i, [lambda x: x, lambda x: -x, lambda x: x * 2], x), np.int32(-7), random(3))
doubled = lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (np.int32(0), n))
case("while", doubled, np.int32(5))
case("while", lambda x: lax.fori_loop(0, 3, lambda i, y: y * i + x, x), random(3))
step = lambda carry, x: (carry * 2 + x, carry - x[0])
for reverse in (False, True):
    case("scan", lambda c, xs, reverse=reverse: lax.scan(step, c, xs, reverse=reverse), random(2), random(4, 2))
case("scan", lambda c, xs: lax.scan(step, c, xs), random(2), random(0, 2))
case("scan", lambda c: lax.scan(lambda c, _: (c + 1, c), c, None, length=3), random(2))

# -- linear algebra ----------------------------------------------------------------------------------------------------

matrix = np.array([[4.0, 1, 0.5], [1, 3, -1], [0.5, -1, 5]])
batch = np.stack([matrix, matrix @ matrix + np.eye(3)])
close = {"ulps": 256, "near": 1e-6}
for dtype in ("float64", "float32", "complex128"):
    a = batch.astype(dtype) + (0.25j * (np.triu(np.ones((3, 3))) - np.tril(np.ones((3, 3)))) if dtype[0] == "c" else 0)
    a = a.astype(dtype)
    case("cholesky", lambda a: lax.linalg.cholesky(a), a, **close)
    case("lu", lambda a: tuple(lax.linalg.lu(a)), a[:, ::-1], **close)
    case("qr", lambda a: tuple(lax.linalg.qr(a, full_matrices=False)), a, **close)
    case("eigh", lambda a: tuple(lax.linalg.eigh(a))[1], a, **close)
    case("svd", lambda a: tuple(lax.linalg.svd(a))[1], a, **close)
    for left in (True, False):
        for lower in (True, False):
            solve = lambda a, b, left=left, lower=lower: lax.linalg.triangular_solve(a, b, left_side=left, lower=lower)
            case("triangular_solve", solve, a, batch[:, ::-1].astype(dtype), **close)
    turned = lambda a, b: lax.linalg.triangular_solve(
        a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True
    )
    case("triangular_solve", turned, a, batch.astype(dtype), **close)
case("cholesky", lambda a: lax.linalg.cholesky(a), -batch)
pivots = np.array([[2, 3, 2], [0, 1, 2]], "int32")
case("lu_pivots_to_permutation", lambda p: lax.linalg.lu_pivots_to_permutation(p, 4), pivots)
signal = random(3, 8, dtype="complex64") + 1j * random(3, 8, seed=1)
for dtype in COMPLEX:
    for kind in (lax.FftType.FFT, lax.FftType.IFFT):
        case("fft", lambda x, kind=kind: lax.fft(x, kind, (8,)), signal.astype(dtype), ulps=64, near=1e-5)
    case("fft", lambda x: lax.fft(x[:, :5], lax.FftType.IRFFT, (8,)), signal.astype(dtype), ulps=64, near=1e-5)
case("fft", lambda x: lax.fft(x, lax.FftType.RFFT, (3, 8)), random(2, 3, 8), ulps=64, near=1e-5)
