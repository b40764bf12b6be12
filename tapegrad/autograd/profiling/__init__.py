"""What a profile is made of. PyTorch's names for it are in ``autograd/profiler.py`` and ``tapegrad/profiler.py``."""
