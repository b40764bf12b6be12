"""Tiers: who runs a kernel on a CPU, NumPy or XLA. See Note [Tiers] in ``tiered_kernel.py``."""
