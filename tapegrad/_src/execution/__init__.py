"""The backend interface: dtypes, devices, kernels, programs and random keys. All arithmetic on data passes here."""
