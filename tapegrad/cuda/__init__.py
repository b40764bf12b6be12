"""``torch.cuda``: what programs ask of it before they choose a device; the accelerator is whatever JAX calls a GPU."""

from tapegrad.bindings.registry import NAMESPACES
from tapegrad.declaring import on_demand

globals().update(NAMESPACES["cuda"])
__getattr__, __dir__ = on_demand(
    __name__,
    CUDAGraph="tapegrad.bindings.gpus",
    Event="tapegrad.bindings.gpus",
    OutOfMemoryError="tapegrad.errors",
    Stream="tapegrad.bindings.gpus",
    StreamContext="tapegrad.bindings.gpus",
    amp="tapegrad.cuda.amp",
    current_stream="tapegrad.bindings.gpus",
    default_stream="tapegrad.bindings.gpus",
    device="tapegrad.bindings.gpus",
    device_of="tapegrad.bindings.gpus",
    get_arch_list="tapegrad.bindings.gpus",
    get_device_capability="tapegrad.bindings.gpus",
    get_device_name="tapegrad.bindings.gpus",
    get_device_properties="tapegrad.bindings.gpus",
    get_rng_state="tapegrad.bindings.gpus",
    get_rng_state_all="tapegrad.bindings.gpus",
    graph="tapegrad.bindings.gpus",
    initial_seed="tapegrad.bindings.gpus",
    ipc_collect="tapegrad.bindings.gpus",
    is_tf32_supported="tapegrad.bindings.gpus",
    max_memory_allocated="tapegrad.bindings.gpus",
    max_memory_reserved="tapegrad.bindings.gpus",
    mem_get_info="tapegrad.bindings.gpus",
    memory_allocated="tapegrad.bindings.gpus",
    memory_reserved="tapegrad.bindings.gpus",
    memory_stats="tapegrad.bindings.gpus",
    reset_peak_memory_stats="tapegrad.bindings.gpus",
    seed="tapegrad.bindings.gpus",
    seed_all="tapegrad.bindings.gpus",
    set_device="tapegrad.bindings.gpus",
    set_rng_state="tapegrad.bindings.gpus",
    set_rng_state_all="tapegrad.bindings.gpus",
    set_stream="tapegrad.bindings.gpus",
    stream="tapegrad.bindings.gpus",
)
_own = {"NAMESPACES", "on_demand"}
__all__ = [name for name in __dir__() if not name.startswith("_") and name not in _own]
del on_demand, _own
