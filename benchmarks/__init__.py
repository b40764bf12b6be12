"""Speed, side by side: ``python -m benchmarks`` measures tapegrad, PyTorch and JAX in the same minutes.

A workload (``workloads.py``, ``models.py``, ``chains.py``) is written once for all modules that speak PyTorch's
language and once for JAX; a mode (``contest.py``) says how it is run. Contestants take turns, so that a busy machine
slows all of them alike (``timing.py``), each in a process of its own (``apart.py``). What is measured cold, programs
that always change (``dynamic.py``) and shapes that are new (``lengths.py``), has a fresh process (``fresh.py``). Whole
models of modules, each contestant in a process that has imported nothing else, are in ``whole/``.
"""
