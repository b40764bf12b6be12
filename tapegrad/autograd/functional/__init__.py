"""``torch.autograd.functional``: products with Jacobians and Hessians, and whole ones, of functions of tensors.

``arguments.py`` says what functions may be given and return, ``strictness.py`` what ``strict=True`` refuses,
``products.py`` and ``matrices.py`` do the work.
"""

from tapegrad.autograd.functional.matrices import hessian, jacobian
from tapegrad.autograd.functional.products import hvp, jvp, vhp, vjp
from tapegrad.autograd.functional.rows import _construct_standard_basis_for as _construct_standard_basis_for

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
