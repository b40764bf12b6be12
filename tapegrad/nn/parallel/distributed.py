"""``torch.nn.parallel.distributed``: what is of ``torch.distributed``, which is imported when somebody asks for it.

That room stands above this one, so the package itself, which is above both, says where it is.
"""

from tapegrad._src.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, {})
