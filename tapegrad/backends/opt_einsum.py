"""``torch.backends.opt_einsum``: see ``torch.backends``. XLA is given products in an order that needs few of them."""

__all__ = ["enabled", "is_available", "strategy"]

enabled = True
strategy = "auto"


def is_available() -> bool:
    """True: jax brings opt_einsum along."""
    return True
