"""Function transforms, as ``torch.func`` has them: of functions of tensors, nested in any order.

>>> import tapegrad as torch
>>> from tapegrad.func import grad, vmap
>>> vmap(grad(lambda x: x ** 3))(torch.tensor([1.0, 2.0]))
tensor([ 3., 12.])
"""

from tapegrad.func.gradients import grad, grad_and_value, jvp, linearize, vjp
from tapegrad.func.jacobians import hessian, jacfwd, jacrev
from tapegrad.func.mapping import vmap
from tapegrad.ops import levels  # what lifted tensors need

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "levels", "linearize", "vjp", "vmap"]
