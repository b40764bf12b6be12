"""The NumPy backend: kernels run as straight-line NumPy that is written from their jaxprs. See ``writer.py``."""

from tapegrad._src.execution.numpy_backend import (
    casts,
    contractions,
    control,
    elementwise,
    forms,
    fourier,
    indexing,
    linear_algebra,
    random_bits,
    reductions,
    scans,
    shapes,
    softmax,
    special,
    windowed,
)
