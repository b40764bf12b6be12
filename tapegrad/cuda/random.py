"""``torch.cuda.random``: where PyTorch has the random numbers of devices. Nothing is defined here."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.device_names.gpus import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)

manual_seed, manual_seed_all = NAMESPACES["cuda"]["manual_seed"], NAMESPACES["cuda"]["manual_seed_all"]
__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]  # fmt: skip
