"""The binding of PyTorch's names to operators: what the families in ``functions/`` are declared with.

Declarations and checks of arguments (``registry.py``), memory that is shared and written to (``in_place.py``), tensors
as programs see them (``attributes.py``), and settings. ``attach.py`` puts methods on Tensor.
"""

from tapegrad.bindings import (
    accelerator,
    attributes,
    bounds,
    checking,
    cuda,
    factory,
    function_modes,
    generator,
    kinds,
    memory,
    overriding,
    placement,
    protocols,
    return_types,
    scalars,
    settings,
    storage_methods,
    storages,
    subclass,
    windows,
)
from tapegrad.bindings.writes import out, views
