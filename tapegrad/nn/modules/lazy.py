"""``LazyModuleMixin``: modules that learn the shapes of their parameters from their first input.

Note [Lazy modules]
A lazy class is a layer with this mixin in front of it. Its parameters are uninitialized (Note [Uninitialized tensors]
in ``nn/parameter.py``) until the module is called, or until a state is loaded that has them. Two hooks see to that;
after the first call they are gone, and the module is of the class ``cls_to_become``.
"""

from __future__ import annotations

from typing import Any

from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """A base class that makes a module lazy. A class has it as its first base, and says how parameters are initialized.

    >>> from tapegrad import nn, ones
    >>> layer = nn.LazyLinear(2)
    >>> layer, layer.weight
    (LazyLinear(in_features=0, out_features=2, bias=True), <UninitializedParameter>)
    >>> layer(ones(1, 3)).shape
    torch.Size([1, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become: type[Any] | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        module: Any = self
        super().__init__(*args, **kwargs)
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes and first values; called with the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Tell whether there is a parameter or a buffer whose shape isn't known."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self, module: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> None:
        """The hook before the first call."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        lasting = {name: x for name, x in self._buffers.items() if name not in self._non_persistent_buffers_set}
        for name, tensor in {**self._parameters, **lasting}.items():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """The hook before a state is loaded: what is initialized there becomes so here."""
        for name, tensor in {**self._parameters, **self._buffers}.items():
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(tensor) and not is_lazy(given):
                with no_grad():
                    tensor.materialize(given.shape)

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )
