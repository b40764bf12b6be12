"""The name ``torch`` means tapegrad: see Note [The name torch] in ``standing.py``, and Note [Children]."""

from tapegrad.as_torch.standing import PYTORCH, Finder, Installed, Named, Stand, inherit, install, is_installed

__all__ = ["PYTORCH", "Finder", "Installed", "Named", "Stand", "inherit", "install", "is_installed"]
