"""Functions of complex halves that compute: in complex64, as PyTorch's kernels do, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.dunders import AUGMENTED
from tapegrad._src.bindings.declaration.handing import torch_name_of
from tapegrad._src.complex32.refusals import in_words_of_halves, refuse
from tapegrad._src.complex32.tensor import (
    FALLBACKS,
    HalfValue,
    answered,
    answers,
    become,
    is_half,
    name_of,
    narrowed,
    require_grad,
    state_of,
    widened,
)
from tapegrad._src.complex32.views import of_pairs, replaced, viewed_as_halves
from tapegrad._src.execution.data.dtypes import complex32, complex64, dtype, float16, float32
from tapegrad._src.execution.data.promotion import result_dtype
from tapegrad._src.functions.retyping import conj, view_as_real
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.tensor import Tensor

CONVERTING: set[str] = set()
"""Functions that give the numbers in a type of their own."""


def _converts(*names: str) -> None:
    """Declare functions that give the numbers in a type of their own."""
    CONVERTING.update(names)


_converts("half", "float", "double", "bfloat16", "int", "long", "short", "char")
_converts("byte", "bool", "cfloat", "cdouble", "item", "tolist")


def _leaves(given: Any) -> list[Any]:
    """Arguments, and what is in sequences among them."""
    if isinstance(given, (list, tuple)):
        return [leaf for one in given for leaf in _leaves(one)]
    return [given]


@answers("result_type")
def _result_type(tensor1: Any, tensor2: Any) -> dtype:
    given = (tensor1, tensor2)
    return result_dtype([(one.dtype, one.ndim) if isinstance(one, Tensor) else type(one) for one in given])


def _gives_halves(name: str, leaves: list[Any]) -> bool:
    """Tell whether the result of a function of these arguments is of halves."""
    if name.strip("_") in CONVERTING:
        return False
    asked = [leaf for leaf in leaves if isinstance(leaf, dtype)]
    if asked:
        return asked[0] is complex32
    numbers = [type(leaf) for leaf in leaves if isinstance(leaf, complex)]
    specs = [(leaf.dtype, leaf._spec.ndim) for leaf in leaves if isinstance(leaf, Tensor)]
    return result_dtype([*specs, *numbers]) is complex32


def computed(func: Callable, name: str, args: tuple, kwargs: dict, *, halves: bool | None = None) -> Any:
    """The result of a function that computes, of arguments among which are complex halves, or that gives some."""
    leaves = _leaves((args, tuple(kwargs.values())))
    gives = _gives_halves(name, leaves) if halves is None else halves
    if gives or name.strip("_") not in CONVERTING:
        refuse(name, leaves, gives)
    is_augmented = name in AUGMENTED
    writes = (name.endswith("_") and not name.startswith("__")) or is_augmented or name == "__setitem__"
    target: Any = next(iter((*args, *kwargs.values()))) if writes else kwargs.get("out")
    made: dict[int, Tensor] = {}

    def wide(tensor: Tensor) -> Tensor:
        if id(tensor) not in made:
            made[id(tensor)] = widened(tensor)
        return made[id(tensor)]

    def changed(given: Any) -> Any:
        if given is complex32:
            return complex64
        if isinstance(given, (list, tuple)):
            new = [changed(one) for one in given]
            return type(given)(*new) if hasattr(given, "_fields") else type(given)(new)
        takes_part = gives and isinstance(given, Tensor) and given.dtype is float16 and given is not target
        return given.to(float32) if takes_part else replaced(given, wide)

    requires_grad = kwargs.get("requires_grad") if not any(isinstance(leaf, Tensor) for leaf in leaves) else None
    named = {key: changed(arg) for key, arg in kwargs.items() if key != "requires_grad" or not requires_grad}
    try:
        found = func(*changed(args), **named)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise in_words_of_halves(error, gives) from None
    if is_half(target):
        with switched(grad=thread.modes.grad and not torch_name_of(func).startswith("torch.nn.init.")):
            _write(target, made[id(target)])
        return None if name == "__setitem__" else target
    result = _rounded(found) if gives else found
    return require_grad(result) if requires_grad else result


def _write(target: Tensor, numbers: Tensor) -> None:
    """Put numbers of complex64 into a tensor of complex halves."""
    state = state_of(target)
    if numbers.dtype is not complex64:
        numbers = numbers.to(complex64)
    node = numbers.grad_fn
    parts = view_as_real((conj(numbers) if state.conjugated else numbers).resolve_conj()).to(float16)
    if parts.shape != state.parts.shape:
        become(target, HalfValue(parts))
        return
    state.parts.copy_(parts)
    state.node = None if node is None else (node, state.parts._version)
    target._spec = state.spec


def _rounded(found: Any) -> Any:
    """Results of complex64 as complex halves, and of float32 as halves."""
    if isinstance(found, Tensor):
        if found.dtype is complex64:
            return narrowed(found)
        return found.to(float16) if found.dtype is float32 else found
    if isinstance(found, (list, tuple)):
        made = [_rounded(one) for one in found]
        return type(found)(*made) if hasattr(found, "_fields") else type(found)(made)
    return found


FALLBACKS["computing"] = computed


def asked_for(func: Any, args: tuple, kwargs: dict) -> Any:
    """The result of a function of other tensors that is of complex halves."""
    name, leaves = name_of(func), _leaves((args, tuple(kwargs.values())))
    if any(is_half(leaf) for leaf in leaves):  # whose class was not asked
        with switched(torch_function=True):
            return answered(func, args, kwargs)
    if any(isinstance(leaf, Tensor) and leaf.dtype is complex32 for leaf in leaves):
        raise NotImplementedError(f"{name}: no function transform takes complex32; cast to complex64")
    with switched(torch_function=False):
        if name == "view_as_complex":
            return of_pairs(*args, **kwargs)
        if name == "view" and complex32 in (*args, *kwargs.values()):
            return viewed_as_halves(args[0])
        if name in ("to", "chalf", "type"):
            return converted(*args, **kwargs) if name == "to" else narrowed(args[0].to(complex64))
        if not any(isinstance(leaf, (Tensor, dtype)) for leaf in leaves):  # halves are the default
            kwargs = {**kwargs, "dtype": complex32}
        return computed(func, name, args, kwargs, halves=True)


def converted(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor in complex halves, on a device if one is given."""
    given: Any = [complex64 if arg is complex32 else arg for arg in args]
    named: Any = {key: complex64 if arg is complex32 else arg for key, arg in kwargs.items() if key != "copy"}
    return narrowed(self.to(*given, **named))


@answers("chalf")
def _chalf(self: Tensor, memory_format: Any = None) -> Tensor:
    return self


@answers("to", "cpu", "cuda")
def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    if args and is_half(args[0]):
        other, args = args[0], (args[0].device, complex32, *args[1:])
        if not is_half(self):
            return narrowed(self.to(other.device, complex64))
    if not is_half(self):
        return self.to(*args, **kwargs)
    asked = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, (dtype, Tensor)) or arg in (float, complex)]
    if asked and asked[0] is not complex32:
        return widened(self).to(*args, **kwargs)
    given: Any = [float16 if arg is complex32 else arg for arg in args]
    named: Any = {key: float16 if arg is complex32 else arg for key, arg in kwargs.items()}
    state = state_of(self)
    parts = state.parts.to(*given, **named) if given or named else state.parts
    return self if parts is state.parts else HalfValue(parts, state.conjugated).as_tensor()


@answers("as_tensor", "asarray")
def _as_tensor(obj: Tensor, dtype: Any = None, device: Any = None, **named: Any) -> Tensor:
    if dtype in (None, complex32):
        return _to(obj, device or obj.device, complex32, copy=bool(named.get("copy")))
    return widened(obj).to(device or obj.device, dtype)


@answers("type_as")
def _type_as(self: Tensor, other: Tensor) -> Tensor:
    return self.to(other.dtype)


@answers("type")
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is None:
        return "torch.ComplexHalfTensor"
    return self if dtype in (complex32, "torch.ComplexHalfTensor") else widened(self).type(dtype)


@answers("clone")
def _clone(self: Tensor, *, memory_format: Any = None) -> Tensor:
    if memory_format is None:
        return HalfValue(state_of(self).parts.clone(), state_of(self).conjugated).as_tensor()
    return narrowed(widened(self).clone(memory_format=memory_format))
