"""Declarations of layers that have settings, and no parameters.

Note [Declared layers]
A layer is a class with annotations, its settings, and a ``forward`` that gives them to a function::

    @settings(shows="alpha={alpha}")
    class ELU(Module):
        alpha: float = 1.0
        inplace: bool = False

        def forward(self, input):
            return F.elu(input, self.alpha, self.inplace)

The decorator writes ``__init__``, as ``dataclasses`` would; ``__constants__``, the names of the settings; and
``extra_repr``: the text with the settings filled in, where a setting ``inplace`` is added if it is true and the text
doesn't say it anyway. What the class says itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

from tapegrad.nn.modules.module import Module

Layer = TypeVar("Layer", bound=type[Module])


@overload
@dataclass_transform(eq_default=False)
def settings(cls: Layer) -> Layer: ...
@overload
@dataclass_transform(eq_default=False)
def settings(cls: None = None, *, shows: str) -> Callable[[Layer], Layer]: ...
def settings(cls: Any = None, *, shows: str | None = None) -> Any:
    """Write what a declared layer needs besides its ``forward``. See Note [Declared layers].

    Args:
        cls: the class.
        shows: what is shown of the settings; nothing if None.

    >>> @settings(shows="{factor}")
    ... class Times(Module):
    ...     factor: float
    ...     inplace: bool = False
    ...     def forward(self, input):
    ...         return input * self.factor
    >>> Times(2.0), Times(3.0, inplace=True), Times.__constants__
    (Times(2.0), Times(3.0, inplace=True), ['factor', 'inplace'])
    """

    def declare(cls: Any) -> Any:
        own = vars(cls)
        kinds = {name: kind for name, kind in own.get("__annotations__", {}).items() if "ClassVar" not in str(kind)}
        if kinds and "__constants__" not in own:
            cls.__constants__ = list(kinds)
        if kinds and "__init__" not in own:
            cls.__init__ = _init(cls, kinds)
        if shows is not None:
            cls.extra_repr = _of(cls, _extra_repr(shows))
        return cls

    return declare if cls is None else declare(cls)


def _init(cls: type, kinds: dict[str, Any]) -> Callable:
    """``__init__`` with a parameter for each setting, whose default is what the class has by its name."""
    defaults = {name: vars(cls)[name] for name in kinds if name in vars(cls)}
    parameters = [f"{name}=defaults[{name!r}]" if name in defaults else name for name in kinds]
    lines = [f"def __init__(self, {', '.join(parameters)}):", "    super(cls, self).__init__()"]
    lines += [f"    self.{name} = {name}" for name in kinds]
    space: dict[str, Any] = {"cls": cls, "defaults": defaults}
    exec("\n".join(lines), space)
    init = _of(cls, space.pop("__init__"))
    for name in defaults:
        delattr(cls, name)
    init.__annotations__ = {**kinds, "return": None}
    return init


def _of(cls: type, method: Callable) -> Callable:
    """A method with the names that it has where it was written into the class."""
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.{method.__name__}", cls.__module__
    return method


def _extra_repr(shows: str) -> Callable[[Any], str]:
    def extra_repr(self: Any) -> str:
        """The settings that are shown."""
        shown = shows.format(**self.__dict__)
        in_place = "inplace=True" if self.__dict__.get("inplace") and "inplace" not in shows else ""
        return ", ".join(filter(None, (shown, in_place)))

    return extra_repr
