"""Modules that hold others, or parameters: as a list, as a dictionary, or one after the other."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Self

from tapegrad._src.bindings.state.attributes import typename
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn.modules.module import Module, indented
from tapegrad.nn.parameter import Parameter

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """A module with those given by name below it, as ``Module`` is by now."""

    def __init__(self, **kwargs: Any) -> None:
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
            "instead.",
            FutureWarning,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """Modules whose names are their numbers."""

    def _renumber(self) -> None:
        self._modules = OrderedDict((str(number), module) for number, module in enumerate(self._modules.values()))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Put a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Take a module out, or several, and return it."""
        found = self[key]
        del self[key]
        return found

    def __getitem__(self, idx: Any) -> Any:
        raise NotImplementedError

    def __delitem__(self, idx: Any) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]:
            delattr(self, name)
        self._renumber()

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def _name_at(self, idx: Any) -> str:
        """The name of the module that has a number."""
        return list(self._modules)[checked_index(idx, len(self))]


def checked_index(idx: Any, size: int) -> int:
    """An index that counts from the front. Raises IndexError: there are not so many."""
    idx = operator.index(idx)
    if not -size <= idx < size:
        raise IndexError(f"index {idx} is out of range")
    return idx % size


class Sequential(_Numbered):
    """Modules one after the other: each gets what the one before gives.

    Args:
        args: the modules; or one ``OrderedDict``, which names them.

    >>> class Double(Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Sequential(Double(), Double())(torch.ones(1))
    tensor([4.])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for number, module in enumerate(args):
                self.add_module(str(number), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def __add__(self, other: Sequential) -> Sequential:
        self._check_added(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        self._check_added(other)
        return self.extend(list(other))

    def _check_added(self, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one with the number ``index``, which may count from the end.

        Raises:
            AssertionError: it is no module.
            IndexError: there is no such number.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        shift(self._modules, index + size if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Put modules at the end."""
        for module in sequential:
            self.append(module)
        return self


def shift(modules: dict[str, Any], index: int, module: Module) -> None:
    """Insert a module among numbered ones."""
    for number in range(len(modules), index, -1):
        modules[str(number)] = modules[str(number - 1)]
    modules[str(index)] = module


class ModuleList(_Numbered):
    """A list of modules, which are registered under their numbers. It is not called itself.

    Args:
        modules: what it holds at first.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _name_at(self, idx: Any) -> str:
        return str(checked_index(idx, len(self)))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._name_at(idx)]

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one with the number ``index``."""
        shift(self._modules, index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Put modules at the end.

        Raises:
            TypeError: they are no iterable.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        offset = len(self)
        for number, module in enumerate(modules):
            self.add_module(str(offset + number), module)
        return self

    def __repr__(self) -> str:
        runs: list[tuple[int, int, str]] = []
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], number, text)
            else:
                runs.append((number, number, text))
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        body = "\n  ".join(map(indented, lines))
        return f"{self._get_name()}(\n  {body}\n)" if lines else f"{self._get_name()}()"


class ModuleDict(Module):
    """A dictionary of modules, which are registered under its keys. It is not called itself.

    Args:
        modules: what it holds at first: a mapping, or pairs.
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out and return it."""
        found = self[key]
        del self[key]
        return found

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Put modules in, from a mapping or from pairs.

        Raises:
            TypeError: these are neither.
            ValueError: something that should be a pair isn't one.
        """
        for key, module in pairs("ModuleDict", "ModuleDict", modules, isinstance(modules, (Mapping, ModuleDict))):
            self[key] = module


def pairs(name: str, called: str, given: Any, is_mapping: bool) -> Iterator[tuple[str, Any]]:
    """The keys and values that ``update`` is given.

    Args:
        name: the class, as messages on pairs name it.
        called: as the message on something else names it.
        given: a mapping, or pairs.
        is_mapping: whether it is a mapping.
    """
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{called}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if is_mapping:
        yield from given.items()
        return
    for number, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(
                f"{name} update sequence element #{number} has length {len(pair)}; 2 is required"  # type: ignore[arg-type]
            )
        yield pair[0], pair[1]  # type: ignore[index]


def as_parameter(value: Any) -> Any:
    """A tensor as a parameter; what is one, or no tensor, as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def described(key: Any, value: Any, kind: str | None = None) -> str:
    """A line on one of several parameters."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    where = f" ({value.device})" if value.device.type == "cuda" else ""
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {what} containing: [{kind or value.dtype} of size {size}{where}]"


class ParameterList(Module):
    """A list of parameters, which are registered under their numbers; tensors become parameters.

    Args:
        values: what it holds at first.
    """

    _items_are_attributes = True

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, idx: Any) -> Any:
        if not isinstance(idx, slice):
            return getattr(self, str(checked_index(idx, len(self))))
        result = type(self)()
        for number in range(*idx.indices(len(self))):
            result.append(self[number])
        return result

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(checked_index(idx, len(self))), as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Put a parameter, or something else, at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Put several at the end.

        Raises:
            TypeError: they are no iterable, or a tensor.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(described(number, value) for number, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters, which are registered under its keys; tensors become parameters.

    Args:
        parameters: what it holds at first: a mapping, or pairs.
    """

    _items_are_attributes = True

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _checked_key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._checked_key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._checked_key(key), as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._checked_key(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Give what is under a key, which ``default`` is put under if there is nothing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out what is under a key and return it."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take the last one out and return its key and it."""
        key = self._keys.popitem()[0]
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Give what is under a key, or ``default``."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dictionary with the same thing, ``default``, under several keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """The keys and what is under them."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterator[Any]:
        """The parameters under the keys."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Put parameters in, from a mapping (sorted by key, if it is no ordered one) or from pairs.

        Raises:
            TypeError: these are neither.
            ValueError: something that should be a pair isn't one.
        """
        is_ordered = isinstance(parameters, (OrderedDict, ParameterDict))
        if isinstance(parameters, Mapping) and not is_ordered:
            parameters, is_ordered = OrderedDict(sorted(parameters.items())), True
        for key, value in pairs("ParameterDict", "ParametersDict", parameters, is_ordered):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(described(key, value, typename(value)) for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
