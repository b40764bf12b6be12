"""``torch.nn.functional``: the functions that are declared for it in ``functions/``."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.overriding import handle_torch_function as handle_torch_function
from tapegrad._src.bindings.overriding import has_torch_function as has_torch_function
from tapegrad._src.bindings.overriding import has_torch_function_unary as has_torch_function_unary
from tapegrad._src.bindings.overriding import has_torch_function_variadic as has_torch_function_variadic
from tapegrad._src.declaring import on_demand

__getattr__, _ = on_demand(__name__, {})

globals().update(NAMESPACES["nn.functional"])
__all__ = sorted(NAMESPACES["nn.functional"])  # noqa: PLE0605 - filled by declarations
