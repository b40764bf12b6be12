"""Rules of functions inside functions, and of control flow."""

from __future__ import annotations

from typing import Any

from tapegrad.execution.host_tier.rules import rule


@rule("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat", "checkpoint")
def inlined(writer: Any, equation: Any) -> Any:
    """The equations of the function, in place of its call."""
    params = equation.params
    inner = next(params[name] for name in ("jaxpr", "call_jaxpr", "fun_jaxpr") if name in params)
    return tuple(writer.jaxpr(inner, equation.operands))
