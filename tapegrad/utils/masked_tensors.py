"""``MaskedTensor``: a tensor that knows which of its elements count.

Note [Masked tensors]
A masked tensor is its data, with the data's place in the graph, and a mask beside it. Functions of elements are those
of the data, views are those of data and mask; reductions are those of ``torch.masked``. So what does not count is
computed, too, and is not shown; reductions give it no gradient. A gradient has the mask of its leaf: PyTorch's has that
of what was computed, too.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.subclass import DisableTorchFunctionSubclass
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.data.dtypes import bool as bool_dtype
from tapegrad._src.functions.selection import where
from tapegrad._src.tape.modes import watching
from tapegrad._src.tensor.layout import strided
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

class MaskedTensor(Tensor):
    """A tensor that knows which of its elements count; made by ``masked_tensor`` and ``as_masked_tensor``.

    Args:
        data: a tensor; it is detached.
        mask: bools of its shape; True where an element counts.
        requires_grad: whether gradients are wanted.

    Raises:
        TypeError: what is no tensor, or a mask that is not boolean.
        ValueError: a mask of another shape.
    """

    _masked_mask: Tensor
    __hash__ = Tensor.__hash__

    @staticmethod
    def __new__(cls: type, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        """A masked tensor of detached data."""
        _check(data, mask)
        made = wrapped(data.detach(), mask)
        with DisableTorchFunctionSubclass():
            return made.requires_grad_(requires_grad)

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        """All is done by ``__new__``."""

    def get_data(self) -> Tensor:
        """The data, also where it does not count, with its history."""
        with DisableTorchFunctionSubclass():
            return self.as_subclass(Tensor)

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._masked_mask

    def is_sparse_coo(self) -> bool:
        """Tell whether the data is sparse: it never is."""
        return False

    def is_sparse_csr(self) -> bool:
        """Tell whether the data is sparse: it never is."""
        return False

    def to_tensor(self, value: Any) -> Tensor:
        """The data, with ``value`` where it does not count."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return shown(self.get_data(), self._masked_mask)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """The function of data, and of masks."""
        return applied(func, getattr(func, "__name__", ""), args, kwargs or {})


def _check(data: Any, mask: Any) -> None:
    for name, one in (("data", data), ("mask", mask)):
        if not isinstance(one, Tensor) or isinstance(one, MaskedTensor):
            raise TypeError(f"{name} must be a Tensor")
        if one.layout is not strided:
            raise NotImplementedError("masked tensors of sparse tensors are not in tapegrad (yet): x.to_dense() is one "
                                      "of all elements")  # fmt: skip
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")
    if mask.dtype is not bool_dtype:
        raise TypeError("mask must have dtype bool.")
    if data.requires_grad:
        warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can "
             "use data.detach().clone()")  # fmt: skip


def wrapped(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A masked tensor that is the data for the tape."""
    with DisableTorchFunctionSubclass():
        made: Any = data.as_subclass(MaskedTensor)
    made._masked_mask = mask
    return made


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A tensor of which only those elements count that a mask names; it has no history.

    Args:
        data: a tensor of any dtype.
        mask: bools of its shape; True where an element counts.
        requires_grad: whether gradients are wanted.

    Raises:
        TypeError: what is no tensor, or a mask that is not boolean.
        ValueError: a mask of another shape.

    >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True]))
    >>> x * 2, x.sum()
    (MaskedTensor(
      [  2.0000,       --,   6.0000]
    ), MaskedTensor(  4.0000, True))
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """The same of data whose history goes on: its gradients get to where it came from.

    Args:
        data: a tensor of any dtype.
        mask: bools of its shape; True where an element counts.

    Raises:
        TypeError: what is no tensor, or a mask that is not boolean.
        ValueError: a mask of another shape.

    >>> import warnings
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"):  # it would rather be given x.detach()
    ...     (torch.masked.as_masked_tensor(x, torch.tensor([True, False])) ** 2).sum().backward()
    >>> x.grad
    tensor([2., 0.])
    """
    _check(data, mask)
    return wrapped(data.view_as(data) if data.requires_grad else data, mask)


def is_masked_tensor(obj: Any, /) -> bool:
    """Tell whether an object is a masked tensor.

    >>> torch.masked.is_masked_tensor(torch.ones(2))
    False
    """
    return isinstance(obj, MaskedTensor)


def masks_of(args: tuple) -> list[Tensor]:
    """The masks of the masked tensors among arguments."""
    return [one._masked_mask for one in args if isinstance(one, MaskedTensor)]


class _Elements:
    """An interceptor that notes whether all that a function has called are operators of elements, or copies."""

    alone = True

    def __call__(self, op: OperatorLike, args: tuple, settings: dict) -> Any:
        self.alone = self.alone and (op.kind == "elementwise" or op.name in ("cast", "clone"))
        return op(*args, **settings)


SAME_PLACES = ("to", "type", "int", "long", "short", "char", "byte")
"""Functions whose results have their elements where their first argument has them, with its mask."""

TRANSPOSES = [getattr(Tensor, name).fget for name in ("T", "mT", "H", "mH")]

NO_FUNCTION = "no implementation found for '{}' on types that implement __torch_function__: [MaskedTensor]"


def rebuilt(data: Tensor, mask: Tensor, requires_grad: bool) -> MaskedTensor:
    """The masked tensor that was pickled as these parts."""
    return MaskedTensor(data, mask, requires_grad)


def copied(tensor: MaskedTensor, memo: dict) -> MaskedTensor:
    """A copy of a leaf that shares nothing with it."""
    if id(tensor) not in memo:
        parts = deepcopy(tensor.get_data().detach(), memo), deepcopy(tensor._masked_mask, memo)
        memo[id(tensor)] = MaskedTensor(*parts, tensor.requires_grad)
    return memo[id(tensor)]


def differentiated(func: Any, outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """The gradients of ``torch.autograd.grad``, those of masked tensors with their masks."""
    wanted = (inputs,) if isinstance(inputs, Tensor) else inputs
    found = func(outputs, inputs, *args, **kwargs)
    return tuple(
        wrapped(grad, one._masked_mask) if isinstance(one, MaskedTensor) and type(grad) is Tensor else grad
        for one, grad in zip(wanted, found, strict=True)
    )


def applied(func: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """A function of masked tensors.
    Raises TypeError: there is none. ValueError: masks that differ.
    """
    with DisableTorchFunctionSubclass():
        if name == "__get__":
            return gotten(func, args)
        if name == "grad":  # torch.autograd.grad, whose roots are data for the tape
            return differentiated(func, *args, **kwargs)
        if name in ("tolist", "numpy", "__array__"):
            said = "tolist() is not supported for tensor subclasses, got MaskedTensor"
            raise RuntimeError(f".{said if name == 'tolist' else 'numpy() is not supported for tensor subclasses.'}")
        if name in SAME_PLACES:
            return wrapped(func(*args, **kwargs), args[0]._masked_mask)
        if name == "__getitem__":
            return wrapped(func(*args), func(args[0]._masked_mask, *args[1:]))
        if name == "__reduce_ex__":
            return rebuilt, (args[0].get_data().detach(), args[0]._masked_mask, args[0].requires_grad)
        if name == "__deepcopy__":
            return copied(*args)
        if name == "__setitem__":
            raise TypeError(NO_FUNCTION.format(name))
        if name == "detach":
            return wrapped(func(*args).clone(), args[0]._masked_mask)
        if name in ("cat", "stack"):
            return wrapped(func(*args, **kwargs), func([one._masked_mask for one in args[0]], *args[1:], **kwargs))
        if name == "where":
            return wrapped(func(*args), where(args[0], *masks_of(args)))
        if name == "all" or name in NAMESPACES["masked"]:
            return reduced(name, *args, **kwargs)
        return computed(func, name, args, kwargs)


def gotten(func: Any, args: tuple) -> Any:
    """An attribute: tensors among them are masked."""
    found, mask = func(*args), args[0]._masked_mask
    if type(found) is not Tensor:
        return found
    if getattr(func.__self__, "fget", None) in TRANSPOSES:
        return wrapped(found, func(mask))
    return wrapped(found, mask) if found.shape == args[0].shape else found


def computed(func: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """A function of elements, of tensors with the same mask; a view, as which the mask is seen, too; or no tensor."""
    masks, seen = masks_of(args), _Elements()
    if any(not mask.equal(masks[0]) for mask in masks[1:]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    with watching(interceptor=seen):
        result = func(*args, **kwargs)
    tensors = [one for one in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(one, Tensor)]
    if not tensors or any(result is one for one in args):
        return result
    if all(one._is_view() for one in tensors) and not seen.alone:
        below = func(masks[0], *args[1:], **kwargs)
        return wrapped(result, below) if isinstance(below, Tensor) else tuple(map(wrapped, result, below))
    if not seen.alone or tensors[0] is not result:
        raise TypeError(NO_FUNCTION.format(name))
    return wrapped(result, masks[0].expand(result.shape))


def reduced(name: str, input: MaskedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> MaskedTensor:
    """A reduction of what counts; its result counts if anything did."""
    mask, kept = input._masked_mask, {"keepdim": True} if keepdim else {}
    if name == "all":
        filled = input.get_data().bool() | ~mask
        result = filled.all() if dim is None else filled.all(dim=dim, **kept)
    else:
        result = NAMESPACES["masked"][name](input.get_data(), dim, **kept, mask=mask, **kwargs)
    if result.shape == input.shape:
        return wrapped(result, mask)
    counts = mask.any() if dim is None else mask.any(dim=dim, **kept)
    return wrapped(result, counts.reshape(result.shape))


# -- printing ----------------------------------------------------------------------------------------------------------


def shown(data: Tensor, mask: Tensor) -> str:
    """A masked tensor as PyTorch shows it."""
    data, mask = data.detach(), mask.detach()
    form = "{:8.4f}" if data.is_floating_point() else "{}"
    if data.dim() == 0:
        text = form.format(data.item()) if mask else "--"
        return f"MaskedTensor({text}, {bool(mask)})"
    rows = lines(data, mask, form)
    return "MaskedTensor(\n" + "\n".join(f"  {row}" for row in rows.split("\n")) + "\n)"


def lines(data: Tensor, mask: Tensor, form: str) -> str:
    """The elements of one dimension, of those below it in lines of their own."""
    if data.dim() == 1:
        values, counts = data.tolist(), mask.tolist()
        parts = [form.format(one) if counted else "      --" for one, counted in zip(values, counts, strict=True)]
        return f"[{', '.join(parts)}]"
    rows = [lines(one, kept, form) for one, kept in zip(data, mask, strict=True)]
    text = ",\n".join(rows)
    return "[\n" + "\n".join(f"  {row}" for row in text.split("\n")) + "\n]"
