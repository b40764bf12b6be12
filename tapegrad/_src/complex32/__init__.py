"""Tensors of complex halves, which are made by whoever asks for the dtype. See Note [Complex halves] in ``tensor.py``.

>>> x = torch.tensor([1 + 2j, 3j], dtype=torch.complex32)
>>> x * 2, torch.view_as_real(x)[0]
(tensor([2.+4.j, 0.+6.j], dtype=torch.complex32), tensor([1., 2.], dtype=torch.float16))
"""

from tapegrad._src.complex32 import attributes, views
from tapegrad._src.complex32.computing import asked_for
from tapegrad._src.complex32.tensor import shown_on

__all__ = ["asked_for", "attributes", "shown_on", "views"]
