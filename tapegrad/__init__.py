"""tapegrad: PyTorch's tape autograd on JAX. ``import tapegrad as torch``.

>>> import tapegrad as torch
>>> x = torch.ones(3, requires_grad=True)
>>> (x * 3 + 2).sum().backward()
>>> x.grad
tensor([3., 3., 3.])

Examples in docstrings begin with this import, as PyTorch's do, and don't say it.
"""

from math import e, inf, nan, pi

from tapegrad.declaring import nothing_collected, on_demand

with nothing_collected():  # half of the time that it takes
    from tapegrad import _C, autograd, functions

from tapegrad.autograd import tensor_methods  # declares backward, retain_grad and register_hook
from tapegrad.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from tapegrad.autograd.grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from tapegrad.autograd.subgradient import get_subgradient, subgradient
from tapegrad.bindings import return_types
from tapegrad.bindings.attach import attach
from tapegrad.bindings.registry import NAMESPACES
from tapegrad.bindings.symbolic import SymBool, SymFloat, SymInt
from tapegrad.errors import AcceleratorError, OutOfMemoryError, is_warn_always_enabled, set_warn_always
from tapegrad.execution.devices import device, get_default_device, set_default_device
from tapegrad.execution.dtypes import (
    bfloat16,
    bool,
    cdouble,
    cfloat,
    chalf,
    complex32,
    complex64,
    complex128,
    double,
    dtype,
    finfo,
    float,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    set_default_dtype,
    short,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tapegrad.execution.modes import deferred, get_execution, set_execution
from tapegrad.execution.promotion import can_cast, promote_types
from tapegrad.interop.arrays import from_jax_array  # declares Tensor.jax
from tapegrad.tensor.printing import get_printoptions, set_printoptions
from tapegrad.tensor.spec import Size
from tapegrad.tensor.tensor import Tensor
from tapegrad.version import __version__
from tapegrad.viz import showing  # declares Tensor.graph

newaxis = None

attach()
globals().update(NAMESPACES["torch"])
del attach, nothing_collected, showing, tensor_methods, NAMESPACES

# these name what the families declared, or need the methods that were just attached
from tapegrad import accelerator, cuda, fft, functional, interop, linalg, masked, nn, overrides, random, signal, special  # noqa: E402

# a fifth of the package, which many programs do without
__getattr__, __dir__ = on_demand(
    __name__,
    Future="tapegrad.futures",
    GradScaler="tapegrad.amp.grad_scaler",
    PyTorchFileReader="tapegrad.serialization.archive",
    ScriptFunction="tapegrad.jit",
    ScriptModule="tapegrad.jit",
    __config__="tapegrad.__config__",
    __future__="tapegrad.__future__",
    _dynamo="tapegrad._dynamo",
    _tensor_str="tapegrad._tensor_str",
    _utils="tapegrad._utils",
    amp="tapegrad.amp",
    autocast="tapegrad.amp.autocast_mode",
    autocast_decrement_nesting="tapegrad.amp.autocast_mode",
    autocast_increment_nesting="tapegrad.amp.autocast_mode",
    backends="tapegrad.backends",
    clear_autocast_cache="tapegrad.amp.autocast_mode",
    compare="tapegrad.interop.compare",
    compile="tapegrad.compiler.step",
    compiler="tapegrad.compiler",
    cpu="tapegrad.cpu",
    distributed="tapegrad.distributed",
    distributions="tapegrad.distributions",
    explain="tapegrad.viz.explanations.costs",
    explain_nan="tapegrad.viz.explanations.nonfinite",
    func="tapegrad.func",
    futures="tapegrad.futures",
    fx="tapegrad.fx",
    get_autocast_cpu_dtype="tapegrad.amp.autocast_mode",
    get_autocast_dtype="tapegrad.amp.autocast_mode",
    get_autocast_gpu_dtype="tapegrad.amp.autocast_mode",
    hub="tapegrad.hub",
    install="tapegrad.as_torch",
    is_autocast_cache_enabled="tapegrad.amp.autocast_mode",
    is_autocast_cpu_enabled="tapegrad.amp.autocast_mode",
    is_autocast_enabled="tapegrad.amp.autocast_mode",
    jit="tapegrad.jit",
    library="tapegrad.library",
    load="tapegrad.serialization.loading",
    mps="tapegrad.mps",
    mtia="tapegrad.mtia",
    multiprocessing="tapegrad.multiprocessing",
    onnx="tapegrad.onnx",
    optim="tapegrad.optim",
    profiler="tapegrad.profiler",
    quasirandom="tapegrad.quasirandom",
    save="tapegrad.serialization.saving",
    serialization="tapegrad.serialization",
    set_autocast_cache_enabled="tapegrad.amp.autocast_mode",
    set_autocast_cpu_dtype="tapegrad.amp.autocast_mode",
    set_autocast_cpu_enabled="tapegrad.amp.autocast_mode",
    set_autocast_dtype="tapegrad.amp.autocast_mode",
    set_autocast_enabled="tapegrad.amp.autocast_mode",
    set_autocast_gpu_dtype="tapegrad.amp.autocast_mode",
    storage="tapegrad.storage",
    testing="tapegrad.testing",
    torch_version="tapegrad.torch_version",
    types="tapegrad.types",
    utils="tapegrad.utils",
    viz="tapegrad.viz",
    vmap="tapegrad.func.mapping",
    walk="tapegrad.viz.explanations.walking",
    watch="tapegrad.viz.explanations.watching",
    who_holds="tapegrad.viz.explanations.keeping",
    why_no_grad="tapegrad.viz.explanations.missing",
    why_none="tapegrad.viz.explanations.missing",
    xpu="tapegrad.xpu",
)
on_demand("tapegrad.nn.parallel.distributed", DistributedDataParallel="tapegrad.distributed.data_parallel")
on_demand("tapegrad.utils.flop_counter", FlopCounterMode="tapegrad.viz.explanations.flops")
del on_demand
__all__ = [name for name in __dir__() if not name.startswith("_")]
