"""The one gate for the types of arguments: what PyTorch's own parser would say of a call, in its words.

Note [The gate]
PyTorch's functions that are written in C++ check their arguments by signatures, before anything else is done. Those
signatures are in ``parser_table.py``; here is what a call is compared with them. It costs nothing where nothing is
wrong: ``public()`` remembers the types of arguments that have passed (``Signature.known``), and looks again only where
types are new, or where the function raised: a mistake that it found itself is then reported as PyTorch reports it.

A signature is a list of parameters: a type, a name, perhaps a default. ``ints[2]`` is a sequence of ints, or one int
for all; ``?`` and a default of None allow None. An overload that PyTorch keeps for old programs, and does not mention,
has a ``~`` in front.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.bindings.declaration.handing import ASK_NOBODY, flat, overrides
from tapegrad._src.bindings.declaration.parser_table import (
    FUNCTIONS,
    INNER,
    METHODS,
    METHODS_IN_PYTHON,
    NUMBERS_AS_TENSORS,
    OPTIONS,
)
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.execution.data.sizes import SYMBOL
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.layout import layout, memory_format
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once


class Refused(TypeError):
    """A signature does not fit; another one may."""


SHOWN = {
    "Number": "Number", "index": "int", "indices": "tuple of ints", "ints": "tuple of ints",
    "floats": "tuple of floats", "Numbers": "tuple of Scalars", "Tensors": "tuple of Tensors", "name": "name",
    "names": "tuple of names", "Generator": "torch.Generator", "Storage": "torch.Storage", "dtype": "torch.dtype",
    "layout": "torch.layout", "device": "torch.device", "memory_format": "torch.memory_format",
    "Stream": "torch.Stream", "qscheme": "torch.qscheme",
}  # fmt: skip
"""The names of the types of the table in messages."""

NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims", "input": "x a x1", "other": "x2"}
"""NumPy's names of parameters, which PyTorch takes for its own."""


class SignatureParameter(NamedTuple):
    """A parameter: its type and how many elements a single one stands for, what may be left out or None."""

    type: str
    size: int
    name: str
    optional: bool
    nullable: bool
    by_name: bool
    default: str

    @property
    def shown(self) -> str:
        """The name of the type in messages."""
        return SHOWN.get(self.type, self.type)

    def __str__(self) -> str:
        return f"{self.shown} {self.name}" + (f" = {self.default}" if self.optional else "")

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which it may be given."""
        return (self.name, *NUMPY_NAMES.get(self.name, "").split())


class Overload(NamedTuple):
    """A signature of a function, of which there may be several."""

    function: str
    parameters: tuple[SignatureParameter, ...]
    hidden: bool

    @property
    def positional(self) -> int:
        """The number of arguments that may be given by position."""
        return sum(not parameter.by_name for parameter in self.parameters)

    @property
    def required(self) -> int:
        """The number of arguments that must be given."""
        return sum(not parameter.optional for parameter in self.parameters)

    def __str__(self) -> str:
        return f"({', '.join(self.entries())})"

    def entries(self) -> Iterator[str]:
        """The parameters as messages list them."""
        by_name = False
        for parameter in self.parameters:
            if parameter.by_name and not by_name:
                by_name = True
                yield "*"
            yield str(parameter)


_PARAMETER = re.compile(r"([\w]+)(?:\[(\d*)\])?(\?)? (\w+)(?:=(.*))?")


def parsed(function: str, text: str) -> Overload:
    """The signature that a text of the table stands for.

    >>> str(parsed("sum", "Tensor input, ints[1]? dim, bool keepdim=False, *, dtype? dtype=None"))
    '(Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None)'
    """
    parameters, by_name, text = [], False, text.replace("OPTIONS", OPTIONS)
    for part in re.split(r", (?=\w+(?:\[\d*\])?\?? \w|\*)", text.lstrip("~")) if text.lstrip("~") else ():
        if part == "*":
            by_name = True
            continue
        match = _PARAMETER.fullmatch(part)
        assert match is not None, (function, part)
        type_shown, size, nullable, name, default = match.groups()
        parameters.append(
            SignatureParameter(
                type_shown, int(size or 0), name, default is not None, bool(nullable) or default == "None", by_name,
                default or "",
            )
        )  # fmt: skip
    return Overload(function, tuple(parameters), text.startswith("~"))


@cache
def overloads_of(function: str, method: bool) -> tuple[Overload, ...]:
    """The signatures of a function, or of a method, in the order in which PyTorch tries them; none if it has none."""
    if method and function in METHODS_IN_PYTHON:
        return ()
    texts = METHODS.get(function) if method else FUNCTIONS.get(function)
    if texts is None and method and function in FUNCTIONS:
        texts = " | ".join(_without_tensor(text) for text in FUNCTIONS[function].split(" | "))
    return _overloads(function, texts)


@cache
def inner_overloads(function: str) -> tuple[Overload, ...]:
    """The signatures of the function in C++ that one in Python calls by its own name; none if there is no such one."""
    return _overloads(function, INNER.get(function, FUNCTIONS.get(function)))


def _overloads(function: str, texts: str | None) -> tuple[Overload, ...]:
    overloads = () if texts is None else [parsed(function, text) for text in texts.split(" | ")]
    return tuple(sorted(overloads, key=lambda overload: overload.hidden))


def _without_tensor(text: str) -> str:
    """A method's signature, by that of the function: without the tensor itself, and without ``out``."""
    text = re.sub(r"Tensor input(, )?", "", text, count=1)
    text = re.sub(r", Tensors?(\[\d\])? out=None", "", text)
    return re.sub(r"(, )?\*$", "", text)


# -- types -------------------------------------------------------------------------------------------------------------


def type_name(value: Any) -> str:
    """The name of the type of an argument in PyTorch's messages."""
    cls = type(value)
    if isinstance(value, (dtype, device, layout, memory_format)):
        return f"torch.{cls.__name__}"
    return f"numpy.{cls.__name__}" if cls.__module__ == "numpy" else cls.__name__


def _is_long(value: Any) -> bool:
    return isinstance(value, (int, np.integer, SYMBOL)) and not isinstance(value, bool)


def _is_index(value: Any) -> bool:
    """Tell whether a value can be used as an int: also by ``__index__``, as tensors of one element, but not truth
    values."""
    if isinstance(value, Tensor):
        return value._spec.numel == 1 and value._spec.dtype.category < 2
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return _is_long(value)
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _is_plain(tensor: Tensor) -> bool:
    return not tensor._spec.ndim and not tensor._spec.requires_grad


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return _is_plain(value) and value._spec.dtype.category == 1
    return _is_long(value)


def _is_float(value: Any) -> bool:
    if isinstance(value, Tensor):
        return _is_plain(value)
    return isinstance(value, (int, float, np.number, np.bool_, SYMBOL))


def _is_number(value: Any) -> bool:
    return isinstance(value, complex) or _is_float(value)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _first(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A sequence is judged by its first element; the others are looked at when it is unpacked."""
    return lambda value: isinstance(value, (tuple, list)) and (not value or check(value[0]) or is_overrider(value[0]))


def is_overrider(value: Any) -> bool:
    """Tell whether the class of a value overrides functions, and so may be given for anything."""
    return type(value) not in ASK_NOBODY and thread.modes.torch_function and overrides(type(value))


def _named(*names: str) -> Callable[[Any], bool]:
    return lambda value: type(value).__name__ in names


_PYTHON_TYPES = (bool, int, float, complex)

CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": _is_tensor, "Number": _is_number, "int": _is_int, "index": _is_index, "float": _is_float,
    "bool": lambda value: isinstance(value, bool), "str": lambda value: isinstance(value, (str, bytes)),
    "ints": _first(_is_index), "indices": _first(_is_index), "floats": _first(_is_float), "Numbers": _first(_is_number),
    "Tensors": lambda value: isinstance(value, (tuple, list)),
    "dtype": lambda value: isinstance(value, dtype) or (isinstance(value, type) and value in _PYTHON_TYPES),
    "layout": lambda value: isinstance(value, layout),
    "memory_format": lambda value: isinstance(value, memory_format),
    "device": lambda value: isinstance(value, (str, device)) or _is_long(value), "object": lambda value: True,
    "Generator": _named("Generator"), "Storage": _named("UntypedStorage", "TypedStorage"),
}  # fmt: skip
"""True if a value is of a type of the table."""

SINGLE = {"ints": _is_index, "indices": _is_index, "floats": _is_float}
"""Checks of a value that stands for a sequence of known length."""

SEQUENCES = frozenset(("ints", "indices"))


def fits(parameter: SignatureParameter, value: Any, function: str) -> bool:
    """Tell whether PyTorch takes a value for a parameter of a function."""
    if CHECKS[parameter.type](value) or (parameter.size and parameter.type in SINGLE and SINGLE[parameter.type](value)):
        return True
    if parameter.type == "Tensor" and function in NUMBERS_AS_TENSORS and _is_number(value):
        return True
    return not isinstance(value, Tensor) and is_overrider(value)


# -- one signature -----------------------------------------------------------------------------------------------------


def bound(overload: Overload, args: Sequence, kwargs: dict[str, Any]) -> dict[SignatureParameter, Any]:
    """Bind each parameter of a signature. Raises Refused: PyTorch's message, if the arguments don't fit."""
    given: dict[SignatureParameter, Any] = {}
    several = overload.positional == 1 and overload.parameters[0].type in SEQUENCES  # x.view(2, 3)
    if len(args) > overload.positional and not several:
        raise _too_many(overload, args)
    position, unused = 0, dict(kwargs)
    for parameter in overload.parameters:
        by_position = position < len(args)
        if by_position and parameter.by_name:
            raise _too_many(overload, args)
        value = args[position] if by_position else _taken(parameter, unused)
        if value is ABSENT:
            if not parameter.optional:
                raise _missing(overload, parameter)
            continue
        if value is not None or not parameter.nullable:
            alone = isinstance(value, (tuple, list)) or len(args) == 1  # else an overrider is one of several
            if several and not position and by_position and not (alone and fits(parameter, value, overload.function)):
                value, position = _all(overload, parameter, args), len(args) - 1
            given[parameter] = _judged(overload, parameter, value, position if by_position else None)
        position += by_position
    if position < len(args):
        raise _too_many(overload, args)
    if unused:
        raise _unknown(overload, unused, len(args))
    return given


ABSENT: Any = object()
"""Stands for an argument that is not given."""


def _taken(parameter: SignatureParameter, unused: dict[str, Any]) -> Any:
    """The argument given by one of a parameter's names, which is used then."""
    return next((unused.pop(name) for name in parameter.names if name in unused), ABSENT)


def _all(overload: Overload, parameter: SignatureParameter, args: Sequence) -> Any:
    """All arguments by position as one sequence, where the first alone is none."""
    if CHECKS[parameter.type](tuple(args)):
        return tuple(args)
    if len(args) > 1:
        raise _too_many(overload, args)
    return args[0]


def _judged(overload: Overload, parameter: SignatureParameter, value: Any, position: int | None) -> Any:
    """The argument for a parameter, if it fits."""
    if parameter.type == "Tensors" and isinstance(value, (tuple, list)):
        return _checked_tensors(overload, parameter, value)
    if not fits(parameter, value, overload.function):
        raise _wrong(overload, parameter, value, position)
    return value


def _checked_tensors(overload: Overload, parameter: SignatureParameter, values: Sequence) -> Sequence:
    """Refuse a sequence in which something is no tensor, whatever other signatures there are."""
    for number, value in enumerate(values):
        if not (isinstance(value, Tensor) or is_overrider(value) or (value is None and parameter.name == "indices")):
            index = overload.parameters.index(parameter)
            raise TypeError(f"expected Tensor as element {number} in argument {index}, but got {type_name(value)}")
    return values


def _too_many(overload: Overload, args: Sequence) -> Refused:
    least, most = overload.required, overload.positional
    if least == most:
        counts = f"takes {most} positional argument{'' if most == 1 else 's'}"
    else:
        counts = f"takes from {least} to {most} positional arguments"
    were = "was" if len(args) == 1 else "were"
    return Refused(f"{overload.function}() {counts} but {len(args)} {were} given")


def _missing(overload: Overload, first: SignatureParameter) -> Refused:
    rest = overload.parameters[overload.parameters.index(first) :]
    names = [f'"{parameter.name}"' for parameter in rest if not parameter.optional]
    plural = "s" if len(names) == 1 else ""  # as PyTorch has it
    return Refused(
        f"{overload.function}() missing {len(names)} required positional argument{plural}: {', '.join(names)}"
    )


def _wrong(overload: Overload, parameter: SignatureParameter, value: Any, position: int | None) -> Refused:
    where = "" if position is None else f" (position {position + 1})"
    actual = f"not {type_name(value)}"
    sequence = isinstance(value, (tuple, list))
    if parameter.type in SEQUENCES and sequence and value and position is not None:
        actual = f"but found element of type {type_name(value[0])} at pos 0"
    return Refused(f"{overload.function}(): argument '{parameter.name}'{where} must be {parameter.shown}, {actual}")


def _unknown(overload: Overload, unused: dict[str, Any], count: int) -> Refused:
    names = [parameter.name for parameter in overload.parameters]
    for key in unused:
        if key not in names:
            return Refused(f"{overload.function}() got an unexpected keyword argument '{key}'")
        if names.index(key) < count:
            return Refused(f"{overload.function}() got multiple values for argument '{key}'")
    return Refused("invalid keyword arguments")


# -- all signatures ----------------------------------------------------------------------------------------------------


def check_call(function: str, method: bool, args: Sequence, kwargs: dict[str, Any]) -> bool:
    """Compare a call with the signatures of a function; of a method, ``args`` are those after the tensor.

    Returns whether any call with arguments of these types would pass: a tensor may stand for a number by its value.

    Raises:
        TypeError, ValueError, OverflowError: what PyTorch's parser raises.

    >>> check_call("sum", True, (0,), {"keepdim": True})
    True
    >>> check_call("sum", True, (0, 1), {})
    Traceback (most recent call last):
    TypeError: sum(): argument 'keepdim' (position 2) must be bool, not int
    """
    overloads = overloads_of(function, method)
    if not overloads:
        return True
    given: dict[SignatureParameter, Any] = {}
    try:
        if method and overloads == (Overload(function, (), False),):
            _check_none(function, args, kwargs)
        else:
            given = unpacked(*chosen(overloads, args, kwargs))
    except Refused as error:
        raise TypeError(*error.args) from None
    return _is_lasting(given)


def overriding_arguments(function: str, method: bool, args: Sequence, kwargs: dict[str, Any]) -> tuple[tuple, bool]:
    """The arguments of a call whose classes are asked if they override functions, in the order of the signature.

    Those are not that stand for numbers, as tensors of one element. Returns, too, whether that goes by the types of the
    arguments, and of what is in sequences; what is in those is looked at later.

    Raises:
        TypeError: PyTorch's message, if the arguments fit no signature.
    """
    overloads = overloads_of(function, method)
    if not overloads:
        return (*args, *kwargs.values()), False
    try:
        if method and not overloads[0].parameters and len(overloads) == 1:
            _check_none(function, args, kwargs)
        given = chosen(overloads, args, kwargs)[1]
    except Refused as error:
        raise TypeError(*error.args) from None
    arguments: list[Any] = []
    lasting = True
    for parameter, value in given.items():
        if parameter.type not in _TENSORS and parameter.type != "Tensors":
            lasting = lasting and not any(isinstance(one, Tensor) for one in flat((value,)))
            if isinstance(value, Tensor):
                continue
        arguments.append(value)
    return tuple(arguments), lasting


def check_inner(function: str, given: dict[str, Any], method: bool = False) -> bool:
    """Refuse what a function in Python is given and PyTorch's one in C++, which it calls by the same name, won't take.

    Where that one has several signatures nothing is said here: an argument that one doesn't take another may. Returns
    whether any call with arguments of these types would pass.

    >>> check_inner("group_norm", {"input": Tensor, "weight": 1.5})
    Traceback (most recent call last):
    TypeError: group_norm(): argument 'weight' (position 3) must be Tensor, not float
    """
    overloads = inner_overloads(function)
    taken: dict[SignatureParameter, Any] = {}
    for position, parameter in enumerate(overloads[0].parameters if len(overloads) == 1 else ()):
        value = given.get(parameter.name, ABSENT)
        allowed = value is ABSENT or (value is None and parameter.nullable)
        if not allowed and parameter.name not in ("input", "reduction"):
            try:
                taken |= unpacked(overloads[0], {parameter: _judged(overloads[0], parameter, value, position - method)})
            except Refused as error:
                raise TypeError(*error.args) from None
    return _is_lasting(taken)


def check_given(function: str, *args: Any) -> None:
    """Refuse what a function in Python gives to the one in C++ that has its name, if that won't take it.

    >>> check_given("atleast_1d", [1])
    Traceback (most recent call last):
    TypeError: expected Tensor as element 0 in argument 0, but got int
    """
    try:
        unpacked(*chosen(inner_overloads(function), args, {}))
    except Refused as error:
        raise TypeError(*error.args) from None


def _is_lasting(given: dict[SignatureParameter, Any]) -> bool:
    """Tell whether what passed did so by its type: a tensor may stand for a number by its value."""
    return not any(isinstance(value, Tensor) and parameter.type not in _TENSORS for parameter, value in given.items())


def respelled(
    function: str, method: bool, args: Sequence, kwargs: dict[str, Any], most: int
) -> tuple[tuple | None, dict[str, Any]]:
    """The arguments of a call that passes as our functions take them; None if there is nothing to change.

    Python's numbers take the place of tensors and NumPy's, floats that of ints that are too large for a kernel. More
    arguments by position than the ``most`` that a function takes are given by name; if they are so many since they are
    in the order of an old signature, with PyTorch's warning.

    >>> respelled("sum", True, (np.int64(1),), {"keepdim": True}, 1)
    ((1,), {'keepdim': True})
    >>> respelled("subtract", True, (2, 3), {}, 1)
    ((), {'other': 2, 'alpha': 3})
    """
    overloads = overloads_of(function, method)
    if not overloads:
        return None, kwargs
    overload, given = chosen(overloads, args, kwargs)
    plain = {
        id(value): number_of(value, parameter) for parameter, value in given.items()
        if CHECKS[parameter.type] is not CHECKS["bool"] and _is_disguised(value, parameter)
    }  # fmt: skip
    if len(args) > most:
        if overload.hidden:
            warn_once(_outdated(overload, overloads), about="old signatures")
        return (), {parameter.name: plain.get(id(value), value) for parameter, value in given.items()}
    if not plain:
        return None, kwargs
    return (
        tuple([plain.get(id(value), value) for value in args]),
        {key: plain.get(id(value), value) for key, value in kwargs.items()},
    )


def _is_disguised(value: Any, parameter: SignatureParameter) -> bool:
    """Tell whether a number is given as a tensor or one of NumPy's, or as an int that no kernel takes for a float."""
    if isinstance(value, (Tensor, np.generic)):
        return parameter.type not in _TENSORS
    return parameter.type == "float" and is_large(value)


def _outdated(overload: Overload, overloads: Sequence[Overload]) -> str:
    others = "".join(f"\n\t{other.function}{other}" for other in overloads if not other.hidden)
    return (
        f"This overload of {overload.function} is deprecated:\n\t{overload.function}{overload}\n"
        f"Consider using one of the following signatures instead:{others}"
    )


def is_too_long(value: Any) -> bool:
    """Tell whether an integer has more than 64 bits with its sign; one that is not known has not."""
    return type(value) is not SYMBOL and not -(2**63) <= value < 2**63


def is_large(value: Any) -> bool:
    """Tell whether a value is an int of more than 64 bits with its sign."""
    return type(value) is int and not -(2**63) <= value < 2**63


def has_number(function: str, method: bool, args: Sequence, kwargs: dict[str, Any]) -> bool:
    """Tell whether an int stands for any number in a call that passes."""
    given = chosen(overloads_of(function, method), args, kwargs)[1]
    return any(type(value) is int and parameter.type in ("Number", "float") for parameter, value in given.items())


def is_outdated(function: str, method: bool, args: Sequence, kwargs: dict[str, Any]) -> bool:
    """Tell whether the arguments of a call that passes are in the order of an old signature."""
    overloads = overloads_of(function, method)
    return bool(overloads) and chosen(overloads, args, kwargs)[0].hidden


def number_of(value: Any, parameter: SignatureParameter) -> Any:
    """The Python number that a tensor or a NumPy number is for a parameter: for NumPy's truth values a float."""
    with switched(torch_function=False):
        number = float(value) if type(value) is int else value.item()
    if parameter.type in ("int", "index", *SEQUENCES):
        return int(number)
    return float(number) if isinstance(value, np.bool_) else number


def _check_none(function: str, args: Sequence, kwargs: dict[str, Any]) -> None:
    """Refuse all arguments of a method without any."""
    if kwargs:
        raise Refused(f"TensorBase.{function}() takes no keyword arguments")
    if args:
        raise Refused(f"TensorBase.{function}() takes no arguments ({len(args)} given)")


def chosen(
    overloads: tuple[Overload, ...], args: Sequence, kwargs: dict
) -> tuple[Overload, dict[SignatureParameter, Any]]:
    """The first signature that a call fits, and what its parameters are given."""
    if len(overloads) == 1:
        return overloads[0], bound(overloads[0], args, kwargs)
    for overload in overloads:
        try:
            return overload, bound(overload, args, kwargs)
        except Refused:
            continue
    count = len(args) + len(kwargs)
    shown = [overload for overload in overloads if not overload.hidden]
    plausible = [overload for overload in shown if overload.required <= count <= len(overload.parameters)]
    if len(plausible) == 1:
        bound(plausible[0], args, kwargs)
    raise no_overload(overloads[0].function, args, kwargs, [list(overload.entries()) for overload in shown])


_TENSORS = ("Tensor", "object")


def unpacked(overload: Overload, given: dict[SignatureParameter, Any]) -> dict[SignatureParameter, Any]:
    """Refuse what passed for its type, and is no number of 64 bits, or no sequence of such numbers."""
    for parameter, value in given.items():
        if parameter.type in SEQUENCES and isinstance(value, (tuple, list)):
            _unpack_sequence(overload.function, parameter, value)
        elif parameter.type in ("int", "index", *SEQUENCES) and _is_long(value) and is_too_long(value):
            raise ValueError("Overflow when unpacking long long")
        elif parameter.type == "float" and isinstance(value, int):
            float(value)
        elif parameter.type in ("Number", "Tensor") and type(value) is int and value >= 2**64:
            raise OverflowError("int too big to convert")
        elif parameter.type in ("Number", "Tensor") and type(value) is int and value < -(2**63):
            raise OverflowError("can't convert negative int to unsigned")
    return given


def _unpack_sequence(function: str, parameter: SignatureParameter, values: Sequence) -> None:
    check = CHECKS["int" if parameter.type == "ints" else "index"]
    for number, value in enumerate(values, 1):
        reason = ""
        if isinstance(value, Tensor) and value._spec.dtype.category == 0 and parameter.type == "indices":
            raise RuntimeError(
                "Expected scalar.isIntegral( false) to be true, but got false.  (Could this error message be improved? "
                " If so, please report an enhancement request to PyTorch.)"
            )
        if not (check(value) or _is_index(value)):
            reason = f"type must be {parameter.shown},but got {type_name(value)}"
        elif _is_long(value) and is_too_long(value):
            reason = "Overflow when unpacking long long"
        if reason:
            raise Refused(f"{function}(): argument '{parameter.name}' failed to unpack the object at pos {number} with "
                          f'error "{reason}"')  # fmt: skip


def no_overload(function: str, args: Sequence, kwargs: dict[str, Any], options: Sequence[list[str]]) -> Refused:
    """PyTorch's error for arguments that fit none of several signatures."""
    named = [f"{key}={type_name(kwargs[key])}" for key in sorted(kwargs)]
    got = ", ".join([*map(type_name, args), *named]) + (", " if named and not args else "")
    start = f"{function}() received an invalid combination of arguments - got"
    if len(options) == 1:
        unknown = _unmatched(options[0], kwargs)
        if unknown:
            return Refused(f"{start} unrecognized keyword arguments: {', '.join(unknown)}")
        if _as_many(options[0], args, kwargs):
            got = _described(options[0], args, kwargs)
        return Refused(f"{start} ({got}), but expected ({', '.join(options[0])})")
    start = f"{start} ({got}), but expected"
    lines = "".join(f" * ({', '.join(option)})\n{_mismatch(option, args, kwargs)}" for option in options)
    return Refused(f"{start} one of:\n{lines}")


def _mismatch(option: list[str], args: Sequence, kwargs: dict[str, Any]) -> str:
    """Why a signature of as many entries as there are arguments was not taken."""
    if not _as_many(option, args, kwargs):
        return ""
    unknown = _unmatched(option, kwargs)
    if unknown:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    shown = _described(option, args, kwargs)
    return f"      didn't match because some of the arguments have invalid types: ({shown})\n"


def _as_many(option: list[str], args: Sequence, kwargs: dict[str, Any]) -> bool:
    return max(len(option), 1) == len(args) + len(kwargs)


def _unmatched(option: list[str], kwargs: dict[str, Any]) -> list[str]:
    """The names that PyTorch doesn't find in a signature: it looks only where arguments by name alone would stand."""
    there = [entry.rpartition(" ")[2] for entry in option[max(len(option) - len(kwargs), 0) :]]
    return sorted(key for key in kwargs if key not in there)


def _described(option: list[str], args: Sequence, kwargs: dict[str, Any]) -> str:
    """The types of arguments, with marks around those that a signature calls otherwise."""
    entries = [entry.rpartition(" ") for entry in option]  # with a default: what stands before it is no type
    types = {name: type_shown for type_shown, _, name in entries}
    values = [(entries[i][0] if entries else "", "", value) for i, value in enumerate(args)]
    values += [(types[key], f"{key}=", kwargs[key]) for key in sorted(kwargs)]
    shown = [
        f"{name}{type_name(value)}" if _is_called(type_shown, value) else f"!{name}{_contents(value)}!"
        for type_shown, name, value in values
    ]
    return ", ".join(shown) + (", " if kwargs and not args else "")


def _is_called(type_shown: str, value: Any) -> bool:
    """Tell whether the type of a value goes by a name that a signature shows."""
    return type_name(value) == type_shown


def _contents(value: Any) -> str:
    if isinstance(value, list):
        return f"list of [{', '.join(map(type_name, value))}]"
    if isinstance(value, tuple):
        return f"tuple of ({', '.join(map(type_name, value))}{',' if len(value) == 1 else ''})"
    return type_name(value)
