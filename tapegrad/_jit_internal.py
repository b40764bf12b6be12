"""``torch._jit_internal``: where PyTorch has decorators of ``torch.jit``. Nothing is defined here."""

from typing import Final

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.scripting import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    _copy_to_script_wrapper,
    _overload,
    _overload_method,
    boolean_dispatch,
    export,
    ignore,
    is_scripting,
    unused,
)
from tapegrad.futures import Future

__getattr__ = refusing(__name__)
__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Final", "Future", "_copy_to_script_wrapper",
    "_overload", "_overload_method", "boolean_dispatch", "export", "ignore", "is_scripting", "unused",
]  # fmt: skip
