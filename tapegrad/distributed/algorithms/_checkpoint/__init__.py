"""``torch.distributed.algorithms._checkpoint``: modules whose insides are computed again in the backward pass."""
