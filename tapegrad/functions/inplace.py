"""In-place twins: ``x.add_(y)`` computes ``add`` on what ``x`` was and makes ``x`` the result.

Arrays are immutable, so an in-place operator is its functional twin followed by a write: the storage gets the new value
and one more version, the tensor the new history, and its base too, if it is a view (Note [Views] in
``dispatch/views.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tapegrad.dispatch.views import refuse_view, take_history
from tapegrad.errors import INFERENCE_IN_PLACE, VIEW_OF_LEAF
from tapegrad.execution.dtypes import FLOATING
from tapegrad.execution.promotion import can_cast
from tapegrad.functions.arithmetic import accepts
from tapegrad.functions.inplace_rules import ORDINARY, RULES, SHOWN_TWICE, refuse_shared_parts, shows_the_same
from tapegrad.functions.naming import renamed
from tapegrad.functions.quick_writes import quick, quick_alone, quick_of_two
from tapegrad.functions.registry import NAMESPACES, public, wrapped
from tapegrad.functions.scalars import cast_number, converted, is_number, no_overload, wrong_type
from tapegrad.functions.tangents import take_tangent, unwritten_tangent, written_tangent
from tapegrad.ops import assignment, elementwise
from tapegrad.ops.kinds import broadcast_shapes, cast
from tapegrad.ops.operator import Operator
from tapegrad.tape.modes import thread
from tapegrad.tensor.dual import set_tangent, tangent_of
from tapegrad.tensor.geometry import overlaps_itself
from tapegrad.tensor.refusals import refuse_captured
from tapegrad.tensor.storage import Storage
from tapegrad.tensor.tensor import Tensor, edge_of, passes_for_leaf, value_of, wrap, write, writing

TWINS = """
abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr arccos arccosh arcsin arcsinh arctan arctan2 arctanh
asin asinh atan atan2 atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos cosh cumprod cumsum deg2rad digamma div divide erf erfc
erfinv exp exp2 expm1 fix float_power floor floor_divide fmod frac gcd heaviside hypot i0 igamma igammac index_add
index_copy index_fill index_put index_reduce lcm ldexp lerp lgamma log log10 log1p log2 logical_and logical_not
logical_or logical_xor logit masked_fill masked_scatter mul multiply mvlgamma nan_to_num neg negative nextafter pow
put rad2deg reciprocal relu remainder renorm round rsqrt scatter scatter_add scatter_reduce sgn sigmoid sign sin sinc
sinh sqrt square sub subtract tan tanh tril triu true_divide trunc xlogy
""".split()  # noqa: SIM905 - a table is easier to read without the quotes
"""Methods whose in-place twin is the same name with an underscore."""

FUNCTIONS = """
abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil clamp clamp_max clamp_min
clip conj_physical cos cosh deg2rad erf erfc exp exp2 expm1 fill fix floor frac gcd i0 index_put lcm ldexp log log10
log1p log2 logit nan_to_num neg negative rad2deg reciprocal relu round rsqrt sigmoid sin sinc sinh sqrt square tan tanh
trunc xlogy zero
""".split()  # noqa: SIM905
"""In-place methods that are functions of ``torch`` too."""

AUGMENTED = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__idiv__": "div_",
    "__ifloordiv__": "floor_divide_", "__ipow__": "pow_", "__imod__": "remainder_", "__iand__": "__and__",
    "__ior__": "__or__", "__ixor__": "__xor__", "__ilshift__": "__lshift__", "__irshift__": "__rshift__",
}  # fmt: skip
"""Augmented assignments and the methods that they call, or are twins of."""

QUICK: dict[str, tuple[Operator, ...]] = {
    **dict.fromkeys(("add_",), (elementwise.add, elementwise.add_scaled)),
    **dict.fromkeys(("sub_", "subtract_"), (elementwise.sub, elementwise.sub_scaled)),
    **dict.fromkeys(("mul_", "multiply_"), (elementwise.mul,)),
    **dict.fromkeys(("div_", "divide_", "true_divide_"), (elementwise.div,)),
    "copy_": (assignment.copy,),
}
"""The methods that come down to an operator of two operands, and to one with ``alpha``: Note [Quick writes]."""


def refuse_in_place(tensor: Tensor, *, overlapping: bool = False, recorded: bool = True) -> None:
    """Raise if ``tensor`` may not be written to now.

    Args:
        overlapping: whether it may show one place of its memory several times, as what was expanded does.
        recorded: whether the write is recorded where gradients are.

    Raises:
        RuntimeError: in grad mode, a leaf that requires grad, a view of one, or a view whose creation forbids it; an
            inference tensor outside inference mode; memory that is shown several times. PyTorch's messages.
    """
    spec = tensor._spec
    if recorded and thread.modes.grad and spec.requires_grad:
        if tensor._view is not None:
            refuse_view(tensor)
            if tensor._view.base._edge is None:
                raise RuntimeError(VIEW_OF_LEAF)
        if passes_for_leaf(tensor):
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if spec.inference and not thread.modes.inference:
        raise RuntimeError(INFERENCE_IN_PLACE)
    if spec.strides is not None and not overlapping and overlaps_itself(spec.shape, spec.strides):
        raise RuntimeError(SHOWN_TWICE)


def before_write(tensor: Tensor) -> Tensor:
    """A handle on what ``tensor`` is now, with its place in the graph, that the write will not touch."""
    value, spec = value_of(tensor), tensor._spec.fresh
    before = wrap(value, spec, edge_of(tensor) if thread.modes.grad else None)
    if thread.modes.saved_hooks:  # which may share it: it must not turn out to share the storage that is written to
        before._storage = Storage(value, spec.strides)
        before._storage.admit(before)
    if spec.dual:
        before._spec = spec.replace(dual=False)
        set_tangent(before, unwritten_tangent(tensor))
    return before


def become(tensor: Tensor, result: Tensor, name: str = "copy_") -> Tensor:
    """Make ``tensor`` the result of an operator: its value, one more version, and its history.

    Raises:
        RuntimeError: the result has another shape or device, or a dtype that can't be cast to the tensor's; or it is
            recorded and the tensor is a view whose creation forbids that; or the tensor was captured by a function
            transform, in which ``name`` writes to it.
    """
    base = tensor if tensor._view is None else tensor._view.base
    if result._spec.level != base._spec.level:
        refuse_captured(name, tensor, result)
    check_result(tensor, result)
    if result.dtype is not tensor.dtype:
        edge, result = result._edge, cast(result, dtype=tensor.dtype)
        result._edge = edge  # no node for the cast: that of the operator takes gradients of the dtype that was written
    if result._edge is not None:
        refuse_view(tensor)
    with writing:
        write(tensor, value_of(result))
        if result._edge is not None:
            take_history(tensor, result._edge)
    if (result._spec.dual or tensor._spec.dual) and thread.modes.forward_grad:
        _become_tangent(tensor, tangent_of(result))
    return tensor


def _become_tangent(tensor: Tensor, tangent: Tensor | None) -> None:
    """Let the tangent of a tensor that was written to be that of what was written; it is written to itself."""
    present = written_tangent(tensor)
    if present is None:
        take_tangent(tensor, tangent)  # type: ignore[arg-type]
        return
    refuse_in_place(present)
    before = before_write(present)
    become(present, assignment.fill(before, 0) if tangent is None else assignment.copy(before, tangent))


def check_result(tensor: Tensor, result: Tensor) -> None:
    """Refuse a result that does not fit into ``tensor``."""
    if result.shape != tensor.shape:
        raise RuntimeError(
            f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    if result._spec.device is not tensor._spec.device:
        raise RuntimeError(f"Tensor on device {result.device} is not on the expected device {tensor.device}!")
    if not can_cast(result.dtype, tensor.dtype):
        raise RuntimeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type "
            f"{tensor.dtype.scalar_name}"
        )


def in_place(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The in-place twin of a method."""

    rule = RULES.get(name, ORDINARY)
    strict = rule.apart == "strictly"
    overlapping, apart, ordinary, recorded = bool(rule.overlapping), rule.apart, rule is ORDINARY, not rule.unrecorded

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if rule.first is not None:
            rule.first(self, *args, **kwargs)
        refuse_in_place(self, overlapping=overlapping, recorded=recorded)
        if apart and (strict or self._storage is not None):
            refuse_shared_parts(self, (*args, *kwargs.values()) if kwargs else args, strict)
        before = before_write(self)
        result = function(before, *args, **kwargs)
        return become(self, result if ordinary else rule.apply(name, self, before, result), name)

    method.__doc__ = f"In-place version of ``{name.rstrip('_')}``."
    return wrapped(method, name, out_allowed=False, kind="method")


def augmented(twin: Callable[..., Tensor]) -> Callable[..., Any]:
    """What Python calls for an augmented assignment; operands that it doesn't know are left to the other side."""

    def method(self: Tensor, other: Any) -> Any:
        return twin(self, other) if accepts(other) else NotImplemented

    method.__name__ = method.__qualname__ = twin.__name__
    return method


def declare_twins() -> None:
    """Declare the twins of all methods that exist; called once, when every family has been imported."""
    methods = NAMESPACES["Tensor"]
    for name in TWINS:
        methods[f"{name}_"] = in_place(f"{name}_", methods[name])
    for name, operators in QUICK.items():
        methods[name] = quick(methods[name], *operators)
    for name in ("addcmul_", "addcdiv_"):
        methods[name] = quick_of_two(methods[name], getattr(elementwise, name[:-1]), "value")
    methods["lerp_"] = quick_of_two(methods["lerp_"], elementwise.lerp)
    methods["zero_"] = quick_alone(methods["zero_"], assignment.zero)
    for name, method in AUGMENTED.items():
        methods[name] = augmented(in_place(name, methods[method]) if method.endswith("__") else methods[method])
    functions = NAMESPACES["torch"]
    for name in ("fill", "index_fill", "index_put", "masked_fill", "select_scatter", "slice_scatter"):
        for namespace in (functions, methods):
            if name in namespace:
                namespace[name] = not_of_integers(namespace[name])
    functions |= {f"{name}_": as_function(f"{name}_", methods[f"{name}_"]) for name in FUNCTIONS}


def as_function(name: str, method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """An in-place method as a function of ``torch``."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return method(input, *args, **kwargs)

    function.__doc__ = method.__doc__
    return wrapped(function, name, out_allowed=False)


def not_of_integers(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that gives no integers which require grad. See Note [Written integers] in ``ops/assignment.py``."""

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Tensor:
        result = function(*args, **kwargs)
        if result._spec.misfit and result.dtype.category < FLOATING:
            raise RuntimeError(f"Autograd not support dtype: {result.dtype.scalar_name}")
        return result

    return checked


@public("torch", out=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input`` whose every element is ``value``, a number or a 0-dim tensor.

    Raises:
        RuntimeError: ``value`` has dimensions, or is a number that the dtype can't hold.
    """
    if isinstance(value, Tensor):
        _check_filling(value)
        return assignment.fill(input, value)
    if not is_number(value):
        raise no_overload("fill", (input, value), ("Tensor input, Tensor value", "Tensor input, Number value"))
    return assignment.fill_number(input, _filling(value, input))


def _filling(value: Any, like: Tensor) -> Any:
    """A number as an element of a tensor; narrow floating ones take all, as infinity if need be."""
    takes_all = like.dtype.is_floating_point and like.dtype.itemsize < 4
    return value if takes_all and isinstance(value, float) else converted(value, like.dtype)


def _check_filling(value: Tensor) -> None:
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")


@public("Tensor", out=False)
def fill_(self: Tensor, value: Any) -> Tensor:
    """Replace every element by ``value``, a number or a 0-dim tensor.

    Raises:
        RuntimeError: ``value`` has dimensions, or is a number that the dtype can't hold.
    """
    if not isinstance(value, Tensor):
        value = _filling(value, self)
        refuse_in_place(self, overlapping=True)
        return become(self, renamed(assignment.fill_number(before_write(self), value), "FillBackward2"), "fill_")
    _check_filling(value)
    refuse_in_place(self)
    return become(self, renamed(assignment.fill(before_write(self), value), "FillBackward3"), "fill_")


@public("Tensor", out=False)
def zero_(self: Tensor) -> Tensor:
    """Replace every element by zero."""
    refuse_in_place(self, overlapping=True)
    return become(self, assignment.zero(before_write(self)), "zero_")


@public("Tensor", out=False)
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Replace the elements by those of ``src`` (a tensor or a number), broadcast and cast as need be.

    Raises:
        RuntimeError: ``src`` can't be broadcast to this shape.
    """
    if not isinstance(src, Tensor):
        return _copy_number(self, src)
    refuse_in_place(self, overlapping=shows_the_same(self, src))
    if self._storage is not None:
        refuse_shared_parts(self, (src,))
    if broadcast_shapes([self.shape, src.shape]) != tuple(self.shape):
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape "
            f"{list(broadcast_shapes([self.shape, src.shape]))}"
        )
    return become(self, assignment.copy(before_write(self), src))


def _copy_number(self: Tensor, number: Any) -> Tensor:
    if not is_number(number):
        raise wrong_type("copy_", "other", 1, number)
    refuse_in_place(self)
    result = assignment.fill(before_write(self), cast_number(number, self.dtype))
    return become(self, renamed(result, "torch::autograd::CopyBackwards"))
