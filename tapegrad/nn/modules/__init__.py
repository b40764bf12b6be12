"""``torch.nn.modules``: the classes of modules, one file for each family, which says in ``__all__`` what it has."""

from tapegrad.nn.modules.container import *
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.rnn import *

__all__ = sorted(name for name, found in globals().items() if isinstance(found, type))  # noqa: PLE0605 - of families
