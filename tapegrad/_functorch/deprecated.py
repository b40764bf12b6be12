"""``torch._functorch.deprecated``: function transforms as ``functorch`` had them, each of which says where it is now.

>>> import warnings
>>> with warnings.catch_warnings(record=True) as seen:
...     warnings.simplefilter("always")
...     _ = grad(torch.sin)(torch.zeros(()))
>>> "functorch.grad" in str(seen[0].message), seen[0].category.__name__
(True, 'FutureWarning')
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from tapegrad import func
from tapegrad._functorch import make_functional as modules
from tapegrad._src.absent import refusing
from tapegrad._src.warn import warn

F = TypeVar("F", bound=Callable)
__getattr__ = refusing(__name__)
__all__ = [
    "combine_state_for_ensemble", "functionalize", "get_warning", "grad", "grad_and_value", "hessian", "jacfwd",
    "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap", "warn_deprecated",
]  # fmt: skip


def get_warning(api: str, new_api: str | None = None, replace_newlines: bool = False) -> str:
    """The warning of a function whose place is elsewhere now.

    Args:
        api: what it was called in functorch.
        new_api: what it is called; ``torch.func.`` and the same by default.
        replace_newlines: whether it is one line.
    """
    lines = (
        "We've integrated functorch into PyTorch. As the final step of the ",
        f"integration, `functorch.{api}` is deprecated as of PyTorch ",
        "2.0 and will be deleted in a future version of PyTorch >= 2.3. ",
        f"Please use `{new_api or f'torch.func.{api}'}` instead; see the PyTorch 2.0 release notes ",
        "and/or the `torch.func` migration guide for more details ",
        "https://pytorch.org/docs/main/func.migrating.html",
    )
    return ("" if replace_newlines else "\n").join(lines)


def warn_deprecated(api: str, new_api: str | None = None) -> None:
    """Warn the caller of a function that its place is elsewhere now."""
    warn(get_warning(api, new_api, replace_newlines=True), FutureWarning)


def _moved(function: F, new_api: str | None = None) -> F:
    """A function that warns, and then does the same."""

    @wraps(function)
    def old(*args: Any, **kwargs: Any) -> Any:
        warn_deprecated(function.__name__, new_api)
        return function(*args, **kwargs)

    return old  # type: ignore[return-value]


vmap = _moved(func.vmap, "torch.vmap")
grad, grad_and_value = _moved(func.grad), _moved(func.grad_and_value)
vjp, jvp = _moved(func.vjp), _moved(func.jvp)
jacrev, jacfwd, hessian = _moved(func.jacrev), _moved(func.jacfwd), _moved(func.hessian)
functionalize = _moved(func.functionalize)
make_functional = _moved(modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _moved(modules.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _moved(modules.combine_state_for_ensemble, "torch.func.stack_module_state")
