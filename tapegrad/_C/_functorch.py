"""``torch._C._functorch``: what libraries ask of tensors inside function transforms. See Note [Levels]."""

from __future__ import annotations

from tapegrad._src.absent import refused, refusing
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.lifted import Lifted
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.func.modules import debug_unwrap

__all__ = [
    "_add_batch_dim", "_remove_batch_dim", "get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor", "is_legacy_batchedtensor", "maybe_current_level", "maybe_get_level",
]  # fmt: skip

LEVELS = "torch.vmap enters and leaves its level by itself; map over trees of tensors, or over a dimension by in_dims"

__getattr__ = refusing(__name__)
_add_batch_dim = refused("torch._C._functorch._add_batch_dim", LEVELS)
_remove_batch_dim = refused("torch._C._functorch._remove_batch_dim", LEVELS)


def _lifted(tensor: Tensor) -> Lifted | None:
    value = value_of(tensor) if tensor._spec.level else None
    return value if isinstance(value, Lifted) else None


def is_functorch_wrapped_tensor(tensor: Tensor, /) -> bool:
    """Tell whether a tensor is one of a function transform that is running."""
    return _lifted(tensor) is not None


def is_batchedtensor(tensor: Tensor, /) -> bool:
    """Tell whether a tensor is one example of a ``vmap``.

    >>> seen = []
    >>> _ = torch.vmap(lambda x: seen.append(is_batchedtensor(x)) or x)(torch.ones(2))
    >>> seen, is_batchedtensor(torch.ones(2))
    ([True], False)
    """
    found = _lifted(tensor)
    return found is not None and found.batched


def is_gradtrackingtensor(tensor: Tensor, /) -> bool:
    """Tell whether a tensor is one of a transform that differentiates."""
    found = _lifted(tensor)
    return found is not None and not found.level.maps


def is_legacy_batchedtensor(tensor: Tensor, /) -> bool:
    """False: there is one ``vmap``."""
    return False


def get_unwrapped(tensor: Tensor, /) -> Tensor:
    """A tensor of a transform as it is one level further out: to look at, no more.

    Raises:
        RuntimeError: it is none.
    """
    if _lifted(tensor) is None:
        raise RuntimeError("No wrappers present!")
    return debug_unwrap(tensor, recurse=False)


def maybe_get_level(tensor: Tensor, /) -> int:
    """The number of transforms that a tensor is inside of; -1 for one that is in none."""
    return tensor._spec.level or -1


def maybe_current_level() -> int | None:
    """The number of transforms that are running; None outside of all."""
    return thread.modes.level or None
