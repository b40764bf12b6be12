"""``torch.export.dynamic_shapes``: which lengths of a program's inputs may change, as users say it.

It is said by a tree like that of the arguments, with a dict or a sequence of ``Dim`` in place of each tensor.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import BUILT_IN, TreeSpec, flatten, registered
from tapegrad.export.dimensions import Dim, _DimHint, dims, int_oo
from tapegrad.export.errors import UserError, UserErrorType
from tapegrad.nn import Module
from tapegrad.utils._pytree import MappingKey, SequenceKey, keystr, tree_map, tree_map_with_path

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims"]

log = logging.getLogger(__name__)
CASE = "dynamic_shapes_validation"


class GivenLeaf:
    """A leaf of the arguments: what it is, and which one of them."""

    def __init__(self, index: int, value: Any) -> None:
        self.index, self.value = index, value


def bound_arguments(module: Any, args: tuple, kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of a module by the names of its ``forward``. Raises TypeError: they don't fit it."""
    function = module.forward if isinstance(module, Module) else module
    return inspect.signature(function).bind(*args, **(kwargs or {})).arguments


class ShapesCollection:
    """A maker of ``dynamic_shapes`` for nested arguments: what may change is said of each tensor itself.

    >>> x = torch.ones(3, 2)
    >>> shapes = torch.export.ShapesCollection()
    >>> shapes[x] = {0: torch.export.Dim("batch")}
    >>> shapes.dynamic_shapes(torch.nn.ReLU(), (x,))
    {'input': {0: Dim('batch', min=0)}}
    """

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor or non-_IntWrapper type {type(t)}")
        known = self._shapes.setdefault(id(t), shape)
        if known != shape:
            raise AssertionError(f"Shapes assigned to input do not match: expected {known}, got {shape}")

    def __getitem__(self, t: Any) -> Any:
        return self._shapes.setdefault(id(t), {})

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: tuple, kwargs: Mapping[str, Any] | None = None) -> Any:
        """The tree for these arguments.

        Args:
            m: the module.
            args, kwargs: its arguments.

        Raises:
            ValueError: a tensor that was given a shape is not among them.
        """
        found = set()

        def shape_of(path: Any, leaf: Any) -> Any:
            found.add(id(leaf))
            return self._shapes.get(id(leaf))

        tree = mapped(shape_of, bound_arguments(m, args, kwargs))
        if not found.issuperset(self._shapes):
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. Maybe such tensors were copied when "
                "passing them as args? Maybe such tensors are contained in classes that were not registered with "
                "pytree?"
            )
        return tree


class AdditionalInputs:
    """A maker of ``dynamic_shapes`` by examples: a length that is another one in one of them may change.

    >>> inputs = torch.export.AdditionalInputs()
    >>> inputs.add((torch.ones(5, 2),))
    >>> inputs.dynamic_shapes(torch.nn.ReLU(), (torch.ones(3, 2),))
    {'input': (DimHint(DYNAMIC), None)}
    """

    def __init__(self) -> None:
        self._examples: list[tuple[tuple, dict | None]] = []

    def add(self, args: tuple, kwargs: dict[str, Any] | None = None) -> None:
        """One more example.

        Args:
            args, kwargs: the arguments.

        Raises:
            AssertionError: no tuple and no dict.
        """
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> Any:
        """The tree for these arguments and the examples.

        Args:
            m: the module.
            args, kwargs: its arguments.

        Raises:
            ValueError: what is no length differs.
        """
        lengths = lambda path, leaf: tuple(leaf.shape) if isinstance(leaf, Tensor) else leaf
        trees = [mapped(lengths, bound_arguments(m, *one)) for one in ((args, kwargs), *self._examples)]
        return tree_map(marked, *trees, is_leaf=lambda leaf: type(leaf) is int)

    def verify(self, ep: Any) -> None:
        """Check that a program takes the examples. Raises AssertionError, ValueError: it doesn't."""
        for args, kwargs in self._examples:
            ep.flat_inputs(args, kwargs or {})


def marked(value: Any, *others: Any) -> Any:
    """The mark of a length that is another one elsewhere; None for what never changes."""
    if any(type(other) is not type(value) for other in others):
        raise ValueError(
            f"The following inputs were found to have differing types, so they cannot be marked as dynamic: "
            f"{(value, *others)}."
        )
    if all(other == value for other in others):
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return Dim.DYNAMIC
    raise ValueError(
        f"The following inputs were found to have differing values, but they cannot be marked as dynamic: "
        f"{(value, *others)}."
    )


# -- trees -------------------------------------------------------------------------------------------------------------


def is_opaque(node: Any) -> bool:
    """Tell whether a node is none of Python's containers: of a class that was registered the parts are looked at."""
    return type(node) not in BUILT_IN and not (isinstance(node, tuple) and hasattr(node, "_fields"))


def mapped(function: Callable, tree: Any, *others: Any) -> Any:
    """The tree of what a function of a path and a leaf gives. Raises UserError: the ``others`` have another form."""

    def at(path: Any, leaf: Any, *rest: Any) -> Any:
        if type(leaf) in registered:
            return tree_map_with_path(at, registered[type(leaf)].flatten_fn(leaf)[0], *rest, is_leaf=is_opaque)
        return function(path, leaf, *rest)

    for other in others:
        compare(flatten(tree, is_opaque)[1], flatten(other, is_opaque)[1], ())
    return tree_map_with_path(at, tree, *others, is_leaf=is_opaque)


def compare(spec: TreeSpec, other: TreeSpec, path: tuple) -> None:
    """Refuse ``dynamic_shapes`` whose structure is not that of the arguments. Raises UserError: it says where."""
    if spec.is_leaf():
        return
    mine, theirs = f"`inputs{keystr(path)}`", f"`dynamic_shapes{keystr(path)}`"
    problem = ""
    if other.is_leaf():
        problem = f"{mine} is a {spec.type}, but {theirs} is not"
    elif spec.type != other.type:
        problem = f"{mine} is a {spec.type}, but {theirs} is a {other.type}"
    elif spec.num_children != other.num_children:
        problem = f"{mine} has {spec.num_children} elements, but {theirs} has {other.num_children} elements"
    elif spec.type is dict and set(spec.context) != set(other.context):
        problem = f"{mine} has keys {spec.context}, but {theirs} has keys {other.context}"
    if problem:
        what = "Detected mismatch between the structure of `inputs` and `dynamic_shapes`"
        raise UserError(UserErrorType.INVALID_INPUT, f"{what}: {problem}", CASE)
    named = dict(zip(other.context, other.children(), strict=True)) if spec.type is dict else None
    for place, child in enumerate(spec.children()):
        key = SequenceKey(place) if named is None else MappingKey(spec.context[place])
        beside = other.child(place) if named is None else named[spec.context[place]]
        compare(child, beside, (*path, key))


# -- what users say ----------------------------------------------------------------------------------------------------


def wanted_lengths(module: Any, args: tuple, kwargs: Mapping, shapes: Any, flat: Sequence, spec: Any) -> dict[int, Any]:
    """For each tensor among the ``flat`` arguments its dimensions that are said something of: by their number.

    Raises:
        UserError: ``shapes`` has another structure than the arguments, or says what can't be said of a tensor.
    """
    if isinstance(shapes, (ShapesCollection, AdditionalInputs)):
        shapes = shapes.dynamic_shapes(module, args, dict(kwargs))
    if shapes is None or len(shapes) == 0:
        return {}
    if not isinstance(shapes, (dict, tuple, list)):
        raise AssertionError(f"expected dynamic_shapes to be dict, tuple, or list, got {type(shapes)}")
    given_args, given_kwargs = spec.unflatten([GivenLeaf(index, leaf) for index, leaf in enumerate(flat)])
    combined: Any = bound_arguments(module, given_args, given_kwargs)
    if isinstance(shapes, dict):
        check_names(shapes, combined)
        shapes = {name: shapes[name] for name in combined}
    else:
        combined = type(shapes)(combined.values())
    found: dict[int, Any] = {}
    bounds: dict[str, tuple] = {}

    def read(path: Any, leaf: Any, said: Any) -> None:
        if isinstance(leaf.value, Tensor):
            found[leaf.index] = checked(path, leaf.value, said, bounds)
        elif said is not None:
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"Cannot associate shape {said} specified at `dynamic_shapes{keystr(path)}` to non-tensor type "
                f"{type(leaf.value)} at `inputs{keystr(path)}` (expected None)", CASE,
            )  # fmt: skip

    mapped(read, combined, shapes)
    return found


def check_names(shapes: dict, combined: dict[str, Any]) -> None:
    """Refuse a dict that has not all names of arguments, or others."""
    if sorted(shapes) == sorted(combined):
        return
    names, first = list(combined), next(iter(combined.values()), None)
    enclosed = len(names) == 1 and names[0] not in shapes and isinstance(first, dict)
    hint = (
        "Since here `inputs` is a list/tuple enclosing a single dict, maybe you just forgot to enclose "
        "`dynamic_shapes` in a list/tuple?"
        if enclosed
        else "Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a list/tuple "
        "matching `inputs`."
    )
    page = "https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation"
    raise UserError(
        UserErrorType.INVALID_INPUT,
        f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {names} of `inputs`, "
        f"but here they are {list(shapes)}. {hint} For more information about this error, see: {page}",
    )


def checked(path: Any, tensor: Tensor, said: Any, bounds: dict[str, tuple]) -> dict[int, Any]:
    """The lengths said of the dimensions of a tensor, by their number. Raises UserError: that can't be said."""
    where = f"specified at `dynamic_shapes{keystr(path)}`"
    if said is None:
        return {}
    if not isinstance(said, (dict, tuple, list)):
        raise invalid(
            f"Unexpected input tensor shape {said} {where} (expected either a list/tuple of dimensions, or a dict "
            "mapping indices to dimensions, where each dimension is an int, a Dim, Dim.AUTO, Dim.STATIC, or "
            "Dim.DYNAMIC)"
        )
    if not isinstance(said, dict) and len(said) != tensor.ndim:
        raise invalid(
            f"Expected dynamic shape spec {said} {where} to have the same length as the actual tensor shape "
            f"{tensor.shape} (expected {tensor.ndim}, but got {len(said)} instead)"
        )
    found = dict(said) if isinstance(said, dict) else dict(enumerate(said))
    for index, dim in found.items():
        if isinstance(dim, Dim):
            check_bounds(dim, bounds)
        elif dim is None:
            log.warning("Using None as a dynamic shape dimension is deprecated. Please use Dim.STATIC instead")
        elif not isinstance(dim, (int, _DimHint)):
            place, gap = (f"mapped to index {index}", "  ") if isinstance(said, dict) else (f"#{index}", " ")
            raise invalid(
                f"Unexpected dimension {place} in input tensor shape {said} {where} (expected None, an int, a Dim, "
                f"Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC,{gap}but got {dim!r} instead)"
            )
    for index in found:
        if not -tensor.ndim <= index < tensor.ndim:
            raise IndexError("list assignment index out of range")
    return {index % tensor.ndim: dim for index, dim in found.items()}


def check_bounds(dim: Dim, bounds: dict[str, tuple]) -> None:
    """Refuse a name that stands for two ranges."""
    known = bounds.setdefault(dim.__name__, (dim.min, dim.max))
    if known != (dim.min, dim.max):
        one, other = Dim._readable(dim.__name__, *known), Dim._readable(dim.__name__, dim.min, dim.max)
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"Found different definitions {one} and {other} for the same symbolic dimension {dim}!",
        )


def invalid(text: str) -> UserError:
    """The error for what is said of a tensor and can't be."""
    return UserError(UserErrorType.INVALID_INPUT, text, CASE)


def is_infinite(bound: Any) -> bool:
    """Tell whether there is no such bound."""
    return bound is int_oo
