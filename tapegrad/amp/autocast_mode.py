"""``autocast``, the functions that say and set what it does, and what helps custom functions with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from tapegrad._src.bindings.declaration.handing import overriding
from tapegrad._src.bindings.declaration.parser import type_name
from tapegrad._src.bindings.device_names.cuda import is_available as is_cuda_available
from tapegrad._src.execution.data.dtypes import bfloat16, dtype, float16, float64
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.amp.casting import NAMES, state

OTHERS = frozenset(("mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "lazy", "vulkan", "meta"))
"""Types of devices for which PyTorch has no autocast."""

_KINDS = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


# -- what is set -------------------------------------------------------------------------------------------------------


def _checked(function: str, device_type: Any) -> str:
    """The type of a device in a string that names one.
    Raises TypeError: no string. RuntimeError: no device is called so.
    """
    if not isinstance(device_type, str):
        raise TypeError(
            f"{function}(): argument 'device_type' (position 1) must be str, not {type_name(device_type)}"
        )
    kind = device_type.partition(":")[0]
    if kind not in NAMES and kind not in OTHERS:
        raise RuntimeError(
            f"Expected one of {_KINDS} device type at start of device string: {device_type}"
        )
    return kind


def is_autocast_available(device_type: str) -> bool:
    """Tell whether there is autocast for a ``device_type``.

    >>> is_autocast_available("cpu"), is_autocast_available("meta")
    (True, False)
    """
    return _checked("is_autocast_available", device_type) in NAMES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Tell whether arguments on devices of this ``device_type`` are cast now, in this thread.

    Raises:
        RuntimeError: there is no autocast for it.
    """
    kind = _checked("is_autocast_enabled", device_type)
    if kind not in NAMES:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return any(name == kind for name, _ in thread.modes.autocast)


_set_by_hand: list[bool] = []


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Cast arguments on devices of a type from now on, in this thread, or not; ``autocast`` does it for a block.

    Args:
        device_type: ``"cpu"``, ``"cuda"``, ...; if it is left out, ``"cuda"``.
        enabled: whether to cast.

    Raises:
        TypeError: ``enabled`` is no boolean.
        RuntimeError: there is no autocast for this type.
    """
    if enabled is None and isinstance(device_type, bool):
        device_type, enabled = "cuda", device_type
    kind = _checked("set_autocast_enabled", device_type)
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not "
                        f"{type_name(enabled)}")  # fmt: skip
    if enabled and not _set_by_hand:
        overriding.admit(contexts=1)  # for good: nobody says when it ends
        _set_by_hand.append(True)
    _enable(kind, enabled)


def _enable(kind: str, enabled: bool) -> None:
    others = [pair for pair in thread.modes.autocast if pair[0] != kind]
    own = [(kind, state().dtypes[kind])] if enabled else []
    thread.modes = thread.modes.replace(autocast=tuple(sorted([*others, *own], key=lambda pair: pair[0])))


def get_autocast_dtype(device_type: str) -> dtype:
    """The lower precision for a ``device_type``.

    Raises:
        RuntimeError: there is no autocast for it.

    >>> get_autocast_dtype("cpu")
    torch.bfloat16
    """
    kind = _checked("get_autocast_dtype", device_type)
    if kind not in NAMES:
        raise RuntimeError("unsupported scalarType")
    return state().dtypes[kind]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the lower precision ``dtype`` for a ``device_type``, in this thread.

    Raises:
        TypeError: no dtype.
        RuntimeError: there is no autocast for this type.
    """
    kind = _checked("set_autocast_dtype", device_type)
    if type(dtype) is not _Dtype:
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type_name(dtype)}"
        )
    state().dtypes = state().dtypes | {kind: dtype}
    if any(name == kind for name, _ in thread.modes.autocast):
        _enable(kind, True)


_Dtype = dtype


def is_autocast_cache_enabled() -> bool:
    """Tell whether weights that were cast are kept."""
    return state().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep weights that were cast, in this thread, if ``enabled``, or not."""
    state().cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget weights that were cast."""
    state().cache.clear()


def autocast_increment_nesting() -> int:
    """Count a context more; how many the thread is in."""
    state().nesting += 1
    return state().nesting


def autocast_decrement_nesting() -> int:
    """Count a context less; how many the thread is in."""
    state().nesting -= 1
    return state().nesting


def _deprecated(name: str, instead: str) -> None:
    text = f"torch.{name} is deprecated. Please use torch.{instead} instead."
    warn(text, DeprecationWarning)


def is_autocast_cpu_enabled() -> bool:
    """Deprecated: ``is_autocast_enabled("cpu")``."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Deprecated: ``set_autocast_enabled("cpu", enabled)``."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtype:
    """Deprecated: ``get_autocast_dtype("cpu")``."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Deprecated: ``set_autocast_dtype("cpu", dtype)``."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtype:
    """Deprecated: ``get_autocast_dtype("cuda")``."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """Deprecated: ``set_autocast_dtype("cuda", dtype)``."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


# -- contexts ----------------------------------------------------------------------------------------------------------


class autocast:
    """A context, or a decorator, in which functions choose the precision in which they compute.

    Products of matrices, convolutions and their like cast their arguments to the lower precision; losses,
    factorizations and what else needs it cast them to float32; joins take the widest dtype. All others compute in the
    dtypes that they are given. Tensors of float64 stay as they are. Contexts nest; backward belongs outside.

    Args:
        device_type: on which type of device arguments have to be: ``"cpu"``, ``"cuda"``.
        dtype: the lower precision, bfloat16 or float16; if None, what ``get_autocast_dtype`` says.
        enabled: False for a part of a context in which nothing is to be cast.
        cache_enabled: whether a weight is cast once, and not at each use; None leaves it as it is.

    Raises:
        ValueError: ``device_type`` is no string.
        RuntimeError: there is no such type of device, or no autocast for it.

    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     y = x @ x
    ...     loss = torch.nn.functional.mse_loss(y, x)
    >>> y.dtype, loss.dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        _check_string(device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self._cache_enabled = state().cache_enabled if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._is_possible()

    def _is_possible(self) -> bool:
        """Tell whether the device is there, and computes in the dtype; warns if not."""
        if self.device == "cuda":
            if is_cuda_available():
                return True
            why = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype in (bfloat16, float16):
            return True
        else:
            name = self.device.upper()
            why = (
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
        warn(why)
        return False

    def __enter__(self) -> Self:
        self.prev_cache_enabled = state().cache_enabled
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype = get_autocast_dtype(self.device)
        overriding.admit(contexts=1)
        autocast_increment_nesting()
        self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        return self

    def __exit__(self, *exception: object) -> None:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        self._set(self.prev, self.prev_fastdtype, self.prev_cache_enabled)
        overriding.admit(contexts=-1)

    def _set(self, enabled: bool, dtype: dtype, cache_enabled: bool) -> None:
        _enable(self.device, False)
        set_autocast_dtype(self.device, dtype)
        _enable(self.device, enabled)
        set_autocast_cache_enabled(cache_enabled)

    def __call__(self, func: Callable) -> Callable:
        """A function that runs inside of the context."""
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as "
                "a context manager? For example:\n    with torch.autocast(device_type=...):\n        output = "
                "model(input)"
            )

        @functools.wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return inside


class AutocastSettings:
    """The settings of autocast at a time, for a block that runs later."""

    def __init__(self) -> None:
        self.casts, self.dtypes, self.cache_enabled = thread.modes.autocast, state().dtypes, state().cache_enabled

    @contextmanager
    def again(self) -> Iterator[None]:
        """A block in which it does what it did then; what is cast in it is not kept afterwards."""
        before, cache = AutocastSettings(), state().cache
        if self.casts == before.casts:
            yield
            return
        overriding.admit(contexts=1)
        self._set({})
        try:
            yield
        finally:
            before._set(cache)
            overriding.admit(contexts=-1)

    def _set(self, cache: dict) -> None:
        thread.modes = thread.modes.replace(autocast=self.casts)
        state().dtypes, state().cache_enabled, state().cache = self.dtypes, self.cache_enabled, cache


def _check_string(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def _enter_autocast(*args: Any) -> autocast:
    """Enter a context that ``_exit_autocast`` leaves."""
    return autocast(*args).__enter__()


def _exit_autocast(mode: autocast) -> None:
    """Leave it."""
    mode.__exit__(None, None, None)


# -- custom functions --------------------------------------------------------------------------------------------------


def _cast(value: Any, device_type: str, dtype: dtype) -> Any:
    """A value with the floating tensors in it cast, those of float64 excepted."""
    if isinstance(value, Tensor):
        castable = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if castable else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, dtype): _cast(item, device_type, dtype) for key, item in value.items()}
    if isinstance(value, Iterable):
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: dtype | None = None) -> Callable:
    """Decorate the ``forward`` of a custom function, so that ``custom_bwd`` knows how it ran.

    Args:
        fwd: the method.
        device_type: whose autocast it is about.
        cast_inputs: the dtype to which tensors are cast that it is given under autocast; it is then off inside.

    Raises:
        ValueError: ``device_type`` is no string.
    """
    _check_string(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype, enabled = get_autocast_dtype(device_type), is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = _cast(args, device_type, cast_inputs), _cast(kwargs, device_type, cast_inputs)
            return fwd(ctx, *args, **kwargs)

    return forward


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorate the ``backward`` of a custom function, so that it runs with autocast as ``forward`` did.

    ``bwd`` is that function, if the decorator is used without a call of its own; ``device_type`` is as in
    ``custom_fwd``.

    Raises:
        ValueError: ``device_type`` is no string.
    """
    _check_string(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return backward
