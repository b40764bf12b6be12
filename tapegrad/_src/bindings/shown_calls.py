"""Public functions that are no operators, shown to dispatch modes: factories, and what writes. See Note [Dispatch].

Their overload and their arguments follow from the schemas; what the program answers is the result, but what writes
gives the tensor that it was called for. A function that PyTorch composes of others, and that is one operator here, is
composed for them too (``COMPOSED``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.dunders import AUGMENTED
from tapegrad._src.bindings.declaration.registry import function_shower
from tapegrad._src.bindings.dispatching import is_shown, is_wrapper, say, sees_functions, show
from tapegrad._src.bindings.schema_calls import makes, overload_for
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor, counter_of
from tapegrad.errors import LEAF
from tapegrad.ops.overloads import identity
from tapegrad.ops.schemas import out_of

OTHERS = frozenset("detach bernoulli multinomial poisson nonzero equal histc".split())  # noqa: SIM905 - as above
"""Functions that are no operators here, and are in PyTorch."""

WITHOUT_GRADIENTS = frozenset("""isposinf isneginf count_nonzero bucketize searchsorted allclose
    histogram""".split())  # noqa: SIM905 - shorter
"""Functions that are operators in PyTorch, and others here, and have no gradients."""

UNRECORDED = frozenset("""as_strided_scatter index_reduce native_layer_norm native_batch_norm lu_unpack linalg_lu
    scatter""".split())  # noqa: SIM905 - shorter
"""The same of functions with gradients, which are recorded as what they call here: so they are shown if nothing is."""

READ = frozenset(("item", "__float__", "__int__", "__bool__", "__index__", "__complex__"))
"""Functions that read the only element."""

DETACHED_FIRST = frozenset(("numpy",))
"""Functions that read a tensor which they detach."""

LIFTED = frozenset(("tensor", "as_tensor", "new_tensor", "from_numpy"))
"""Functions that make tensors of what is no tensor."""

NOT_SHOWN = frozenset((
    "requires_grad_", "retain_grad_", "share_memory_", "apply_", "map_", "map2_", "rename_", "detach_",
))  # fmt: skip
"""Methods with a name as if they wrote, and that PyTorch's dispatcher does not see, or that change no elements."""

COMPOSED: dict[str, Callable[..., Any]] = {}
"""Functions that PyTorch's dispatcher sees as others, as compositions of these; NotImplemented: as they are."""


replacements: dict[str, Callable[..., Any]] = {}
"""Functions that programs have registered for those that PyTorch composes of others, by the names of ``aten``."""


def composed(*names: str) -> Callable[[Callable], Callable]:
    """Declare how functions are composed where somebody is shown what they call."""

    def declare(function: Callable) -> Callable:
        COMPOSED.update(dict.fromkeys(names, function))
        return function

    return declare


def shown_function(called: str, whole: Callable, raw: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Show a call of a public function to those who see it, if it is one of those; NotImplemented if it is not.

    Args:
        called: its name.
        whole: what runs the call when everybody has had it.
        raw: the function without the checks around it.
        args, kwargs: the arguments.
    """
    name = AUGMENTED.get(called, called)
    writes = name.endswith("_") and not name.endswith("__") and name not in NOT_SHOWN
    if not is_shown((*args, *kwargs.values())):
        return NotImplemented
    told = (args[1], args[0], *args[2:]) if is_turned(name, whole, args) else args
    say(name, told, kwargs)
    if replacements:
        replacement = replacements.get("matmul" if name == "__matmul__" else name)
        result = NotImplemented if replacement is None else replacement(*told, **kwargs)
        if result is not NotImplemented:
            return result
    if name in COMPOSED:
        result = COMPOSED[name](*told, **kwargs)
        if result is not NotImplemented:
            return result
    if name in READ:
        return show(identity("aten", "_local_scalar_dense", "default"), args, kwargs, raw)
    if name in DETACHED_FIRST and sees_functions():
        return raw(args[0].detach(), *args[1:], **kwargs)
    if name in LIFTED:
        return lifted(raw, args, kwargs)
    if name in UNRECORDED and not _is_recorded((*args, *kwargs.values())):
        return _shown(name, whole, args, dict(kwargs))
    if name in WITHOUT_GRADIENTS:
        return _shown(name, whole, args, dict(kwargs))
    if not (writes or name in OTHERS or name.endswith("_copy") or "out" in kwargs or makes(name)):
        return NotImplemented
    return _shown(name, whole, args, dict(kwargs))


def is_turned(name: str, whole: Callable, args: tuple) -> bool:
    """Tell whether a method has its first two arguments the other way round than the operator of its name."""
    return name == "where" and len(args) > 1 and (getattr(whole, "torch_name", None) or "").startswith("torch.Tensor.")


def _is_recorded(given: tuple) -> bool:
    """Tell whether a call with these arguments has a place in the graph."""
    parts = [one for part in given for one in (part if isinstance(part, (list, tuple)) else (part,))]
    return thread.modes.grad and any(isinstance(one, Tensor) and one.requires_grad for one in parts)


def lifted(raw: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The tensor that a function makes of something that is none, shown as it is made."""
    wants = kwargs.get("requires_grad", False)
    made = raw(*args, **{key: one for key, one in kwargs.items() if key != "requires_grad"})
    if any(made is one for one in args) or made._edge is not None:
        return made.requires_grad_() if wants else made
    made = show(identity("aten", "lift_fresh", "default"), (made,), {}, lambda one: one)
    return made.requires_grad_() if wants else made


def refuse_leaf(tensor: Tensor) -> None:
    """Refuse a write to a tensor that wraps others, in grad mode. Raises RuntimeError: it is a leaf with a gradient."""
    if thread.modes.grad and tensor._spec.requires_grad and tensor._edge is None:
        raise RuntimeError(LEAF)


def _shown(name: str, whole: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    into, wants = kwargs.pop("out", None), kwargs.pop("requires_grad", False)
    matched = overload_for(name, args, kwargs, made=makes(name) == "options" and into is None)
    if matched is None:
        return NotImplemented
    schema, bound = matched
    if into is not None:
        bound.pop("pin_memory", None)
    given, named = schema.shown(bound)
    overload = schema.overload_name or "default"
    if into is None:
        writes = schema.arguments and schema.arguments[0].alias_info is not None and schema.is_mutable
        wraps = writes and is_wrapper(args[0])
        if wraps:
            refuse_leaf(args[0])
        result = show(identity("aten", name, overload), given, named, whole)
        if wraps:  # its class has written to what it wraps
            counter_of(args[0]).bump()
        result = args[0] if writes else result
        return result.requires_grad_() if wants else result
    overload, names = out_of(name, overload)
    targets = into if isinstance(into, (tuple, list)) else (into,)
    if len(targets) != len(names):
        return NotImplemented
    named |= dict(zip(names, targets, strict=True))

    def run(*args: Any, **kwargs: Any) -> Any:
        outs = tuple([kwargs.pop(one) for one in names])
        return whole(*args, **kwargs, out=outs if isinstance(into, (tuple, list)) else outs[0])

    result = show(identity("aten", name, overload), given, named, run)
    return into if isinstance(into, Tensor) else result


function_shower.fill(shown_function)
