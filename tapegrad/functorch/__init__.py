"""``functorch``: what PyTorch's package of that name has, each name with PyTorch's warning. Nothing is defined here."""

from tapegrad._functorch.deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from tapegrad._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from tapegrad._src.declaring import on_demand
from tapegrad.fx.experimental.proxy_tensor import make_fx
from tapegrad.version import __version__

__getattr__, __dir__ = on_demand(__name__, {__name__: "compile experimental"})

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "__version__", "combine_state_for_ensemble", "functionalize",
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers",
    "make_fx", "vjp", "vmap",
]  # fmt: skip
