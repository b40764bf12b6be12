"""``torch._decomp``: operators in terms of others. Kernels are programs of XLA here, and nothing is taken apart."""

from __future__ import annotations

from typing import Any

from tapegrad._src.absent import refused

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "register_decomposition"]

PROGRAMS = "jax.make_jaxpr of tapegrad.interop.to_jax(f) shows what a function computes, in jax's primitives"

decomposition_table: dict[Any, Any] = {}
get_decompositions = refused("torch._decomp.get_decompositions", PROGRAMS)
core_aten_decompositions = refused("torch._decomp.core_aten_decompositions", PROGRAMS)
register_decomposition = refused("torch._decomp.register_decomposition", PROGRAMS)
