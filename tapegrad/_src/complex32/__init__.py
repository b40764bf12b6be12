"""Tensors of complex halves, which are made by whoever asks for the dtype. See Note [Complex halves] in ``tensor.py``.

>>> x = torch.view_as_complex(torch.tensor([[1.0, 2.0], [0.0, 3.0]], dtype=torch.float16))
>>> x, x.imag
(tensor([1.+2.j, 0.+3.j], dtype=torch.complex32), tensor([2., 3.], dtype=torch.float16))
"""

from tapegrad._src.complex32 import attributes, views
from tapegrad._src.complex32.computing import asked_for
from tapegrad._src.complex32.tensor import shown_on

__all__ = ["asked_for", "attributes", "shown_on", "views"]
