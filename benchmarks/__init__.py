"""Speed, side by side: ``python -m benchmarks`` measures tapegrad, PyTorch eager and JAX in the same minutes.

Every program is written once for all modules that speak PyTorch's language (``programs.py``) and once for JAX
(``jax_programs.py``). Contestants take turns, so that a busy machine slows all of them alike (``timing.py``).
"""
