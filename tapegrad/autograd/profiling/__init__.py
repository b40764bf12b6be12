"""Parts of a profile. PyTorch's names for it are in ``autograd/profiler.py`` and ``tapegrad/profiler.py``."""
