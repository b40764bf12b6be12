"""``torch.autograd``: ``backward``, ``grad``, grad modes and the graph."""

from tapegrad._src.declaring import on_demand
from tapegrad._src.dispatch import SavedTensor
from tapegrad.autograd import anomaly_mode, convolution_backward, forward_ad, function, grad_mode, graph
from tapegrad.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from tapegrad.autograd.differentiate import backward, engine, grad
from tapegrad.autograd.function import Function, NestedIOFunction
from tapegrad.autograd.grad_mode import (
    _force_original_view_tracking,
    _unsafe_preserve_version_counter,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from tapegrad.autograd.gradcheck import gradcheck, gradgradcheck
from tapegrad.autograd.graph_task import is_checkpoint_valid as _is_checkpoint_valid
from tapegrad.autograd.source_lines import set_record_source_lines
from tapegrad.autograd.variable import Variable, variable

__getattr__, __dir__ = on_demand(__name__, {
    __name__: "functional profiler profiler_util",
    "tapegrad.autograd.profiler": "_profiler_enabled kineto_available",
    "tapegrad.autograd.profiling.events": "DeviceType",
    "tapegrad.autograd.profiling.session": "ProfilerActivity",
})
del convolution_backward, on_demand  # the former only declares

__all__ = [
    "DeviceType", "Function", "NestedIOFunction", "ProfilerActivity", "SavedTensor", "Variable",
    "_force_original_view_tracking", "_is_checkpoint_valid", "_profiler_enabled", "_unsafe_preserve_version_counter",
    "anomaly_mode", "backward", "detect_anomaly",
    "enable_grad", "engine", "forward_ad", "function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck",
    "graph", "inference_mode", "is_grad_enabled", "is_multithreading_enabled", "kineto_available", "no_grad",
    "profiler", "profiler_util", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
    "set_record_source_lines", "variable",
]  # fmt: skip
