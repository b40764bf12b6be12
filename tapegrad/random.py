"""``torch.random``: generators and seeds. Nothing is defined here."""

from tapegrad._src.bindings.state.generator import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    in_use,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    use,
)

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "in_use", "initial_seed", "manual_seed", "seed",
    "set_rng_state", "use",
]  # fmt: skip
