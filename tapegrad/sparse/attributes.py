"""Attributes of sparse tensors: their history is that of their values."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from operator import methodcaller
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.state.attributes import PROPERTIES, check_grad
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.printing import body_str, get_default_dtype, get_printoptions
from tapegrad._src.tensor.spec import legacy_type_name
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.differentiate import backward
from tapegrad.sparse.fills import filled, gradients_of, keep_gradient, kept_gradient, with_a_fill, with_rows
from tapegrad.sparse.tensor import SparseTensor, SparseValue, answers, become, is_coo, is_sparse, not_there, state_of

COMPRESSED = {"sparse_csr": ("crow_indices", "col_indices"), "sparse_csc": ("ccol_indices", "row_indices"),
              "sparse_bsr": ("crow_indices", "col_indices"), "sparse_bsc": ("ccol_indices", "row_indices")}  # fmt: skip
"""The names of the indices of compressed layouts."""


def with_values(tensor: Tensor, values: Tensor) -> SparseTensor:
    """A tensor with the indices of another, and other values."""
    return with_rows(state_of(tensor), values)


def _of_values(name: str) -> None:
    """Declare an attribute that is that of the values."""
    answers(f"{name}.__get__")(lambda self: getattr(state_of(self).values, name))


for _name in ("requires_grad", "grad_fn", "_grad_fn", "grad_dtype", "is_leaf", "output_nr", "_version", "retains_grad"):
    _of_values(_name)
for _name in ("layout", "is_sparse", "is_sparse_csr"):
    answers(f"{_name}.__get__")({
        "layout": lambda self: state_of(self).layout,
        "is_sparse": is_coo,
        "is_sparse_csr": lambda self: state_of(self).layout is layouts.sparse_csr,
    }[_name])  # fmt: skip


@answers("requires_grad.__set__")
def _set_requires_grad(self: Tensor, value: bool) -> None:
    state = state_of(self)
    if value and state.values._spec.plain is False and state.values.is_leaf:
        state.values = state.values.detach()
    state.values.requires_grad = value
    self._spec = state.spec


@answers("requires_grad_")
def _requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    state = state_of(self)
    if state.values.is_leaf and not state.values.requires_grad:
        state.values = state.values.detach()  # what it was made of is another tensor
    state.values.requires_grad_(requires_grad)
    self._spec = state.spec
    return self


@answers("grad.__get__")
def _grad(self: Tensor) -> Tensor | None:
    return kept_gradient(state_of(self))


@answers("grad.__set__")
def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None:
        check_grad(self, value)
        if not is_sparse(value) or (is_coo(self) and not is_coo(value)):
            raise RuntimeError("attempting to assign a gradient to a tensor that has data of a different type")
    keep_gradient(state_of(self), value)


@answers("grad.__delete__")
def _delete_grad(self: Tensor) -> None:
    keep_gradient(state_of(self), None)


@answers("retain_grad")
def _retain_grad(self: Tensor) -> None:
    state = state_of(self)
    state.values.retain_grad()
    if state.fill is not None:
        state.fill.retain_grad()


@answers("register_hook")
def _register_hook(self: Tensor, hook: Callable) -> Any:
    def on_values(grad: Tensor) -> Tensor | None:
        returned = hook(with_values(self, grad))
        return state_of(returned).values if is_sparse(returned) else returned

    return state_of(self).values.register_hook(on_values)


@answers("register_post_accumulate_grad_hook")
def _register_post_hook(self: Tensor, hook: Callable) -> Any:
    return state_of(self).values.register_post_accumulate_grad_hook(lambda _: hook(self))


@answers("grad")
def _autograd_grad(outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    from_one = isinstance(inputs, Tensor)
    wanted = (inputs,) if from_one else tuple(inputs)
    outs = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    seeds = None if grad_outputs is None else _seeds(grad_outputs)
    return gradients_of(tuple(map(_differentiated, outs)), wanted, seeds, *args, **kwargs)


def _differentiated(tensor: Any) -> Any:
    """The tensor that is in the graph: the values of a sparse one."""
    return state_of(tensor).values if is_sparse(tensor) else tensor


def _seeds(given: Any) -> Any:
    return _differentiated(given) if isinstance(given, Tensor) else tuple(map(_differentiated, given))


@answers("backward")
def _backward(tensors: Any, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
    if "inputs" in kwargs and kwargs["inputs"] is not None:
        inputs = [kwargs["inputs"]] if isinstance(kwargs["inputs"], Tensor) else list(kwargs["inputs"])
        fills = [owner.fill for one in inputs if (owner := with_a_fill(one)) is not None]
        kwargs["inputs"] = [*map(_differentiated, inputs), *fills]
    roots = (tensors,) if isinstance(tensors, Tensor) else tensors
    given = kwargs.pop("grad_tensors", gradient)
    backward(tuple(map(_differentiated, roots)), None if given is None else _seeds(given), *args, **kwargs)


# Text ----------------------------------------------------------------------------------------------------------------


@answers("__repr__")
def _text(self: Tensor, *, tensor_contents: Any = None) -> str:
    state, indent = state_of(self), len("tensor(")
    names = COMPRESSED.get(repr(state.layout).removeprefix("torch."), ("indices",))
    parts = [_part(f"{name}=tensor(", part, indent) for name, part in zip(names, state.indices, strict=True)]
    parts.append(_part("values=tensor(", state.values, indent, of_indices=False))
    said = [] if self.device.type == "cpu" else [f"device='{self.device}'"]
    said += [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
    said += [f"dtype={self.dtype}"] * (self.dtype is not get_default_dtype() and not _is_obvious(self))
    said.append(f"layout={state.layout}")
    node = self.grad_fn
    if node is not None:
        said.append(f"grad_fn=<{type(node).__name__}>")
    elif self.requires_grad:
        said.append("requires_grad=True")
    text = _laid_out("tensor(" + (",\n" + " " * indent).join(parts), said, indent, apart=is_coo(self))
    return "Parameter containing:\n" + text if vars(self).get("_is_param") else text


def _laid_out(text: str, said: list[str], indent: int, *, apart: bool) -> str:
    """A text, and what is said behind it, in lines; ``apart``: from the next line on."""
    column = len(text) - text.rfind("\n") + 1
    for one in said:
        if apart or column + len(one) + 2 > get_printoptions()["linewidth"]:
            text, column, apart = f"{text},\n{' ' * indent}{one}", indent + len(one), False
        else:
            text, column = f"{text}, {one}", column + len(one) + 2
    return text + ")"


def _is_obvious(tensor: Tensor) -> bool:
    """Tell whether a dtype that is not the default is not shown."""
    name = tensor.dtype.name
    return name in ("int64", "bool") or (name == "complex64" and get_default_dtype().name == "float32")


def _part(prefix: str, part: Tensor, indent: int, of_indices: bool = True) -> str:
    body = body_str(to_host(value_of(part.detach())), indent + len(prefix))
    return prefix + body + (f", size={tuple(part.shape)}" if not part.numel() else "") + ")"


@answers("__format__")
def _format(self: Tensor, format_spec: str) -> str:
    return format(_text(self), format_spec)


# Copies --------------------------------------------------------------------------------------------------------------


def _as(name: str) -> None:
    """Declare a function of the values that leaves indices alone."""

    def function(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        kwargs.pop("memory_format", None)
        of = methodcaller(name, *args, **kwargs)
        found = of(state_of(self).values)
        return self if found is state_of(self).values else filled(with_values(self, found), (self, of))

    answers(name)(function)


for _name in ("detach", "float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool",
              "cfloat", "cdouble"):  # fmt: skip
    _as(_name)


@answers("type")
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is None:
        return legacy_type_name(state_of(self).values._spec).replace("torch.", "torch.sparse.", 1)
    return with_values(self, state_of(self).values.type(dtype))


@answers("type_as")
def _type_as(self: Tensor, other: Tensor) -> Tensor:
    return self.to(other.dtype)


@answers("clone")
def _clone(self: Tensor, *, memory_format: Any = None) -> Tensor:
    state = state_of(self)
    indices = tuple(part.clone() for part in state.indices)
    made = SparseValue(indices, state.values.clone(), state.shape, coalesced=state.coalesced, layout=state.layout)
    return filled(made.as_tensor(), (self, None))


@answers("detach_")
def _detach_(self: Tensor) -> Tensor:
    return become(self, with_values(self, state_of(self).values.detach())._value)


@answers("data.__get__")
def _data(self: Tensor) -> Tensor:
    return with_values(self, state_of(self).values.data)


@answers("data.__set__")
def _set_data(self: Tensor, value: Tensor) -> None:
    become(self, state_of(value))


@answers("storage_offset")
def _storage_offset(self: Tensor) -> int:
    return 0


@answers("__setitem__")
def _setitem(self: Tensor, place: Any, value: Any) -> None:
    if is_sparse(self):
        raise TypeError("Cannot assign to a sparse tensor")
    self[place] = value.to_dense()


@answers("contiguous")
def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    raise RuntimeError("unsupported memory format option Contiguous")


@answers("is_contiguous")
def _is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    return False


@answers("is_pinned", "is_distributed", "_is_view")
def _is_pinned(self: Tensor, device: Any = None) -> bool:
    return False


@answers("volatile.__get__")
def _volatile(self: Tensor) -> bool:
    return PROPERTIES["volatile"].fget(state_of(self).values)


@answers("name.__get__")
def _name_of(self: Tensor) -> None:
    """No name: sparse tensors have none."""


@answers("real", "real.__get__")
def _real(input: Tensor) -> Tensor:
    if not input.is_complex():
        return input
    if not is_coo(input):
        raise not_there("view_as_real", (input,))
    return with_values(input, state_of(input).values.real)


@answers("imag", "imag.__get__")
def _imag(input: Tensor) -> Tensor:
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if not is_coo(input):
        raise not_there("view_as_real", (input,))
    return with_values(input, state_of(input).values.imag)


@answers("stride")
def _stride(self: Tensor, dim: int | None = None) -> Any:
    if not is_coo(self):
        raise RuntimeError(f"Sparse {repr(state_of(self).layout)[-3:].upper()} tensors do not have strides")
    return (0,) * self.ndim if dim is None else 0


@answers("to", "cpu", "cuda")
def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    state = state_of(self)
    if args and is_sparse(args[0]):
        args = (state_of(args[0]).values, *args[1:])
    values = state.values.to(*args, **kwargs)
    if values is state.values:
        return self
    indices = state.indices if values.device == self.device else tuple(part.to(values.device) for part in state.indices)
    made = SparseValue(indices, values, state.shape, coalesced=state.coalesced, layout=state.layout).as_tensor()
    return filled(made, (self, methodcaller("to", *args, **kwargs)))


@answers("__copy__")
def _copy(self: Tensor) -> Tensor:
    return with_values(self, state_of(self).values)


@answers("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    if id(self) not in memo:
        state = state_of(self)
        parts, values = tuple(deepcopy(part, memo) for part in state.indices), deepcopy(state.values, memo)
        made = SparseValue(parts, values, state.shape, coalesced=state.coalesced, layout=state.layout)
        made.whole = deepcopy(state.whole, memo)
        memo[id(self)] = made.as_tensor()
    return memo[id(self)]


def rebuild(
    indices: tuple[Tensor, ...], values: Tensor, shape: tuple, coalesced: bool, layout: str, requires_grad: bool = False
) -> Tensor:
    """The sparse tensor that was pickled as these parts."""
    found = getattr(layouts, layout)
    made = SparseValue(indices, values, shape, coalesced=coalesced, layout=found).as_tensor()
    return made.requires_grad_() if requires_grad else made


@answers("__reduce_ex__")
def _reduce(self: Tensor, proto: int) -> tuple:
    state = state_of(self)
    layout = repr(state.layout).removeprefix("torch.")
    return rebuild, (state.indices, state.values.detach(), state.shape, state.coalesced, layout, self.requires_grad)


# Memory, of which there is none --------------------------------------------------------------------------------------


@answers("storage", "untyped_storage", "_typed_storage")
def _storage(self: Tensor) -> Any:
    raise NotImplementedError(f"Cannot access storage of Sparse{'' if is_coo(self) else 'Csr'}TensorImpl")


@answers("data_ptr", "tolist")
def _data_ptr(self: Tensor) -> Any:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


@answers("numpy", "__array__")
def _numpy(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    kind = "" if is_coo(self) else repr(state_of(self).layout)[-3:].title()
    raise TypeError(f"can't convert Sparse{kind} layout tensor to numpy. Use Tensor.to_dense() first.")


@answers("nbytes.__get__")
def _nbytes(self: Tensor) -> int:
    if not is_coo(self):
        return self.numel() * self.element_size()
    raise RuntimeError(
        "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of "
        "the indices and values.  If you want the size of the  equivalent dense tensor, multiply numel() by "
        "element_size()"
    )


@answers("item", "__float__", "__int__", "__complex__", "__index__")
def _item(self: Tensor) -> Any:
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return self.to_dense().item()


@answers("__bool__", "is_nonzero")
def _bool(self: Tensor) -> bool:
    if self.numel() != 1:
        kind = "more than one value" if self.numel() else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
    return bool(self.to_dense())


@answers("reshape")
def _reshape(self: Tensor, *shape: Any, **kwargs: Any) -> Any:
    raise RuntimeError("reshape is not implemented for sparse tensors")


@answers("flatten")
def _flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    first, last = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return input if first == last else _reshape(input)


@answers("expand")
def _expand(self: Tensor, *shape: Any, **kwargs: Any) -> Any:
    raise RuntimeError("expand is unsupported for Sparse tensors")
