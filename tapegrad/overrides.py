"""``torch.overrides``: for functions that classes of tensors, and modes, can override. Nothing is defined here."""

from tapegrad._src.bindings.function_modes import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    _len_torch_function_stack,
    _pop_mode,
    _pop_mode_temporarily,
    _push_mode,
)
from tapegrad._src.bindings.overriding import (
    enable_reentrant_dispatch,
    get_default_nowrap_functions,
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    is_tensor_like,
    is_tensor_method_or_property,
    resolve_name,
    wrap_torch_function,
)

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "_get_current_function_mode", "_get_current_function_mode_stack",
    "_len_torch_function_stack", "_pop_mode", "_pop_mode_temporarily", "_push_mode", "enable_reentrant_dispatch",
    "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions", "get_testing_overrides",
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip
