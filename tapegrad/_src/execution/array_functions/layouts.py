"""Arrays that are spread over the devices of a mesh: how they are placed, and brought to a layout.

See Note [Layouts] in ``data/devices.py``. Processes of one program hold parts of the same arrays. None can read what
others have; and what moves elements between devices is computed by all of them, or hangs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from tapegrad._src.execution.data.devices import MeshDevice, jitted, mesh_device_of
from tapegrad._src.execution.data.values import known_array, materialized
from tapegrad._src.execution.kernels.kernel import Kernel, kernel_for
from tapegrad._src.execution.state.processes import is_split
from tapegrad._src.execution.tiers.host_trace import WIDE


def has_peers() -> bool:
    """Tell whether other processes take part."""
    return jax.process_count() > 1


def is_apart(value: Any) -> bool:
    """Tell whether an array has elements that only other processes have."""
    return is_split(value)


def is_whole(value: Any) -> bool:
    """Tell whether a value can be read here, and by this process alone."""
    if not has_peers():
        return True
    return not is_apart(materialized(value))


def sharded(value: Any, on: MeshDevice) -> Any:
    """A value on a mesh, in its layout; a copy on each device, if it is free of one and does not lie there yet.

    All processes have the same elements.
    """
    value = materialized(value)
    on = on if on.fits(value.shape) else on.free  # type: ignore[assignment]
    if isinstance(value, jax.core.Tracer):
        return lay_out(value, on)
    with jax.enable_x64(True):
        if isinstance(value, jax.Array) and value.sharding.num_devices > 1:
            same = value.sharding.device_set == on.sharding.device_set
            if same and on.axes is None:
                return value
            return _moved(on.sharding)(value) if is_split(value) else jax.device_put(value, on.sharding)
        if not has_peers():
            return jax.device_put(value, on.sharding)
        array = np.asarray(value)
        return jax.make_array_from_callback(array.shape, on.sharding, array.__getitem__)


@cache
def _moved(sharding: NamedSharding) -> Callable:
    """Brings elements from other processes: a program, as all that they compute together."""
    return jitted(_as_it_is, out_shardings=sharding)


def lay_out(value: Any, on: Any) -> Any:
    """A value that is to have the layout of a tensor's device, if there is one, brought to it."""
    if not on.sharded or on.axes is None:
        return value
    array = known_array(value)
    if isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer) and _lies(array, on):
        return value
    return kernel_for(_constrained, on, value.dtype in WIDE)(value)


def lay_out_as(value: Any, before: Any, on: Any) -> Any:
    """``lay_out``, for a value that is written over another: where no layout was asked for it is split as that was."""
    if on.axes is None:
        own = own_layout(known_array(before), on)
        on = own if own.axes is not None and any(own.axes) else on
    return lay_out(value, on)


def own_layout(value: Any, on: Any) -> Any:
    """The device of a tensor with this value: on a mesh with the value's own layout, if it is an array."""
    is_free = on.sharded and on.axes is None
    is_array = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
    return mesh_device_of(value) if is_free and is_array else on


def _lies(array: jax.Array, on: MeshDevice) -> bool:
    sharding = array.sharding
    return sharding == on.sharding or sharding.is_equivalent_to(on.sharding, array.ndim)


@cache
def made_on(on: Any = None) -> Callable:
    """The wrapper of a kernel that makes a new array, so that no device makes more of it than its part in a layout.

    >>> made_on()(3)
    3
    """
    if on is None or not on.sharded or on.axes is None:
        return _as_it_is
    sharding = on.sharding
    return lambda x: jax.lax.with_sharding_constraint(x, sharding)


def _as_it_is(x: Any) -> Any:
    return x


def _constrained(on: MeshDevice, wide: bool) -> Any:
    return Kernel(made_on(on), name="lay_out", wide=wide).dispatcher()
