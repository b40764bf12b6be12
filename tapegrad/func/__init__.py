"""Function transforms, as ``torch.func`` has them: of functions of tensors, nested in any order.

>>> from tapegrad.func import grad, vmap
>>> vmap(grad(lambda x: x ** 3))(torch.tensor([1.0, 2.0]))
tensor([ 3., 12.])
"""

from tapegrad.func.gradients import grad, grad_and_value, jvp, vjp
from tapegrad.func.jacobians import hessian, jacfwd, jacrev
from tapegrad.func.linearization import linearize
from tapegrad.func.mapping import vmap
from tapegrad.func.modules import (
    debug_unwrap,
    functional_call,
    functionalize,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from tapegrad.func.rearranging import rearrange
from tapegrad.ops import levels

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
