"""The seam: dtypes, devices, kernels and random keys. Whatever computes on a tensor's data is in or below this room."""
