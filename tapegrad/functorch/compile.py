"""``functorch.compile``: what traces functions into graphs is refused when it is called."""

from tapegrad._src.absent import EXPORTS, refused, refusing

__getattr__ = refusing(__name__)
__all__ = ["aot_function", "aot_module", "make_boxed_func", "memory_efficient_fusion"]

aot_function = refused("functorch.compile.aot_function", f"torch.compile makes one program; {EXPORTS}")
aot_module = refused("functorch.compile.aot_module", f"torch.compile makes one program; {EXPORTS}")
make_boxed_func = refused("functorch.compile.make_boxed_func", f"torch.compile makes one program; {EXPORTS}")
memory_efficient_fusion = refused(
    "functorch.compile.memory_efficient_fusion", "torch.compile makes one program, which XLA fuses"
)
