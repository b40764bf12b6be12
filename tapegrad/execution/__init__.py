"""The seam: dtypes, devices, kernels, programs and random keys. All that is computed on tensors' data passes here."""

from tapegrad.caches import clear_caches, set_cache_limit
from tapegrad.execution.persistent import persistent_cache
from tapegrad.execution.programs import reset_stats, stats
from tapegrad.execution.step_executable import wait_for_compiler
from tapegrad.execution.tiers.settings import tiers
from tapegrad.tape.mechanisms import mechanisms, without
