"""What a spawned process imports as its main module where tapegrad stands in for torch.

See Note [What workers are told] in ``spawning.py``. The name torch is given away first, then the script is run as
``__mp_main__``, as ``multiprocessing`` would.
"""

import os
import runpy

from tapegrad.as_torch import inherit
from tapegrad.utils.data.spawning import SCRIPT

_script = os.environ.pop(SCRIPT, None)
if _script is not None:
    inherit()
    if _script:
        globals().update(runpy.run_path(_script, run_name="__mp_main__"))
