"""Calls that are shown to dispatch modes and to tensors with a ``__torch_dispatch__``, below what records them.

Note [Dispatch]
A ``TorchDispatchMode`` (``utils/_python_dispatch.py``) sees what PyTorch's dispatcher sees below autograd, by its names
and with its arguments: operators of the table, which ``worded`` puts into words, and functions that are no operators
here, factories, and what writes in place or into ``out=`` (``shown_call``), with its overload and arguments as the
schemas have them. A class with a ``__torch_dispatch__`` gets the same of its instances, after all modes. The spec of
such a tensor has ``overrides=DISPATCH``: no plan is kept for it, so that each call comes to ``dispatched_operator``.
What the program answers with is the result; what is recorded is the operator: its node gets the edges, and what it
saves. While a mode has a call it is off the stack, and nothing is recorded but by the call that it was shown.

A tensor of ``Tensor._make_wrapper_subclass`` has no data: its value is a ``WrapperValue``, which knows its class and
its attributes. Graphs with such tensors in them run backward on tensors (``autograd/shown_backward.py``). Inside
function transforms they are lifted as any tensor is, and their class gets the operators of the level outside; one on a
batch of examples, which is no operator of PyTorch's, by the name ``tapegrad.vmapped``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tapegrad._src.bindings.declaration.handing import DISPATCH, flat, overriding
from tapegrad._src.bindings.schema_calls import bound_by
from tapegrad._src.bindings.viewing import VIEW_RULES
from tapegrad._src.dispatch.call_cache import class_dispatcher, replay
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.tape.modes import Modes, switched, thread
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, new_tensor, value_of
from tapegrad.ops.overloads import OpOverload, ShownCall, identity, identity_of, shown
from tapegrad.ops.wording import Worded, worded

NO_DATA = (
    "Cannot access data pointer of Tensor that doesn't have storage: it was made by Tensor._make_wrapper_subclass, and "
    "its __torch_dispatch__ computes with what it wraps"
)


class WrapperValue(Opaque):
    """The value of a tensor that wraps others: its class and its attributes, and no data."""

    __slots__ = ("shape", "dtype", "cls", "attributes", "spec", "__weakref__")

    below = None
    nbytes = 0
    is_answered = True

    def __init__(self, tensor: Tensor, spec: Spec) -> None:
        self.shape, self.dtype = tuple(spec.shape), spec.dtype.numpy
        self.cls, self.attributes, self.spec = type(tensor), tensor.__dict__, spec

    @property
    def size(self) -> int:
        """The number of elements that it stands for."""
        return self.spec.numel

    def as_tensor(self) -> Tensor:
        """Another tensor of the same class and attributes."""
        made = new_tensor(self.cls)
        made.__dict__ = self.attributes
        made._value, made._spec, made._edge = self, self.spec, None
        return made

    def run(self, function: Callable, values: tuple) -> Any:
        raise RuntimeError(NO_DATA)

    def unsafe_buffer_pointer(self) -> int:
        """The address of its data: there is none."""
        return 0

    def __repr__(self) -> str:
        return f"WrapperValue({self.cls.__name__}, {list(self.shape)})"


def is_wrapper(tensor: Tensor) -> bool:
    """Tell whether a tensor has no data of its own."""
    return isinstance(tensor._value, WrapperValue)


# -- who is shown a call -----------------------------------------------------------------------------------------------


def sees_functions(modes: Modes | None = None) -> bool:
    """Tell whether the innermost context that gets the calls of operators is a dispatch mode."""
    if not (modes or thread.modes).intercepted or not thread.interceptors:
        return False
    return getattr(getattr(thread.interceptors[-1], "__self__", None), "sees_functions", False)


def dispatching_classes(args: Sequence) -> list[type]:
    """The classes of tensors among arguments that have a ``__torch_dispatch__``, subclasses before their bases."""
    classes: list[type] = []
    for arg in flat(tuple(args)):
        cls = type(arg)
        if isinstance(arg, Tensor) and arg._spec.overrides == DISPATCH and cls not in classes:
            index = next((i for i, other in enumerate(classes) if issubclass(cls, other)), len(classes))
            classes.insert(index, cls)
    return classes


def is_shown(args: Sequence) -> bool:
    """Tell whether somebody is to be shown a call with these arguments."""
    return sees_functions() or bool(overriding.dispatches and dispatching_classes(args))


@contextmanager
def without_innermost() -> Iterator[Any]:
    """The innermost mode, which is off the stack meanwhile."""
    interceptors, modes = thread.interceptors, thread.modes
    thread.interceptors = interceptors[:-1]
    thread.modes = modes.replace(intercepted=len(interceptors) > 1)
    try:
        yield interceptors[-1].__self__  # type: ignore[attr-defined]
    finally:
        thread.interceptors, thread.modes = interceptors, modes


@contextmanager
def hidden() -> Iterator[None]:
    """A block that no mode sees."""
    interceptors, modes = thread.interceptors, thread.modes
    thread.interceptors, thread.modes = (), modes.replace(intercepted=False)
    try:
        yield
    finally:
        thread.interceptors = interceptors
        thread.modes = thread.modes.replace(intercepted=modes.intercepted)


def show(
    func: OpOverload, args: tuple, kwargs: dict[str, Any], run: Callable[..., Any],
    answers: Mapping[type, Callable] | None = None,
) -> Any:  # fmt: skip
    """Give a call to the innermost mode, or to the classes of its tensors, or else run it.

    Args:
        func, args, kwargs: the call, in PyTorch's words.
        run: computes it, recorded as whoever makes the call has it.
        answers: what answers in the place of a mode or a class, which it is given first.
    """
    answers = answers or {}
    outside = thread.modes

    def meant(args: tuple, kwargs: dict[str, Any]) -> Any:
        with switched(grad=outside.grad_enabled, torch_function=outside.torch_function):
            return show(func, args, kwargs, run, answers)

    classes = dispatching_classes((*args, *kwargs.values())) if overriding.dispatches else []
    if sees_functions():
        with without_innermost() as mode, switched(grad=False), shown(ShownCall(func, args, kwargs, meant)):
            if type(mode) in answers:
                return answers[type(mode)](mode, func, tuple(classes), args, kwargs)
            return mode.__torch_dispatch__(func, tuple(classes), args, kwargs)
    for cls in classes:
        if cls in answers:
            with switched(grad=False, torch_function=False):
                return answers[cls](cls, func, tuple(classes), args, kwargs)
    if classes:
        return asked_classes(func, classes, args, kwargs, lambda args, kwargs: run(*args, **kwargs))
    return run(*args, **kwargs)


def asked_classes(
    func: OpOverload, classes: list[type], args: tuple, kwargs: dict[str, Any], meant: Callable[[tuple, dict], Any]
) -> Any:
    """The answer of the first class that doesn't answer NotImplemented.

    Raises:
        TypeError: none does. PyTorch's message.
    """
    for cls in classes:
        with switched(grad=False, torch_function=False), shown(ShownCall(func, args, kwargs, meant)):
            result = cls.__torch_dispatch__(func, tuple(classes), args, kwargs)  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        + "\n".join(f"  - tensor subclass {cls}" for cls in classes)
        + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


# -- what was said -----------------------------------------------------------------------------------------------------


class _Said(threading.local):
    call: tuple[str, tuple, dict[str, Any]] | None = None
    items: list[Any] = []


_said = _Said()
"""The public function that was called last while somebody is shown operators, and its arguments."""

OPERATORS = {"truediv": "div", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
"""The functions that operators of Python call, where they are not named like them."""


def say(name: str, args: tuple, kwargs: dict[str, Any]) -> None:
    """Note the arguments of a public function: the operator that it comes down to is shown with them."""
    if name.startswith("__") and name.endswith("__"):
        name = OPERATORS.get(name[2:-2], name[2:-2])
    _said.call = name, args, kwargs
    if name in ("getitem", "setitem") and len(args) > 1:
        _said.items = [*args[1]] if isinstance(args[1], tuple) else [args[1]]


LEFT_OUT = ("_stacklevel", "inplace")
"""Arguments of functions in Python that operators have not got."""

TURNED = ("embedding",)
"""Functions whose operator of the same name has its arguments in another order."""

BESIDES: dict[str, dict[str, Any]] = {name: {"half_to_float": False} for name in ("_softmax", "_log_softmax")}
"""Arguments of operators that their public functions have not got."""


def in_words(op: OperatorLike, func: OpOverload, args: tuple, settings: dict[str, Any]) -> Worded:
    """A call of an operator in PyTorch's words: those of the public function that was called, if it is named alike."""
    said, _said.call = _said.call, None
    if said is not None and said[0] in TURNED:
        said = None
    if said is not None and said[0] == func._opname.removesuffix("_with_indices").removeprefix("_"):
        schema = func._schema
        named = {key: one for key, one in said[2].items() if key not in LEFT_OUT}
        named.update(BESIDES.get(func._opname, {}))
        bound = None if schema is None else bound_by(schema, said[0], said[1], named)
        if schema is not None and bound is not None:
            words = schema.shown(bound)
            call = Worded(words[0], words[1], args)
            if call.is_whole:
                return call
    if said is not None and said[0] in ("getitem", "setitem"):
        _said.call = said  # several views may follow from it
        return of_item(worded(op, func, args, settings), func, args)
    return worded(op, func, args, settings)


def of_item(worded: Worded, func: OpOverload, args: tuple) -> Worded:
    """A view that an index asks for, with the numbers that stand in the index."""
    schema, item_type = func._schema, {"select": int, "slice": slice}.get(func._opname)
    if item_type is None or schema is None or not worded.is_in_schema:
        return worded
    bound = dict(zip([one.name for one in schema.arguments], worded.args, strict=False))
    for index, item in enumerate(_said.items):
        given = said_by(item, bound, args[0].shape[bound.get("dim", 0)]) if type(item) is item_type else None
        if given is not None:
            _said.items = _said.items[index + 1 :]
            words = schema.shown({**bound, **given})
            return Worded(words[0], words[1], args)
    return worded


def said_by(item: Any, bound: dict[str, Any], length: int) -> dict[str, Any] | None:
    """The arguments of a view as an item of an index says them; None if it says another view."""
    if not isinstance(item, slice):
        return {"index": item} if item % length == bound.get("index") else None
    if not all(type(one) in (int, type(None)) for one in (item.start, item.stop)):
        return None
    indices, step = range(*item.indices(length)), item.step or 1
    first, last = bound.get("start", 0), bound.get("end")
    if indices.start != first or len(range(first, length if last is None else last, step)) != len(indices):
        return None
    return {"start": item.start or 0, "end": sys.maxsize if item.stop is None else item.stop, "step": step}


def as_said(func: OpOverload) -> OpOverload:
    """An operator's overload, where it follows from what was said: whether dimensions were named."""
    said = _said.call
    if said is None or said[0] != func._opname or func._opname not in ("all", "any", "count_nonzero"):
        return func
    dim = said[2].get("dim", said[1][1] if len(said[1]) > 1 else None)
    if func._opname == "count_nonzero":
        return identity("aten", func._opname, "dim_IntList" if isinstance(dim, (tuple, list)) else "default")
    return func if dim is None else identity("aten", func._opname, "dim" if isinstance(dim, int) else "dims")


# -- operators ---------------------------------------------------------------------------------------------------------


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """The sum over what was broadcast from a shape, as PyTorch computes it."""
    if not shape and x.ndim:
        return x.sum()
    extra = x.ndim - len(shape)
    axes = [*range(extra), *(i for i in range(extra, x.ndim) if shape[i - extra] == 1 != x.shape[i])]
    if axes:
        x = x.sum(axes, keepdim=True)
    return x.view(shape) if extra else x


RECOMPOSED: dict[str, Callable[..., Any]] = {"sum_to": sum_to}
"""Operators that PyTorch has not got, as compositions of those that it has."""


def is_as_named(op: Any, args: tuple) -> bool:
    """Tell whether an operator does what PyTorch's of that name does: one on a batch of examples does so only if it is
    elementwise, and its arguments have the same shape, or one element.
    """
    if op.kind != "vmapped":
        return True
    shapes = {tuple(arg.shape) for arg in args if isinstance(arg, Tensor) and arg.ndim}
    return op.op.kind == "elementwise" and len(shapes) == 1


def dispatched_operator(op: OperatorLike, args: tuple, settings: dict[str, Any]) -> Any:
    """Run an operator on tensors of which the class of one has a ``__torch_dispatch__``."""
    if op.name in RECOMPOSED:
        return RECOMPOSED[op.name](*args, **settings)
    func, results = identity_of(op, args) if is_as_named(op, args) else identity("tapegrad", "vmapped", "default"), []
    call = in_words(op, func, args, settings)
    classes = dispatching_classes(args)

    def values() -> Any:
        def meant(args: tuple, kwargs: dict[str, Any]) -> Any:
            return run_operator(op, func, call, args, kwargs, settings)

        results.append(asked_classes(func, classes, call.args, call.kwargs, meant))
        return values_of(results[0])

    result = replay(op, args, settings, values)
    result = adopted(results[0], result)
    show_saved(result)
    return result


def run_operator(
    op: OperatorLike, func: OpOverload, call: Worded, args: tuple, kwargs: dict[str, Any], settings: dict[str, Any]
) -> Any:
    """Run an operator for a call in PyTorch's words; a view is made by the function of that name, which knows where it
    lies.
    """
    told_of_memory = op.name == "as_strided" or func._opname == "alias"
    if op in VIEW_RULES and call.is_in_schema and not told_of_memory:
        return func.overloadpacket(*args, **kwargs)
    return op(*call.back(args, kwargs), **settings)


def values_of(results: Any) -> Any:
    """The values of what a program gave in place of an operator's results.

    Raises:
        TypeError: it is no tensor.
    """
    if isinstance(results, (tuple, list)):
        return tuple([values_of(one) for one in results])
    if not isinstance(results, Tensor):
        type_shown = type(results).__name__
        raise TypeError(f"__torch_dispatch__ must return what the operator does, a Tensor, not {type_shown}")
    return value_of(results)


def adopted(given: Any, out: Any) -> Any:
    """The tensors that a program gave in place of results, with the places in the graph that those have."""
    if isinstance(out, tuple):
        return tuple([adopted(one, other) for one, other in zip(given, out, strict=True)])
    if type(given) is Tensor:
        return out
    made = given
    if given._edge is not None or given._spec.requires_grad:  # it was given itself: the result is another tensor
        made = as_another(given)
    made._edge = out._edge
    made._spec = made._spec.replace(requires_grad=out._spec.requires_grad)
    return made


def as_another(tensor: Tensor) -> Tensor:
    """A tensor of the same class, value and attributes, without a place in the graph."""
    made = new_tensor(type(tensor))
    if hasattr(tensor, "__dict__"):
        made.__dict__ = tensor.__dict__
    made._value, made._edge = value_of(tensor), None
    made._spec = tensor._spec.replace(requires_grad=False, plain=True, window=False)
    return made


def show_saved(out: Any) -> None:
    """Show that results were detached which their own node saves, as PyTorch does."""
    outs = out if isinstance(out, tuple) else (out,)
    node = next((one._edge[0] for one in outs if isinstance(one, Tensor) and one._edge is not None), None)
    plan: Any = getattr(node, "plan", None)
    for position in () if plan is None or not is_shown(outs) else plan.saved_outputs:
        if plan.out_specs[position].requires_grad and isinstance(outs[position], Tensor):
            show_detached(outs[position])


def show_detached(tensor: Tensor) -> None:
    """Show that a tensor was detached."""
    with switched(grad=False):
        show(identity("aten", "detach", "default"), (tensor,), {}, lambda one: one)


class_dispatcher.fill(dispatched_operator)
