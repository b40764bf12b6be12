"""``torch._inductor``: what libraries ask of PyTorch's code generator, in whose place XLA compiles."""

from tapegrad._src.absent import EXPORTS, refused
from tapegrad._src.declaring import on_demand
from tapegrad.compiler import cudagraph_mark_step_begin

__getattr__, __dir__ = on_demand(__name__, {__name__: "config"})
__all__ = ["aot_compile", "aoti_compile_and_package", "aoti_load_package", "compile", "cudagraph_mark_step_begin"]

compile = refused("torch._inductor.compile", "torch.compile compiles a function, and XLA the program")
aot_compile = refused("torch._inductor.aot_compile", EXPORTS)
aoti_compile_and_package = refused("torch._inductor.aoti_compile_and_package", EXPORTS)
aoti_load_package = refused("torch._inductor.aoti_load_package", EXPORTS)
