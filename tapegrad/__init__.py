"""tapegrad: PyTorch's tape autograd on JAX. ``import tapegrad as torch``.

>>> import tapegrad as torch
>>> x = torch.ones(3, requires_grad=True)
>>> (x * 3 + 2).sum().backward()
>>> x.grad
tensor([3., 3., 3.])

Examples in docstrings begin with this import, as PyTorch's do, and don't say it.
"""

import sys
from math import e, inf, nan, pi

from tapegrad._src.absent_modules import find_refused_modules
from tapegrad._src.declaring import nothing_collected, on_demand

with nothing_collected():  # half of the time that it takes
    from tapegrad import _C, autograd
    from tapegrad._src import functions

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.attach import attach
from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.symbolic import SymBool, SymFloat, SymInt
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device, get_default_device, set_default_device
from tapegrad._src.execution.data.dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from tapegrad._src.execution.data.promotion import can_cast, promote_types
from tapegrad._src.execution.recording.execution_mode import deferred, get_execution, set_execution
from tapegrad._src.tensor.printing import get_printoptions, set_printoptions
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd import tensor_methods  # declares backward, retain_grad and register_hook
from tapegrad.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from tapegrad.autograd.grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from tapegrad.autograd.subgradient import get_subgradient, subgradient
from tapegrad.errors import AcceleratorError, OutOfMemoryError, is_warn_always_enabled, set_warn_always
from tapegrad.interop.arrays import from_jax_array  # declares Tensor.jax
from tapegrad.version import __version__
from tapegrad.viz import showing  # declares Tensor.graph

find_refused_modules()
newaxis = None
globals().update({name: item for name, item in vars(dtypes).items() if isinstance(item, dtype)})

attach()
globals().update(NAMESPACES["torch"])
legacy_contiguous_format = NAMESPACES["torch"]["contiguous_format"]
torch = sys.modules[__name__]  # PyTorch has that, too, and libraries say torch.torch.Tensor
del attach, dtypes, find_refused_modules, nothing_collected, showing, sys, tensor_methods, NAMESPACES

# these name what the families declared, or need the methods that were just attached
from tapegrad import (  # noqa: E402
    accelerator,
    cuda,
    execution,
    fft,
    functional,
    interop,
    linalg,
    masked,
    nn,
    overrides,
    random,
    signal,
    special,
)

# a fifth of the package, which many programs do without
__getattr__, __dir__ = on_demand(__name__, {
    __name__: """_VF __config__ __future__ _custom_ops _decomp _dynamo _functorch _guards _higher_order_ops
        _inductor _jit_internal _prims_common _refs _tensor _tensor_str _utils amp ao backends compiler cpu
        distributed distributions export func futures fx hub jit library mps mtia multiprocessing nested onnx optim
        profiler quantization quasirandom serialization sparse storage testing torch_version types utils viz
        xpu""",
    "tapegrad.amp.autocast_mode": """autocast autocast_decrement_nesting autocast_increment_nesting
        clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
        is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled
        set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
        set_autocast_gpu_dtype""",
    "tapegrad._classes": "classes",
    "tapegrad._higher_order_ops.cond": "cond",
    "tapegrad._higher_order_ops.while_loop": "while_loop",
    "tapegrad.amp.grad_scaler": "GradScaler",
    "tapegrad._src.bindings.device_names.streams": "Event Stream",
    "tapegrad.nested.strided": "_nested_compute_contiguous_strides_offsets _nested_view_from_buffer",
    "tapegrad.ao.quantization.schemes": """float4_e2m1fn_x2 float8_e8m0fnu int1 int2 int3 int4 int5 int6 int7
        uint1 uint2 uint3 uint4 uint5 uint6 uint7 per_channel_affine per_channel_affine_float_qparams
        per_channel_symmetric per_tensor_affine per_tensor_symmetric qint32 qint8 qscheme quint2x4 quint4x2 quint8""",
    "tapegrad.as_torch": "install",
    "tapegrad.compiler.step": "compile",
    "tapegrad.func.mapping": "vmap",
    "tapegrad.futures": "Future",
    "tapegrad.interop.compare": "compare",
    "tapegrad.jit": "ScriptFunction ScriptModule",
    "tapegrad.serialization.archive": "PyTorchFileReader",
    "tapegrad.serialization.loading": "load",
    "tapegrad.serialization.saving": "save",
    "tapegrad.sparse.compressed": """sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor
        sparse_csr_tensor""",
    "tapegrad.sparse.coordinates": "sparse_coo_tensor",
    "tapegrad.sparse.products": "dsmm hspmm smm sspaddmm",
    "tapegrad.sparse.resizing": "resize_as_sparse_",
    "tapegrad.viz.explanations.costs": "explain",
    "tapegrad.viz.explanations.keeping": "who_holds",
    "tapegrad.viz.explanations.missing": "why_no_grad why_none",
    "tapegrad.viz.explanations.nonfinite": "explain_nan",
    "tapegrad.viz.explanations.walking": "walk",
    "tapegrad.viz.explanations.watching": "watch",
})
on_demand("tapegrad.nn.parallel.distributed", {"tapegrad.distributed.data_parallel": "DistributedDataParallel"})
on_demand("tapegrad.jit", {"tapegrad.futures": "Future"})
on_demand("tapegrad.nn", {"tapegrad.ao.nn": "qat"})
on_demand("tapegrad.nn.functional", {"tapegrad.nn": "grad"})
on_demand("tapegrad._src.bindings.layout_methods", {"tapegrad.sparse.conversion": "from_dense mask_of"})
on_demand("tapegrad._src.bindings.declaration.registry", {"tapegrad._src.complex32": "asked_for"})
on_demand("tapegrad._src.bindings.state.storages", {"tapegrad._src.complex32": "shown_on"})
on_demand("tapegrad.nn.modules.attention", {"tapegrad.nested.multihead": "attention"})
on_demand("tapegrad.export.exported_program", {"tapegrad.fx._exported_graph": "graph_of"})
on_demand("tapegrad._src.functions.embedding", {"tapegrad.sparse.embedding": "sparse_bags sparse_rows"})
on_demand("tapegrad.compiler.settings", {"tapegrad._dynamo.compiled_graphs": "GraphCompiled"})
on_demand("tapegrad.utils.model_zoo", {"tapegrad.hub": "load_url"})
on_demand("tapegrad.utils.module_tracker", {"tapegrad.viz.explanations.tracking": "ModuleTracker"})
on_demand("tapegrad.utils.flop_counter", {"tapegrad.viz.explanations.flops": "FlopCounterMode register_flop_formula"})
del on_demand
__all__ = [name for name in __dir__() if not name.startswith("_") and name != "torch"]
