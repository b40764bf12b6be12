"""Messages of tensors to other processes: copies, without their history."""

from __future__ import annotations

import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

from tapegrad._src.tensor.tensor import Tensor


def reduce_tensor(tensor: Tensor) -> Any:
    """The message that a tensor is sent as. Raises RuntimeError: it has a history."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)


ForkingPickler.register(Tensor, reduce_tensor)
