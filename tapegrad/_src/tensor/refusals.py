"""Refusals inside function transforms (Note [Levels] in ``lifted.py``), and where there is no data."""

from __future__ import annotations

from tapegrad._src.execution.data.devices import META
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.level_messages import INCOMPATIBLE
from tapegrad._src.tensor.lifted import Lifted
from tapegrad._src.tensor.tensor import Tensor, value_of


def is_example(tensor: Tensor) -> bool:
    """Tell whether a tensor is one of the examples of a ``vmap`` that is running, at any level."""
    while tensor._spec.level:
        value = value_of(tensor)
        if not isinstance(value, Lifted) or value.batched:
            return isinstance(value, Lifted)
        tensor = value.tensor
    return False


def is_example_here(tensor: Tensor) -> bool:
    """Tell whether a tensor is one of the examples of the innermost of its levels."""
    value = value_of(tensor) if tensor._spec.level else None
    return isinstance(value, Lifted) and value.batched


def refuse_in_transforms(text: str) -> None:
    """Refuse what can't be done inside ``func``'s transforms.
    Raises RuntimeError: with this text, if one is running.
    """
    if thread.levels and any(level.transforms for level in thread.levels):
        raise RuntimeError(text)


def refuse_to_call(name: str, besides: str = "") -> None:
    """Refuse a method that PyTorch does not support inside ``func``'s transforms. Raises RuntimeError: its message."""
    refuse_in_transforms(
        f"You are attempting to call Tensor.{name}() {besides}inside of a function being transformed by a functorch "
        "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
        f"jacfwd, hessian) or call {name}() outside of a function being transformed instead."
    )


def refuse_to_change(called: str, tensor: Tensor) -> None:
    """Refuse what makes another tensor of one that a transform has captured, that differentiates.
    Raises RuntimeError: PyTorch's message.
    """
    level = thread.levels[-1] if thread.levels else None
    if level is not None and not level.leaves_out and tensor._spec.level != level.depth:
        raise RuntimeError(CAPTURED.format(called))


CAPTURED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
    "(aten::{}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
    "transformed to explicitly accept the mutated Tensor(s) as inputs."
)


def refuse_examples(text: str, *tensors: Tensor) -> None:
    """Refuse what can't be done with examples of a ``vmap``.
    Raises RuntimeError: with this text, if one of the tensors is an example.
    """
    if thread.modes.level and any(map(is_example, tensors)):
        raise RuntimeError(text)


def refuse_meta(operator: str, *tensors: Tensor) -> None:
    """Refuse an operator whose result depends on elements in its shape, where there are none.
    Raises NotImplementedError: PyTorch's message, if a tensor is on the device ``meta``.
    """
    if not any(tensor.device is META for tensor in tensors):
        return
    if operator == "nonzero":
        raise NotImplementedError(
            "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct "
            "data-independent implementation does not exist. This implementation returns a fake value, assuming all "
            "elements of the tensor are non-zero. To enable this registration, please set "
            "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
        )
    raise NotImplementedError(
        f"aten::{operator}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta "
        "kernel registered. You may have run into this message while using an operator with PT2 compilation APIs "
        "(torch.compile/torch.export); in order to use this operator with those APIs you'll need to add a fake impl. "
        "Please see the following for next steps:  "
        "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
    )


def refuse_number(tensor: Tensor) -> None:
    """Refuse to give the number that an element is, where there is none.
    Raises RuntimeError: PyTorch's message, if the tensor is on the device ``meta``.
    """
    if tensor.device is META:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")


def refuse_memory(tensor: Tensor) -> None:
    """Refuse to hand out the memory of a tensor that has none of its own, because it is lifted.
    Raises NotImplementedError: PyTorch's message.
    """
    if tensor._spec.level:
        kind = "BatchedTensorImpl" if is_example_here(tensor) else "TensorWrapper"
        raise NotImplementedError(f"Cannot access storage of {kind}")


def refuse_captured(name: str, tensor: Tensor, result: Tensor, called: str | None = None) -> None:
    """Refuse a write, by the in-place function ``name``, of something that belongs to a level to a tensor that doesn't.

    Args:
        name, tensor, result: the function, with its overload if it has one; what it writes to, and what it writes.
        called: what ``vmap`` calls it, if not by the name of PyTorch's operator; "": it says that the shapes don't fit.

    Raises:
        RuntimeError: PyTorch's messages.
    """
    level = thread.levels[result._spec.level - 1]
    between = thread.levels[tensor._spec.level : level.depth - 1] if called == "" else ()
    if not (level.maps and all(further.maps for further in between)):
        raise RuntimeError(CAPTURED.format(name))
    if called == "":
        shapes = list(tensor.shape), [level.size, *result.shape]
        raise RuntimeError("output with shape {} doesn't match the broadcast shape {}".format(*shapes))
    if called is not None:
        raise RuntimeError(INCOMPATIBLE.format(called, "in a vmap"))
    raise RuntimeError(INCOMPATIBLE.format(f"aten::{name.partition('.')[0]}", f"at level {level.depth}"))
