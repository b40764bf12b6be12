"""``torch.ao``: training of networks whose numbers are to be integers; the rest of PyTorch's namesake is not here.

Note [Quantization-aware training]
``ao.quantization.prepare_qat`` puts a ``FakeQuantize`` behind each layer, and before each weight (``ao.nn.qat``): it
observes what passes (``observer.py``), chooses a scale and a zero point, and rounds to what integers stand for, with a
gradient as if nothing had been rounded (``ops/quantization.py``). Losses, weights, scales and zero points are
PyTorch's. There are no integers to convert the result to: PyTorch converts what was trained, by its state dict.
"""

from tapegrad._src.absent import refusing
from tapegrad.ao import nn, quantization

__getattr__ = refusing(__name__)
__all__ = ["nn", "quantization"]
