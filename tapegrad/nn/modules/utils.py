"""Sizes given as one number for all dimensions or one for each; prefixes in state dicts. The names are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from types import FunctionType
from typing import Any, ClassVar

from tapegrad._src.declaring import explained

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple]:
    """A function that makes a tuple: of a number, ``n`` times that; of several numbers, these.

    >>> _ntuple(2)(3), _ntuple(2)([1, 2])
    ((3, 3), (1, 2))
    """

    def parse(value: Any) -> tuple:
        return tuple(value) if isinstance(value, Iterable) else tuple(repeat(value, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[int], n: int) -> tuple[int, ...]:
    """Each element ``n`` times, the last one first: paddings as ``F.pad`` takes them.

    >>> _reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(item for item in reversed(t) for _ in range(n))


def _check_dims(input: Any, allowed: tuple[int, ...]) -> None:
    """Refuse an input with another number of dimensions than those allowed."""
    if input.dim() not in allowed:
        raise ValueError(f"expected {' or '.join(f'{n}D' for n in allowed)} input (got {input.dim()}D input)")


SIZES = {"1": "ints, or tuples of one", "2": "ints, or pairs (height, width)", "3": "ints, or three of them"}
SIDES = {"1": "(left, right)", "2": "(left, right, top, bottom)", "3": "(left, right, top, bottom, front, back)"}


class Explained:
    """The base class of layers that come in several kinds: each docstring also says ``_about``, before its example.

    ``{sizes}`` and ``{sides}`` in it are how sizes and paddings are given in as many ``{dims}`` as its name has.
    """

    _about: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls._about and not cls.__name__.startswith("_") and cls.__doc__ and cls.__module__.startswith(__package__):
            dims = cls.__name__[-2]
            about = cls._about.format(dims=dims, sizes=SIZES.get(dims), sides=SIDES.get(dims))
            cls.__doc__ = explained(cls.__doc__, about)


class OfDimensions(Explained):
    """Layers whose classes say for how many dimensions they are, and little else.

    ``__init__``, which is the same for all of them, goes by the name of each: Python's messages show it.
    """

    _dims: ClassVar[int]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_dims" in vars(cls) or "cls_to_become" in vars(cls):
            init: Any = cls.__init__
            own = FunctionType(init.__code__, init.__globals__, "__init__", init.__defaults__, init.__closure__)
            own.__kwdefaults__, own.__annotations__ = init.__kwdefaults__, init.__annotations__
            own.__qualname__, own.__doc__ = f"{cls.__qualname__}.__init__", init.__doc__
            cls.__init__ = own  # type: ignore[method-assign]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names of a state dict that have it, as those of a module in a ``DataParallel`` do.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
