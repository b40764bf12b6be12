"""``torch._C._linalg``: the functions of ``torch.linalg`` where PyTorch has them in C++. Nothing is defined here."""

from tapegrad._C.native import functions_in

__all__: list[str] = []

__getattr__, __dir__ = functions_in("linalg", __name__)
