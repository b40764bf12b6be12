"""Streams of random numbers that are another library's: ``pytorch`` has those of PyTorch's generator for CPUs.

The streams of keys that are the default stand in ``execution/array_functions/random.py``. What is here is imported when
a program asks for it, by ``tapegrad.random.use`` or the environment variable ``TAPEGRAD_RANDOM``.
"""

from tapegrad._src.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, {"tapegrad._src.streams": "pytorch"})
