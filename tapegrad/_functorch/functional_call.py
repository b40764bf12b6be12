"""``torch._functorch.functional_call``. Nothing is defined here."""

from tapegrad.func.modules import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
