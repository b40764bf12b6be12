"""``torch.nn.functional``: the functions that are declared for it in ``functions/``."""

import sys

from tapegrad.bindings.registry import NAMESPACES

globals().update(NAMESPACES["nn.functional"])
__all__ = sorted(NAMESPACES["nn.functional"])  # noqa: PLE0605 - filled by declarations

for function in NAMESPACES["nn.functional"].values():
    if getattr(sys.modules[function.__module__], function.__qualname__, None) is not function:
        function.__module__ = __name__  # where it is found by its name, as pickle looks for it
del function
