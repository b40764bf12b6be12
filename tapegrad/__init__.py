"""tapegrad: PyTorch's tape autograd on JAX. ``import tapegrad as torch``.

>>> import tapegrad as torch
>>> x = torch.ones(3, requires_grad=True)
>>> (x * 3 + 2).sum().backward()
>>> x.grad
tensor([3., 3., 3.])
"""

from tapegrad import _C as _C
from tapegrad import autograd as autograd
from tapegrad import functions as functions
from tapegrad.autograd import tensor_methods as _tensor_methods
from tapegrad.autograd.grad_mode import enable_grad as enable_grad
from tapegrad.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from tapegrad.autograd.grad_mode import no_grad as no_grad
from tapegrad.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from tapegrad.errors import is_warn_always_enabled as is_warn_always_enabled
from tapegrad.errors import set_warn_always as set_warn_always
from tapegrad.execution.devices import device as device
from tapegrad.execution.devices import get_default_device as get_default_device
from tapegrad.execution.devices import set_default_device as set_default_device
from tapegrad.execution.dtypes import bfloat16 as bfloat16
from tapegrad.execution.dtypes import bool as bool
from tapegrad.execution.dtypes import cdouble as cdouble
from tapegrad.execution.dtypes import cfloat as cfloat
from tapegrad.execution.dtypes import chalf as chalf
from tapegrad.execution.dtypes import complex128 as complex128
from tapegrad.execution.dtypes import complex32 as complex32
from tapegrad.execution.dtypes import complex64 as complex64
from tapegrad.execution.dtypes import double as double
from tapegrad.execution.dtypes import dtype as dtype
from tapegrad.execution.dtypes import finfo as finfo
from tapegrad.execution.dtypes import float as float
from tapegrad.execution.dtypes import float16 as float16
from tapegrad.execution.dtypes import float32 as float32
from tapegrad.execution.dtypes import float64 as float64
from tapegrad.execution.dtypes import float8_e4m3fn as float8_e4m3fn
from tapegrad.execution.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from tapegrad.execution.dtypes import float8_e5m2 as float8_e5m2
from tapegrad.execution.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from tapegrad.execution.dtypes import get_default_dtype as get_default_dtype
from tapegrad.execution.dtypes import half as half
from tapegrad.execution.dtypes import iinfo as iinfo
from tapegrad.execution.dtypes import int as int
from tapegrad.execution.dtypes import int16 as int16
from tapegrad.execution.dtypes import int32 as int32
from tapegrad.execution.dtypes import int64 as int64
from tapegrad.execution.dtypes import int8 as int8
from tapegrad.execution.dtypes import long as long
from tapegrad.execution.dtypes import set_default_dtype as set_default_dtype
from tapegrad.execution.dtypes import short as short
from tapegrad.execution.dtypes import uint16 as uint16
from tapegrad.execution.dtypes import uint32 as uint32
from tapegrad.execution.dtypes import uint64 as uint64
from tapegrad.execution.dtypes import uint8 as uint8
from tapegrad.execution.promotion import can_cast as can_cast
from tapegrad.execution.promotion import promote_types as promote_types
from tapegrad.functions.attach import attach as _attach
from tapegrad.functions.registry import NAMESPACES as _NAMESPACES
from tapegrad.tensor.printing import get_printoptions as get_printoptions
from tapegrad.tensor.printing import set_printoptions as set_printoptions
from tapegrad.tensor.spec import Size as Size
from tapegrad.tensor.tensor import Tensor as Tensor

__version__ = "0.1.0"

_attach()
globals().update(_NAMESPACES["torch"])

# these name what the families declared, or need the methods that were just attached
from tapegrad import cuda as cuda  # noqa: E402
from tapegrad import linalg as linalg  # noqa: E402
from tapegrad import nn as nn  # noqa: E402
from tapegrad import overrides as overrides  # noqa: E402
from tapegrad import random as random  # noqa: E402
from tapegrad import special as special  # noqa: E402
from tapegrad import utils as utils  # noqa: E402
