"""``torch.SymInt`` and its like: sizes that PyTorch's compiler doesn't know. Here all are numbers, but in exports."""

from typing import Any

from tapegrad._src.execution.data.sizes import SYMBOL


class _Symbols(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is SYMBOL or super().__instancecheck__(instance)


class SymInt(metaclass=_Symbols):
    """The class of unknown sizes, as ``torch.export`` has them; programs ask ``isinstance(x, (int, torch.SymInt))``.

    >>> isinstance(torch.ones(3).shape[0], torch.SymInt)
    False
    """


class SymFloat:
    """The class of numbers that follow from unknown sizes in PyTorch."""


class SymBool:
    """The class of conditions on unknown sizes in PyTorch."""
