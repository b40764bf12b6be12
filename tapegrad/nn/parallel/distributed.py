"""``torch.nn.parallel.distributed``: what is of ``torch.distributed``, which is imported when somebody asks for it.

That stands further down, so the package itself says where it is.
"""

from tapegrad.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, {})
