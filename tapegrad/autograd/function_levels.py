"""Custom functions inside function transforms. See Note [Levels] in ``tensor/lifted.py``.

Note [Custom functions at a level]
Where a transform differentiates, a custom function is recorded like any other call: its ``forward`` is the function
itself, applied one level further out to what the arguments were lifted from, so that the user's ``forward`` runs once,
on tensors that no transform knows of. Its ``setup_context`` runs at every level, with the inputs and outputs of that
level, and its ``backward`` and ``jvp`` are those of every level.

Inside ``vmap`` the author says what happens (``vmap``), or leaves it to us (``generate_vmap_rule``): then a function of
all examples (``function_mapped.py``) is applied in its place, one level further out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad._src.dispatch.function_levels import as_placed, at, handle, lift, live, lower, tracked
from tapegrad._src.functions.shape import movedim
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.lifted import Level, Lifted
from tapegrad._src.tensor.refusals import refuse_captured
from tapegrad._src.tensor.tensor import Tensor, put, version_of
from tapegrad._src.tensor.trees import TreeSpec, broadcast_prefix, flatten, map_leaves, unflatten
from tapegrad.autograd.function_call import run_function
from tapegrad.autograd.function_mapped import Mapped, no_vmap
from tapegrad.autograd.function_node import BackwardCFunction

MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"

NO_SETUP_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    f"the setup_context staticmethod. {MORE}"
)


class VmapInfo(NamedTuple):
    """The facts that a custom function's ``vmap`` is told: how many examples there are, and what random operators shall
    do."""

    batch_size: int
    randomness: str


class NodeAtLevel(BackwardCFunction):
    """The base of the classes of custom functions' nodes at a level that differentiates."""

    __slots__ = ()

    @property
    def saved_tensors(self) -> tuple:
        """The saved tensors, as they count now: backward mostly runs when the level is over."""
        return tuple(live(item) if isinstance(item, Tensor) else item for item in super().saved_tensors)


def node_class(function: Any) -> type:
    """The class of a custom function's nodes at levels, made when first asked for."""
    found = function.__dict__.get("_class_at_levels")
    if found is None:
        name = f"{function.__name__}GeneratedBackward"
        found = function._class_at_levels = type(name, (NodeAtLevel,), {"_forward_cls": function})
    return found


class Passage:
    """The arguments of a custom function on their way out of a level, and what is to be done when it comes back.

    Args:
        leaves: the leaves of the arguments at the level.
        level: the innermost one.
        given: for some leaves what they are outside: that very tensor. The others are lowered.
        placed: whether their dimension of the examples is to be where it was given, not in front.

    Attributes:
        given, dims: what the leaves are outside, and which dimension is the one that is mapped over.
    """

    __slots__ = ("leaves", "level", "given", "dims", "versions")

    def __init__(self, leaves: Sequence, level: Level, given: dict[int, Any], placed: bool = False) -> None:
        self.leaves, self.level = leaves, level
        outside = as_placed if placed else in_front
        pairs = [
            (given[position], None) if position in given else outside(leaf, level)
            for position, leaf in enumerate(leaves)
        ]
        self.given = [item for item, _ in pairs]
        self.dims = [dim for _, dim in pairs]
        self.versions = [writes_to(item) for item in self.given]

    def written(self) -> list[int]:
        """The positions of the tensors that have been written to outside."""
        versions = enumerate(zip(self.given, self.versions, strict=True))
        return [position for position, (item, version) in versions if writes_to(item) != version]

    def back(self) -> dict[int, Any]:
        """Let what was written to outside be written to at the level, and say which leaf is which object outside."""
        for position in self.written():
            leaf, item = self.leaves[position], self.given[position]
            if leaf is not item:
                with self.level.outside():
                    dim = self.dims[position]
                    value = Lifted(handle(movedim(item, dim, 0) if dim else item), self.level, dim is not None)
                put(leaf, value)
        return {
            id(item): leaf for item, leaf in zip(self.given, self.leaves, strict=True) if isinstance(leaf, Tensor)
        }


def in_front(leaf: Tensor, level: Level) -> tuple[Tensor, int | None]:
    """The tensor outside a level that a tensor is, and which of its dimensions is the mapped one: the first."""
    below, batched = lower(leaf, level)
    return below, 0 if batched else None


def writes_to(item: Any) -> int:
    """The number of writes to a tensor that counts them."""
    return version_of(item) if isinstance(item, Tensor) and not item._spec.inference else 0


def away_from(leaves: Sequence, level: Level) -> dict[int, Any]:
    """Of some leaves those that don't live at a level, by position."""
    return {
        position: leaf
        for position, leaf in enumerate(leaves)
        if not (isinstance(leaf, Tensor) and leaf._spec.level == level.depth)
    }


def apply(function: Any, args: tuple) -> Any:
    """Call a custom function that has a ``setup_context``, wherever this is."""
    if not thread.levels:
        return run_function(function, args, True)
    level = thread.levels[-1]
    leaves, spec = flatten(args)
    leaves = [live(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    if level.maps:
        return apply_to_examples(function, leaves, spec, level)
    here = [at(leaf, level) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    return run_function(FunctionCall(function, level, away_from(leaves, level)), unflatten(here, spec), True)


def taken_along(args: tuple) -> tuple:
    """The arguments of a custom function without a ``setup_context`` at the innermost level, where it is then called.
    Raises RuntimeError: a transform of ``func`` is running, or is to be told of the call further out.
    """
    level, given = thread.levels[-1], [live(arg) if isinstance(arg, Tensor) else arg for arg in args]
    outside = [arg for arg in given if isinstance(arg, Tensor) and arg._spec.level != level.depth]
    if any(one.transforms for one in thread.levels) or any(tracked(arg, thread.modes) for arg in outside):
        raise RuntimeError(NO_SETUP_CONTEXT)
    return tuple(at(arg, level) if isinstance(arg, Tensor) else arg for arg in given)


# -- grad and jvp ------------------------------------------------------------------------------------------------------


class FunctionCall:
    """One call of a custom function at a level that differentiates; ``run_function`` takes it for a function.

    Args:
        function: the custom function.
        level: the innermost one.
        captured: the leaves of the arguments that do not live at the level, by position.
    """

    __slots__ = ("function", "level", "captured", "__name__", "_backward_cls", "setup_context")

    def __init__(self, function: Any, level: Level, captured: dict[int, Any]) -> None:
        self.function, self.level, self.captured = function, level, captured
        self.__name__ = function.__name__
        self._backward_cls = node_class(function)
        self.setup_context = function.setup_context

    def forward(self, *args: Any) -> Any:
        """The outputs for arguments of the level: the function, applied outside.
        Raises RuntimeError: it has written to a captured tensor, which would have to be recorded here.
        """
        leaves, spec = flatten(args)
        passage = Passage(leaves, self.level, self.captured)
        with switched(grad=True, forward_grad=True), self.level.outside():  # whatever is off here only
            output = apply(self.function, unflatten(passage.given, spec))
        recorded = any(isinstance(leaf, Tensor) and leaf._spec.requires_grad for leaf in leaves)
        for position in passage.written():
            if recorded and position in self.captured:
                refuse_captured(self.__name__, self.captured[position], leaves[position])
        known = passage.back()
        return map_leaves(lambda out: known[id(out)] if id(out) in known else lifted(out, self.level), output)


def lifted(item: Any, level: Level, batched: bool = False) -> Any:
    """Something outside, at a level."""
    return lift(item, level, batched) if isinstance(item, Tensor) else item


# -- vmap --------------------------------------------------------------------------------------------------------------


def apply_to_examples(function: Any, leaves: list, spec: TreeSpec, level: Level) -> Any:
    """Call a custom function inside a ``vmap``.

    Raises:
        RuntimeError: PyTorch's messages about a rule that is missing, or doubtful, or does not keep to what is agreed.
    """
    if level.transforms:
        check_rule(function)
    generated = function.generate_vmap_rule or not level.transforms
    passage = Passage(leaves, level, away_from(leaves, level), placed=not generated)
    args: Any = unflatten(passage.given, spec)
    dims: Any = unflatten(passage.dims, spec)
    with level.outside():
        if all(dim is None for dim in passage.dims):
            output, out_dims = apply(function, args), None
        elif generated:
            flags: Any = unflatten([dim is not None for dim in passage.dims], spec)
            output, out_dims = apply(Mapped.of(function, flags, level), args), 0
        else:
            info = VmapInfo(level.size, level.randomness)  # type: ignore[arg-type]
            output, out_dims = checked_returns(function.vmap(info, dims, *args))
    known = passage.back()
    results, structure = flatten(output)
    places = broadcast_prefix(out_dims, structure)
    if places is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{flatten(out_dims)[1]} but output has structure {structure}. {MORE}"
        )
    returned = [
        known[id(item)] if id(item) in known else example_of(item, place, level)
        for item, place in zip(results, places, strict=True)
    ]
    return unflatten(returned, structure)


def example_of(item: Any, place: int | None, level: Level) -> Any:
    """An output of which a dimension outside holds the examples, at the level; it is as it is if that is None."""
    if place is None or not isinstance(item, Tensor):
        return item
    with level.outside():
        front = movedim(item, place, 0) if place else item
    return lift(front, level, True, placed=(item, place % item.ndim) if place else None)


def checked_returns(result: Any) -> tuple[Any, Any]:
    """The results of a ``vmap`` staticmethod, if they are an output and its dimensions.
    Raises RuntimeError: something else.
    """
    if isinstance(result, tuple) and len(result) == 2:
        return result
    got = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result)}"
    raise RuntimeError(
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
        f"with the output. Got {got} instead"
    )


def check_rule(function: Any) -> None:
    """Refuse a function about which it isn't said what it does inside ``vmap``, or twice."""
    overridden, name = function.vmap is not no_vmap, function.__name__
    if function.generate_vmap_rule and overridden:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {MORE}"
        )
    if not (function.generate_vmap_rule or overridden):
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
            f"staticmethod or set generate_vmap_rule=True. {MORE}"
        )
