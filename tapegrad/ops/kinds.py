"""The kinds of operators, the decorators that declare them, and the operators that the kinds themselves speak.

Note [Kinds]
The kind of an operator fixes what its formulas need not say: how arguments are promoted, that broadcasting is undone
and that a gradient has its input's dtype; and how the forward-mode derivative follows from the reverse-mode formulas.
elementwise: ``conj(f(conj(t)))``, summed over the inputs; linear: ``op(t)``; multilinear: the sum over the inputs of
``op`` with one replaced by its tangent; general: by a ``jvp=`` formula. A family may refine a kind (``Affine`` in
``matmul.py``, ``PointwiseLoss`` in ``losses.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.dispatch.shape_class import SPECIAL
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.tiers.host_trace import flat
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.geometry import Geometry, contiguous_strides, elementwise_strides, preserved_strides
from tapegrad._src.tensor.lifted import mapped_over
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import NO_FORWARD, NotDifferentiableError
from tapegrad.ops.facts import OPTIONS
from tapegrad.ops.memory_formats import as_input, gradient_kept
from tapegrad.ops.operator import Operator

HALVES = frozenset((np.dtype("float16"), np.dtype(jnp.bfloat16)))


def widened(x: Any) -> Any:
    """``x`` in the type that PyTorch's kernels compute in: float32 for the half types; its own otherwise."""
    return x.astype(jnp.float32) if getattr(x, "dtype", None) in HALVES else x


def same(setting: Any, number: float) -> bool:
    """Tell whether a float setting is a number that is ``special``, for which another formula holds.

    A setting that moves is an argument of the kernel (Note [Shape classes]): it is none of these. An operator that asks
    without having said so is not traced for all numbers.
    """
    if not isinstance(setting, jax.core.Tracer):
        return setting == number
    special = SPECIAL.get()
    if special is not None and (not special or (math.isfinite(number) and number not in special)):
        raise TypeError(f"another formula holds at {number}, which is not declared special")
    return False


class General(Operator):
    """Any function: its gradients are its formulas, in the dtypes of its inputs; its tangents those of its ``jvp=``."""

    kind = "general"

    def widened(self, values: Sequence) -> Sequence:
        """The arrays and numbers that the formulas of a backward are given in place of these.

        Note [Halves]
        PyTorch's kernels compute halves in float32 and round once. Many gradients are one kernel, that of ``gelu`` or
        of ``x * 0.1``, which is the gradient times 0.1 and not times the bfloat16 nearest to it. Where that is declared
        (``rounds_once``), the formulas of a backward kernel are given halves as float32, and what they find is rounded.
        In others, and in a backward that is recorded, each operation of a formula rounds.
        """
        return list(map(widened, values))

    def materialize(self, grads: Sequence, out_specs: Sequence[Spec]) -> Sequence:
        """Zeros for the undefined among the gradients of several outputs, where there can be a gradient."""
        if self.undefined or len(grads) == 1 or all(grad is not None for grad in grads):
            return grads
        model = next(grad for grad in grads if grad is not None)
        return [
            zeros_of(model, shape=tuple(spec.shape), dtype=spec.dtype)
            if grad is None and spec.dtype.category >= dtypes.FLOATING
            else grad
            for grad, spec in zip(grads, out_specs, strict=True)
        ]

    def gradient(self, position: int, arguments: Sequence, spec: Spec) -> Any:
        """The gradient of one input: its formula, with broadcasting undone and the dtype that of the input."""
        grad = self.formula(position).function(*arguments)
        return None if grad is None else self.restore(grad, spec)

    def passes(self, position: int, spec: Spec, out_specs: Sequence[Spec]) -> bool:
        """Tell whether the gradient of the argument at ``position`` is that of the output, as it is."""
        (out, *others) = out_specs
        same = spec.shape == out.shape and spec.dtype is out.dtype and not others
        return same and not self.joint and self.formula(position).is_identity

    def gradient_strides(self, plan: Any, position: int, strides: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """The strides of the gradient of an input where that of the output lies so; None: in row-major order.

        Note [Gradients as views]
        PyTorch's gradient of ``sum`` is one number that is shown everywhere, with strides 0, that of ``t()`` a
        transposed view; those of elementwise operators lie as TensorIterator has it. Here gradients flow as values,
        which have no strides, and mostly nobody asks: ``.grad`` is laid out like its leaf. Where hooks or
        ``autograd.grad`` show a gradient, the gradient type ``LaidOut`` keeps account of what doesn't lie in row-major
        order, by the plans of the nodes. Strides are all that is told: nobody sees what such a gradient is a view of.

        The fact ``gradient_lies`` is a rule, or one for each of some inputs: a function of the geometry of the output's
        gradient, the spec of the input, and the settings; what it gives for another shape doesn't count. Without one,
        the gradient of an elementwise operator lies as a result of what its formula names would, and the order of the
        names matters: of ``lambda out, g`` it lies as the output does. Any other lies in row-major order.
        """
        spec, out = plan.specs[position], plan.out_specs[0]
        shape, single = tuple(spec.shape), len(plan.out_specs) == 1
        if self.passes(position, spec, plan.out_specs):
            return strides
        rule = self.gradient_lies
        rule = rule.get(self.inputs[position]) if isinstance(rule, dict) else rule
        if rule is not None:
            given = Geometry(tuple(out.shape), contiguous_strides(tuple(out.shape)) if strides is None else strides)
            place = rule(given, spec, **plan.settings)
            if place is None or place.shape != shape:
                return None
            cast_to_input = out.dtype is not spec.dtype  # which writes it anew
            return named_strides(shape, preserved_strides(*place[:2]) if cast_to_input else place.strides)
        if not self.broadcasts or not single or out.shape != spec.shape:
            return None
        grad = out if strides == out.strides else out.replace(strides=strides)
        lists = {"grad": [grad], "input": plan.specs, "output": plan.out_specs}
        named = [lists[kind][index] for kind, index in plan.sources[position] if kind in lists]
        if not any(isinstance(x, Spec) and x.strides is not None for x in named):
            return None
        operands = [(tuple(x.shape), x.layout) for x in named if isinstance(x, Spec)]
        return named_strides(shape, elementwise_strides(shape, operands))

    def restore(self, grad: Any, spec: Spec) -> Any:
        """Give a gradient the dtype of the input it belongs to (and its shape, for kinds that broadcast)."""
        if self.broadcasts and tuple(grad.shape) != spec.shape:
            grad = sum_to(grad, shape=tuple(spec.shape))
        if dtypes.as_dtype(grad.dtype) is not spec.dtype:
            grad = cast(grad, dtype=spec.dtype)
        return grad

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        """The tangent of the output, on arrays or tensors. ``tangents`` has None where an input has none.
        Raises NotDifferentiableError: naming the operator, where forward mode has no formula.
        """
        if self.jvp_formula is None:
            raise NotDifferentiableError(NO_FORWARD.format(self.name))
        named = dict(zip(self.inputs, primals, strict=False)) | self.defaults | settings
        named |= {f"t_{name}": tangent for name, tangent in zip(self.inputs, tangents, strict=False)}
        if self.variadic:
            named |= {self.variadic: tuple(primals[len(self.inputs) :])}
            named |= {f"t_{self.variadic}": tuple(tangents[len(self.inputs) :])}
        named |= dict(zip(self.outputs, out, strict=True)) if self.outputs else {"out": out}
        return self.jvp_formula.function(*[named[name] for name in self.jvp_formula.names])


def _cast_place(spec: Spec, common: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and strides of an operand: where another dtype is computed in, those of the copy that is cast."""
    shape = tuple(spec.shape)
    return shape, spec.layout if common is None or spec.dtype is common else preserved_strides(shape, spec.layout)


class Elementwise(General):
    """Acts on each element by itself, after broadcasting."""

    kind = "elementwise"
    broadcasts = uniform = True

    def check(self, specs: Sequence, settings: dict) -> None:
        given = [spec for spec in specs if isinstance(spec, Spec)]
        broadcast_shapes([spec.shape for spec in given], mapped_over(*given) if thread.levels else 0)

    def output_strides(self, shape: tuple[int, ...], specs: Sequence) -> tuple[int, ...] | None:
        if not [spec for spec in specs if isinstance(spec, Spec) and spec.strides is not None]:
            return None
        if self.lies is not None:
            return super().output_strides(shape, specs)
        common = None if self.promote == "none" else self.compute_dtype(self.promoted(specs))
        operands = [
            _cast_place(spec, common) if isinstance(spec, Spec) else ((), ())
            for name, spec in zip(self.inputs, specs, strict=False)
            if isinstance(spec, Spec) or (spec is not None and name not in PARAMETERS)
        ]
        return named_strides(shape, elementwise_strides(tuple(shape), operands))

    def promoted(self, specs: Sequence) -> list:
        named = zip(self.inputs, specs, strict=False)
        return [spec for name, spec in named if spec is not None and name not in MASKS]

    def prepare(self, specs: Sequence, settings: dict) -> Callable:
        """As every operator's, but masks are not cast, and halves are computed in float32 and rounded once."""
        if self.promote == "none":
            return super().prepare(specs, settings)
        self.check(specs, settings)
        masks = [self.inputs[position] in MASKS for position in range(len(specs))]
        result = self.compute_dtype(self.promoted(specs))
        half = result.category == 2 and result.itemsize == 2
        compute = jnp.float32 if half else result.numpy
        function, present = self.function, [spec is not None for spec in specs]

        @partial(flat, own=self.is_own(settings))
        def prepared(*values: Any) -> Any:
            given = iter(values)
            arguments = [
                None if not here else next(given) if mask else jnp.asarray(next(given), compute)
                for here, mask in zip(present, masks, strict=True)
            ]
            out = function(*arguments, **settings)
            return out.astype(result.numpy) if half and out.dtype == compute else out

        return prepared

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        if self.jvp_formula is not None:
            return super().jvp(primals, tangents, out, **settings)
        named = dict(zip(self.inputs, primals, strict=True)) | settings | {"out": out}
        total, foreign = None, False  # whether a tangent was given another dtype than its primal's: it keeps it
        for position, tangent in enumerate(tangents):
            if tangent is None or not self.differentiable(position):
                continue
            formula = self.formula(position)
            if hasattr(formula.function, "underivable"):
                what = formula.function.underivable
                raise NotDifferentiableError(f"Trying to use forward AD with {what} that does not support it.")
            foreign = foreign or tangent.dtype != primals[position].dtype
            names = {"g": conj(tangent if foreign else _as_dtype_of(out, tangent)), **named}
            part = conj(formula.function(*[_named(names, name) for name in formula.names]))
            total = part if total is None else total + part
        if total is None:
            return None
        total = total if tuple(total.shape) == tuple(out.shape) else broadcast_to(total, shape=tuple(out.shape))
        return total if foreign else _as_dtype_of(out, total)


def _as_dtype_of(out: Any, tangent: Any) -> Any:
    """A tangent with the dtype of the output."""
    return tangent if tangent.dtype == out.dtype else cast(tangent, dtype=dtypes.as_dtype(out.dtype))


class LinearOperator(General):
    """Linear in its first input (or jointly in a variadic one); the others are indices, masks and settings."""

    kind = "linear"

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        if self.jvp_formula is not None:
            return super().jvp(primals, tangents, out, **settings)
        arguments = [
            primal if not self.differentiable(position) else _zero_like(primal) if tangent is None else tangent
            for position, (primal, tangent) in enumerate(zip(primals, tangents, strict=True))
        ]
        return self(*arguments, **settings)


def _zero_like(primal: Any) -> Any:
    """The tangent of an argument that has none, which may be a number."""
    if isinstance(primal, (bool, int, float, complex)):
        return 0
    return zeros_of(primal, shape=tuple(primal.shape), dtype=dtypes.as_dtype(primal.dtype))


class Multilinear(General):
    """Linear in each differentiable input while the others are held fixed: products."""

    kind = "multilinear"

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        total = None
        for position, tangent in enumerate(tangents):
            if tangent is not None and self.differentiable(position):
                part = self(*primals[:position], tangent, *primals[position + 1 :], **settings)
                total = part if total is None else total + part
        return total


MASKS = frozenset(("condition", "mask"))
"""Inputs of elementwise operators with these names are boolean and take no part in promotion."""

PARAMETERS = frozenset(("alpha", "min", "max", "value", "weight"))
"""Inputs of elementwise operators with these names have no say in how the result lies in memory if they are numbers;
any other number counts as a tensor without dimensions."""


def _named(names: dict[str, Any], name: str) -> Any:
    if name in names:
        return names[name]
    stem, _, attribute = name.rpartition("_")
    return getattr(names[stem], attribute)


def broadcast_shapes(shapes: Sequence[tuple[int, ...]], outer: int = 0) -> tuple[int, ...]:
    """The common shape of operands.

    Raises:
        RuntimeError: PyTorch's message, when two lengths differ and neither is 1. It counts ``outer`` dimensions, those
            that are mapped over, too.

    >>> broadcast_shapes([(3, 1), (4,)])
    (3, 4)
    """
    result: tuple[int, ...] = tuple(shapes[0]) if shapes else ()
    for shape in shapes[1:]:
        if shape == result:
            continue
        ndim = max(len(result), len(shape))
        left = (1,) * (ndim - len(result)) + tuple(result)
        right = (1,) * (ndim - len(shape)) + tuple(shape)
        for axis in reversed(range(ndim)):
            a, b = left[axis], right[axis]
            if a != b and a != 1 and b != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{axis + outer}"
                )
        result = tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))
    return result


def declaration(cls: type[Operator], **usual: Any) -> Callable[..., Callable[[Callable], Any]]:
    """The decorator that declares operators of a kind, given formulas and options by name. See Note [Facts].

    Args:
        cls: the kind.
        usual: options that its operators have where they say nothing else.
    """

    def decorator(**declared: Any) -> Callable[[Callable], Any]:
        formulas: dict[str, Callable] = {}
        options = dict(usual)
        for name, value in declared.items():
            (options if name in OPTIONS else formulas)[name] = value
        return lambda function: cls(function, formulas, **options)

    return decorator


elementwise = declaration(Elementwise, promote="common")
linear = declaration(LinearOperator)
multilinear = declaration(Multilinear)
general = declaration(General)

same_values = partial(linear, x=lambda g: g, aten=None)
"""An operator that gives values as they are: it stands in the graph for what becomes of a tensor that has them."""


# -- the operators that the kinds themselves speak ---------------------------------------------------------------------


class Conjugate(Elementwise):
    """Of a real tensor, the tensor itself: formulas that say ``conj`` cost nothing where there is nothing to do."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        (x,) = args
        return x if isinstance(x, Tensor) and not x._spec.dtype.is_complex else super().__call__(x)


@declaration(Conjugate, promote="common")(x=lambda g: conj(g), aten="_conj")
def conj(x):
    """The complex conjugate; of a real array, the array."""
    if isinstance(x, complex):
        return x.conjugate()
    return jnp.conj(x) if jnp.iscomplexobj(x) else x


def _cast_back(place: Geometry, x: Spec, dtype: dtypes.dtype) -> Geometry | None:
    return place if dtype is x.dtype else gradient_kept(place, x)


@linear(x=lambda g, x_dtype: cast(g, dtype=x_dtype), aten="_to_copy", lies=as_input, gradient_lies=_cast_back)
def cast(x, *, dtype):
    """``x`` in another dtype; from complex to real the imaginary part is dropped."""
    return retyped(x, dtype.numpy) if hasattr(x, "astype") else jnp.asarray(x, dtype.numpy)


def retyped(x: Any, dtype: Any) -> Any:
    """An array in another dtype of NumPy's: complex numbers lose their imaginary part, floating ones go towards zero to
    integers, and out of range as processors do it.

    The narrow types keep the low bits of an int32, as in PyTorch. What an integer of 32 or 64 bits can't hold, nan
    among it, becomes the least one.
    """
    dtype = np.dtype(dtype)
    if jnp.iscomplexobj(x) and dtype.kind not in "cb":
        x = jnp.real(x)
    if dtype.kind not in "iu" or not jnp.issubdtype(x.dtype, jnp.floating):
        return x.astype(dtype)
    if x.dtype.itemsize < 4:
        x = x.astype(jnp.float32)
    if dtype == jnp.uint32:
        return jnp.where(x < 0, x.astype(jnp.int32).astype(dtype), x.astype(dtype))
    limit = 2.0 ** (63 if dtype.itemsize == 8 else 31)
    via = jnp.int64 if dtype.itemsize == 8 else jnp.int32
    return jnp.where((x >= -limit) & (x < limit), x, -limit).astype(via).astype(dtype)


@linear(x=lambda g, x_shape: sum_to(g, shape=tuple(x_shape)), aten="expand", shows=True, uniform=True)
def broadcast_to(x, *, shape):
    """``x`` repeated along new dimensions in front, and along those of length 1."""
    return jnp.broadcast_to(x, shape)


@linear(x=lambda g, x_shape: broadcast_to(g, shape=tuple(x_shape)), aten=None, profile="sum")
def sum_to(x, *, shape):
    """The adjoint of ``broadcast_to``: summed over the dimensions in which ``shape`` was broadcast."""
    extra = x.ndim - len(shape)
    axes = (
        *range(extra),
        *(extra + axis for axis, length in enumerate(shape) if length == 1 and x.shape[extra + axis] != 1),
    )
    return jnp.sum(x, axis=axes).reshape(shape)


@general(aten=None, profile="zeros_like", uniform=True, loose=True)
def zeros_of(x, *, shape, dtype):
    """Zeros of any shape and dtype, where ``x`` lives."""
    return jnp.zeros(shape, dtype.numpy)
