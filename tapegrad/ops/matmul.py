"""Matrix products: ``mm`` and its relatives, ``linear``, the affine ``addmm`` family.

Note [Products in full precision]
PyTorch multiplies float32 matrices in float32 on every device; XLA would take fewer bits on accelerators unless told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from tapegrad._src.tensor.geometry import Ints, elementwise_strides
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.checks import check_product_of_batches, checked, cpp_name, expect_same_scalar_type, refuse_dtypes
from tapegrad.ops.kinds import (
    General,
    broadcast_shapes,
    broadcast_to,
    conj,
    declaration,
    multilinear,
    same,
    sum_to,
    widened,
)
from tapegrad.ops.memory_formats import gradient_as_input, gradient_as_matrix, gradient_kept
from tapegrad.ops.operator import Operator
from tapegrad.ops.reductions import sum
from tapegrad.ops.saved_fields import size, sizes
from tapegrad.ops.shape import permute, view

FULL = jax.lax.Precision.HIGHEST
"""See Note [Products in full precision]."""


class Affine(General):
    """A multilinear function of some inputs plus one more input, the addend, which a kernel may get as None.

    Its ``jvp=`` formula is that of the addend alone: its tangent in the shape of the output.
    """

    kind = "affine"

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        """The tangent of the addend, plus one product for each other input that has a tangent."""
        assert self.jvp_formula is not None
        addend = next(i for i, name in enumerate(self.inputs) if f"t_{name}" in self.jvp_formula.names)
        total = None if tangents[addend] is None else super().jvp(primals, tangents, out, **settings)
        factors = [None if position == addend else primal for position, primal in enumerate(primals)]
        for position, tangent in enumerate(tangents):
            if tangent is not None and position != addend and self.differentiable(position):
                part = self(*factors[:position], tangent, *factors[position + 1 :], **settings)
                total = part if total is None else total + part
        return total


affine = declaration(Affine, special=(0, 1))


def _scaled(x, scale):
    """``x`` times a Python number, which is rounded to an integer where PyTorch does so."""
    if same(scale, 1):
        return x
    return x * (int(scale) if jnp.issubdtype(x.dtype, jnp.integer) else scale)


def _times(g, factor):
    """A gradient times the conjugate of a number, which is not rounded before they meet: Note [Halves]."""
    if isinstance(g, Tensor):
        return g * factor.conjugate()
    return (widened(g) * factor.conjugate()).astype(g.dtype)


def _added(addend, product, beta, alpha):
    """``beta * addend + alpha * product``; a factor of 0 means that its term is not even looked at."""
    total = _scaled(product, alpha) if not same(alpha, 0) else jnp.zeros_like(product)
    return total if addend is None or same(beta, 0) else total + _scaled(addend.astype(product.dtype), beta)


def _wide(x):
    """The dtype of a product to which something is added: that of halves is float32, so that they are rounded once."""
    return jnp.float32 if x.dtype.itemsize == 2 and jnp.issubdtype(x.dtype, jnp.floating) else None


def _product_added(addend, x, y, beta, alpha):
    product = jnp.matmul(x, y, precision=FULL, preferred_element_type=_wide(x))
    return _added(addend, product, beta, alpha).astype(x.dtype)


def adjoint(x):
    """The conjugate transpose of a matrix, or of each matrix of a batch."""
    axes = tuple(range(x.ndim))
    return conj(permute(x, axes=(*axes[:-2], axes[-1], axes[-2])))


def columns(x):
    """A vector as a matrix of one column."""
    return view(x, shape=(x.shape[0], 1))


# -- checks ------------------------------------------------------------------------------------------------------------


def _refuse_bool(kernel: str, x: Any, y: Any) -> None:
    """Refuse booleans, but not where there is nothing to multiply: PyTorch does not get to its kernel then."""
    if 0 not in (*x.shape, *y.shape):
        refuse_dtypes(kernel, x, bool=True)


def check_mm(x: Any, y: Any) -> None:
    """Refuse what ``mm`` can't multiply, where ``x`` and ``y`` are matrices (or a shape and dtype that became one)."""
    rows = 1
    for length in x.shape[:-1]:
        rows *= length
    if x.shape[-1] != y.shape[-2]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and {y.shape[-2]}x{y.shape[-1]})"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {cpp_name(x.dtype)} != {cpp_name(y.dtype)}"
        )
    _refuse_bool("addmm_impl_cpu_", x, y)


def check_mv(x: Any, y: Any) -> None:
    """Refuse what ``mv`` can't multiply."""
    rows = 1
    for length in x.shape[:-1]:
        rows *= length
    if x.shape[-1] != y.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{x.shape[-1]}), vec ({y.shape[0]})")
    if x.dtype is not y.dtype:
        names = (y.dtype.scalar_name, x.dtype.scalar_name, y.dtype.scalar_name)
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names))
    _refuse_bool("addmv_impl_cpu", x, y)


def check_dot(specs: Sequence, settings: dict) -> None:
    """Refuse what ``dot`` and ``vdot`` can't multiply."""
    x, y = specs
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    if x.dtype is not y.dtype:
        names = (x.dtype.scalar_name, y.dtype.scalar_name)
        raise RuntimeError("dot : expected both vectors to have same dtype, but found {} and {}".format(*names))
    if x.shape != y.shape:
        a, b = x.shape[0], y.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of elements, "
            f"but got {a} and {b} elements respectively"
        )
    refuse_dtypes("dot", x, bool=True)


def check_batches(x: Any, y: Any, batch: Sequence[int]) -> None:
    """Refuse matrices of two batches, broadcast to the same lengths, that can't be multiplied."""
    check_product_of_batches(x.shape, y.shape, batch)
    expect_same_scalar_type(x, y)
    _refuse_bool("bmm", x, y)


def _matrices(specs: Sequence, settings: dict) -> None:
    x, y = specs
    if x.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if y.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    check_mm(x, y)


def _matrix_and_vector(specs: Sequence, settings: dict) -> None:
    x, y = specs
    if x.ndim != 2 or y.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {x.ndim}, {y.ndim}")
    check_mv(x, y)


def check_bmm(x: Any, y: Any) -> None:
    """Refuse what ``bmm`` can't multiply."""
    for name, spec in (("batch1", x), ("batch2", y)):
        if spec.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] "
            f"but got: [{y.shape[0]}, {y.shape[1]}]."
        )
    expect_same_scalar_type(x, y)
    _refuse_bool("bmm", x, y)


def _any_product(specs: Sequence, settings: dict) -> None:
    x, y = specs
    if x.ndim == 0 or y.ndim == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {x.ndim}D and {y.ndim}D")
    if x.ndim != 2 and y.ndim == 2:
        check_mm(x, y)
    elif x.ndim > 2 and y.ndim == 1:
        check_mv(x, y)
    else:
        check_batches(x, y, broadcast_shapes([x.shape[:-2], y.shape[:-2]]))


def _expandable(shape: Sequence[int], target: tuple[int, ...]) -> None:
    """Refuse an addend of this shape for a result of that shape."""
    offset = len(target) - len(shape)
    if offset < 0:
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(target)}): the number of sizes provided "
            f"({len(target)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    for axis in reversed(range(offset, len(target))):
        length = shape[axis - offset]
        if length not in (1, target[axis]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[axis]}) must match the existing size ({length}) at "
                f"non-singleton dimension {axis}.  Target sizes: {list(target)}.  Tensor sizes: {list(shape)}"
            )


# -- products of two ---------------------------------------------------------------------------------------------------


@checked(_matrices)
@multilinear(
    x=lambda g, y: mm(g, adjoint(y)), y=lambda g, x: mm(adjoint(x), g), saved={"mat2": "y"}, spoilt="product",
    gradient_lies=gradient_as_input, uniform=True,
)  # fmt: skip
def mm(x, y):
    """The product of two matrices."""
    return jnp.matmul(x, y, precision=FULL)


@multilinear(
    x=lambda g, y: matmul(conj(y), permute(g, axes=(1, 0))), y=lambda g, x: matmul(conj(x), g), aten="mm",
    node="MmBackward0", spoilt="product",
)  # fmt: skip
def rows_product(x, y):
    """The product of the transpose of ``x`` with ``y``, of which all dimensions but the last count as rows.

    Told so, and not as one of matrices, XLA may choose how the rows are laid out: what computed ``x`` and ``y`` then
    writes them in the order in which the product is quickest.
    """
    rows = tuple(range(x.ndim - 1))
    return jax.lax.dot_general(x, y, ((rows, rows), ((), ())), precision=FULL)


@checked(lambda specs, settings: check_bmm(*specs))
@multilinear(
    x=lambda g, y: bmm(g, adjoint(y)), y=lambda g, x: bmm(adjoint(x), g), saved={"mat2": "y"}, spoilt="product",
    uniform=True,
)  # fmt: skip
def bmm(x, y):
    """The products of two batches of matrices, of as many each."""
    return jnp.matmul(x, y, precision=FULL)


@checked(_matrix_and_vector)
@multilinear(
    x=lambda g, y: columns(g) * conj(y), y=lambda g, x: mv(adjoint(x), g), saved={"vec": "y"}, spoilt="product",
    uniform=True,
)  # fmt: skip
def mv(x, y):
    """A matrix times a vector."""
    return jnp.matmul(x, y, precision=FULL)


@checked(check_dot)
@multilinear(
    x=lambda g, y: g * conj(y), y=lambda g, x: g * conj(x), saved={"tensor": "y"}, spoilt="product", uniform=True
)
def dot(x, y):
    """The sum of the products of two vectors' elements; neither is conjugated."""
    return jnp.dot(x, y, precision=FULL)


@checked(check_dot)
@multilinear(x=lambda g, y: conj(g) * y, y=lambda g, x: g * x, uniform=True)
def vdot(x, y):
    """The same with ``x`` conjugated; antilinear in ``x``, so its gradient is not conjugated but ``g`` is."""
    return jnp.dot(jnp.conj(x), y, precision=FULL)


def _left_gradient(g, y, x_shape):
    """The gradient of ``x`` in ``x @ y``, whatever their numbers of dimensions; a batch that ``y`` lacks is kept."""
    rows, inner = (1, *x_shape)[-2:]
    y2 = columns(y) if y.ndim == 1 else y
    batch = g.shape[: g.ndim - (len(x_shape) > 1) - (y.ndim > 1)]
    full = matmul(view(g, shape=(*batch, rows, y2.shape[-1])), adjoint(y2))
    return view(sum_to(full, shape=(*x_shape[:-2], rows, inner)), shape=tuple(x_shape))


def _right_gradient(g, x, y_shape):
    """The gradient of ``y`` in ``x @ y``; for a matrix or vector ``y`` the batch of ``x`` counts as rows."""
    inner, width = (y_shape[0], 1) if len(y_shape) == 1 else y_shape[-2:]
    x2 = view(x, shape=(1, inner)) if x.ndim == 1 else x
    batch = tuple(g.shape[: g.ndim - (x.ndim > 1) - (len(y_shape) > 1)])
    if len(y_shape) == 2 and x.ndim > 2:
        return rows_product(conj(x), g)
    if len(y_shape) <= 2:
        rows = _count(x2.shape[:-1])
        full = mm(adjoint(view(x2, shape=(rows, inner))), view(g, shape=(rows, width)))
    else:
        full = matmul(adjoint(x2), view(g, shape=(*batch, x2.shape[-2], width)))
    return view(sum_to(full, shape=(*y_shape[:-2], inner, width)), shape=tuple(y_shape))


def _count(shape):
    total = 1
    for length in shape:
        total *= length
    return total


def _folded(x: Any, y: Any) -> str:
    """A product of batches is one of matrices where a factor has no batch (on the left: and requires grad)."""
    if y.ndim <= 2:
        return "mv" if y.ndim == 1 else "mm"
    return "mm" if x.ndim <= 2 and x.requires_grad else "bmm"


def _declare_matmul(name: str, **facts: Any) -> Operator:
    @checked(_any_product)
    @multilinear(
        x=lambda g, y, x_shape: _left_gradient(g, y, x_shape),
        y=lambda g, x, y_shape: _right_gradient(g, x, y_shape),
        name=name,
        gradient_lies=gradient_as_matrix,
        uniform=True,
        **facts,
    )
    def product(x, y):
        """The matrix product with NumPy's rules: vectors are a row on the left, a column on the right, and vanish."""
        return jnp.matmul(x, y, precision=FULL)

    return product


def _in_turn(x: Any, y: Any) -> tuple[str, str]:
    return ("x", "y") if x.ndim <= 2 < y.ndim else ("y", "x")


matmul = _declare_matmul("matmul", aten=_folded, node="UnsafeViewBackward0", spoilt="product", turns=_in_turn)
vecmat = _declare_matmul("vecmat", aten="mm", node="SqueezeBackward4", family="matmul", turns=("y", "x"))


# -- products and an addend --------------------------------------------------------------------------------------------


def _linear_weight(g, x, weight_shape):
    """The gradient of the weight of ``linear``: the batch summed away in the product."""
    if x.ndim > 2:
        return rows_product(g, conj(x))
    rows = _count(x.shape[:-1])
    g2 = view(g, shape=(rows, weight_shape[0]))
    return mm(permute(g2, axes=(1, 0)), conj(view(x, shape=(rows, weight_shape[1]))))


def _expect_dtype_of_mat2(name: str, spec: Any, mat2: Any) -> None:
    if spec.dtype is not mat2.dtype:
        names = f"{spec.dtype.scalar_name} and {mat2.dtype.scalar_name}"
        raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {names}")


def _check_linear(specs: Sequence, settings: dict) -> None:
    x, weight, bias = specs
    if weight.ndim != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    rows = _count(x.shape[:-1])
    out, inner = weight.shape
    for name, spec in () if bias is None else (("self", bias), ("mat1", x)):
        _expect_dtype_of_mat2(name, spec, weight)
    if x.shape[-1] != inner:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and {inner}x{out})")
    if x.dtype is not weight.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {cpp_name(x.dtype)} != {cpp_name(weight.dtype)}"
        )
    _refuse_bool("addmm_impl_cpu_", x, weight)
    if bias is not None:
        _expandable(bias.shape, (rows, out))


def _declare_linear(name: str, aten: str, **facts: Any) -> Operator:
    @checked(_check_linear)
    @affine(
        x=lambda g, weight: matmul(g, conj(weight)),
        weight=lambda g, x, weight_shape: _linear_weight(g, x, weight_shape),
        bias=lambda g, bias_shape: sum_to(g, shape=tuple(bias_shape)),
        jvp=lambda t_bias, out: broadcast_to(t_bias, shape=tuple(out.shape)),
        name=name,
        aten=aten,
        family="linear_2d",
        gradient_lies=gradient_as_matrix,
        uniform=True,
        **facts,
    )
    def product(x, weight, bias=None):
        """``x @ weight.T + bias``, for ``x`` of any number of dimensions."""
        axes, wide = (((x.ndim - 1,), (1,)), ((), ())), None if bias is None else _wide(x)
        y = jax.lax.dot_general(x, weight, axes, precision=FULL, preferred_element_type=wide)
        return y if bias is None else (y + bias).astype(x.dtype)

    return product


linear_2d = _declare_linear("linear_2d", "addmm", turns=("bias", "x", "weight"))
linear_nd = _declare_linear("linear_nd", "addmm", node="ViewBackward0", turns=("bias", "weight", "x"))
linear_2d_without_bias = _declare_linear("linear_2d_without_bias", "mm")
linear_nd_without_bias = _declare_linear("linear_nd_without_bias", "mm", node="UnsafeViewBackward0")
linear_1d_without_bias = _declare_linear("linear_1d_without_bias", "mv", node="SqueezeBackward4")


def _check_addmm(specs: Sequence, settings: dict) -> None:
    addend, x, y = specs
    for name, spec in (("self", addend), ("mat1", x)):
        if spec is not None:
            _expect_dtype_of_mat2(name, spec, y)
    for name, spec in (("mat1", x), ("mat2", y)):
        if spec.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {spec.ndim}-D tensor")
    check_mm(x, y)
    if addend is not None:
        _expandable(addend.shape, (x.shape[0], y.shape[1]))


@checked(_check_addmm)
@affine(
    addend=lambda g, beta, addend_shape: sum_to(_times(g, beta), shape=tuple(addend_shape)),
    x=lambda g, y, alpha: _times(mm(g, adjoint(y)), alpha),
    y=lambda g, x, alpha: _times(mm(adjoint(x), g), alpha),
    jvp=lambda t_addend, out, beta: broadcast_to(t_addend * beta, shape=tuple(out.shape)),
    saved={"mat1": "x", "mat2": "y", "mat1_sym_sizes": sizes(1), "mat2_sym_sizes": sizes(2)}, spoilt="product",
    gradient_lies={"addend": gradient_kept, "x": gradient_as_input, "y": gradient_as_input},
)  # fmt: skip
def addmm(addend, x, y, *, beta, alpha):
    """``beta * addend + alpha * (x @ y)``, of matrices; where ``beta`` is 0 the addend is not read."""
    return _product_added(addend, x, y, beta, alpha)


def _check_addmv(specs: Sequence, settings: dict) -> None:
    addend, x, y = specs
    if x.ndim != 2 or y.ndim != 1 or (addend is not None and addend.ndim > 1):
        ndim = 1 if addend is None else addend.ndim
        raise RuntimeError(f"vector + matrix @ vector expected, got {ndim}, {x.ndim}, {y.ndim}")
    length = x.shape[0] if addend is None or not addend.ndim or addend.shape[0] == 1 else addend.shape[0]
    if x.shape[1] != y.shape[0] or length != x.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({length}), mat ({x.shape[0]}x{x.shape[1]}), vec ({y.shape[0]})")
    found = [spec.dtype for spec in (addend or x, x, y)]
    if len(set(found)) > 1:
        names = [dtype.scalar_name for dtype in found]
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names))
    _refuse_bool("addmv_impl_cpu", x, y)


@checked(_check_addmv)
@affine(
    addend=lambda g, beta, addend_shape: sum_to(_times(g, beta), shape=tuple(addend_shape)),
    x=lambda g, y, alpha: _times(columns(g) * conj(y), alpha),
    y=lambda g, x, alpha: _times(mv(adjoint(x), g), alpha),
    jvp=lambda t_addend, out, beta: broadcast_to(t_addend * beta, shape=tuple(out.shape)),
    saved={"mat": "x", "vec": "y"},
)  # fmt: skip
def addmv(addend, x, y, *, beta, alpha):
    """``beta * addend + alpha * (x @ y)``, with a matrix ``x`` and a vector ``y``."""
    return _product_added(addend, x, y, beta, alpha)


def _length(spec: Any, axis: int) -> int:
    if axis >= spec.ndim:
        first, last = -max(spec.ndim, 1), max(spec.ndim, 1) - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{first}, {last}], but got {axis})")
    return spec.shape[axis]


def _check_batched_addend(specs: Sequence, settings: dict, *, summed: bool) -> None:
    addend, x, y = specs
    if addend is not None:
        first = () if summed else (_length(x, 0),)
        target = (*first, _length(x, 1), _length(y, 2))
        _expandable(addend.shape, target)
    if addend is not None and addend.dtype is not x.dtype and not summed:
        names = tuple(cpp_name(spec.dtype) for spec in specs)
        raise RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*names))
    check_bmm(x, y)


@checked(lambda specs, settings: _check_batched_addend(specs, settings, summed=False))
@affine(
    addend=lambda g, beta, addend_shape: sum_to(_times(g, beta), shape=tuple(addend_shape)),
    x=lambda g, y, alpha: _times(bmm(g, adjoint(y)), alpha),
    y=lambda g, x, alpha: _times(bmm(adjoint(x), g), alpha),
    jvp=lambda t_addend, out, beta: broadcast_to(t_addend * beta, shape=tuple(out.shape)),
    saved={"batch1": "x", "batch2": "y"},
)  # fmt: skip
def baddbmm(addend, x, y, *, beta, alpha):
    """``beta * addend + alpha * (x @ y)``, of batches of matrices."""
    return _product_added(addend, x, y, beta, alpha)


@checked(lambda specs, settings: _check_batched_addend(specs, settings, summed=True))
@affine(
    addend=lambda g, beta, addend_shape: sum_to(_times(g, beta), shape=tuple(addend_shape)),
    x=lambda g, y, alpha: _times(matmul(g, adjoint(y)), alpha),
    y=lambda g, x, alpha: _times(matmul(adjoint(x), g), alpha),
    jvp=lambda t_addend, out, beta: broadcast_to(t_addend * beta, shape=tuple(out.shape)),
    saved={"batch1": "x", "batch2": "y", "batch1_sym_argsize_0": size(1, 0), "batch1_sym_argsize_1": size(1, 1),
           "batch2_sym_argsize_2": size(2, 2)},
)  # fmt: skip
def addbmm(addend, x, y, *, beta, alpha):
    """``beta * addend + alpha * sum(x @ y)``, the sum over the batch."""
    axes = ((0, 2), (0, 1)), ((), ())
    product = jax.lax.dot_general(x, y, axes, precision=FULL, preferred_element_type=_wide(x))
    return _added(addend, product, beta, alpha).astype(x.dtype)


def _check_addr(specs: Sequence, settings: dict) -> None:
    addend, x, y = specs
    for name, spec in (("vec1", x), ("vec2", y)):
        if spec.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {spec.ndim}-D")
    if addend is not None:
        _expandable(addend.shape, (x.shape[0], y.shape[0]))
    floating = any(spec.dtype.category >= 2 for spec in specs if spec is not None)
    for name in ("beta", "alpha"):
        if not floating and isinstance(settings[name], float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


def _lies_as_outer(shape: Ints, addend: Any, x: Spec, y: Spec) -> Ints:
    """As the result of an elementwise operator of the three, the first vector as a column."""
    operands = [(tuple(addend.shape), addend.layout)] if isinstance(addend, Spec) else []
    return elementwise_strides(shape, [*operands, ((*x.shape, 1), (*x.layout, 1)), (tuple(y.shape), y.layout)])


@checked(_check_addr)
@affine(
    addend=lambda g, beta, addend_shape: sum_to(_times(g, beta), shape=tuple(addend_shape)),
    x=lambda g, y, alpha: _times(sum(widened(g) * conj(y), axis=(1,)), alpha),
    y=lambda g, x, alpha: _times(sum(widened(g) * columns(conj(x)), axis=(0,)), alpha),
    jvp=lambda t_addend, out, beta: broadcast_to(t_addend * beta, shape=tuple(out.shape)),
    promote="common", saved={"vec1": "x", "vec2": "y"}, lies=_lies_as_outer,
)  # fmt: skip
def addr(addend, x, y, *, beta, alpha):
    """``beta * addend + alpha * outer(x, y)``."""
    product = x[:, None] * y
    if product.dtype == bool:
        return (product & (alpha != 0)) | (addend & (beta != 0))
    return _added(addend, product * 0, beta, 1) if same(alpha, 0) else _added(addend, product, beta, alpha)
