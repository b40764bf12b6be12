"""The state of modules: what ``state_dict`` writes, and ``load_state_dict`` reads."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from tapegrad.autograd.grad_mode import no_grad
from tapegrad.functions.overriding import is_tensor_like
from tapegrad.nn.parameter import Parameter

EXTRA_STATE = "_extra_state"
"""What the name of a module's extra state ends with."""


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The keys by which a module and a state dict differ."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


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


def own_state(module: Any) -> dict[str, Any]:
    """The parameters and persistent buffers of a module itself, by name."""
    left_out = module._non_persistent_buffers_set
    buffers = {name: buffer for name, buffer in module._buffers.items() if name not in left_out}
    return {name: tensor for name, tensor in {**module._parameters, **buffers}.items() if tensor is not None}


class Loading:
    """What one ``load_state_dict`` has found so far.

    Attributes:
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
            if hook(module, IncompatibleKeys(self.missing, self.unexpected)) is not None:
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


def load(module: Any, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """``Module.load_state_dict``."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    loading = Loading(getattr(state_dict, "_metadata", None), assign)
    state: Any = OrderedDict(state_dict)
    if loading.metadata is not None:
        state._metadata = loading.metadata
    loading.load(module, state)
    loading.check(module, strict)
    return IncompatibleKeys(loading.missing, loading.unexpected)


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
    if len(tensor.shape) == 0 and tuple(given.shape) == (1,):
        given = given[0]
    if given.shape != tensor.shape:
        errors.append(
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
            f"model is {tensor.shape}."
        )
        return
    try:
        with no_grad():
            if assign:
                setattr(module, name, assigned(tensor, given))
            else:
                tensor.copy_(given)
    except Exception as error:
        errors.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and whose '
            f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
        )


def assigned(tensor: Any, given: Any) -> Any:
    """What takes the place of a module's tensor: the given one, as a parameter if need be."""
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
