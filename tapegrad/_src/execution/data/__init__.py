"""Data: dtypes, devices, sizes, and values, which are arrays of NumPy's or jax's, or stand for some."""
