"""Calls of our operators in the words of PyTorch's schemas, and back.

Note [Worded calls]
An operator here takes arrays by position and settings by keyword; PyTorch's schema (Note [Schemas]) has an order of its
own, and other names. ``worded`` finds for each argument of the schema what the call has for it: a setting of that name
(``NAMES``), an array of that name, or the next array that fits; what is particular about an operator says ``FILLED``.
A call that a schema can't say, as our operator does more or less than PyTorch's, is shown in our own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.overloads import OpOverload
from tapegrad.ops.saved_fields import SAVED_NAMES
from tapegrad.ops.schemas import Argument, Schema

NAMES = {ours: theirs for theirs, ours in SAVED_NAMES.items()}
NAMES |= {"axis": "dim", "axes": "dims", "shape": "size"}
"""PyTorch's names of the settings of operators, as messages and logs have them."""

OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "axis": ("dim", "axis", "dims"), "axes": ("dim", "dims"), "shape": ("size", "shape"),
    "size": ("split_size", "size"), "sizes": ("split_sizes",), "ord": ("ord", "p"), "probability": ("p",),
    "axis0": ("dim0",), "axis1": ("dim1",), "axis2": ("dim2",), "keepdims": ("keepdim",),
    "strides": ("stride",), "alpha": ("alpha", "value"),
    "value": ("value", "other"),
    "rank": ("k",), "to": ("dtype",),
}  # fmt: skip
"""The names that a setting may have in schemas, the likeliest first."""

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}

Filled = Callable[[dict[str, Any]], dict[str, Any]]


FILLED: dict[str, Filled] = {}
"""Functions that give arguments of schemas for which no setting or array stands, by PyTorch's operators."""


def fills(*names: str) -> Callable[[Filled], Filled]:
    """Declare what stands for arguments of PyTorch's operators of these names."""

    def declare(function: Filled) -> Filled:
        FILLED.update(dict.fromkeys(names, function))
        return function

    return declare


@fills("convolution")
def _convolution(given: dict[str, Any]) -> dict[str, Any]:
    transposed, sides = "output_size" in given, given["padding"]
    return {
        "bias": given.get("bias"), "transposed": transposed, "output_padding": [0] * len(given["stride"]),
        "padding": [one[0] if isinstance(one, (tuple, list)) else one for one in sides],
    }  # fmt: skip


@fills("_softmax", "_log_softmax")
def _softmax(given: dict[str, Any]) -> dict[str, Any]:
    return {"half_to_float": False}


@fills("native_layer_norm")
def _layer_norm(given: dict[str, Any]) -> dict[str, Any]:
    return {"normalized_shape": [given["x"].shape[axis] for axis in given["axes"]]}


@fills("slice")
def _slice(given: dict[str, Any]) -> dict[str, Any]:
    return {"end": given["start"] + given["length"] * given["step"]}


@fills("native_batch_norm")
def _batch_norm(given: dict[str, Any]) -> dict[str, Any]:
    return {"training": True}


@fills("_cdist_forward")
def _cdist(given: dict[str, Any]) -> dict[str, Any]:
    return {"compute_mode": None, "p": float(given["p"])}


@fills("linalg_vector_norm", "std", "var", "std_mean", "var_mean")
def _reduced(given: dict[str, Any]) -> dict[str, Any]:
    found = {"dim": _some(given["axes"] if "axes" in given else given["axis"], given["x"])}
    return {**found, "ord": float(given["ord"])} if "ord" in given else found


@fills("elu")
def _elu(given: dict[str, Any]) -> dict[str, Any]:
    return {name: 1 for name in ("scale", "input_scale") if given[name] == 1}


@fills("max_pool2d_with_indices", "max_pool3d_with_indices", "im2col")
def _windows(given: dict[str, Any]) -> dict[str, Any]:
    samplings = given["samplings"]
    kernel, stride = [one.kernel for one in samplings], [one.stride for one in samplings]
    return {"kernel_size": kernel, "padding": [one.low for one in samplings], "stride": stride,
            "dilation": [one.dilation for one in samplings]}  # fmt: skip


@fills("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_bilinear2d", "upsample_bicubic2d",
       "upsample_linear1d", "upsample_trilinear3d")  # fmt: skip
def _upsampled(given: dict[str, Any]) -> dict[str, Any]:
    samplings = given["samplings"]
    scales = dict(zip(("scales_w", "scales_h", "scales_d"), [one.scale for one in reversed(samplings)], strict=False))
    scales |= {"scales": samplings[0].scale} if len(samplings) == 1 else {}
    return {"output_size": [one.size for one in samplings], "align_corners": samplings[0].align, **scales}


@fills("nll_loss_backward", "nll_loss2d_backward")
def _nll(given: dict[str, Any]) -> dict[str, Any]:
    raise KeyError("it takes the input, which is not needed here")


@fills("constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
       "replication_pad2d")  # fmt: skip
def _pad(given: dict[str, Any]) -> dict[str, Any]:
    widths = [n for pair in reversed(_padded(given["widths"])) for n in pair]
    return {"pad": widths, "padding": widths}


def _some(axes: Sequence[int], x: Any) -> list[int] | None:
    """The dimensions that are reduced; None if all are."""
    return None if len(axes) == x.ndim else list(axes)


def _padded(widths: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """The widths, without those of leading dimensions that are not padded."""
    first = next((i for i, pair in enumerate(widths) if any(pair)), len(widths) - 1)
    return list(widths[first:])


class Worded:
    """A call in the words of a schema, and the way back: which of its arguments are which tensors.

    Attributes:
        args, kwargs: the call.
        is_in_schema: whether a schema could say it.
    """

    __slots__ = ("args", "is_in_schema", "kwargs", "_own", "_places")

    def __init__(self, args: tuple, kwargs: dict[str, Any], own: tuple, is_in_schema: bool = True) -> None:
        self.args, self.kwargs, self._own, self.is_in_schema = args, kwargs, own, is_in_schema
        found = {id(one): place for place, one in self._tensors(args, kwargs)}
        self._places = [found.get(id(one)) if isinstance(one, Tensor) else None for one in own]

    @property
    def is_whole(self) -> bool:
        """True if each tensor of the call is among the arguments."""
        pairs = zip(self._own, self._places, strict=True)
        return all(place is not None for one, place in pairs if isinstance(one, Tensor))

    @staticmethod
    def _tensors(args: tuple, kwargs: dict[str, Any]) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        for key, one in [*enumerate(args), *kwargs.items()]:
            if isinstance(one, (list, tuple)):
                found += [((key, i), item) for i, item in enumerate(one) if isinstance(item, Tensor)]
            elif isinstance(one, Tensor):
                found.append(((key,), one))
        return found

    def back(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """The operator's own arguments, with the tensors of a call that is like this one."""
        given = []
        for one, place in zip(self._own, self._places, strict=True):
            if place is not None:
                one = kwargs[place[0]] if isinstance(place[0], str) else args[place[0]]
                one = one[place[1]] if len(place) == 2 else one
            given.append(one)
        return tuple(given)


def worded(op: OperatorLike, func: OpOverload, args: tuple, settings: Mapping[str, Any]) -> Worded:
    """A call of an operator as PyTorch's dispatcher would show it. See Note [Worded calls]."""
    schema = func._schema
    if schema is not None:
        try:
            bound = bound_to(schema, op, func._opname, args, settings)
        except (KeyError, IndexError, TypeError):
            bound = None
        if bound is not None:
            shown = schema.shown(bound)
            found = Worded(shown[0], shown[1], args)
            if found.is_whole:
                return found
    named = {NAMES.get(name, name): list(one) if isinstance(one, tuple) else one for name, one in settings.items()}
    return Worded(args, named, args, False)


def bound_to(
    schema: Schema, op: OperatorLike, name: str, args: tuple, settings: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The argument for each name of a schema; None if there is nothing for one, or an array that is left."""
    whole = {**op.defaults, **settings}
    named = dict(zip(op.inputs, args, strict=False))
    particular = FILLED.get(name)
    special = {} if particular is None else particular({**whole, **named})
    arrays = [*named.items(), *[("", one) for one in args[len(op.inputs) :]]]
    bound: dict[str, Any] = {}
    for argument in schema.arguments:
        found = own_name(argument.name, whole, named, op)
        if argument.name in special:
            bound[argument.name] = special[argument.name]
        elif found in whole:
            bound[argument.name] = worded_setting(argument, whole[found])
        elif found is not None:
            bound[argument.name] = named[found]
    used = {id(one) for one in bound.values()}
    left = [(key, one) for key, one in arrays if one is not None and not (id(one) in used and isinstance(one, Tensor))
            and not (key in named and any(one is other for other in bound.values()))]  # fmt: skip
    for argument in schema.arguments:
        if argument.name in bound or not left:
            continue
        if argument.type in ("Tensor[]", "Tensor?[]"):
            bound[argument.name], left = [one for _, one in left], []
        elif fits(argument, left[0][1]):
            bound[argument.name] = left.pop(0)[1]
    missing = [one for one in schema.arguments if one.name not in bound and not one.has_default_value()]
    optional = all(one.type.endswith("?") for one in missing)
    return None if any(isinstance(one, Tensor) for _, one in left) or not optional else {
        **bound, **{one.name: None for one in missing}
    }  # fmt: skip


def own_name(theirs: str, settings: Mapping[str, Any], arrays: Mapping[str, Any], op: OperatorLike) -> str | None:
    """Our name of an argument: of a setting or an array."""
    for ours, names in OTHER_NAMES.items():
        if ours in settings and theirs in names:
            return ours
    if theirs in settings or theirs in arrays:
        return theirs
    saved = op.saved.get(theirs)
    return saved if isinstance(saved, str) and (saved in settings or saved in arrays) else None


def worded_setting(argument: Argument, value: Any) -> Any:
    """A setting as a schema has it: an enumeration by its number."""
    if argument.name == "reduction" and isinstance(value, str):
        return REDUCTIONS[value]
    return list(value) if isinstance(value, tuple) else value


def fits(argument: Argument, one: Any) -> bool:
    """Tell whether an array, or a number in its place, may stand for an argument."""
    kind = argument.type.rstrip("?")
    if isinstance(one, Tensor):
        return kind == "Tensor"
    return kind in ("Tensor", "Scalar", "float", "int", "bool")
