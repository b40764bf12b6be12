"""The named tuples that functions with several results return: ``torch.return_types``.

>>> max((1, 2)).values
1
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, ClassVar, Self

from tapegrad._src.tensor.trees import Registration, registered


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
    _out: ClassVar[type[tuple]] = tuple

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


def declare(name: str, *fields: str, out: bool = True) -> type[StructSequence]:
    """A class of named tuples; ``out``: functions called with ``out=`` return another one, of the same names."""
    members: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    members |= {"__slots__": (), "__module__": "tapegrad.return_types", "__match_args__": fields}
    members |= {"names": fields, "n_fields": len(fields), "n_sequence_fields": len(fields)}
    cls: type[StructSequence] = type(name, (StructSequence,), members)
    registered[cls] = Registration(lambda made: (list(made), None), lambda children, _: cls(children))
    if out:
        cls._out = globals()[f"{name}_out"] = declare(f"{name}_out", *fields, out=False)
    return cls


aminmax = declare("aminmax", "min", "max")
cummax = declare("cummax", "values", "indices")
cummin = declare("cummin", "values", "indices")
histogram = declare("histogram", "hist", "bin_edges")
histogramdd = declare("histogramdd", "hist", "bin_edges", out=False)
frexp = declare("frexp", "mantissa", "exponent")
kthvalue = declare("kthvalue", "values", "indices")
max = declare("max", "values", "indices")
median = declare("median", "values", "indices")
min = declare("min", "values", "indices")
mode = declare("mode", "values", "indices")
nanmedian = declare("nanmedian", "values", "indices")
sort = declare("sort", "values", "indices")
topk = declare("topk", "values", "indices")
geqrf = declare("geqrf", "a", "tau")
linalg_cholesky_ex = declare("linalg_cholesky_ex", "L", "info")
linalg_eig = declare("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = declare("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_lstsq = declare("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_qr = declare("linalg_qr", "Q", "R")
linalg_svd = declare("linalg_svd", "U", "S", "Vh")
qr = declare("qr", "Q", "R")
svd = declare("svd", "U", "S", "V")
_lu_with_info = declare("_lu_with_info", "LU", "pivots", "info", out=False)
linalg_inv_ex = declare("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = declare("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = declare("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lu = declare("linalg_lu", "P", "L", "U")
linalg_lu_factor = declare("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = declare("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_slogdet = declare("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = declare("linalg_solve_ex", "result", "info")
lu_unpack = declare("lu_unpack", "P", "L", "U")
slogdet = declare("slogdet", "sign", "logabsdet")
triangular_solve = declare("triangular_solve", "solution", "cloned_coefficient")
