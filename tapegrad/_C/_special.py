"""``torch._C._special``: the functions of ``torch.special`` where PyTorch has them in C++. Nothing is defined here."""

from tapegrad._C.native import functions_in

__all__: list[str] = []

__getattr__, __dir__ = functions_in("special", __name__)
