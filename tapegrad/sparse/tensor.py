"""``SparseTensor``: what a sparse tensor is, and who answers for it.

Note [Sparse tensors]
A sparse tensor has two ordinary tensors, its indices and its values, and all that is differentiable of it is the
values: its functions are compositions of operators on them, so that gradients, tangents, transforms and devices need
nothing of their own. What it requires, its ``grad_fn`` and its hooks are those of its values, and its gradient has its
own indices. The class takes part in functions as any class can (Note [Overriding functions] in
``bindings/subclass.py``): calls come to ``answer``, which finds what was declared for their name. As long as nobody has
imported this room there is no such class, and dense programs ask nobody.

Where gradients flow as values (``autograd/gradient_types.py``) that of a sparse embedding is a ``SparseValue``: the sum
of two of them has the rows of both, and with anything else they count as the array that they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.declaration.handing import torch_name_of
from tapegrad._src.bindings.writes.in_place import before_write
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, counter_of, new_tensor, storage_to_write, value_of


class SparseValue(Opaque):
    """The value of a sparse tensor.

    Attributes:
        layout: ``torch.sparse_coo``, or one of the compressed ones.
        indices: of COO one tensor (sparse dimensions, count); of a compressed layout where each row's begin, and which
            columns (of CSC: the other way about), of a batch of matrices with its dimensions in front.
        values: a tensor (count, *dense dimensions); of blocks (count, rows, columns, *dense dimensions); of a batch
            with its dimensions in front.
        lines: of a compressed layout, the version of where rows begin, and the row of each element, once known.
        coalesced: of COO, whether indices are sorted, and no two the same.
        fill, fills, from_dense, whole: what takes the gradient of what is not there, those that it will be made of,
            whether it is one of a dense tensor, and a ``.grad`` that is dense: see Note [Fill values].
    """

    lines: tuple[int, Tensor] | None
    fill: Tensor | None
    fills: tuple[tuple[SparseValue, Callable | None], ...]
    from_dense: bool
    whole: Tensor | None
    __slots__ = ("layout", "indices", "lines", "values", "shape", "dtype", "coalesced", "fill", "fills",
                 "from_dense", "whole", "__weakref__")  # fmt: skip

    below = None
    nbytes = 0

    def __init__(
        self, indices: tuple[Tensor, ...], values: Tensor, shape: Sequence[int], *, coalesced: bool = False,
        layout: Any = layouts.sparse_coo,
    ) -> None:  # fmt: skip
        self.layout, self.indices, self.values, self.lines = layout, indices, values, None
        self.shape, self.coalesced = tuple(shape), coalesced
        self.fill = self.whole = None
        self.fills, self.from_dense = (), False
        self.dtype = values._spec.dtype.numpy

    @property
    def spec(self) -> Spec:
        return self.values._spec.composed(self.shape)

    @property
    def size(self) -> int:
        """The number of elements that are there."""
        return self.values._spec.numel

    def as_tensor(self) -> SparseTensor:
        """A tensor with this value."""
        made = new_tensor(SparseTensor)
        made._value, made._spec, made._edge = self, self.spec, None
        return made

    def run(self, function: Callable, values: tuple) -> Any:
        adds = len(values) == 2 and getattr(getattr(function, "__wrapped__", None), "__name__", "") == "add"
        if adds and all(isinstance(value, SparseValue) for value in values):
            with switched(grad=False):
                return value_of(ANSWERS["add"](*[value.as_tensor() for value in values]))
        with switched(grad=False):
            dense = [value_of(v.as_tensor().to_dense()) if isinstance(v, SparseValue) else v for v in values]
        return function(*dense)

    def __repr__(self) -> str:
        return f"SparseValue({self.layout}, {list(self.shape)})"


ANSWERS: dict[str, Callable] = {}
"""The functions that answer for functions of PyTorch's, by their names; for an attribute, by ``"shape.__get__"``."""

FROM_SPEC = frozenset(
    f"{name}.__get__" for name in """shape dtype device ndim is_cuda is_cpu is_xla is_mps is_meta is_quantized is_mkldnn
    is_nested is_xpu is_ipu is_vulkan is_maia is_mtia itemsize __dict__ names""".split()  # noqa: SIM905 - shorter
) | frozenset("""dim ndimension size numel nelement is_complex is_floating_point is_signed element_size __len__
    get_device is_same_size is_inference __hash__ has_names is_conj is_neg __dir__""".split())  # noqa: SIM905 # fmt: skip
"""The attributes that are the same of any tensor: its spec tells."""


def answers(*names: str) -> Callable[[Callable], Callable]:
    """Declare what is done for functions of these names if an argument is sparse."""

    def declare(function: Callable) -> Callable:
        ANSWERS.update(dict.fromkeys(names, function))
        return function

    return declare


def name_of(function: Any) -> str:
    """The name under which an answer is looked for."""
    name = torch_name_of(function)
    is_getter = isinstance(getattr(function, "__self__", None), property)
    of_masks = name.startswith("torch.masked.")
    return ".".join(name.split(".")[-2:]) if is_getter or of_masks else name.rpartition(".")[2]


class SparseTensor(Tensor):
    """A sparse tensor. ``torch.sparse_coo_tensor`` and ``Tensor.to_sparse`` make one. See Note [Sparse tensors].

    >>> x = torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
    >>> x.layout, x.indices().tolist(), x.values()
    (torch.sparse_coo, [[0], [1]], tensor([2.]))
    """

    __slots__ = ()

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Answer for a function, if anything does."""
        name = name_of(func)
        answer = ANSWERS.get(name)
        if answer is not None:
            return answer(*args, **(kwargs or {}))
        if name in FROM_SPEC:
            with switched(torch_function=False):
                return func(*args, **(kwargs or {}))
        raise not_there(name, args)


SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"  # what users see of the class
SparseTensor.__module__ = Tensor.__module__


def state_of(tensor: Tensor) -> SparseValue:
    """The indices and the values of a sparse tensor."""
    return tensor._value


def is_sparse(x: Any) -> bool:
    """Tell whether something is a tensor of one of the sparse layouts."""
    return isinstance(x, SparseTensor)


def is_coo(x: Any) -> bool:
    """Tell whether something is a sparse tensor with coordinates."""
    return isinstance(x, SparseTensor) and x._value.layout is layouts.sparse_coo


def become(tensor: Tensor, value: SparseValue) -> Tensor:
    """Give a sparse tensor another value, in place; a leaf that requires grad stays one, and keeps its ``.grad``."""
    before = tensor._value.values
    if before._spec.requires_grad and before.is_leaf and not value.values._spec.requires_grad:
        values = value.values.detach().requires_grad_()
        value = SparseValue(value.indices, values, value.shape, coalesced=value.coalesced, layout=value.layout)
        value.whole = tensor.grad
    tensor._value, tensor._spec = value, value.spec
    return tensor


def written(tensor: Tensor, value: SparseValue, in_memory: bool = False) -> Tensor:
    """Write another value over a sparse tensor's: the write counts for all who share its version counter.

    Args:
        tensor: the tensor.
        value: what it is afterwards.
        in_memory: whether the numbers are written where its values lie, so that who shares them sees it; they are put
            in place of those otherwise.
    """
    before, values = tensor._value.values, value.values
    recorded = before._spec.requires_grad or values._spec.requires_grad
    if before._spec.level:
        return become(tensor, value)
    there = all(one is two for one, two in zip(tensor._value.indices, value.indices, strict=True))
    if in_memory and there and not recorded:
        with switched(grad=False):
            before.copy_(values)
        return tensor
    counter = counter_of(before)
    storage_to_write(before)  # who has saved it is to find that it was written to
    become(tensor, value)
    counter.bump()
    tensor._value.values._counter = counter
    storage_to_write(tensor._value.values)
    return tensor


def as_it_was(tensor: Tensor, *others: Any) -> Tensor:
    """The tensor that a write in place computes with, if gradients are recorded: what is saved of it stays as it is."""
    recorded = (one for one in (tensor, *others) if isinstance(one, Tensor))
    if not thread.modes.grad or not any(one._spec.requires_grad for one in recorded):
        return tensor
    state = tensor._value
    before = SparseValue(state.indices, before_write(state.values), state.shape, coalesced=state.coalesced,
                         layout=state.layout)  # fmt: skip
    before.fill, before.fills, before.from_dense = state.fill, state.fills, state.from_dense
    return before.as_tensor()


def not_there(name: str, args: Sequence[Any]) -> NotImplementedError:
    """The error of a function that sparse tensors have not."""
    compressed = any(is_sparse(arg) and not is_coo(arg) for arg in args)
    backend = "SparseCsrCPU" if compressed else "SparseCPU"
    called = name.removesuffix(".__get__")
    called = called.strip("_") if called.startswith("__") else called
    return NotImplementedError(
        f"Could not run 'aten::{called}' with arguments from the '{backend}' backend. This could be because the "
        "operator doesn't exist for this backend: compute with x.to_dense(), or with x.values()"
    )
