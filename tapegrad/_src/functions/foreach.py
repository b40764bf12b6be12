"""``torch._foreach_*``: one function for lists of tensors, which optimizers are written with.

Each tensor is computed by the function of the same name, so that results, gradients and errors are that function's, and
the node as well. What differs is that lists have to be of one length, and not empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.dispatch.function_levels import lower
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.execution.data.dtypes import float64, int32
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.layout import memory_format as memory_format_class
from tapegrad._src.tensor.tensor import Tensor

UNARY = """
abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt
sigmoid sign sin sinh sqrt tan tanh trunc
""".split()  # noqa: SIM905 - a table is easier to read without the quotes

Results = tuple[Tensor, ...]


def _columns(tensors: Sequence[Tensor], *operands: Any) -> Iterable[tuple]:
    """The other operands of each tensor: an element of a list, or the one thing that is there for all.
    Raises RuntimeError: no tensor, or a list of another length.
    """
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    many = [one if isinstance(one, (list, tuple)) else [one] * len(tensors) for one in operands]
    for one in many:
        if len(one) != len(tensors):
            if not one or not isinstance(one[0], Tensor):
                raise RuntimeError("Tensor list must have same number of elements as scalar list.")
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(one)}"
            )
    return zip(tensors, *many, strict=True)


def _new(method: str, tensors: Sequence[Tensor], *operands: Any, **options: Any) -> Results:
    """The results of a method, for each tensor."""
    return tuple([getattr(tensor, method)(*own, **options) for tensor, *own in _columns(tensors, *operands)])


def _written(method: str, tensors: Sequence[Tensor], *operands: Any, **options: Any) -> list[Tensor]:
    """The tensors, after a method has written to each."""
    for tensor, *own in _columns(tensors, *operands):
        _write(tensor, f"{method}_", own, options)
    return list(tensors)


def _write(tensor: Tensor, method: str, operands: Sequence[Any], options: dict[str, Any]) -> None:
    """Let a method write to a tensor; to one that a transform has captured, that differentiates, one level further out.

    PyTorch refuses other writes to those, but does not look into lists.
    """
    level = thread.levels[-1] if thread.levels else None
    if level is None or level.leaves_out or tensor._spec.level == level.depth:
        getattr(tensor, method)(*operands, **options)
        return
    given = [lower(one, level)[0] if isinstance(one, Tensor) else one for one in operands]
    with level.outside():
        _write(tensor, method, given, options)


def _declare(name: str, family: Callable[[str, Callable], Callable]) -> None:
    """Declare the function of a family that gives new tensors, and the one that writes."""
    for run, ending, says in ((_new, "", "new tensors"), (_written, "_", "the tensors themselves, written to")):
        function = family(name, run)
        function.__name__ = function.__qualname__ = f"_foreach_{name}{ending}"
        function.__doc__ = f"``{name}`` of each tensor of a list: {says}."
        public("torch")(function)


def _unary(name: str, run: Callable) -> Callable:
    def function(self: Sequence[Tensor]) -> Any:
        return run(name, self)

    return function


def _binary(name: str, run: Callable) -> Callable:
    numbers = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)

    def function(self: Sequence[Tensor], other: Any) -> Any:
        of_tensors = isinstance(other, (list, tuple)) and bool(other) and isinstance(other[0], Tensor)
        return run(name if of_tensors and run is _new else numbers, self, _factor(other))

    return function


def _sum(name: str, run: Callable) -> Callable:
    def function(self: Sequence[Tensor], other: Any, *, alpha: Any = 1) -> Any:
        return run(name, self, _factor(other), alpha=alpha)

    return function


def _factor(other: Any) -> Any:
    """An operand, which must have no dimensions if it is one tensor for all. Raises RuntimeError: it has."""
    if isinstance(other, Tensor) and (other.ndim or other.numel() != 1):
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {other.ndim} dimensions and {other.numel()} elements."
        )
    return other


def _power(name: str, run: Callable) -> Callable:
    def function(self: Any, exponent: Any) -> Any:
        if isinstance(self, (list, tuple)):
            return run(name, self, exponent)
        return tuple([NAMESPACES["torch"][name](self, one) for one, in _columns(exponent)])

    return function


def _lerp(name: str, run: Callable) -> Callable:
    def function(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> Any:
        return run(name, self, tensors1, weight)

    return function


def _product_added(name: str, run: Callable) -> Callable:
    def function(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: Any = 1) -> Any:
        if isinstance(value, Tensor):
            value = _unpacked(value, len(self))
        columns = list(_columns(self, tensor1, tensor2, value))
        results = [run(name, (x,), (one,), (other,), value=factor) for x, one, other, factor in columns]
        return [*self] if run is _written else tuple([result for result, in results])

    return function


def _unpacked(scalars: Tensor, length: int) -> list[Any]:
    """The numbers in a tensor. Raises RuntimeError: not one for each tensor."""
    if scalars.ndim != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead.")
    if len(scalars) != length:
        raise RuntimeError(f"Expected length of scalars to match input of length {length} but got {len(scalars)} "
                           "instead.")  # fmt: skip
    return scalars.tolist()


for _names, _family in (
    (UNARY, _unary),
    (("mul", "div", "maximum", "minimum", "clamp_max", "clamp_min"), _binary),
    (("add", "sub"), _sum),
    (("pow",), _power),
    (("lerp",), _lerp),
    (("addcmul", "addcdiv"), _product_added),
):
    for _name in _names:
        _declare(_name, _family)


@public("torch")
def _foreach_clone(self: Sequence[Tensor], *, memory_format: memory_format_class | None = None) -> Results:
    """Copies of the tensors of a list."""
    return _new("clone", self, memory_format=memory_format)


@public("torch")
def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> list[Tensor]:
    """Write to each tensor of a list what another one has."""
    return _written("copy", self, src)


@public("torch")
def _foreach_zero_(self: Sequence[Tensor]) -> list[Tensor]:
    """Write zeros to each tensor of a list."""
    return _written("zero", self)


@public("torch")
def _foreach_max(self: Sequence[Tensor]) -> Results:
    """The largest element of each tensor of a list.

    Raises:
        RuntimeError: one has no elements.
    """
    if any(not tensor.numel() for tensor in self):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
        )
    return _new("max", self)


@public("torch")
def _foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> Results:
    """The product of each matrix of a list with that of another."""
    return _new("mm", self, mat2)


@public("torch")
def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: dtype_class | None = None) -> Results:
    """The norm of each tensor of a list, as of a vector."""
    norm = NAMESPACES["linalg"]["vector_norm"]
    return tuple([norm(tensor, ord, dtype=dtype) for tensor, in _columns(self)])


@public("torch")
def _foreach_powsum(self: Sequence[Tensor], ord: Any = 2, dtype: dtype_class | None = None) -> Results:
    """The sum of the powers of the absolute elements, for each tensor of a list."""
    return tuple([tensor.abs().pow(ord).sum(dtype=dtype) for tensor, in _columns(self)])


# -- what GradScaler is made of ----------------------------------------------------------------------------------------


@public("torch")
def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiply tensors by a number, and write 1 into another if one was not finite.

    Raises:
        RuntimeError: ``found_inf`` or ``inv_scale`` has more than one element.
    """
    for name, number in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        if number.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
    scales = {dtype: inv_scale.to(dtype).reshape(()) for dtype in {tensor.dtype for tensor in self}}
    finite = None
    for tensor in self:
        found = tensor.isfinite().all()
        finite = found if finite is None else finite & found
        tensor.mul_(scales[tensor.dtype])
    if finite is not None:
        found_inf.masked_fill_(finite.logical_not(), 1.0)


@public("torch")
def _amp_update_scale_(
    self: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: float, scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:  # fmt: skip
    """Make a scale smaller where something infinite was found; larger after so many times without.

    Raises:
        RuntimeError: a tensor of more than one element, or of another dtype.
    """
    for name, number in (("growth_tracker", growth_tracker), ("current_scale", self), ("found_inf", found_inf)):
        if number.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if name == "growth_tracker" and number.dtype is not int32:
            raise RuntimeError("growth_tracker must be an int tensor.")
        if name != "growth_tracker" and not number.is_floating_point():
            raise RuntimeError(f"{name} must be a float tensor.")
    found, where = found_inf.reshape(self.shape) != 0, NAMESPACES["torch"]["where"]
    good = growth_tracker + 1
    grows = (good == growth_interval).reshape(self.shape)
    larger = (self.to(float64) * scale_growth_factor).to(self.dtype)
    larger = where(grows & larger.isfinite(), larger, self)
    smaller = (self.to(float64) * scale_backoff_factor).to(self.dtype)
    self.copy_(where(found, smaller, larger))
    growth_tracker.copy_(where((found | grows).reshape(good.shape), 0, good))
    return self
