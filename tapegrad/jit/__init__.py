"""``torch.jit``: what programs decorate for TorchScript runs as Python."""

from tapegrad._src.bindings import scripting as _scripting
from tapegrad._src.bindings.scripting import *  # noqa: F403
from tapegrad._src.declaring import on_demand
from tapegrad.jit.modules import RecursiveScriptModule, ScriptModule, TopLevelTracedModule, script, trace, trace_module

__all__ = ["RecursiveScriptModule", "ScriptModule", "TopLevelTracedModule", "script", "trace", "trace_module"]
__all__ += _scripting.__all__

__getattr__, __dir__ = on_demand(__name__, {
    __name__: "annotations",
    "tapegrad._src.bindings.fusers": """enable_onednn_fusion fuser onednn_fusion_enabled optimized_execution
        set_fusion_strategy""",
})
del on_demand
