"""``torch.distributed.tensor.experimental``: names that libraries import (opacus). They are refused when called."""

from tapegrad._src.absent import refused

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]

_HERE = "torch.distributed.tensor.experimental."
PLACED = "XLA places what operators compute from how their arguments lie"

context_parallel = refused(f"{_HERE}context_parallel", "shard sequences by distribute_tensor, and XLA sends the parts")
implicit_replication = refused(
    f"{_HERE}implicit_replication", "put a tensor on the mesh by distribute_tensor(x, mesh, [Replicate()])"
)
local_map = refused(f"{_HERE}local_map", f"{PLACED}; to_local and DTensor.from_local go to parts and back")
register_sharding = refused(f"{_HERE}register_sharding", PLACED)
