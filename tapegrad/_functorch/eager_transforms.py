"""``torch._functorch.eager_transforms``. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp

__getattr__ = refusing(__name__)
__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]
