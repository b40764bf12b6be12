"""The named tuples that functions with several results return: ``torch.return_types``.

>>> max((1, 2)).values
1
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, ClassVar, Self


class StructSequence(tuple):
    """A tuple whose items have names as well. Made from one sequence; slices are plain tuples.

    Raises:
        TypeError: made from something else than a sequence of the right length.
    """

    __slots__ = ()
    names: ClassVar[tuple[str, ...]] = ()
    n_fields: ClassVar[int] = 0
    n_sequence_fields: ClassVar[int] = 0
    n_unnamed_fields: ClassVar[int] = 0

    def __new__(cls, sequence: Iterable, /) -> Self:
        if not isinstance(sequence, (tuple, list)):
            raise TypeError("constructor requires a sequence")
        if len(sequence) != cls.n_fields:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence ({len(sequence)}-sequence given)"
            )
        return tuple.__new__(cls, sequence)

    def __repr__(self) -> str:
        fields = ",\n".join(f"{name}={item!r}" for name, item in zip(self.names, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{fields})"

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


def declare(name: str, *fields: str) -> type[StructSequence]:
    """A class of named tuples."""
    members: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    members |= {"__slots__": (), "__module__": __name__, "__match_args__": fields}
    members |= {"names": fields, "n_fields": len(fields), "n_sequence_fields": len(fields)}
    return type(name, (StructSequence,), members)


aminmax = declare("aminmax", "min", "max")
cummax = declare("cummax", "values", "indices")
cummin = declare("cummin", "values", "indices")
kthvalue = declare("kthvalue", "values", "indices")
max = declare("max", "values", "indices")
median = declare("median", "values", "indices")
min = declare("min", "values", "indices")
mode = declare("mode", "values", "indices")
nanmedian = declare("nanmedian", "values", "indices")
sort = declare("sort", "values", "indices")
topk = declare("topk", "values", "indices")

OUT: dict[type, type[StructSequence]] = {
    cls: declare(f"{cls.__name__}_out", *cls.names)
    for cls in (aminmax, cummax, cummin, kthvalue, max, median, min, mode, nanmedian, sort, topk)
}
"""What functions called with ``out=`` return: by the class that they return without."""
globals().update({cls.__name__: cls for cls in OUT.values()})
