"""Private names that libraries reach for, where PyTorch has them. Nothing is defined here."""

from types import SimpleNamespace

from tapegrad._C import _fft, _linalg, _nn, _special
from tapegrad._src.bindings.asked import (
    _are_functorch_transforms_active,
    _get_default_device,
    _get_tracing_state,
    _is_torch_function_enabled,
    _is_torch_function_mode_enabled,
    _is_tracing,
    _log_api_usage_once,
    _WeakTensorRef,
)
from tapegrad._src.bindings.declaration.handing import _disabled_torch_dispatch_impl
from tapegrad._src.bindings.state.generator import Generator
from tapegrad._src.bindings.subclass import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _disabled_torch_function_impl,
)
from tapegrad._src.declaring import on_demand
from tapegrad._src.dispatch import AccumulateGrad, DelayedError, Error, SavedTensor, UndefinedGrad
from tapegrad._src.tape.node import Node as _Node
from tapegrad._src.tensor.tensor import Tensor as _Tensor
from tapegrad.autograd import saved_tensors as _saved
from tapegrad.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from tapegrad.autograd.dispatch_keys import (
    DispatchKey,
    DispatchKeySet,
    _dispatch_is_included_in_alias,
    _dispatch_isTensorSubclassLike,
    _dispatch_key_for_device,
    _dispatch_key_name,
    _dispatch_key_parse,
    _dispatch_keys,
    _dispatch_tls_is_dispatch_key_excluded,
    _dispatch_tls_is_dispatch_key_included,
)
from tapegrad.autograd.forward_ad import _is_fwd_grad_enabled, _set_fwd_grad_enabled
from tapegrad.autograd.function_node import FunctionBase as _FunctionBase
from tapegrad.autograd.grad_mode import (
    _is_view_replay_enabled,
    _set_grad_enabled,
    _set_multithreading_enabled,
    _set_view_replay_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
)
from tapegrad.autograd.grad_mode import increment_version as _increment_version
from tapegrad.autograd.grad_mode import inference_mode as _InferenceMode
from tapegrad.autograd.grad_mode import is_multithreading_enabled as _is_multithreading_enabled
from tapegrad.autograd.grad_mode import set_versions as _set_versions
from tapegrad.autograd.graph_task import (
    _current_autograd_node,
    _current_graph_task_execution_order,
    _current_graph_task_id,
    _get_current_graph_task_keep_graph,
    _will_engine_execute_node,
)
from tapegrad.autograd.libraries import _dispatch_has_kernel, _dispatch_has_kernel_for_dispatch_key
from tapegrad.autograd.registered_ops import below_autograd as _AutoDispatchBelowAutograd
from tapegrad.autograd.variable import ImperativeEngine as _ImperativeEngine
from tapegrad.errors import LinAlgError as _LinAlgError

__getattr__, __dir__ = on_demand(__name__, {
    "tapegrad._src.bindings.fusers": """_get_accelerator _get_cudnn_enabled _get_privateuse1_backend_name _is_alias_of
        _jit_can_fuse_on_cpu _jit_can_fuse_on_gpu _jit_override_can_fuse_on_cpu _jit_override_can_fuse_on_gpu
        _jit_set_nvfuser_enabled _jit_set_nvfuser_guard_mode _jit_set_profiling_executor _jit_set_profiling_mode
        _jit_set_texpr_fuser_enabled _jit_texpr_fuser_enabled _set_math_sdp_allow_fp16_bf16_reduction
        _storage_Use_Count""",
})
_TensorMeta = type(_Tensor)

_functions = SimpleNamespace(
    AccumulateGrad=AccumulateGrad, DelayedError=DelayedError, Error=Error, UndefinedGrad=UndefinedGrad
)

_autograd = SimpleNamespace(
    SavedTensor=SavedTensor,
    _get_current_graph_task_keep_graph=_get_current_graph_task_keep_graph,
    _pop_saved_tensors_default_hooks=_saved.pop_hooks,
    _push_saved_tensors_default_hooks=_saved.push_hooks,
    _saved_tensors_hooks_disable=_saved.disable_hooks,
    _saved_tensors_hooks_enable=_saved.enable_hooks,
    _saved_tensors_hooks_get_disabled_error_message=_saved.disabled_message,
    _saved_tensors_hooks_is_enabled=_saved.hooks_are_enabled,
    _top_saved_tensors_default_hooks=_saved.top_hooks,
    _unsafe_set_version_counter=_set_versions,
)

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "Generator",
    "_AutoDispatchBelowAutograd",
    "_FunctionBase",
    "_ImperativeEngine",
    "_InferenceMode",
    "_LinAlgError",
    "_Node",
    "_TensorMeta",
    "_WeakTensorRef",
    "_are_functorch_transforms_active",
    "_autograd",
    "_current_autograd_node",
    "_current_graph_task_execution_order",
    "_current_graph_task_id",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "_dispatch_has_kernel",
    "_dispatch_has_kernel_for_dispatch_key",
    "_dispatch_isTensorSubclassLike",
    "_dispatch_is_included_in_alias",
    "_dispatch_key_for_device",
    "_dispatch_key_name",
    "_dispatch_key_parse",
    "_dispatch_keys",
    "_dispatch_tls_is_dispatch_key_excluded",
    "_dispatch_tls_is_dispatch_key_included",
    "_functions",
    "_get_default_device",
    "_get_tracing_state",
    "_increment_version",
    "_is_fwd_grad_enabled",
    "_is_multithreading_enabled",
    "_is_torch_function_enabled",
    "_is_torch_function_mode_enabled",
    "_is_tracing",
    "_is_view_replay_enabled",
    "_log_api_usage_once",
    "_set_fwd_grad_enabled",
    "_set_grad_enabled",
    "_set_multithreading_enabled",
    "_set_view_replay_enabled",
    "_will_engine_execute_node",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "set_anomaly_enabled",
]  # fmt: skip
