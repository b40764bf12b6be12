"""Parts of SciPy's that are loaded without what stands around them.

``import scipy.linalg`` takes a tenth of a second, a hundred times what it takes to invert a matrix; the compiled part
of it that has LAPACK's routines is loaded in three milliseconds. So that is loaded by itself, from where SciPy has it;
and where it is not found there, with all of ``scipy.linalg``.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

from tapegrad._src.execution.state.threads import tell_blas

COMPILED = {
    "scipy.linalg.lapack": "scipy.linalg._flapack",
    "scipy.linalg.blas": "scipy.linalg._fblas",
    "scipy.fft": "scipy.fft._pocketfft.pypocketfft",
    "scipy.sparse": "scipy.sparse._sparsetools",
}
"""Modules of SciPy's, and the compiled ones that their functions are of."""


@cache
def compiled(name: str) -> ModuleType | None:
    """The compiled module behind one of SciPy's; None if it isn't where it is looked for.

    >>> compiled("scipy.linalg.lapack").sgetrf.__name__, compiled("scipy.fftpack")
    ('function sgetrf', None)
    """
    path = COMPILED.get(name)
    if path is None or path in sys.modules:
        return sys.modules.get(path) if path else None
    folders, _, part = path.rpartition(".")
    package = find_spec("scipy")  # which is not imported
    roots = [] if package is None else package.submodule_search_locations or []
    spec = PathFinder.find_spec(part, [str(Path(root, *folders.split(".")[1:])) for root in roots])
    if spec is None or spec.loader is None:
        return None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:
        return None
    tell_blas()
    return module
