"""Names of dtypes that integers would have, and of the ways to choose scales. No tensor has such a dtype."""

from __future__ import annotations

from typing import Any


class qscheme:
    """A way to choose scales and zero points: for a tensor or for each channel, about 0 or not."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class QuantizedDtype:
    """The name of a dtype that integers would have, with their bounds."""

    def __init__(self, name: str, least: int, largest: int) -> None:
        self.name, self.min, self.max = name, least, largest

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


per_tensor_affine, per_tensor_symmetric = qscheme("per_tensor_affine"), qscheme("per_tensor_symmetric")
per_channel_affine, per_channel_symmetric = qscheme("per_channel_affine"), qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
qint8, quint8 = QuantizedDtype("qint8", -128, 127), QuantizedDtype("quint8", 0, 255)
qint32 = QuantizedDtype("qint32", -(2**31), 2**31 - 1)
quint4x2, quint2x4 = QuantizedDtype("quint4x2", 0, 15), QuantizedDtype("quint2x4", 0, 3)
int1, int2, int3, int4, int5, int6, int7 = (
    QuantizedDtype(f"int{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in range(1, 8)
)
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = (
    QuantizedDtype(f"uint{bits}", 0, 2**bits - 1) for bits in range(1, 8)
)
float8_e8m0fnu = QuantizedDtype("float8_e8m0fnu", 0, 2**127)
float4_e2m1fn_x2 = QuantizedDtype("float4_e2m1fn_x2", -6, 6)

PER_TENSOR = (per_tensor_affine, per_tensor_symmetric)
PER_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)
SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)


def bounds_of(dtype: Any, reduce_range: bool) -> tuple[int, int]:
    """The bounds of the integers of a dtype; with half of them if ``reduce_range``, where there are eight bits."""
    name = dtype.name if isinstance(dtype, QuantizedDtype) else str(dtype).removeprefix("torch.")
    if name in ("qint8", "int8"):
        return (-64, 63) if reduce_range else (-128, 127)
    if name in ("quint8", "uint8"):
        return (0, 127) if reduce_range else (0, 255)
    sizes = {"qint32": (-(2**31), 2**31 - 1), "int32": (-(2**31), 2**31 - 1), "uint16": (0, 2**16 - 1)}
    return {**sizes, "int16": (-(2**15), 2**15 - 1)}.get(name, (0, 15))
