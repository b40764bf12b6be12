"""``torch.utils.hooks``: what takes a hook off, and hooks around a call. Nothing is defined here."""

from tapegrad._src.tape.hooks import RemovableHandle
from tapegrad.autograd.backward_hook import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle"]
