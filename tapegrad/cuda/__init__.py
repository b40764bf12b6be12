"""``torch.cuda``: what programs ask of it before they choose a device; the accelerator is whatever JAX calls a GPU."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.declaring import on_demand

globals().update(NAMESPACES["cuda"])
default_generators: tuple = ()  # as PyTorch has it where there are no devices
__getattr__, __dir__ = on_demand(__name__, {
    __name__: "amp comm nvtx random sparse",
    "tapegrad._src.bindings.device_names.gpus": """CUDAGraph Event Stream StreamContext current_stream default_stream
        device device_of get_arch_list get_device_capability get_device_name get_device_properties get_rng_state
        get_rng_state_all graph initial_seed ipc_collect is_tf32_supported max_memory_allocated
        max_memory_reserved mem_get_info memory_allocated memory_reserved memory_stats reset_peak_memory_stats
        seed seed_all set_device set_rng_state set_rng_state_all set_stream stream""",
    "tapegrad.errors": "OutOfMemoryError",
})
_initialized = False  # asked before states of random numbers are read: one generator serves all devices
_own = {"NAMESPACES", "on_demand"}
__all__ = [name for name in __dir__() if not name.startswith("_") and name not in _own]
del on_demand, _own
