"""The table of operators: a kernel and one formula per input each, in families. See ``operator.py``.

To users it is ``torch.ops``, where ``aten`` names operators as PyTorch does; see ``overloads.py``. Those that programs
register are there, too.
"""

from importlib.util import find_spec
from typing import Any, NoReturn

from tapegrad._src.absent import absent
from tapegrad.ops.overloads import NAMESPACES, aten, namespace, prim

__all__ = ["aten", "load_library", "prim"]

ASKED_BY_PYTEST = frozenset((
    "pytest_plugins", "pytestmark", "setUpModule", "setup_module", "tearDownModule", "teardown_module",
    "setup_function", "teardown_function", "collect_ignore", "collect_ignore_glob",
))  # fmt: skip
"""The names that pytest looks for in a package whose examples it runs: no namespaces."""


def __getattr__(name: str) -> Any:
    if name in NAMESPACES:
        return NAMESPACES[name]
    is_module = find_spec(f"{__name__}.{name}") is not None  # which isn't imported yet
    if is_module or name.startswith("_") or name in ASKED_BY_PYTEST:
        return absent(__name__, name)
    return namespace(name)


def load_library(path: str) -> NoReturn:
    """Refused, as a library that can't be loaded: there is no C++ here that operators could be registered with.

    Raises:
        OSError: always; ``torch.library.custom_op`` registers a function of Python.
    """
    raise OSError(f"Could not load this library: {path}: it is PyTorch's C++; torch.library.custom_op takes Python")
