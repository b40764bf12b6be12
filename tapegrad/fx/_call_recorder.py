"""``CallRecorder``: a context in which public functions are recorded, and run later as graphs.

Note [Graphs of a running program]
The program's Python is run as it is. Its calls of public functions are recorded (``_recorded.py``), and give shadows
(Note [Calls that are run later] in ``_shadows.py``). Where a graph must end, what was recorded is run: at the end of
the program, where it asks for elements, where a function can't be in a graph (``backward``, say), where other modes
than grad are switched, and where an argument is none that graphs can have. So a program that is recorded does what it
would do otherwise, however many graphs that takes.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from inspect import getattr_static
from types import FrameType
from typing import Any

from tapegrad._src.bindings.declaration.handing import without_innermost
from tapegrad._src.bindings.function_modes import TorchFunctionMode
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import flatten
from tapegrad.fx._naming import facade, is_method_of_tensor
from tapegrad.fx._python_operators import as_operator
from tapegrad.fx._recorded import NotedCall, Recorded, Ref
from tapegrad.fx._shadows import ShadowCapture, become

PARTS = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))
"""Attributes of a tensor that are tensors computed from it."""

KNOWN = """
    shape dtype device ndim requires_grad is_leaf layout itemsize nbytes names is_cpu is_cuda is_meta is_sparse is_mps
    is_nested is_quantized is_xpu is_mkldnn is_sparse_csr is_mtia is_vulkan is_ipu is_xla is_maia retains_grad grad
    output_nr grad_dtype volatile
"""
"""Attributes of a tensor that are known while it has no elements."""

OF_TENSORS = "backward requires_grad_ retain_grad register_hook register_post_accumulate_grad_hook set_".split()  # noqa: SIM905
OF_MEMORY = "data_ptr storage untyped_storage share_memory_ pin_memory numpy".split()  # noqa: SIM905
OF_STREAMS = "manual_seed seed initial_seed set_rng_state get_rng_state".split()  # noqa: SIM905
OF_PYTHON = "item tolist __repr__ __deepcopy__ __reduce_ex__ apply_".split()  # noqa: SIM905
"""Functions that no graph has: they change what a tensor is, show its memory, its elements, or move random numbers."""

_KNOWN, _ENDING = frozenset(KNOWN.split()), frozenset((*OF_TENSORS, *OF_MEMORY, *OF_STREAMS, *OF_PYTHON))

DIFFERENTIATING = frozenset(("torch.autograd.grad", "torch.autograd.backward"))


def autograd_function_apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a custom function: what a graph calls in the place of ``cls.apply``.

    Args:
        cls: the class of the function.
        args, kwargs: its arguments.
    """
    return cls.apply(*args, **kwargs)


@cache
def _property_names() -> dict[Any, str]:
    """The names of the attributes of tensors that are computed."""
    found = {name: getattr_static(Tensor, name) for name in dir(Tensor)}
    return {value: name for name, value in found.items() if isinstance(value, property)}


class CallRecorder(TorchFunctionMode):
    """A context that records calls, and hands them on as graphs.

    Args:
        run: runs what was recorded: given the calls, and what of their results is wanted, it gives these tensors.
        ends: is told why a graph ends before the program does.

    Attributes:
        recorded: the calls since the last graph.
    """

    def __init__(self, run: Callable[[Recorded, Sequence[Ref]], Sequence[Tensor]], ends: Callable[[str], None]) -> None:
        self._run, self._ends = run, ends
        self._begin()

    def _begin(self) -> None:
        self.recorded = Recorded()
        self._shadows: list[tuple[weakref.ref[Tensor], Ref]] = []
        self._capture = ShadowCapture(self._read)
        self._grad = thread.modes.grad_enabled

    # -- calls ---------------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = func.__name__
        if name == "__get__":
            return self._attribute(func, args, kwargs)
        if name == "_set_grad_enabled":
            return func(*args, **kwargs)
        if name in ("__set__", "__delete__"):
            return self._by_itself(f"a call of {name}", lambda: func(*args, **kwargs), harmless=True)
        if name in _ENDING or getattr(func, "torch_name", None) in DIFFERENTIATING:
            return self._by_itself(f"a call of {name}", lambda: func(*args, **kwargs))
        operation = as_operator(func, args, _frame()) if not kwargs else None
        if operation is not None:
            return self._call("call_function", *operation, {}, lambda: func(*args))
        op, target = ("call_method", name) if is_method_of_tensor(func) else ("call_function", func)
        return self._call(op, target, args, kwargs, lambda: func(*args, **kwargs))

    def _attribute(self, func: Any, args: tuple, kwargs: dict) -> Any:
        name = _property_names()[func.__self__]
        if name in PARTS:
            return self._call("call_function", getattr, (args[0], name), {}, lambda: func(*args, **kwargs))
        if name in _KNOWN:
            return func(*args, **kwargs)
        return self._by_itself(f"reading .{name}", lambda: func(*args, **kwargs), harmless=True)

    def custom_function(self, cls: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Record a call of a custom function, as one; its class is the first argument.

        Args:
            cls: the class.
            args, kwargs: its arguments.
        """
        with without_innermost():
            call = lambda: cls.apply(*args, **kwargs)
            return self._call("call_function", autograd_function_apply, (cls, *args), kwargs, call)

    def _call(self, op: str, target: Any, args: tuple, kwargs: dict, call: Callable[[], Any]) -> Any:
        """Record a call, and give its results without their elements."""
        if any(isinstance(one, Tensor) and one._spec.level for one in flatten((args, kwargs))[0]):
            return self._by_itself("a function transform", call)
        modes = thread.modes
        if self.recorded.calls and self.recorded.modes.with_grad(modes.grad_enabled) is not modes:
            self._ends("modes were switched")
            self.run()
        try:
            self._admit(args, kwargs)
            given, named = self.recorded.argument(args), self.recorded.argument(kwargs)
            hash(target)
        except TypeError as error:
            return self._by_itself(f"a graph can't have an {error}", call)
        was_made, result = self._capture.made(call)
        if not was_made:
            return self._by_itself(f"{_told(target)} reads the elements of a tensor", call)
        self._note(NotedCall(op, target, given, named), result, modes)
        return result

    def _admit(self, args: tuple, kwargs: dict) -> None:
        """Let new tensors be inputs: first those that are read from modules, before names are looked up."""
        leaves = flatten((args, kwargs))[0]
        new = [one for one in leaves if isinstance(one, Tensor) and id(one) not in self.recorded.refs]
        frame = _frame() if new else None
        local = {} if frame is None else {id(value): name for name, value in frame.f_locals.items()}
        others = () if frame is None or len(new) == 1 else frame.f_globals.values()
        named = local.keys() | {id(one) for one in others if isinstance(one, Tensor)}
        for one in sorted(new, key=lambda one: id(one) in named):
            self.recorded.ref(one)
        self.recorded.names.update((id(one), local[id(one)]) for one in new if id(one) in local)

    def _note(self, call: NotedCall, result: Any, modes: Any) -> None:
        writes = _writes(call)
        results = list(_tensors_in(result))
        if not (results or writes):
            return
        recorded = self.recorded
        if not recorded.calls:
            recorded.modes = modes.with_grad(self._grad)
        if modes.grad_enabled is not self._grad:
            self._switch(modes.grad_enabled)
        number = len(recorded.calls)
        recorded.calls.append(call)
        recorded.writes |= writes
        for item, tensor in results:
            if id(tensor) not in recorded.refs:
                ref = recorded.refs[id(tensor)] = Ref(number, item)
                self._shadows.append((weakref.ref(tensor, self._forget(id(tensor))), ref))

    def _switch(self, grad: bool) -> None:
        self.recorded.calls.append(NotedCall("call_function", facade()._C._set_grad_enabled, (grad,), {}))
        self._grad = grad

    def _forget(self, key: int) -> Callable[[Any], None]:
        refs = self.recorded.refs
        return lambda _: refs.pop(key, None) and None

    # -- the end of a graph --------------------------------------------------------------------------------------------

    def _by_itself(self, reason: str, call: Callable[[], Any], harmless: bool = False) -> Any:
        """Make a call that is in no graph, when what was recorded has been run.

        Args:
            reason: why it is in none.
            call: makes it.
            harmless: whether graphs may begin after it.
        """
        if not harmless or self.recorded.calls:
            self._ends(reason)
        self.run()
        return call()

    def _read(self) -> None:
        self._ends("the elements of a tensor are read")
        self.run()

    def cut(self, reason: str) -> None:
        """End the graph here."""
        self._ends(reason)
        self.run()

    def run(self, result: Any = None) -> None:
        """Run what was recorded, and begin anew.

        Args:
            result: what the program gives, whose tensors come first.
        """
        recorded, shadows, capture = self.recorded, self._shadows, self._capture
        capture.wanted = None
        if recorded.calls and recorded.modes.grad_enabled is not self._grad:
            self._switch(recorded.modes.grad_enabled)
        capture.undo()
        capture.seen.clear()
        wanted = _still_held(shadows, result)
        self._begin()
        if not recorded.calls or not (wanted or recorded.writes):
            return
        modes, stack = thread.modes, thread.function_modes
        thread.modes = recorded.modes
        thread.function_modes = tuple(one for one in stack if one is not self)
        try:
            results = self._run(recorded, [ref for _, ref in wanted])
        finally:
            thread.modes, thread.function_modes = modes, stack
        for (shadow, _), value in zip(wanted, results, strict=True):
            become(shadow, value)

    def abandon(self) -> None:
        """Make all that was there before what it was, and forget what was recorded."""
        self._capture.wanted = None
        self._capture.undo()
        self._begin()


def _still_held(shadows: list[tuple[weakref.ref[Tensor], Ref]], result: Any) -> list[tuple[Tensor, Ref]]:
    """The shadows that the program still has, those of its result first."""
    for reference, _ in shadows:
        tensor = reference()
        if tensor is not None:
            tensor._edge, tensor._view = None, None  # what was recorded of them would keep others
    tensor = None
    first = {id(one): place for place, one in enumerate(flatten(result)[0])}
    held = [(tensor, ref) for reference, ref in shadows if (tensor := reference()) is not None]
    return sorted(held, key=lambda pair: first.get(id(pair[0]), len(first)))


def _tensors_in(result: Any) -> Iterator[tuple[int | None, Tensor]]:
    """The tensors among results, and which they are."""
    if isinstance(result, Tensor):
        yield None, result
    elif isinstance(result, (tuple, list)):
        for item, one in enumerate(result):
            if isinstance(one, Tensor):
                yield item, one


def _writes(call: NotedCall) -> bool:
    """Tell whether a call changes what was there before."""
    name = call.target if isinstance(call.target, str) else call.target.__name__
    inplace = (name.endswith("_") and not name.startswith("__")) or name == "setitem" or "out" in call.kwargs
    custom = call.target is autograd_function_apply
    buffers = name in ("batch_norm", "instance_norm")
    return inplace or custom or buffers or bool(call.kwargs.get("inplace"))


def _told(target: Any) -> str:
    return target if isinstance(target, str) else target.__name__


def _frame() -> FrameType | None:
    """The frame of the program that makes the call."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(str(frame.f_globals.get("__name__"))):
        frame = frame.f_back
    return frame


def _is_inside(module: str) -> bool:
    return module.startswith(("tapegrad._src.", "tapegrad.fx.", "tapegrad.overrides"))
