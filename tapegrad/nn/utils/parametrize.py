"""``parametrize``: a parameter or buffer of a module is what a module makes of another tensor.

Note [Parametrizations]
A module with a parametrized tensor has a class of its own, below that which it had, with a property of the tensor's
name: to read it calls a ``ParametrizationList``, to set it calls the ``right_inverse`` of that. The tensors from which
it is made are parameters of the list, ``module.parametrizations.NAME.original``.
"""

from __future__ import annotations

import copyreg
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from tapegrad.__future__ import get_swap_module_params_on_conversion
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn.modules.container import ModuleDict, ModuleList
from tapegrad.nn.modules.module import Module
from tapegrad.nn.parameter import Parameter
from tapegrad.utils.swapping import swap_tensors

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip


class ParametrizationCache(threading.local):
    """The values of parametrized tensors, by module and name, while there is a block of ``cached()`` in this thread."""

    depth = 0

    def __init__(self) -> None:
        self.tensors: dict[tuple[int, str], Any] = {}


cache = ParametrizationCache()


@contextmanager
def cached() -> Iterator[None]:
    """A context in which each parametrized tensor is worked out once only, when it is first read."""
    cache.depth += 1
    try:
        yield
    finally:
        cache.depth -= 1
        if not cache.depth:
            cache.tensors = {}


def register(module: Module, name: str, tensor: Any) -> None:
    """Give a module a parameter or a buffer, as the tensor is one."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def put(place: Any, tensor: Any) -> None:
    """Let a tensor be what another one is."""
    if not get_swap_module_params_on_conversion():
        place.set_(tensor)
    elif isinstance(place, Parameter) and not isinstance(tensor, Parameter):
        swap_tensors(place, Parameter(tensor, requires_grad=place.requires_grad))
    else:
        swap_tensors(place, tensor)


class ParametrizationList(ModuleList):
    """Parametrizations of one tensor, one after the other; to call it gives what they make of the original tensors.

    Args:
        modules: the parametrizations.
        original: the tensor, which becomes ``original``; or what the ``right_inverse`` of the parametrizations makes of
            it, which are ``original0``, ``original1``, ..., if these are several tensors.
        unsafe: whether dtype and shape may be changed.

    Raises:
        ValueError: there is no parametrization, or what it gives doesn't fit.
    """

    original: Any
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = self._inverted(original)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, list(new))
        if not unsafe:
            self._check(self(), dtype, shape)

    def _inverted(self, original: Any) -> Any:
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        original = module.right_inverse(original)
        return original

    def _keep_one(self, original: Any, new: Any) -> None:
        for what in ("dtype", "device"):
            if getattr(original, what) != getattr(new, what):
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {getattr(original, what)}\n"
                    f"right_inverse(original).{what}: {getattr(new, what)}"
                )
        with no_grad():
            put(original, new)
        register(self, "original", original)

    def _keep_several(self, original: Any, new: Sequence) -> None:
        for number, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                    f"{number} of the sequence with type {type(tensor).__name__}."
                )
            kept: Any = Parameter(tensor, original.requires_grad) if isinstance(original, Parameter) else tensor
            register(self, f"original{number}", kept.requires_grad_(original.requires_grad))

    def _check(self, made: Any, dtype: Any, shape: Any) -> None:
        if not isinstance(made, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
        for what, before in (("dtype", dtype), ("shape", shape)):
            if getattr(made, what) != before:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {what}: {before}\nparametrized {what}: {getattr(made, what)}"
                )

    def right_inverse(self, value: Any) -> None:
        """Let the original tensors be those of which the parametrizations make ``value``.

        Raises:
            RuntimeError: a parametrization has no ``right_inverse``.
            ValueError: what it gives doesn't fit.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                self._set_one(value)
            else:
                self._set_several(value)

    def _set_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                f"{self.original.dtype}"
            )
        put(self.original, value)

    def _set_several(self, values: Any) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}.")
        if len(values) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                f"length {len(values)}."
            )
        originals = [getattr(self, f"original{number}") for number in range(self.ntensors)]
        for number, (tensor, original) in enumerate(zip(values, originals, strict=True)):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. Got element "
                    f"{number} of type {type(tensor).__name__}."
                )
            if original.dtype != tensor.dtype:
                raise ValueError(
                    f"Tensor {number} returned by `right_inverse` has dtype {tensor.dtype} while `original{number}` "
                    f"has dtype {original.dtype}"
                )
            put(original, tensor)

    def forward(self) -> Any:
        first, *rest = self
        if self.is_tensor:
            x = first(self.original)
        else:
            x = first(*(getattr(self, f"original{number}") for number in range(self.ntensors)))
        for module in rest:
            x = module(x)
        return x


def class_of_its_own(cls: type) -> type:
    """A class below the one of a module, for the properties of this module alone."""

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__ = deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(type(self)):
            if hasattr(self, slot):
                setattr(replica, slot, deepcopy(getattr(self, slot), memo))
        return replica

    def refuse_pickling(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html#"
            "saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    methods: dict[str, Any] = {"__getstate__": refuse_pickling}
    if not hasattr(cls, "__deepcopy__"):
        methods["__deepcopy__"] = copied
    return type(f"Parametrized{cls.__name__}", (cls,), methods)


def parametrized_property(name: str) -> property:
    """The attribute of a module that is a parametrized tensor."""

    def get(self: Any) -> Any:
        if not cache.depth:
            return self.parametrizations[name]()
        key = id(self), name
        if cache.tensors.get(key) is None:
            cache.tensors[key] = self.parametrizations[name]()
        return cache.tensors[key]

    def set_(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set_)


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Let a parameter or buffer of a module be what another module makes of it.

    Args:
        module: the module, which is returned.
        tensor_name: the parameter or buffer; if it is parametrized, this comes after the parametrizations that it has.
        parametrization: is called with the original tensor, or tensors. It may have a ``right_inverse``, which makes
            them of a tensor: then one can be assigned.
        unsafe: whether dtype and shape may be changed.

    Raises:
        ValueError: there is no such tensor, or what the parametrization gives doesn't fit.

    >>> class Positive(Module):
    ...     def forward(self, x):
    ...         return x.abs()
    >>> module = Module()
    >>> module.weight = torch.nn.Parameter(torch.tensor([-1.0, 2.0]))
    >>> register_parametrization(module, "weight", Positive()).weight
    tensor([1., 2.], grad_fn=<AbsBackward0>)
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            check_next(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = class_of_its_own(module.__class__)
            module.parametrizations = ModuleDict()
        setattr(module.__class__, tensor_name, parametrized_property(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def check_next(module: Any, name: str, parametrization: Any) -> None:
    """Refuse a further parametrization that changes dtype or shape."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape"):
        if getattr(after, what) != getattr(before, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                f"parametrization(module.{name}).{what}: {getattr(after, what)}"
            )
    with suppress(NotImplementedError):
        if hasattr(parametrization, "right_inverse"):
            check_inverse(parametrization.right_inverse(after), before, name)


def check_inverse(inverse: Any, before: Any, name: str) -> None:
    """Refuse what the ``right_inverse`` of a further parametrization gives, if dtype or shape differ."""
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    for what in ("dtype", "shape"):
        if getattr(inverse, what) != getattr(before, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, "
                f"unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                f"returned {what}: {getattr(inverse, what)}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Tell whether the tensor ``tensor_name`` of a module is parametrized, or any of them if none is named."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Let a tensor of a module be a parameter or buffer again.

    Args:
        module: the module, which is returned.
        tensor_name: the tensor.
        leave_parametrized: whether it is to be what the parametrizations make, and not the original tensor.

    Raises:
        ValueError: it is not parametrized, or has several original tensors and is not to stay what it is.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    original = unparametrized(module, tensor_name, leave_parametrized)
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = module.__class__.__bases__[0]
    return module


def unparametrized(module: Any, name: str, leave_parametrized: bool) -> Any:
    """The tensor of a module that is to be there when it is not parametrized any more."""
    parametrizations = module.parametrizations[name]
    if not parametrizations.is_tensor:
        if not leave_parametrized:
            raise ValueError(
                "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                "sequence of tensors."
            )
        made = getattr(module, name)
        return Parameter(made) if made.requires_grad else made
    original = parametrizations.original
    if leave_parametrized:
        with no_grad():
            put(original, getattr(module, name))
    return original


def type_before_parametrizations(module: Any) -> type:
    """The class that a module had before its tensors were parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Let tensors of a module be parametrized as those of another one, with the same original tensors.

    Args:
        from_module: the module that has parametrizations.
        to_module: the one that gets them, and is returned.
        tensor_name: the tensor; all that are parametrized, if None.
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        originals = ["original"] if source.is_tensor else [f"original{number}" for number in range(source.ntensors)]
        for original in originals:
            setattr(to_module.parametrizations[name], original, getattr(source, original))
    return to_module
