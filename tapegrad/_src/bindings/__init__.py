"""The binding of PyTorch's names to operators: what the families in ``functions/`` are declared with.

Declarations and checks of arguments (``declaration/registry.py``), memory that is shared and written to
(``in_place.py``), tensors as programs see them (``state/attributes.py``), and settings. ``attach.py`` puts methods on
Tensor.
"""

from tapegrad._src.bindings import (
    bounds,
    checking,
    function_modes,
    layout_methods,
    overriding,
    placement,
    protocols,
    return_types,
    subclass,
    windows,
)
from tapegrad._src.bindings.declaration import factory, scalars
from tapegrad._src.bindings.device_names import accelerator, cuda
from tapegrad._src.bindings.state import attributes, generator, memory, settings, storage_methods, storages
from tapegrad._src.bindings.writes import out, views
