"""Tools around tensors that need nothing but their public surface."""

from tapegrad._src.declaring import on_demand
from tapegrad.utils import _python_dispatch, _pytree, checkpoint, dlpack, hooks
from tapegrad.utils.swapping import set_module, swap_tensors

__getattr__, __dir__ = on_demand(__name__, {
    "tapegrad.utils": """_config_module _contextlib benchmark collect_env data deterministic model_zoo module_tracker
        weak""",
})
del on_demand
