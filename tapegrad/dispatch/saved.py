"""``SavedTensor``: one tensor that a node keeps for backward, possibly packed by hooks of the user.

Note [Saved tensors]
Most nodes never need one: they keep what they save in a plain tuple, inputs as tensors and outputs as values, and check
versions when they read it. Only where hooks are in force (``saved_tensors_hooks``), where somebody asks for the saved
tensor itself (``node._raw_saved_NAME``) and in custom functions is each item a ``SavedTensor``; an operator's node
then has its items in a list (``Saves``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tapegrad.errors import SECOND_BACKWARD
from tapegrad.tape.modes import switched, thread
from tapegrad.tape.node import Edge, Node
from tapegrad.tensor.dual import set_tangent, tangent_of
from tapegrad.tensor.spec import Spec, legacy_type_name
from tapegrad.tensor.tensor import Tensor, storage_of, value_of, wrap

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


class Saves(list):
    """What a node keeps for backward when its tensors are ``SavedTensor`` objects; plain numbers stand among them."""

    __slots__ = ()

    def release(self) -> None:
        """Free every tensor."""
        for item in self:
            if isinstance(item, SavedTensor):
                item.release()


class SavedTensor:
    """A tensor kept for backward.

    Attributes:
        tensor: the tensor itself, unless it is packed or an output of the node that keeps it.
        value: the value of an output. See Note [Saved outputs and reference cycles].
        spec, edge: what the tensor was, and where its gradient goes (None for an output of the node that keeps it).
        is_output: whether it is an output of the node that keeps it; ``output_nr`` says which.
        is_leaf: whether it was a leaf; then the node at the end of ``edge`` is its accumulator.
        version: the version that it was saved at.
        hooks: the pair (pack, unpack) that was used, or None; ``packed`` is what the first of them made.
    """

    __slots__ = (
        "tensor", "value", "spec", "edge", "is_output", "is_leaf", "output_nr", "version", "hooks", "packed", "freed",
        "tangent",
    )  # fmt: skip

    tensor: Tensor | None
    value: Any
    spec: Spec
    edge: Edge | None
    is_output: bool
    is_leaf: bool
    output_nr: int
    version: int
    hooks: Hooks | None
    packed: Any
    freed: bool
    tangent: Tensor | None

    def __init__(self) -> None:
        raise TypeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def of(cls, tensor: Tensor, edge: Edge | None, *, is_output: bool = False) -> SavedTensor:
        """Save a tensor now, with the hooks that are in force.

        Args:
            tensor: what to save.
            edge: where its gradient goes (``gradient_edge``).
            is_output: whether the node that keeps it is its own ``grad_fn``.
        """
        saved: SavedTensor = object.__new__(cls)
        saved.spec = tensor._spec.replace(plain=True, overrides=False, dual=False) if is_output else tensor._spec
        saved.output_nr, saved.is_output = tensor.output_nr, is_output
        saved.version, saved.freed, saved.hooks, saved.packed = tensor._version, False, None, None
        saved.tensor = saved.value = None
        saved.is_leaf = tensor._edge is None
        saved.tangent = tangent_of(tensor) if is_output else None
        saved.edge = None if is_output else edge
        if thread.modes.saved_hooks:
            saved.pack(tensor, thread.saved_hooks[-1])
        elif is_output:
            saved.value = value_of(tensor)
        else:
            saved.tensor = tensor
        return saved

    def pack(self, tensor: Tensor, hooks: Hooks) -> None:
        """Keep what the first hook makes of the tensor."""
        version = tensor._version
        with switched(grad=False):
            packed = hooks[0](tensor)
        if tensor._version != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can "
                "not be modified by in-place operations as this can lead to unexpected side-effects. Please open an "
                "issue if you need to perform in-place operations on the input to a pack hook."
            )
        self.packed, self.hooks = packed, hooks
        self.tensor = self.value = None

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Pack what is saved with ``pack_hook``, now; from here on it is read through ``unpack_hook``.

        Raises:
            RuntimeError: it has hooks already, or has been freed.
        """
        if self.freed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. " + SECOND_BACKWARD
            )
        if self.hooks is not None:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. ")
        data = wrap(self.value, self.spec.bare) if self.tensor is None else self.tensor.detach()
        self.pack(data, (pack_hook, unpack_hook))

    def unpack(self, node: Node | None) -> Tensor:
        """The tensor, for backward. ``node`` is the one that keeps it.

        Raises:
            RuntimeError: it has been freed, or written to since.
            TypeError: the second hook returned no tensor.
        """
        if self.freed:
            raise RuntimeError(SECOND_BACKWARD)
        if self.hooks is not None:
            return self._unpack(node)
        if self.tensor is None:
            self._check_output(node)
            output = wrap(self.value, self.spec, None if node is None else (node, self.output_nr))
            if self.tangent is not None:
                set_tangent(output, self.tangent)
            return output
        if self.tensor._version != self.version:
            raise RuntimeError(modified(self.tensor._spec, self.tensor._edge, self.tensor._version, self.version))
        if self.edge is not None and self.tensor._edge is None and not self.tensor._spec.requires_grad:
            raise RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not "
                "supported, please use out-of-place `.detach()` instead"
            )
        return self.tensor

    def _unpack(self, node: Node | None) -> Tensor:
        data = self.hooks[1](self.packed)  # type: ignore[index]
        if not isinstance(data, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(data).__name__}"
            )
        if self.is_output:
            return handle_on(data, None if node is None else (node, self.output_nr))
        if self.edge is None:
            return data
        if not self.is_leaf:
            return handle_on(data, self.edge)
        leaf = handle_on(data, None)
        leaf._accumulator = weakref.ref(self.edge[0])
        return leaf

    def _check_output(self, node: Node | None) -> None:
        written = None if node is None or node.written_outputs is None else node.written_outputs.get(self.output_nr)
        if written is not None:
            raise RuntimeError(modified(self.spec, (node, self.output_nr), *written))  # type: ignore[arg-type]

    def release(self) -> None:
        """Forget the tensor."""
        self.tensor = self.value = self.packed = self.edge = None
        self.freed = True


def handle_on(data: Tensor, edge: Edge | None) -> Tensor:
    """Another handle on the data of a tensor that requires grad, with a place in the graph of its own."""
    storage = storage_of(data)
    result = wrap(None, data._spec.replace(requires_grad=True, plain=False, overrides=False), edge)
    result._storage = storage
    return result


def modified(spec: Spec, edge: Edge | None, version: int, expected: int) -> str:
    """PyTorch's message for a saved tensor that was written to before backward read it."""
    origin = "" if edge is None else f", which is output {edge[1]} of {edge[0].name().removesuffix('Backward0')},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{legacy_type_name(spec)} {list(spec.shape)}]{origin} is at version {version}; expected version {expected} "
        "instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
