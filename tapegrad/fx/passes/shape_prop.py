"""``ShapeProp``: the shapes and dtypes of what nodes give, by running a graph once."""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

from tapegrad._src.tensor.layout import memory_format
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.fx.interpreter import Interpreter
from tapegrad.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The notes on a tensor.

    Attributes:
        shape, dtype, requires_grad, stride: its own.
        memory_format: the format that its strides have; None if they have none.
        is_quantized, qparams: what PyTorch notes of quantized tensors, which there are none of.
    """

    shape: Size
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


FORMATS = [memory_format(name) for name in ("contiguous_format", "channels_last", "channels_last_3d")]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """The notes on a tensor.

    >>> _extract_tensor_metadata(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    known = (found for found in FORMATS if include_contiguity and result.is_contiguous(memory_format=found))
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), next(known, None), False, {}
    )


class ShapeProp(Interpreter):
    """The runner of a graph that notes of what each node gives ``meta["tensor_meta"]``, and its class ``meta["type"]``.

    Args:
        gm: the module.
        fake_mode: taken; the graph is run with tensors as they are given, which may be on ``meta``.

    Raises:
        RuntimeError: a node raises something.

    >>> gm = torch.fx.symbolic_trace(lambda x: x.sum(0))
    >>> _ = ShapeProp(gm).propagate(torch.ones(2, 3))
    >>> gm.graph.find_nodes(op="call_method")[0].meta["tensor_meta"].shape
    torch.Size([3])
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.real_module = self.module

    def run_node(self, n: Node) -> Any:
        """The value of a node, of which is noted what it is."""
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def noted(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        metadata = map_aggregate(result, noted)
        if found:
            n.meta["tensor_meta"] = metadata
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with these arguments."""
        return super().run(*args)
