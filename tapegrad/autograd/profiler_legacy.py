"""``torch.autograd.profiler_legacy``: the name of ``torch.autograd.profiler`` from before. Nothing is defined here."""

from tapegrad.autograd.profiling.profile import profile

__all__ = ["profile"]
