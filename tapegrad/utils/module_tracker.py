"""``torch.utils.module_tracker``: see ``viz/explanations/tracking.py``, which stands above this room.

The package itself, which is above both, says where it is.
"""

from tapegrad._src.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, {})
