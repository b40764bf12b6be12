"""``torch._inductor``: what libraries ask of PyTorch's code generator, in whose place XLA compiles."""

from typing import Any

from tapegrad._inductor.config import SETTINGS
from tapegrad._src.absent import EXPORTS, refused
from tapegrad._src.declaring import on_demand
from tapegrad.compiler import cudagraph_mark_step_begin

__getattr__, __dir__ = on_demand(__name__, {__name__: "config"})
__all__ = [
    "aot_compile", "aoti_compile_and_package", "aoti_load_package", "compile", "cudagraph_mark_step_begin",
    "list_mode_options", "list_options",
]  # fmt: skip

compile = refused("torch._inductor.compile", "torch.compile compiles a function, and XLA the program")
aot_compile = refused("torch._inductor.aot_compile", EXPORTS)
aoti_compile_and_package = refused("torch._inductor.aoti_compile_and_package", EXPORTS)
aoti_load_package = refused("torch._inductor.aoti_load_package", EXPORTS)


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The settings that a mode of ``torch.compile`` stands for in PyTorch; XLA has none of them.

    Args:
        mode: its name; None for all modes.
        dynamic: whether lengths may change.

    >>> list_mode_options("reduce-overhead")
    {'triton.cudagraphs': True}
    """
    known = {
        "default": {},
        "reduce-overhead": {"triton.cudagraphs": True},
        "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
        "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
    }  # fmt: skip
    return known if mode is None else known[mode]


def list_options() -> list[str]:
    """The names of all settings."""
    return sorted(SETTINGS)
