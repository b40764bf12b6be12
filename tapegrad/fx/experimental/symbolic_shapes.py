"""``torch.fx.experimental.symbolic_shapes``: the errors of lengths, which exporting raises.

>>> ConstraintViolationError("Constraints violated (batch)!").__class__.__name__
'ConstraintViolationError'
"""

from tapegrad._src.absent import refusing
from tapegrad.export.errors import ConstraintViolationError, GuardOnDataDependentSymNode

__all__ = ["ConstraintViolationError", "GuardOnDataDependentSymNode"]
__getattr__ = refusing(__name__)
