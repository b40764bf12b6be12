"""``SavedTensor``: one tensor that a node keeps for backward, possibly packed by hooks of the user.

Note [Saved tensors]
Most nodes never need one: they keep what they save in a plain tuple, inputs as tensors and outputs as values, and check
versions when they read it. Only where hooks are in force (``saved_tensors_hooks``), where somebody asks for the saved
tensor itself (``node._raw_saved_NAME``) and in custom functions is each item a ``SavedTensor``; an operator's node
then has its items in a list (``Saves``).

Whoever reads an input gets the very tensor that was saved. An output is made again at each reading, on the same storage
as the one that the user holds (``output_handle``), so that a write to one is seen, and counted, on the other.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.tape.modes import Modes, switched, thread
from tapegrad._src.tape.node import Edge, Node, function_of, name_of
from tapegrad._src.tape.positions import RECORD_LINES, Position, at, explain
from tapegrad._src.tensor.dual import holder_of, set_tangent, tangent_of
from tapegrad._src.tensor.shared import is_shared
from tapegrad._src.tensor.spec import Spec, core_type_name
from tapegrad._src.tensor.storage import Storage, storage_made_by
from tapegrad._src.tensor.tensor import Tensor, counter_of, edge_of, join, share, value_of, version_of, wrap
from tapegrad.errors import INFERENCE_SAVED, SECOND_BACKWARD

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]

FREED: Any = object()
NOTHING: Any = object()
"""Kept by a saved tensor after a backward, and where there was no tensor to save."""

DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please "
    "use out-of-place `.detach()` instead"
)


class Saves(list):
    """The items that a node keeps for backward when its tensors are ``SavedTensor`` objects; plain numbers stand among
    them."""

    __slots__ = ()

    def release(self) -> None:
        """Free every tensor."""
        for item in self:
            if isinstance(item, SavedTensor):
                item.release()


class SavedTensor:
    """A tensor kept for backward; ``node._raw_saved_NAME`` in PyTorch's words.

    Attributes:
        kept: the tensor; of an output that requires grad its value, as the tensor would keep the node alive; or
            what the first of the ``hooks`` made of it. FREED after a backward; NOTHING if there never was a tensor.
        spec, edge: what the tensor was, and where its gradient goes (None for an output of the node that keeps it).
        is_output: whether it is an output of the node that keeps it; ``output_nr`` says which.
        is_leaf: whether it was a leaf; then the node at the end of ``edge`` is its accumulator.
        version: the version that it was saved at.
        hooks: the pair (pack, unpack) that was used, or None.
        freed_by: the place of the backward call that freed it, where that is known.
        tangent: where not the tensor itself is kept, one that has its tangent, as long as the level lasts; or None.
        survives: whether what is kept is not touched by writes; see ``snapshot``.

    Raises:
        RuntimeError: it is called: nodes make them.

    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x * x
    >>> y.grad_fn._raw_saved_self.register_hooks(lambda kept: kept.numpy(), lambda kept: torch.tensor(kept) * 3)
    >>> torch.autograd.grad(y.sum(), x)[0]
    tensor([4., 4.])
    """

    __module__ = "tapegrad.autograd"
    __slots__ = (
        "kept", "spec", "edge", "is_output", "is_leaf", "output_nr", "version", "hooks", "tangent", "freed_by",
        "survives", "__weakref__",
    )  # fmt: skip

    def __reduce_ex__(self, protocol: Any) -> Any:
        """They are neither copied nor pickled.

        Raises:
            TypeError: always.
        """
        raise TypeError("cannot pickle 'torch._C._autograd.SavedTensor' object")

    kept: Any
    spec: Spec
    edge: Edge | None
    is_output: bool
    is_leaf: bool
    output_nr: int
    version: int
    hooks: Hooks | None
    tangent: Tensor | None
    freed_by: Any
    survives: bool

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def empty(cls, kept: Any) -> SavedTensor:
        """One without a tensor: ``kept`` is FREED or NOTHING."""
        saved: SavedTensor = object.__new__(cls)
        saved.kept, saved.hooks, saved.edge, saved.tangent, saved.freed_by = kept, None, None, None, None
        saved.is_output = saved.is_leaf = saved.survives = False
        saved.output_nr = saved.version = 0
        return saved

    @classmethod
    def of(cls, tensor: Tensor, edge: Edge | None, *, is_output: bool = False) -> SavedTensor:
        """Save a tensor now, with the hooks that are in force.

        Args:
            tensor: what to save.
            edge: where its gradient goes (``gradient_edge``).
            is_output: whether the node that keeps it is its own ``grad_fn``.

        Raises:
            RuntimeError: the tensor was made in ``inference_mode``.
        """
        if tensor._spec.inference:
            raise RuntimeError(INFERENCE_SAVED)
        saved = cls.empty(NOTHING)
        of = edge_of(tensor)
        saved.is_leaf = of is None
        saved.is_output = is_output and not saved.is_leaf
        saved.edge = None if saved.is_output else edge
        saved.output_nr, saved.version = 0 if of is None else of[1], version_of(tensor)
        saved.spec = tensor._spec.fresh.replace(dual=False) if saved.is_output else tensor._spec
        if tensor._spec.dual and (saved.is_output or thread.modes.saved_hooks):
            saved.tangent = holder_of(tensor)
        tensor = tensor if saved.is_output else held(tensor)
        if thread.modes.saved_hooks:
            saved.pack(tensor, thread.saved_hooks[-1])
        elif thread.modes.surviving:
            saved.survives, saved.version = True, 0
            saved.kept = value_of(tensor) if saved.is_output else snapshot(tensor)
        else:
            saved.kept = value_of(tensor) if saved.is_output else tensor
        return saved

    @classmethod
    def of_input(cls, tensor: Tensor, edge: Edge | None, version: int, is_leaf: bool) -> SavedTensor:
        """A tensor that a node has kept in its tuple until now, saved at that version.

        Args:
            tensor: the tensor.
            edge: its place in the graph, None if it has none.
            version: its version when it was saved.
            is_leaf: whether it is a leaf.
        """
        saved = cls.empty(tensor)
        saved.spec, saved.edge, saved.version, saved.is_leaf = tensor._spec, edge, version, is_leaf
        return saved

    @classmethod
    def of_output(cls, value: Any, spec: Spec, output_nr: int, survives: bool = False) -> SavedTensor:
        """An output whose value a node has kept in its tuple until now.

        Args:
            value: the value.
            spec: the output's spec.
            output_nr: which of the node's outputs it is.
            survives: whether it is kept as it is now, whatever is written to it.
        """
        saved = cls.empty(value)
        saved.spec, saved.output_nr, saved.is_output, saved.survives = spec, output_nr, True, survives
        return saved

    def pack(self, tensor: Tensor, hooks: Hooks) -> None:
        """Keep what the first hook makes of the tensor.

        Args:
            tensor: the tensor.
            hooks: the pair of hooks, of which the second gives it back.

        Raises:
            RuntimeError: the hook writes to the tensor.
        """
        version = counter_of(tensor).version  # of a handle, too, which learns of writes when it gets its storage
        self.hooks = hooks
        with switched(grad=False):
            self.kept = hooks[0](tensor)
        if counter_of(tensor).version != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open an "
                "issue if you need to perform in-place operations on the input to a pack hook."
            )

    def register_hooks(self, *hooks: Any) -> None:
        """Pack what is saved, now, with the first of two hooks; from here on it is read through the second.

        Raises:
            TypeError: not two callables.
            RuntimeError: it has hooks already, or has been freed, or is None.

        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * x
        >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t.tolist(), lambda kept: torch.tensor(kept))
        >>> y.grad_fn._saved_self
        tensor([1., 2.], requires_grad=True)
        """
        check_hooks("register_hooks", hooks, of=self)
        if self.hooks is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        if self.kept is FREED:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
                "to backward through the graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        if self.kept is NOTHING:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        data = wrap(self.kept, self.spec.bare) if self.is_output else self.kept.detach()
        self.pack(data, hooks)

    def unpack(self, node: Node | None = None, *, strict: bool = False) -> Tensor | None:
        """The tensor.

        Args:
            node: the one that keeps it, without which an output can't be read.
            strict: refuse an input that has lost its history since (``detach_``), as an operator's backward does.

        Raises:
            RuntimeError: it has been freed, or written to since, or detached in place.
            TypeError: the second hook returned no tensor.
        """
        hooks, edge, holder = self.hooks, self.edge, self.tangent
        kept = self.kept  # last: another thread may free it meanwhile, which clears this one first
        if kept is FREED:
            raise RuntimeError(second_backward(self.freed_by))
        if kept is NOTHING and hooks is None:
            return None
        by_hand = node is None
        if by_hand if self.is_output else hooks is None and (strict or by_hand) and self._lost_history(kept):
            raise RuntimeError(DETACHED)
        if hooks is not None:
            unpacked = self._unpacked(hooks[1](kept), edge, node)
            return unpacked if holder is None else with_tangent(unpacked, tangent_of(holder))
        if self.is_output:
            assert node is not None
            tangent = None if holder is None else tangent_of(holder)
            return output_handle(node, self.output_nr, kept, self.spec, tangent, survives=self.survives)
        check_version(kept, self.version, node)
        return kept

    def _lost_history(self, kept: Tensor) -> bool:
        return not self.is_leaf and kept._edge is None

    def _unpacked(self, data: Any, edge: Edge | None, node: Node | None) -> Tensor:
        """The result of the second hook, as the tensor that was saved."""
        if not isinstance(data, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(data).__name__}"
            )
        if self.is_output:
            assert node is not None
            return handle_on(data, (node, self.output_nr))
        if edge is None:
            return data.detach() if data._spec.requires_grad else data
        if not self.is_leaf:
            return handle_on(data, edge)
        leaf = handle_on(data, None)
        leaf._accumulator = weakref.ref(edge[0])
        return leaf

    def release(self) -> None:
        """Forget the tensor."""
        if self.kept is not NOTHING or self.hooks is not None:
            self.kept, self.freed_by = FREED, thread.backward_call
        self.edge = self.hooks = self.tangent = None

    @property
    def data(self) -> Any:
        """The kept thing: the tensor, or what the first hook made of it."""
        if self.kept is FREED or self.kept is NOTHING:
            return None
        return wrap(self.kept, self.spec.bare) if self.is_output and self.hooks is None else self.kept

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        """The second of the hooks, if there are any."""
        return None if self.hooks is None else self.hooks[1]


def output_handle(
    node: Node, output_nr: int, value: Any, spec: Spec, tangent: Tensor | None = None, *, survives: bool = False
) -> Tensor:
    """An output that a node saved, made again: on the storage of the output itself, unless it ``survives`` writes.

    Raises:
        RuntimeError: it has been written to since.
    """
    if isinstance(value, Opaque) and value.as_tensor is not None:
        output = value.as_tensor()
        output._spec, output._edge = output._spec.replace(requires_grad=True), (node, output_nr)
        return output
    output = wrap(value, spec.fresh, (node, output_nr))
    if not survives:
        if was_written(node, output_nr):
            raise RuntimeError(modified_output(spec, node, output_nr))
        storage = storage_made_by((node, output_nr), value, output._spec.strides)
        if storage.strides != output._spec.strides and storage.memory.shape == output._spec.shape:
            output._spec = output._spec.replace(strides=storage.strides)  # laid out after the node had made it
        join(output, storage)
    if tangent is not None:
        set_tangent(output, tangent)
    return output


def was_written(node: Node, output_nr: int) -> bool:
    """Tell whether an output of a node has been written to since the node made it."""
    made = None if node.output_storages is None else node.output_storages.get(output_nr)
    return made is not None and made.counter.version != made.version


def snapshot(tensor: Tensor) -> Tensor:
    """A handle on what a tensor is now, with its place in the graph, which later writes don't reach.

    Arrays are immutable, so that it copies nothing. See ``autograd.graph.saved_tensors_survive_mutation``.
    """
    edge = edge_of(tensor)
    result = wrap(value_of(tensor), kept_spec(tensor._spec, thread.modes), edge)
    if tensor._spec.dual:
        result._spec = result._spec.replace(dual=False)
        set_tangent(result, tensor._tangent)
    if edge is None and result._spec.requires_grad:
        result._accumulator = tensor._accumulator
    return result


def held(tensor: Tensor) -> Tensor:
    """The thing that a node keeps of an input: the tensor itself; on memory that NumPy sees, a handle on what is there
    now.

    It has the tensor's place in the graph, and its version: a write through the tensor is found out, as ever.
    """
    if not is_shared(tensor._storage):
        return tensor
    value, edge, spec = value_of(tensor), edge_of(tensor), tensor._spec
    result = wrap(value, spec.replace(window=False, overrides=False, dual=False, strides=spec.fresh.strides), edge)
    storage = Storage(value, result._spec.strides)
    storage.written, storage.counter = True, counter_of(tensor)
    storage.admit(result)
    result._storage = storage
    if spec.dual:
        set_tangent(result, tensor._tangent)
    if edge is None and spec.requires_grad:
        result._accumulator = tensor._accumulator
    return result


def kept_spec(spec: Spec, modes: Modes) -> Spec:
    """The spec of what a node keeps of an input."""
    return spec.fresh if modes.surviving else spec


def handle_on(data: Tensor, edge: Edge | None) -> Tensor:
    """Another handle on the data of a tensor that requires grad, with a place in the graph of its own.

    Raises:
        RuntimeError: the dtype can't require grad.
    """
    if data.dtype.category < FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    spec = data._spec.replace(requires_grad=True, plain=True, overrides=False, window=False, dual=False)
    return share(wrap(value_of(data), spec, edge), data)


def with_tangent(tensor: Tensor, tangent: Tensor | None) -> Tensor:
    """A tensor that a hook gave, or a handle on it, with the tangent of what was saved."""
    if tangent is None or tensor._spec.dual:
        return tensor
    result = tensor if tensor._spec.requires_grad else tensor.detach()
    set_tangent(result, tangent)
    return result


def check_version(tensor: Tensor, expected: int, saver: Node | None = None) -> None:
    """Refuse a saved tensor that was written to; ``saver`` is the node that saved it.

    Raises:
        RuntimeError: PyTorch's message, with both versions.
    """
    if version_of(tensor) != expected:
        writes = counter_of(tensor).writes
        raise RuntimeError(modified(tensor._spec, edge_of(tensor), version_of(tensor), expected, saver, writes))


def check_hooks(name: str, hooks: tuple, *, of: Any = None) -> None:
    """Refuse anything but two callables.

    Raises:
        TypeError: PyTorch's message about arguments that don't fit.
    """
    if len(hooks) != 2 or not all(map(callable, hooks)):
        owner = "" if of is None else "self: torch._C._autograd.SavedTensor, "
        signature = f"({owner}arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None"
        raise TypeError(incompatible(name, signature, hooks if of is None else (of, *hooks)))


def incompatible(name: str, signature: str, given: tuple) -> str:
    """PyTorch's message for arguments that don't fit a signature."""
    return (
        f"{name}(): incompatible function arguments. The following argument types are supported:\n"
        f"    1. {signature}\n\nInvoked with: {', '.join(map(repr, given))}"
    )


def modified(
    spec: Spec, edge: Edge | None, version: int, expected: int, saver: Node | None = None, writes: Any = None
) -> str:
    """PyTorch's message for a saved tensor that was written to before backward read it, and where that happened.

    Args:
        spec, edge, version, expected: what the tensor is, where it came from, and its two versions.
        saver: the node that saved it.
        writes: where each version was written, if that was recorded.
    """
    leaf = edge is None or hasattr(edge[0], "variable")  # a handle on a leaf leads to its accumulator
    origin = "" if leaf else f", which is output {edge[1]} of {function_of(edge[0])},"  # type: ignore[index]
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in question "
        "was changed in there or anywhere later. Good luck!"
        if thread.modes.detecting
        else "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    sentence = (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{core_type_name(spec)} {list(spec.shape)}]{origin} is at version {version}; expected version {expected} "
        f"instead. Hint: {hint}"
    )
    saved = None if saver is None else at(f"it was saved for {name_of(saver)}, by the operation", saver._origin)
    numbers = range(expected + 1, version + 1) if writes else ()
    written = [at("it was modified", writes.get(number)) for number in numbers]
    return explain(sentence, [saved, *written, None if saved and written else RECORD_LINES])


def second_backward(freed: Any) -> str:
    """PyTorch's message for a use of what has been freed, and which backward call did it, if that is known."""
    position = freed if type(freed) is Position else None
    return explain(SECOND_BACKWARD, [at("it was freed by the backward call", position)])


def modified_output(spec: Spec, node: Node, output_nr: int) -> str:
    """The message for an output that a node saved and that was written to, also by later nodes."""
    assert node.output_storages is not None
    _, counter, expected, where = node.output_storages[output_nr]
    shown = None if where is None else where()
    edge = (node, output_nr) if shown is None else (shown, 0)
    return modified(spec, edge, counter.version, expected, node, counter.writes)
