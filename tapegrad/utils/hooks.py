"""``torch.utils.hooks``: what takes a hook off, and hooks around a call. Nothing is defined here."""

from tapegrad.autograd.backward_hook import BackwardHook
from tapegrad.tape.hooks import RemovableHandle

__all__ = ["BackwardHook", "RemovableHandle"]
