"""``torch.nested``: tensors whose entries differ in a length, or in several. See Note [Nested tensors].

>>> x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
>>> x.sum(1)
tensor([[2., 2., 2.],
        [1., 1., 1.]])
"""

from tapegrad.nested import _internal, attention, layers, parts, products, reductions, shape, strided_functions
from tapegrad.nested.construction import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)
from tapegrad.nested.padding import to_padded_tensor

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip
del attention, layers, parts, products, reductions, shape, strided_functions
