"""``torch._VF``: the functions of ``torch``, as those of C++ where Python has others. Nothing is defined here."""

from tapegrad._src.bindings.declaration.registry import functions_of_torch

__getattr__, __dir__ = functions_of_torch(__name__)
