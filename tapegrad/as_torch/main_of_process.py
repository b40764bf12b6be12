"""The main module of a spawned process, where tapegrad stands in for torch.

See Note [Children] in ``children.py``. The name torch is given away first, then the script is run as ``__mp_main__``,
as ``multiprocessing`` would.
"""

import os
import runpy

from tapegrad.as_torch.children import MAIN
from tapegrad.as_torch.standing import inherit

_kind, _, _main = os.environ.pop(MAIN, "").partition(" ")
if _kind:
    inherit()
if _main:
    globals().update((runpy.run_path if _kind == "path" else runpy.run_module)(_main, run_name="__mp_main__"))
