"""``Tensor``: a handle on a value, with its place in the graph. Methods are attached by ``functions/``.

Note [State of a tensor]
``_value`` is the data while the spec is plain, ``_storage`` afterwards (then ``_value`` is kept in step, for a thread
that saw the spec just before). ``_edge`` is ``(grad_fn, output_nr)``, or None for a leaf; a leaf that requires grad
finds its accumulator through a weak reference (``_accumulator``), for the accumulator owns the leaf. Rare state
(``_grad``, hooks, ...) are class attributes until set, so that making a tensor sets three slots.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from tapegrad.execution.devices import device, device_of
from tapegrad.execution.dtypes import dtype, from_numpy
from tapegrad.tape.hooks import HookDict, NodeHooks, making
from tapegrad.tape.modes import thread
from tapegrad.tape.node import Edge, Node
from tapegrad.tensor.spec import Size, Spec
from tapegrad.tensor.storage import InferenceStorage, Storage, storage_made_by


class Tensor:
    """A multi-dimensional array that remembers how it was computed.

    Create one with ``tapegrad.tensor`` and the other factories; ``Tensor(2, 3)`` and ``Tensor([1, 2])`` are PyTorch's
    legacy constructors.

    >>> import tapegrad as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * 3 + 2).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    __slots__ = ("_value", "_spec", "_edge", "__dict__", "__weakref__")

    _value: Any
    _spec: Spec
    _edge: Edge | None
    _storage: Storage | None = None
    _grad: Tensor | None = None
    _accumulator: weakref.ref[Node] | None = None
    _tangent: Tensor | None = None
    _retains: bool = False
    _lost_grad: tuple[tuple[str, Any], ...] | None = None
    _leaf_hooks: NodeHooks | None = None
    _hooks: HookDict | None = None
    _base_reference: weakref.ref[Tensor] | None = None
    _inference_view: bool = False
    _view_of_function: str | None = None
    _family: list[weakref.ref[Tensor]] | None = None

    if TYPE_CHECKING:  # methods and properties are attached by ``functions/attach.py``

        def __getattr__(self, name: str) -> Any: ...

    __array_ufunc__: ClassVar[None] = None
    __array_priority__: ClassVar[int] = 1000

    @property
    def shape(self) -> Size:
        """The lengths of the dimensions."""
        return self._spec.shape

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return self._spec.dtype

    @property
    def device(self) -> device:
        """Where the data is."""
        return self._spec.device

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._spec.ndim

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user, not by a recorded operator."""
        return self._edge is None

    @property
    def output_nr(self) -> int:
        """Which output of its ``grad_fn`` this tensor is."""
        return 0 if self._edge is None else self._edge[1]

    @property
    def grad_fn(self) -> Node | None:
        """The node that computes gradients of the operator which made this tensor; None for a leaf."""
        return None if self._edge is None else self._edge[0]

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, while anybody else holds it; see Note [Families]."""
        return None if self._base_reference is None else self._base_reference()

    @property
    def _version(self) -> int:
        if self._spec.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._storage is None else self._storage.version

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on this non-leaf."""
        return self._retains


new_tensor = object.__new__


def join_family(tensor: Tensor, other: Tensor) -> None:
    """Note that ``other`` is another handle on the memory of ``tensor``.

    Note [Families]
    A view has a value of its own as yet, so that a write to one member of a family is not seen by the others. Members
    know one another, weakly; in-place functions refuse a write that another living member would have to see.
    """
    with making:
        family = tensor._family
        if family is None:
            family = tensor._family = [weakref.ref(tensor)]
        if not len(family) & (len(family) - 1):  # at each power of two: forget the dead
            family[:] = [member for member in family if member() is not None]
        family.append(weakref.ref(other))
        other._family = family


def has_stale_relatives(tensor: Tensor) -> bool:
    """Whether a write to ``tensor`` would have to be seen by a living tensor that does not share its storage."""
    relatives = (member() for member in tensor._family or ())
    return any(
        relative is not None and relative is not tensor and not shares_storage(relative, tensor)
        for relative in relatives
    )


def shares_storage(tensor: Tensor, other: Tensor) -> bool:
    """Whether two tensors read the same storage, so that each sees what is written to the other."""
    one, two = tensor._storage, other._storage
    return one is not None and two is not None and one.root is two.root


def wrap(value: Any, spec: Spec, edge: Edge | None = None) -> Tensor:
    """A tensor around a value. The caller knows the spec, which must describe the value."""
    tensor = new_tensor(Tensor)
    tensor._value = value
    tensor._spec = spec
    tensor._edge = edge
    return tensor


def fresh(value: Any, spec: Spec) -> Tensor:
    """A new leaf around a value that no operator made; in inference mode an inference tensor."""
    return wrap(value, spec.replace(inference=True) if thread.modes.inference else spec)


def describe(value: Any, *, on: device | None = None) -> Spec:
    """The spec of a value that is ``on`` a device, or wherever it says it is."""
    return Spec.of(value.shape, from_numpy(value.dtype), device_of(value) if on is None else on)


def value_of(tensor: Tensor) -> Any:
    """The value of a tensor as it is now."""
    return tensor._value if tensor._spec.plain else tensor._storage.value  # type: ignore[union-attr]


def storage_of(tensor: Tensor) -> Storage:
    """The storage of a tensor, made now if it has none; from here on the tensor is not plain."""
    storage = tensor._storage
    return _new_storage(tensor) if storage is None else storage


def _new_storage(tensor: Tensor) -> Storage:
    with making:
        if tensor._storage is None:
            edge, value = tensor._edge, tensor._value
            if edge is None:
                storage = (InferenceStorage if tensor._spec.inference else Storage)(value)
            else:
                storage = storage_made_by(edge, value)
            storage.founder = weakref.ref(tensor)
            tensor._storage = storage
            tensor._spec = tensor._spec.replace(plain=False)
        return tensor._storage


def write(tensor: Tensor, value: Any) -> None:
    """Replace the data of a tensor, and of all that share its storage; its version goes up by one."""
    storage_of(tensor).write(value)
