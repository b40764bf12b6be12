"""``torch._C._fft``: the functions of ``torch.fft`` where PyTorch has them in C++. Nothing is defined here."""

from tapegrad._C.native import functions_in

__all__: list[str] = []

__getattr__, __dir__ = functions_in("fft", __name__)
