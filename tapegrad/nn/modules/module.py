"""``Module``: what owns parameters, buffers and other modules, and is called.

Note [Modules]
A module is a user of the package like any other: it keeps tensors by name, and calls public functions in ``forward``.
What a call of it costs besides is one look at its hooks and at those of all modules; only where there are some does
``hooks.py`` take over (Note [Calls with hooks]). Python asks ``__getattr__`` for a tensor after it has made an error,
which costs more than the rest of a call: layers look for theirs in the table first (``_two``). What it saves and loads
is in ``states.py``, how it is converted in ``conversion.py``.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from tapegrad._src.bindings.state.attributes import typename
from tapegrad._src.bindings.unbound import keep_unbound
from tapegrad._src.declaring import on_demand
from tapegrad._src.functions.creation import empty_like
from tapegrad._src.tape.showing import shown_in_html
from tapegrad._src.tensor.paths import note_module, owners
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.interop.pytrees import register_node
from tapegrad.nn.modules import hooks, states, trees
from tapegrad.nn.modules.conversion import apply_to_tensors, converter
from tapegrad.nn.modules.hooks import (
    RemovableHandle,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from tapegrad.nn.modules.states import _IncompatibleKeys as _IncompatibleKeys
from tapegrad.nn.parameter import Buffer, Parameter

_found, _ = on_demand(__name__, {"tapegrad.compiler.step": "compile"})

_global_backward_hooks, _global_backward_pre_hooks = hooks.backward, hooks.backward_pre
_global_forward_hooks, _global_forward_pre_hooks = hooks.forward, hooks.forward_pre
_global_forward_hooks_always_called = hooks.forward_always_called
_global_forward_hooks_with_kwargs = hooks.forward_with_kwargs
_global_buffer_registration_hooks = hooks.buffer_registration
_global_module_registration_hooks = hooks.module_registration
_global_parameter_registration_hooks = hooks.parameter_registration
_EXTRA_STATE_KEY_SUFFIX = states.EXTRA_STATE
_WrappedHook = hooks.WrappedHook


def _addindent(s_: str, numSpaces: int) -> str:
    """A text, all lines of which but the first are indented."""
    return s_.replace("\n", "\n" + numSpaces * " ")


def __getattr__(name: str) -> Any:
    """The fact whether the backward hooks of all modules are full ones, under PyTorch's name, and what is found
    elsewhere."""
    return hooks.Kind.is_full if name == "_global_is_full_backward_hook" else _found(name)


def _has_any_global_hook() -> bool:
    """Tell whether there are hooks of all modules that are called when one is."""
    kinds = _global_backward_pre_hooks, _global_backward_hooks, _global_forward_hooks, _global_forward_pre_hooks
    return any(map(bool, kinds))


__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip

Hook = Callable[..., Any]

HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip
"""The dictionaries of hooks that every module has."""

TENSORS = frozenset({"weight", "bias", "running_mean", "running_var"})
"""The names of tensors that layers look for in their tables first."""

PLACED = (RuntimeError, ValueError, TypeError, IndexError)
"""Errors that are told in which module they were raised; others may be a way of leaving it."""

def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Compute the output of the module: every subclass says how. Call the module, not this, so that hooks run."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module:
    """The base of all modules, and of yours: assign parameters, buffers and modules to it, and define ``forward``.

    Attributes:
        training: whether it is in training mode, which dropout and batch norm ask for.
        call_super_init: whether ``__init__`` passes its arguments on to the next class.

    Raises:
        TypeError: ``args`` or ``kwargs`` for ``__init__``, without ``call_super_init``.

    >>> class Scale(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    ...
    ...     def forward(self, x):
    ...         return x * self.weight
    >>> scale = Scale()
    >>> scale(torch.ones(2)).sum().backward()
    >>> scale.weight.grad
    tensor([1., 1.])
    >>> dict(scale.state_dict())
    {'weight': tensor([1., 2.])}
    """

    dump_patches: bool = False
    _version: int = 1
    training: bool
    call_super_init: bool = False
    _compiled_call_impl: Callable | None = None
    _compiled_as: Callable | None = None
    _is_full_backward_hook: bool | None
    _tables_first: bool = True
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _state_dict_hooks: OrderedDict[int, Hook]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]

    def __init_subclass__(cls, tree: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        keep_unbound(cls)
        attributes = any(not TENSORS.isdisjoint(vars(base)) for base in cls.__mro__)
        cls._tables_first = cls.__getattr__ is Module.__getattr__ and not attributes
        if tree:  # a tree to jax: Note [Modules as trees], trees.py
            register_node(cls, trees.flatten, trees.unflatten)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        if not self.call_super_init and args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _is_full_backward_hook=None
        )
        self.__dict__.update((name, OrderedDict()) for name in HOOKS)
        self.__dict__["_modules"] = {}
        owners[id(self)] = self
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # Calling ----------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        if own.get("_compiled_call_impl") is not None:
            return self._compiled_call_impl(*args, **kwargs)  # type: ignore[misc]
        try:
            if (
                own["_backward_hooks"] or own["_backward_pre_hooks"] or own["_forward_hooks"]
                or own["_forward_pre_hooks"] or hooks.backward_pre or hooks.backward or hooks.forward
                or hooks.forward_pre
            ):  # fmt: skip
                return hooks.HookedCall(self, args, kwargs).run()
            return self.forward(*args, **kwargs)
        except PLACED as error:
            note_module(error, self)
            raise

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """The same, not compiled."""
        own = self.__dict__
        if (
            own["_backward_hooks"] or own["_backward_pre_hooks"] or own["_forward_hooks"] or own["_forward_pre_hooks"]
            or hooks.backward_pre or hooks.backward or hooks.forward or hooks.forward_pre
        ):  # fmt: skip
            return hooks.HookedCall(self, args, kwargs).run()
        return self.forward(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile what calling this module does, as ``torch.compile`` does with these arguments."""
        self._compiled_call_impl = __getattr__("compile")(self._call_impl, *args, **kwargs)

    # Registration -----------------------------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Give this module a tensor that is no parameter.

        Args:
            name: its name; also the attribute's.
            tensor: the tensor; None for one that isn't there, and is not in the state dict.
            persistent: whether it is in the state dict.

        Raises:
            AttributeError: ``Module.__init__`` has not been called.
            KeyError: the name has a dot, is empty, or is that of another attribute.
            TypeError: it is no tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not can_be_buffer(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = hooks.replaced(hooks.buffer_registration, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Give this module a parameter.

        Args:
            name: its name; also the attribute's.
            param: the parameter; None for one that isn't there, and is not in the state dict.

        Raises:
            AttributeError: ``Module.__init__`` has not been called.
            KeyError: the name has a dot, is empty, or is that of another attribute.
            TypeError: it is no parameter.
            ValueError: it has a history.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = hooks.replaced(hooks.parameter_registration, self, name, param)

    def _check_name(self, what: str, name: Any, known: dict[str, Any]) -> None:
        """Refuse a name under which nothing can be registered."""
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in known:
            raise KeyError(f"attribute '{name}' already exists")

    def add_module(self, name: str, module: Module | None) -> None:
        """Put a module below this one.

        Args:
            name: its name; also the attribute's.
            module: the module.

        Raises:
            TypeError: it is no module, or the name no string.
            KeyError: the name has a dot, is empty, or is that of another attribute.
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = hooks.replaced(hooks.module_registration, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as ``add_module``.

        Args:
            name: the attribute.
            module: the module, or None.
        """
        self.add_module(name, module)

    # Attributes -------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_modules" in own:  # which ``__init__`` makes last
            if name in own["_parameters"]:
                return own["_parameters"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
            if name in own["_modules"]:
                return own["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _two(self, table: str, first: str, second: str) -> tuple[Any, Any]:
        """Two attributes, of ``TENSORS``, that are mostly in a table: ``__getattr__`` is asked when all else failed.

        What a class has by these names (a property) goes before, and so does what was put into ``__dict__``.
        """
        own = self.__dict__
        if first in own or second in own or not self._tables_first:
            return getattr(self, first), getattr(self, second)
        try:
            known = own[table]
            return known[first], known[second]
        except KeyError:
            return getattr(self, first), getattr(self, second)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters, modules, buffers = own.get("_parameters"), own.get("_modules"), own.get("_buffers")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, own, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, own, self._parameters, self._buffers)
            modules[name] = hooks.replaced(hooks.module_registration, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = hooks.replaced(hooks.module_registration, self, name, value)
        elif isinstance(value, Buffer) or (buffers is not None and name in buffers):
            self._assign_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str, *tables: dict[str, Any]) -> None:
        """Take a name out of tables where it may be, and from the buffers that are not saved."""
        for table in tables:
            table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _assign_buffer(self, name: str, value: Any) -> None:
        """Let another tensor be a buffer, or None; it is saved as the one before was."""
        if value is not None and not can_be_buffer(value):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        is_marked = isinstance(value, Buffer)
        persistent = value.persistent if is_marked else name not in self._non_persistent_buffers_set
        if "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
                "the persistent argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        tables = self.__dict__, self._parameters, self._modules, self._buffers
        keys = [*dir(type(self)), *(key for table in tables for key in table)]
        return sorted(key for key in keys if not key[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in trees.OWN:
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        owners[id(self)] = self
        for name in HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # By path ----------------------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The module below this one that has a path, as ``"encoder.layers.0"``; this one if the path is empty.

        Raises:
            AttributeError: there is none, or something else has that path.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module in the place that a path names.

        Args:
            target: the path.
            module: the module.
            strict: whether there must be one already.

        Raises:
            ValueError: the path is empty, or this is no module.
            AttributeError: there is no such place, or something else is there.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter that has a path, as ``"encoder.layers.0.weight"``.

        Raises:
            AttributeError: there is none, or something else has that path.
        """
        name, found = self._find(target)[1:]
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer that has a path, as ``"encoder.norm.running_mean"``.

        Raises:
            AttributeError: there is none, or something else has that path.
        """
        module, name, found = self._find(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _find(self, target: str) -> tuple[Module, str, Any]:
        """The module that has what a path names, its name there, and it."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    # Walking ----------------------------------------------------------------------------------------------------------

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """The members of a kind that all modules have, with paths."""
        seen: set[Any] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{path}.{name}" if path else name), member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once: what an optimizer is given.

        Args:
            recurse: whether those of the modules below are among them.
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths.

        Args:
            prefix: what stands before the paths.
            recurse: whether those of the modules below are among them.
            remove_duplicate: whether one that has several paths is named once only.
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate=remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once.

        Args:
            recurse: whether those of the modules below are among them.
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths.

        Args:
            prefix: what stands before the paths.
            recurse: whether those of the modules below are among them.
            remove_duplicate: whether one that has several paths is named once only.
        """
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate=remove_duplicate
        )

    def children(self) -> Iterator[Module]:
        """The modules right below this one, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it.

        Args:
            remove_duplicate: whether one that has several paths is given once only.
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with their paths.

        Args:
            memo: modules that have been named, to which these are added.
            prefix: what stands before the paths.
            remove_duplicate: whether one that has several paths is named once only.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # What is done to all of it ----------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call a function with every module below, and at last with this one, which is returned."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Put this module and all below it into training mode, or out of it.

        Raises:
            ValueError: ``mode`` is no bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """The same as ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say of all parameters whether gradients are accumulated in them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                "copied (in a differentiable manner) from the original module. This means they are not leaf nodes in "
                "autograd and so don't accumulate gradients. If you need gradients in your forward method, consider "
                "using autograd.grad instead."
            )
        for parameter in self.parameters():
            zero(parameter, set_to_none)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        if recurse:
            for module in self.children():
                module._apply(fn)
        apply_to_tensors(self, fn)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``, ``to(memory_format=...)``: in place.

        Only tensors of floating point or complex numbers get another dtype, only those of four or five dimensions
        another memory format. ``non_blocking`` changes nothing.

        Raises:
            TypeError: the dtype is neither of floating point nor complex.
        """
        return self._apply(converter(args, kwargs))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device, where tensors get any contents.

        Args:
            device: the device.
            recurse: whether the modules below are moved, too.
        """
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Give all tensors a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Make ``float32`` of all floating point tensors."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Make ``float64`` of all floating point tensors."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Make ``float16`` of all floating point tensors."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Make ``bfloat16`` of all floating point tensors."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def share_memory(self) -> Self:
        """Let other processes see the tensors: see ``Tensor.share_memory_``."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # Hooks ------------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """``hook(module, args)`` is called before ``forward``, and may return other arguments, or a single one.

        Args:
            hook: the function.
            prepend: whether it is called before those that are there.
            with_kwargs: whether it is called as ``hook(module, args, kwargs)``, and may return both.
        """
        marks = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return hooks.add(self._forward_pre_hooks, hook, *marks, prepend=prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """``hook(module, args, output)`` is called after ``forward``, and may return another output.

        Args:
            hook: the function.
            prepend: whether it is called before those that are there.
            with_kwargs: whether it is called as ``hook(module, args, kwargs, output)``.
            always_call: whether it is called also if ``forward`` raises.
        """
        marks: list[Any] = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return hooks.add(self._forward_hooks, hook, *marks, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_output)`` is called before the backward of a call, and may return other gradients.

        Args:
            hook: the function.
            prepend: whether it is called before those that are there.
        """
        return hooks.add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_input, grad_output)`` is called after the backward of a call.

        It may return what is to be taken for ``grad_input``.

        Args:
            hook: the function.
            prepend: whether it is called before those that are there.

        Raises:
            RuntimeError: hooks of ``register_backward_hook`` are there.
        """
        return self._add_backward_hook(hook, is_full=True, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The hook that ``register_full_backward_hook`` replaces: it sees the node of the first output only.

        Raises:
            RuntimeError: full backward hooks are there.
        """
        return self._add_backward_hook(hook, is_full=False)

    def _add_backward_hook(self, hook: Hook, is_full: bool, prepend: bool = False) -> RemovableHandle:
        if self._is_full_backward_hook is (not is_full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = is_full
        return hooks.add(self._backward_hooks, hook, prepend=prepend)

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """The full backward hooks of a call, and those of the old kind."""
        kinds: dict[bool, list[Hook]] = {True: [], False: []}
        for is_full, found in (hooks.Kind.is_full, hooks.backward), (self._is_full_backward_hook, self._backward_hooks):
            if is_full is not None:
                kinds[is_full] += found.values()
        return kinds[True], kinds[False]

    # State ------------------------------------------------------------------------------------------------------------

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The parameters and persistent buffers of this module and those below it, by path.

        Args:
            destination: the dictionary to fill; a new ``OrderedDict``, with versions in ``_metadata``, if None.
            prefix: what stands before the paths.
            keep_vars: whether these are the tensors themselves, and not detached ones that share their memory.
        """
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return states.after_saving(self, destination, prefix, metadata)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        states.save_own(self, destination, prefix, keep_vars)
        if states.gives_extra_state(self):
            destination[prefix + states.EXTRA_STATE] = self.get_extra_state()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy parameters and buffers from a state dict; if that fails, this module is left as it was.

        Args:
            state_dict: tensors by path.
            strict: whether the keys have to be those of this module.
            assign: whether the tensors given take the places of this module's, with their dtype and device.

        Returns:
            the keys by which they differ: ``missing_keys`` and ``unexpected_keys``.

        Raises:
            RuntimeError: keys differ, if ``strict``; or sizes do.
            TypeError: it is no mapping.
        """
        return states.load(self, state_dict, strict, assign)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        missing = states.load_own(self, state_dict, prefix, local_metadata, error_msgs)
        key = prefix + states.EXTRA_STATE
        takes_extra = states.takes_extra_state(self)
        if takes_extra and key in state_dict:
            self.set_extra_state(state_dict[key])
        if strict:
            missing_keys += [*missing, key] if takes_extra and key not in state_dict else missing
            unexpected_keys += [] if takes_extra or key not in state_dict else [key]
            unexpected_keys += states.unexpected(self, state_dict, prefix)

    get_extra_state = states.get_extra_state
    set_extra_state = states.set_extra_state

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return hooks.add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """``hook(module, state_dict, prefix, local_metadata)`` is called when this module's state is in a state dict.

        It may change the state dict in place, and returns None.
        """
        hook._from_public_api = True
        return hooks.add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """``hook(module, prefix, keep_vars)`` is called before this module's state is put into a state dict."""
        return hooks.add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return hooks.add(self._load_state_dict_pre_hooks, hooks.WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``.

        It is called before this module's state is read, and may change its arguments in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """``hook(module, incompatible_keys)`` is called when the state of this module and those below has been read.

        It may change the lists of keys in place, and returns None.
        """
        return hooks.add(self._load_state_dict_post_hooks, hook)

    # What it shows ----------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text of this module besides the modules below it, in one line or several."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if len(extra) == 1 and not children:
            return f"{self._get_name()}({extra[0]})"
        lines = "\n  ".join([*extra, *children])
        return f"{self._get_name()}(\n  {lines}\n)" if lines else f"{self._get_name()}()"

    _repr_html_ = shown_in_html


def can_be_buffer(value: Any) -> bool:
    """Tell whether something is a tensor, or of a class that overrides functions of tensors."""
    return isinstance(value, Tensor) or hasattr(value, "__torch_function__")


def indented(text: str) -> str:
    """A text with all lines but the first moved by two blanks.

    >>> indented("a\\nb")
    'a\\n  b'
    """
    return "\n".join("  " + line if number and line.strip() else line for number, line in enumerate(text.split("\n")))


def zero(parameter: Any, set_to_none: bool) -> None:
    """Drop the gradient of a parameter, or fill it with zeros."""
    if parameter.grad is None:
        return
    if set_to_none:
        parameter.grad = None
        return
    if parameter.grad.grad_fn is not None:
        parameter.grad.detach_()
    else:
        parameter.grad.requires_grad_(False)
    parameter.grad.zero_()
