"""``torch.utils.deterministic``: whether memory that nobody has written to is filled under deterministic algorithms."""

import sys
from types import ModuleType

from tapegrad._src.bindings.state.settings import fill_uninitialized_memory as _fill
from tapegrad._src.bindings.state.settings import fills_uninitialized_memory as _fills


class _Deterministic(ModuleType):
    """The module, of which an attribute is a setting."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """True if it is; what was set is kept, for memory is zero here, always."""
        return _fills()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        _fill(mode)


sys.modules[__name__].__class__ = _Deterministic
