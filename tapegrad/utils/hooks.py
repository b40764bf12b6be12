"""``torch.utils.hooks``: the handle that takes a hook off, where PyTorch has it. Nothing is defined here."""

from tapegrad.tape.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
