"""Devices: PyTorch's names for where a tensor's data lies, and the JAX devices behind them.

>>> device("cuda:1"), device("cuda", 1) is device("cuda:1"), str(device("cpu"))
(device(type='cuda', index=1), True, 'cpu')

A name is only a name: `device("cuda")` can be made anywhere, `jax_device` finds out whether there is one.

Note [Forks]
A fork has the memory of its parent, and of its threads only the one that forked. If the parent has computed, XLA
believes to have threads, and waits for them, mostly for ever. So what is computed in such a process is refused. That
costs nothing elsewhere: the modes of a forked process are others (``Modes.forked``), for which there are no plans, and
in which kernels are not called at once. Numbers that were there before the fork can be read, and other programs than
tapegrad's are not concerned. What is forked before anything was computed has an XLA of its own.
"""

from __future__ import annotations

import builtins
import math
import os
import re
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NoReturn, Self

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tapegrad._src.execution.data.opaque import Meta
from tapegrad._src.execution.state.processes import Together
from tapegrad._src.tape.modes import inherited_state, set_default_modes, thread
from tapegrad.errors import message

# PyTorch's device types, and tpu, which PyTorch knows only as xla.
_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone", "tpu",
)  # fmt: skip
_PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}  # our type -> JAX's platform
_HARDWARE = {"cpu": "CPUs", "cuda": "CUDA GPUs", "tpu": "TPUs"}
_ACCELERATORS = {"gpu": "cuda", "cuda": "cuda", "rocm": "cuda", "tpu": "tpu"}  # JAX's platform -> our type

_STRING = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?")


class device:
    """A device, where a tensor's data lies: a type ("cpu", "cuda", ...) and an index, None for "the current one of its
    type".

    Made from a string, a type and an index, another device, or the index of an accelerator. Devices are singletons.
    As a context manager, a device is the default for tensors that are made inside. RuntimeError for strings that name
    no device, TypeError for anything else.

    >>> device("cpu").index, device(type="cuda", index=0)
    (None, device(type='cuda', index=0))
    >>> with device("cuda:1"):
    ...     get_default_device()
    device(type='cuda', index=1)
    """

    __module__ = "tapegrad"
    __slots__ = ("free", "index", "is_host", "type")

    type: str
    index: int | None
    free: device
    """The device of what is computed from a tensor here: the device itself, unless it is one of a mesh's layouts."""
    is_host: bool
    """True if it is one on which numbers without dimensions may meet tensors of any other: a CPU."""
    sharded = False
    """True if it stands for many devices: see ``MeshDevice``."""

    def __new__(cls, *args: Any, **keywords: Any) -> device:
        if len(args) == 1 and not keywords:
            return _from_one(args[0])
        if not args and keywords.keys() == {"device"}:
            return _from_one(keywords["device"])
        return _from_parts(args, keywords)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __reduce__(self) -> tuple[builtins.type[device], tuple[str]]:
        return device, (str(self),)

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __enter__(self) -> Self:
        _state.outer = (*_state.outer, _state.default)
        _state.default = self
        return self

    def __exit__(self, *exception: object) -> None:
        *outer, _state.default = _state.outer
        _state.outer = tuple(outer)


# Making devices ----------------------------------------------------------------------------------------------------

_interned: dict[tuple[str, int | None], device] = {}
_parsed: dict[str, device] = {}


def _intern(device_type: str, index: int | None) -> device:
    device_type = "cuda" if device_type == "gpu" else device_type  # JAX's name for it
    if device_type not in _TYPES:
        raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {device_type}")
    if index is not None and index < 0:
        raise RuntimeError("Device index must not be negative")
    known = _interned.get((device_type, index))
    if known is None:
        new = object.__new__(device)
        object.__setattr__(new, "type", device_type)
        object.__setattr__(new, "index", index)
        object.__setattr__(new, "free", new)
        object.__setattr__(new, "is_host", device_type == "cpu")
        known = _interned.setdefault((device_type, index), new)  # the first one wins if two threads come here
    return known


def _from_one(x: object) -> device:
    if isinstance(x, str):
        return _parsed.get(x) or _parse(x)
    if isinstance(x, device):
        return x
    if isinstance(x, int) and not isinstance(x, bool):
        _check_index(x)
        return _intern(accelerator() if x >= 0 else "cuda", x)  # a negative index is refused first, as in PyTorch
    raise _invalid_combination((x,), {})


def _check_index(index: int) -> None:
    """Refuse an index that is no number of 64 bits.

    Raises:
        ValueError: PyTorch's message.
    """
    if not -(2**63) <= index < 2**63:
        raise ValueError("Overflow when unpacking long long")


def _parse(string: str) -> device:
    if not string:
        raise RuntimeError("Device string must not be empty")
    match = _STRING.fullmatch(string)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{string}'")
    device_type, index = match.groups()
    parsed = _parsed[string] = _intern(device_type, None if index is None else int(index))
    return parsed


def _from_parts(args: tuple[Any, ...], keywords: dict[str, Any]) -> device:
    parts = dict(zip(("type", "index"), args, strict=False)) | keywords
    if len(parts) != len(args) + len(keywords) or not {"type"} <= parts.keys() <= {"type", "index"}:
        raise _invalid_combination(args, keywords)
    device_type, index = parts["type"], parts.get("index")
    if not isinstance(device_type, str):
        raise TypeError(f"device(): argument 'type' (position 1) must be str, not {_type_name(device_type)}")
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise TypeError(f"device(): argument 'index' (position 2) must be int, not {_type_name(index)}")
    if index is not None:
        _check_index(index)
    if _from_one(device_type).index is not None:
        raise RuntimeError(
            f"type (string) must not include an index because index was passed explicitly: {device_type}"
        )
    return _intern(device_type, index)


def _invalid_combination(args: tuple[Any, ...], keywords: dict[str, Any]) -> TypeError:
    got = ", ".join([*map(_type_name, args), *(f"{name}={_type_name(value)}" for name, value in keywords.items())])
    why = f"      didn't match because some of the arguments have invalid types: (!{got}!)\n"
    return TypeError(
        f"device() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        f" * (torch.device device)\n{why if len(args) == 1 and not keywords else ''} * (str type, int index = -1)\n"
    )


def _type_name(x: object) -> str:
    return "torch.device" if isinstance(x, device) else type(x).__name__


META = device("meta")
"""The device of tensors that have no data. See Note [Values without data] in ``opaque.py``."""


class MeshDevice(device):
    """All devices of a mesh as one, for tensors that are spread over them; with a layout, or free of one.

    Note [Layouts]
    To every room a mesh is a device: tensors on one mesh compute with one another, what is made like a tensor lies
    where it does, and two meshes don't meet. How an array is sharded over the mesh is its own affair (``sharding``):
    XLA decides it for each result. But some tensors have a *layout*, which was asked for: parameters and other leaves,
    what was distributed or made from an array. That is a part of their device in the spec (``axes``), so that plans and
    accumulators know it: a write, a gradient and what is made like them have the same layout. What is computed from
    them is ``free``, and so is what ``Tensor.device`` shows.

    Attributes:
        mesh: jax's mesh, with axes of type Auto.
        axes: for each dimension of a tensor the axes of the mesh over which it is split; None if that is free.
        sharding: the layout as jax has it; that of a copy on each device, if it is free.
    """

    __slots__ = ("axes", "mesh", "sharding")

    mesh: Mesh
    axes: PartitionSpec | None
    sharding: NamedSharding
    sharded = True

    def __new__(cls, mesh: Mesh, axes: PartitionSpec | None = None) -> MeshDevice:
        known = _meshes.get((mesh, axes))
        if known is None:
            new = object.__new__(cls)
            named = mesh.devices.flat[0].platform
            fields: dict[str, Any] = {"type": _ACCELERATORS.get(named, named), "index": None, "is_host": False}
            fields.update(mesh=mesh, axes=axes)
            fields["sharding"] = NamedSharding(mesh, PartitionSpec() if axes is None else axes)
            fields["free"] = new if axes is None else cls(mesh)
            for name, value in fields.items():
                object.__setattr__(new, name, value)
            known = _meshes.setdefault((mesh, axes), new)
        return known

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Tell whether tensors of this shape can have its layout."""
        if self.axes is None:
            return True
        if len(self.axes) > len(shape):
            return False
        return all(length % self.parts(i) == 0 for i, length in enumerate(shape[: len(self.axes)]))

    def parts(self, dim: int) -> int:
        """Into how many parts a dimension is split."""
        names = () if self.axes is None or dim >= len(self.axes) else self.axes[dim] or ()
        return math.prod(self.mesh.shape[name] for name in ((names,) if isinstance(names, str) else names))

    def __reduce__(self) -> NoReturn:
        raise TypeError(message("a mesh of devices can't be pickled", hint="save the tensor's full_tensor(), or use "
                                "torch.distributed.checkpoint.save"))  # fmt: skip

    def __repr__(self) -> str:
        mesh = ", ".join(f"{name}={size}" for name, size in self.mesh.shape.items())
        return f"device(type='{self.type}', mesh=({mesh}))"


_meshes: dict[tuple[Mesh, PartitionSpec | None], MeshDevice] = {}


# JAX's devices -----------------------------------------------------------------------------------------------------


@cache
def jax_device(d: device) -> jax.Device:
    """The JAX device that `d` names, index None being the first; RuntimeError if this process has none.

    >>> jax_device(device("cpu")).platform
    'cpu'
    """
    platform = _PLATFORMS.get(d.type)
    if platform is None:
        hint = f"use one of {', '.join(_PLATFORMS)}"
        raise RuntimeError(message(f"tensors cannot lie on device '{d}': JAX has no such platform", hint=hint))
    try:
        devices = jax.local_devices(backend=platform)
    except RuntimeError:
        if d.type == "cuda":
            raise AssertionError("Torch not compiled with CUDA enabled") from None
        raise RuntimeError(f"No {_HARDWARE[d.type]} are available") from None
    if (d.index or 0) >= len(devices):
        hint = f"JAX has {len(devices)} of platform {platform} here"
        raise RuntimeError(message(f"{d.type.upper()} error: invalid device ordinal {d.index}", hint=hint))
    return devices[d.index or 0]


def device_count(device_type: str) -> int:
    """Count the devices of a type that this process has.

    >>> device_count("cpu") > 0
    True
    """
    try:
        return len(jax.local_devices(backend=_PLATFORMS[device_type]))
    except RuntimeError:
        return 0


@cache
def from_jax(d: jax.Device) -> device:
    """PyTorch's name for a JAX device: "cpu" for the first CPU device, else its type and index.

    >>> from_jax(jax.devices("cpu")[0])
    device(type='cpu')
    """
    local = jax.local_devices(backend=d.platform)
    if d not in local:
        here = f"those of process {jax.process_index()}"
        raise RuntimeError(message("a device of another process has no name here", expected=here, got=repr(d)))
    index = local.index(d)
    if d.platform == "cpu":
        return _intern("cpu", index or None)
    device_type = _ACCELERATORS.get(d.platform)
    if device_type is None:
        known = ", ".join(("cpu", *_ACCELERATORS))
        raise RuntimeError(message("a JAX device without a device type", expected=f"one of {known}", got=d.platform))
    return _intern(device_type, index)


@cache
def only_device() -> device | None:
    """The CPU in a process that has no other device, and no peers; None in one that has."""
    alone = jax.default_backend() == "cpu" and jax.device_count() == 1
    return device("cpu") if alone else None


def jitted(function: Callable, *, marks: bool = False, **options: Any) -> Any:
    """``jax.jit(function)``, whose results lie where the arguments do; ``marks`` is said of ``Together``.

    jax leaves out arguments that no result depends on; what is made of nothing then, a gradient of zeros, would lie on
    the default device. In a process that has one device only that is the right one. Where there are other processes,
    they are to call it together.
    """
    alone = only_device() is not None
    compiled = jax.jit(function, keep_unused=not alone, **options)
    return compiled if alone or jax.process_count() == 1 else Together(compiled, marks)


def device_of(value: Any) -> device:
    """The device that holds a value. A tracer is nowhere yet: it gets the default device."""
    if type(value) is Meta:
        return META
    only = only_device()
    if only is not None:
        return only
    program = getattr(value, "program", None)
    if program is not None:  # pending
        return program.device or _device_of_inputs(program.inputs)
    value = getattr(value, "array", value)
    if isinstance(value, jax.core.Tracer):
        return get_default_device()
    if isinstance(value, jax.Array) and value.sharding.num_devices > 1:
        return mesh_device_of(value).free
    return from_jax(min(value.devices(), key=_number))


def _device_of_inputs(inputs: Iterable[Any]) -> device:
    """The device on which a program computes that has its arguments from anywhere: the mesh of one of them, if there is
    one."""
    arrays = [one for one in inputs if isinstance(one, jax.Array)]
    sharded = next((one for one in arrays if one.sharding.num_devices > 1), None)
    first = sharded if sharded is not None else next(iter(arrays), None)
    return get_default_device() if first is None else device_of(first)


def mesh_device_of(array: jax.Array) -> MeshDevice:
    """The mesh, and the layout on it, of an array that is sharded over devices.

    Raises:
        RuntimeError: its sharding names no mesh, or one with axes that are not Auto.
    """
    sharding = array.sharding
    if not isinstance(sharding, NamedSharding):
        hint = "place it with jax.device_put(array, jax.sharding.NamedSharding(mesh, spec))"
        raise RuntimeError(message("a tensor can't show an array that is sharded over devices without a mesh",
                                   expected="a NamedSharding", got=sharding, hint=hint))  # fmt: skip
    mesh: Any = sharding.mesh
    return MeshDevice(mesh, sharding.spec)


def _number(d: jax.Device) -> int:
    return d.id


def accelerator_type() -> str | None:
    """The type of the devices that JAX computes on by default, if these are no CPUs."""
    return _ACCELERATORS.get(jax.default_backend())


def accelerator() -> str:
    """The type of the accelerator.

    Raises:
        RuntimeError: there is none.
    """
    device_type = accelerator_type()
    if device_type is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return device_type


# The default device ------------------------------------------------------------------------------------------------


class _State(threading.local):
    def __init__(self) -> None:
        self.default = device("cpu")
        self.outer: tuple[device, ...] = ()  # the defaults to go back to, one for each `with device(...)` we are in


_state = _State()
inherited_state.append(_state)


def get_default_device() -> device:
    """The device on which tensors are made unless told otherwise: the CPU until `set_default_device`, for each thread.

    An accelerator's index is filled in: the current device of its type is the first.
    """
    default = _state.default
    if default.index is None and default.type in _ACCELERATORS.values():
        return _intern(default.type, 0)
    return default


def set_default_device(d: device | str | int | None) -> None:
    """Make `d` this thread's default device; None goes back to the CPU.

    >>> set_default_device("cuda:1"); get_default_device()
    device(type='cuda', index=1)
    >>> set_default_device(None)
    """
    _state.default = device("cpu") if d is None else device(d)


def refuse_forked() -> None:
    """Refuse to compute in a process that was forked by one that had computed.

    Raises:
        RuntimeError: this is such a process.
    """
    if thread.modes.forked:
        raise RuntimeError(
            message(
                "tapegrad can't compute in a process that was forked after its parent had computed: XLA's threads are "
                "not in it, and what waits for them would never end",
                hint="start processes by spawn, as with multiprocessing.get_context('spawn'), or fork before the first "
                "tensor is made",
            )
        )


def _after_fork() -> None:
    if only_device.cache_info().currsize:  # so XLA has been started
        thread.modes = thread.modes.replace(forked=True)
        set_default_modes(forked=True)


os.register_at_fork(after_in_child=_after_fork)
