"""The backend interface: dtypes, devices, kernels, programs and random keys. All that is computed on tensors' data
passes here."""

from tapegrad._src.caches import clear_caches, set_cache_limit
from tapegrad._src.execution.programs.running import reset_stats, stats
from tapegrad._src.execution.programs.step_executable import wait_for_compiler
from tapegrad._src.execution.state.persistent import persistent_cache
from tapegrad._src.execution.tiers.settings import tiers
from tapegrad._src.tape.mechanisms import mechanisms, without

__all__ = [
    "clear_caches",
    "mechanisms",
    "persistent_cache",
    "reset_stats",
    "set_cache_limit",
    "stats",
    "tiers",
    "wait_for_compiler",
    "without",
]
