"""``torch.types``: names for what functions take."""

import os
from builtins import bool as _bool  # noqa: F401
from builtins import bytes as _bytes  # noqa: F401
from builtins import complex as _complex  # noqa: F401
from builtins import float as _float  # noqa: F401
from builtins import int as _int  # noqa: F401
from builtins import str as _str  # noqa: F401
from collections.abc import Sequence
from typing import IO, TypeAlias

from tapegrad._src.bindings.state.storages import UntypedStorage as Storage
from tapegrad._src.bindings.symbolic import SymBool, SymFloat, SymInt
from tapegrad._src.execution.data.devices import device as _device
from tapegrad._src.execution.data.dtypes import dtype as _dtype  # noqa: F401
from tapegrad._src.tensor.layout import layout as _layout  # noqa: F401
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = Size | Sequence[int | SymInt]

IntLikeType: TypeAlias = int | SymInt
FloatLikeType: TypeAlias = float | SymFloat
BoolLikeType: TypeAlias = bool | SymBool
PySymType: TypeAlias = SymInt | SymFloat | SymBool
py_sym_types = (SymInt, SymFloat, SymBool)

Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Device: TypeAlias = _device | str | int | None

__all__ = ["Device", "FileLike", "Number", "Storage"]
