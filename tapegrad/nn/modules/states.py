"""The state of modules: what ``state_dict`` writes, and ``load_state_dict`` reads.

Note [Loading a state]
Each module loads its own tensors, then those below it theirs, and hooks run in between and see what was loaded. What is
wrong shows in the end. So that a module is left as it was then, its tensors are remembered first; but for the case in
which the state fits, where that would take as long as to load it.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tapegrad.__future__ import get_swap_module_params_on_conversion
from tapegrad._src.bindings.overriding import is_tensor_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.grad_mode import is_inference_mode_enabled, no_grad
from tapegrad.nn.parameter import Parameter, is_lazy
from tapegrad.utils.swapping import swap_tensors

EXTRA_STATE = "_extra_state"
"""The end of the key of a module's extra state."""


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The keys by which a module and a state dict differ."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


# Saving ---------------------------------------------------------------------------------------------------------------


def own_state(module: Any) -> dict[str, Any]:
    """The parameters and persistent buffers of a module itself, by name."""
    left_out = module._non_persistent_buffers_set
    buffers = {name: buffer for name, buffer in module._buffers.items() if name not in left_out}
    return {name: tensor for name, tensor in {**module._parameters, **buffers}.items() if tensor is not None}


def save_own(module: Any, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Put a module's own parameters and persistent buffers into a state dict."""
    for name, tensor in own_state(module).items():
        destination[prefix + name] = tensor if keep_vars else tensor.detach()


def after_saving(module: Any, destination: Any, prefix: str, metadata: dict[str, Any]) -> Any:
    """The state dict as the hooks leave it."""
    for hook in module._state_dict_hooks.values():
        given = hook(module, destination, prefix, metadata)
        if given is not None and getattr(hook, "_from_public_api", False):
            raise RuntimeError("state_dict post-hook must return None")
        destination = destination if given is None else given
    return destination


# Loading --------------------------------------------------------------------------------------------------------------


def load(module: Any, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> _IncompatibleKeys:
    """``Module.load_state_dict``: Note [Loading a state]."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    loading = Loading(getattr(state_dict, "_metadata", None), assign)
    state: Any = OrderedDict(state_dict)
    if loading.metadata is not None:
        state._metadata = loading.metadata
    restore = remembered(module, state, assign)
    try:
        loading.load(module, state)
        loading.check(module, strict)
    except BaseException:
        restore()
        raise
    return _IncompatibleKeys(loading.missing, loading.unexpected)


class Loading:
    """The findings of one ``load_state_dict`` so far.

    Attributes:
        metadata: that of the state dict, by path of the module.
        assign: whether tensors of the state dict take the places of the module's.
        missing, unexpected: keys.
        errors: sentences.
    """

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata, self.assign = metadata, assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, state: dict[str, Any], prefix: str = "") -> None:
        """Load a module and those below it."""
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, local, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, {key: value for key, value in state.items() if key.startswith(below)}, below)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, _IncompatibleKeys(self.missing, self.unexpected)) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def check(self, module: Any, strict: bool) -> None:
        """Raise what is wrong, if anything is."""
        lines = self.errors
        if strict:
            named = ("Missing", self.missing), ("Unexpected", self.unexpected)
            keys = [f"{what} key(s) in state_dict: {quoted(keys)}. " for what, keys in named if keys]
            lines = keys + lines
        if lines:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(module).__name__, "\n\t".join(lines))
            )


def quoted(keys: list[str]) -> str:
    """Keys in a sentence.

    >>> quoted(["a", "b.c"])
    '"a", "b.c"'
    """
    return ", ".join(f'"{key}"' for key in keys)


def load_own(
    module: Any, state: Mapping[str, Any], prefix: str, local: dict[str, Any], errors: list[str]
) -> list[str]:
    """Load a module's own tensors; sentences on what doesn't fit are added to the errors.

    Returns:
        the keys that are missing.
    """
    assign, missing = local.get("assign_to_params_buffers", False), []
    for name, tensor in own_state(module).items():
        key = prefix + name
        if key in state:
            load_tensor(module, name, tensor, key, state[key], assign, errors)
        else:
            missing.append(key)
    return missing


def load_tensor(module: Any, name: str, tensor: Any, key: str, given: Any, assign: bool, errors: list[str]) -> None:
    """Load one tensor of a module."""
    if not is_tensor_like(given):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
        return
    if not is_lazy(tensor) and len(tensor.shape) == 0 and tuple(given.shape) == (1,):
        given = given[0]
    if not is_lazy(tensor) and given.shape != tensor.shape:
        errors.append(
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
            f"model is {tensor.shape}."
        )
        return
    if tensor.is_meta and not given.is_meta and not assign:
        warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
            "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
            "corresponding key in the module instead of copying them in place?)"
        )
    try:
        with no_grad():
            take(module, name, tensor, given, assign)
    except Exception as error:
        action = "swapping" if get_swap_module_params_on_conversion() else "copying"
        errors.append(
            f'While {action} the parameter named "{key}", whose dimensions in the model are {tensor.size()} and whose '
            f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
        )


def take(module: Any, name: str, tensor: Any, given: Any, assign: bool) -> None:
    """Let a module's tensor have the elements given: they are copied, assigned or swapped."""
    if get_swap_module_params_on_conversion():
        made = tensor.module_load(given, assign=assign)
        if made is given or made is tensor:
            raise RuntimeError(
                "module_load returned one of self or other, please .detach() the result if returning one of the inputs "
                "in module_load"
            )
        swap_tensors(tensor, alike(tensor, made))
    elif assign:
        setattr(module, name, alike(tensor, given))
    else:
        tensor.copy_(given)


def alike(tensor: Any, given: Any) -> Any:
    """A tensor given as a parameter, if that whose place it takes is one, which requires grad if that does."""
    if not isinstance(tensor, Parameter):
        return given
    if isinstance(given, Parameter):
        return given.requires_grad_(tensor.requires_grad)
    return Parameter(given, requires_grad=tensor.requires_grad)


def unexpected(module: Any, state: Mapping[str, Any], prefix: str) -> list[str]:
    """The keys of a state dict that neither a module itself nor one right below it has."""
    own, extra = own_state(module), prefix + EXTRA_STATE
    found = []
    for key in state:
        if key.startswith(prefix) and key != extra:
            name, dot, _ = key[len(prefix) :].partition(".")
            if name not in (module._modules if dot else own):
                found.append(key)
    return found


# What is left as it was -----------------------------------------------------------------------------------------------


def remembered(module: Any, state: Mapping[str, Any], assign: bool) -> Callable[[], None]:
    """A function that puts a module, and the parameters of a state dict, back to what they are now."""
    if fits(module, state, assign):
        return lambda: None
    undo = [remembered_tables(part, assign) for part in module.modules()]
    flags = [(given, given.requires_grad) for given in state.values() if assign and isinstance(given, Parameter)]

    def restore() -> None:
        for put_back in undo:
            put_back()
        for given, requires_grad in flags:
            given.requires_grad_(requires_grad)

    return restore


def remembered_tables(module: Any, assign: bool) -> Callable[[], None]:
    """A function that puts the parameters, buffers and extra state of a module itself back to what they are now."""
    tables = [(table, dict(table)) for table in (module._parameters, module._buffers)]
    tensors = [tensor for table, _ in tables for tensor in table.values() if isinstance(tensor, Tensor)]
    with no_grad():
        written = [] if assign else [tensor for tensor in tensors if may_be_written(tensor)]
        copied = [(tensor, version_of(tensor), tensor.detach().clone()) for tensor in written]
    extra = [module.get_extra_state()] if gives_extra_state(module) and takes_extra_state(module) else []

    def restore() -> None:
        for table, entries in tables:
            table.clear()
            table.update(entries)
        with no_grad():
            for tensor, version, elements in copied:
                if version is None or tensor._version != version:
                    tensor.copy_(elements)
        for state in extra:
            module.set_extra_state(state)

    return restore


def may_be_written(tensor: Any) -> bool:
    """Tell whether loading may write to a tensor: it has a shape, and inference tensors can be written to."""
    return not is_lazy(tensor) and (not tensor.is_inference() or is_inference_mode_enabled())


def version_of(tensor: Any) -> int | None:
    """The number of writes to a tensor, if they are counted."""
    return None if tensor.is_inference() else tensor._version


def fits(module: Any, state: Mapping[str, Any], assign: bool) -> bool:
    """Tell whether loading a state can't fail: it has all that is wanted, that can be written, and nobody looks on."""
    wanted = dict(all_states(module))
    if assign or wanted.keys() != state.keys() or any(observes_loading(part) for part in module.modules()):
        return False
    return not get_swap_module_params_on_conversion() and all(
        type(state[key]) in (Tensor, Parameter) and not is_lazy(tensor) and state[key].shape == tensor.shape
        and tensor.is_contiguous() and not tensor.is_inference() and tensor.is_meta == state[key].is_meta
        for key, tensor in wanted.items()
    )  # fmt: skip


def all_states(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The parameters and persistent buffers of a module and those below it, by key."""
    for name, tensor in own_state(module).items():
        yield prefix + name, tensor
    for name, child in module._modules.items():
        if child is not None:
            yield from all_states(child, f"{prefix}{name}.")


def observes_loading(module: Any) -> bool:
    """Tell whether somebody else's code runs when a module is loaded."""
    loads = type(module)._load_from_state_dict.__module__.partition(".")[0]
    hooks = module._load_state_dict_pre_hooks or module._load_state_dict_post_hooks
    return bool(hooks) or takes_extra_state(module) or loads != __name__.partition(".")[0]


# Extra state ----------------------------------------------------------------------------------------------------------

NO_EXTRA_STATE = (
    "Reached a code path in Module.{}() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


def get_extra_state(self: Any) -> Any:
    """Give what a state dict is to have of this module besides its tensors; a class defines it together with the
    other."""
    raise RuntimeError(NO_EXTRA_STATE.format("get_extra_state"))


def set_extra_state(self: Any, state: Any) -> None:
    """Take what ``get_extra_state`` had returned."""
    raise RuntimeError(NO_EXTRA_STATE.format("set_extra_state"))


def gives_extra_state(module: Any) -> bool:
    """Tell whether a module has more state than its tensors."""
    return type(module).get_extra_state is not get_extra_state


def takes_extra_state(module: Any) -> bool:
    """Tell whether a module loads more state than its tensors."""
    return type(module).set_extra_state is not set_extra_state
