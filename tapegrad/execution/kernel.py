"""Kernels: pure array functions, compiled. Every computation on a tensor's data is a ``Kernel`` call.

Note [The seam]
Above this room, *values* are opaque handles with ``.shape`` and ``.dtype``. A kernel takes values and gives values.
``bind()`` says how: today at once, as one jitted XLA call, or inlined when its inputs are tracers (``jax.jit`` does
both). A deferred kernel can answer ``bind()`` with a function that appends to a pending program and returns
pending values; callers bind once, when they make a plan, and do not know the difference.

Note [64-bit without configuration]
tapegrad never changes the process's JAX configuration. A kernel which touches a 64-bit type is traced and run inside
``jax.enable_x64(True)``. Whether it does is known from the types of its inputs and outputs, once, when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))
"""The NumPy dtypes for which JAX needs its 64-bit mode."""


def scoped(function: Callable) -> Callable:
    """``function``, called in JAX's 64-bit mode whatever the process's configuration is."""
    enable_x64 = jax.enable_x64

    def call(*values: Any) -> Any:
        with enable_x64(True):
            return function(*values)

    call.__wrapped__ = function.__wrapped__  # type: ignore[attr-defined]
    return call


class Opaque:
    """A value that is no array: it says itself how a kernel is run on it, with arrays and other such values.

    Attributes:
        shape, dtype: as an array has them.
        spec: what a tensor with this value is known by, above this room.
    """

    __slots__ = ()

    shape: tuple[int, ...]
    dtype: Any
    spec: Any

    def run(self, function: Callable, values: tuple) -> Any:
        """The results of a pure array function of these values, of which this is one."""
        raise NotImplementedError

    @property
    def below(self) -> Any:
        """The value that has its elements."""
        raise NotImplementedError


def run_bound(bound: Callable, *values: Any) -> Any:
    """Call what ``Kernel.bind`` gave, with values of any sort."""
    for value in values:
        if isinstance(value, Opaque):
            return value.run(bound.__wrapped__, values)  # type: ignore[attr-defined]
    return bound(*values)


class Kernel:
    """A pure function of arrays, with all its settings bound, that XLA compiles once per shape.

    Args:
        function: takes arrays (or Python scalars) positionally and returns an array or a tuple of arrays; ``None``
            may stand in the tuple for a result that nobody wants.
        name: what profiles and HLO dumps call it.
        wide: whether an input, an output or an intermediate has a 64-bit type.
        reuse: whether the result may be put where the first argument lies, which nobody may use afterwards.

    >>> import jax.numpy as jnp
    >>> double = Kernel(lambda x: x + x, name="double", wide=False).bind()
    >>> float(double(jnp.float32(3)))
    6.0
    """

    __slots__ = ("name", "wide", "_jitted")

    def __init__(self, function: Callable, *, name: str, wide: bool, reuse: bool = False) -> None:
        def kernel(*values: Any) -> Any:
            return function(*values)

        kernel.__name__ = kernel.__qualname__ = name
        self.name = name
        self.wide = wide
        self._jitted = jax.jit(kernel, inline=True, donate_argnums=(0,) if reuse else ())

    def bind(self) -> Callable:
        """The function to call with values."""
        return scoped(self._jitted) if self.wide else self._jitted

    def __call__(self, *values: Any) -> Any:
        return self.bind()(*values)

    def __repr__(self) -> str:
        return f"Kernel({self.name}{', wide' if self.wide else ''})"


def abstract(function: Callable, arguments: Sequence[Any]) -> Any:
    """Shapes and dtypes of ``function``'s results, without running it.

    Args:
        function: an array function.
        arguments: for each argument a pair (shape, NumPy dtype), or the type of a Python scalar.

    >>> abstract(lambda x, y: x.sum() * y, [((3,), np.dtype("float64")), float]).dtype
    dtype('float64')
    """
    stand_ins = [arg(1) if isinstance(arg, type) else jax.ShapeDtypeStruct(*arg) for arg in arguments]
    with jax.enable_x64(True):
        return jax.eval_shape(function, *stand_ins)


_add, _add_wide = (Kernel(jnp.add, name="accumulate", wide=wide).bind() for wide in (False, True))


def add_values(left: Any, right: Any) -> Any:
    """The sum of two values of one shape and dtype: how gradients accumulate."""
    return (_add_wide if left.dtype in WIDE else _add)(left, right)
