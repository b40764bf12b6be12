"""Whole models as people train them: ``python -m benchmarks --models`` and ``--growth``.

A model (``model.py``) is a class of modules with an optimizer of ``torch.optim``, one text for tapegrad and PyTorch,
and a loss in JAX, whose parameters are a list of arrays in the order of ``net.parameters()``. Files with ``_jax`` in
their names import jax. The others that the process of a contestant reads (``process.py``) import no library before one
is chosen, so that there is nothing in it but what a user's program would have.
"""
